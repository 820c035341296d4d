"""Crawl jobs and logs as they are requested and stored."""

from typing import Any, Literal, NewType

import msgspec

from tsuzuki.model.ids import PublicId, SeriesId, SeriesSourceId, SourceId, WatchId
from tsuzuki.model.times import Millis

JobId = NewType("JobId", int)
Kind = Literal["discovery", "targeted"]
Status = Literal["queued", "running", "done", "failed", "cancelled"]
Level = Literal["debug", "info", "warn", "error"]
Sort = Literal["scheduledat", "finishedat", "pagescount"]
OVER: frozenset[Status] = frozenset(("done", "failed", "cancelled"))


class Job(msgspec.Struct, frozen=True):
    """A crawl as people see it. The source's name is the job's own: it outlives its source (R51)."""

    id: JobId
    public_id: PublicId
    kind: Kind
    source_id: SourceId
    source_name: str
    source_slug: str
    comic_id: PublicId | None
    comic_title: str | None
    comic_cover_url: str | None
    status: Status
    scheduled_at: Millis
    started_at: Millis | None
    finished_at: Millis | None
    pages_count: int
    error_count: int
    last_error: str | None
    triggered_by: PublicId | None
    username: str | None
    created_at: Millis
    updated_at: Millis


class JobFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs, in which order; what is None does not matter."""

    statuses: tuple[Status, ...] = ()
    source_id: int | None = None
    comic_id: PublicId | None = None
    is_manual: bool | None = None
    since: Millis | None = None
    sort: Sort = "scheduledat"


class BegunJob(msgspec.Struct, frozen=True):
    """A job that a worker has begun, or goes on with."""

    id: JobId
    public_id: PublicId
    kind: Kind
    source_id: SourceId
    series_id: SeriesId | None
    comic_id: PublicId | None
    started_at: Millis
    pages_count: int
    resume_from: str | None
    lease_token: int


class EndedJob(msgspec.Struct, frozen=True):
    """A job that was ended from outside."""

    id: JobId
    public_id: PublicId
    source_id: SourceId
    task_id: int


class CrawlTarget(msgspec.Struct, frozen=True):
    """A mapping that a targeted job calls."""

    series_source_id: SeriesSourceId
    watch_id: WatchId | None
    url: str


class JobLogLine(msgspec.Struct, frozen=True):
    """Something that a job says."""

    level: Level
    message: str
    meta: dict[str, Any] | None = None


class JobLogRow(msgspec.Struct, frozen=True):
    """A stored line of a job's log."""

    id: PublicId
    level: Level
    message: str
    meta: dict[str, Any] | None
    created_at: Millis


class LogPage(msgspec.Struct, frozen=True):
    """Some lines of a job's log."""

    rows: list[JobLogRow]
    total: int
    """How many lines the log has of that level, or of any."""
    archived: int
    """R52: lines that have left the database for a file."""


class LogPlace(msgspec.Struct, frozen=True):
    """After this row a page of the log begins (R49)."""

    at: Millis = Millis(-1)
    id: bytes = b""


class StatusCount(msgspec.Struct, frozen=True):
    """How many jobs of a source have a status."""

    status: Status
    jobs: int


class JobStats(msgspec.Struct, frozen=True):
    """Jobs of a period; `average_ms` is None when none has ended."""

    finished: int
    failed: int
    average_ms: int | None
    longest_ms: int | None


class SourceWatches(msgspec.Struct, frozen=True):
    """The state of a source's watches."""

    watched: int
    failing: int
    open_breakers: int
    next_due_at: Millis | None


class LastFailure(msgspec.Struct, frozen=True):
    """What failed last, in words; a scheduled poll is a job too."""

    job_id: PublicId
    reason: str
    at: Millis
