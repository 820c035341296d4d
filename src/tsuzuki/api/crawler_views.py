"""Jobs and log lines as clients see them. Names of fields as the crawler's contract has them."""

from typing import Any

import msgspec

from tsuzuki.api.views import Time, view_of
from tsuzuki.crawler.rows import Job, JobLogRow, Kind, Level, LogPlace, Status
from tsuzuki.model.errors import Invalid, Problem
from tsuzuki.model.ids import PublicId, read_id, show_id
from tsuzuki.model.times import from_iso, iso

_BAD_PLACE = "since must be a time such as 2026-02-22T00:16:49Z, or the nextcursor of a page."
_AFTER_ALL = b"\xff" * 16


class SourceRef(msgspec.Struct, frozen=True):
    """The source of a job, as it was called when the job was made."""

    id: int
    name: str
    slug: str


class ComicSummary(msgspec.Struct, frozen=True):
    """The comic of a job."""

    id: str
    title: str
    coverurl: str | None


class UserRef(msgspec.Struct, frozen=True):
    """Who wanted a job."""

    id: str
    username: str


class JobView(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl job; its id is also what its log lines name."""

    id: str
    kind: Kind
    sourceid: int
    source: SourceRef
    comicid: str | None
    comic: ComicSummary | None
    status: Status
    scheduledat: Time
    startedat: Time | None
    finishedat: Time | None
    pagescount: int
    errorcount: int
    lasterror: str | None
    triggeredby: str | None
    triggeredbyuser: UserRef | None
    createdat: Time
    updatedat: Time


class LogView(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a job's log."""

    id: str
    jobid: str
    level: Level
    message: str
    meta: dict[str, Any] | None
    createdat: Time


job_view = view_of(
    JobView,
    Job,
    source=lambda job: SourceRef(job.source_id, job.source_name, job.source_slug),
    comic=lambda job: (
        None
        if job.comic_id is None
        else ComicSummary(show_id(job.comic_id), job.comic_title or "", job.comic_cover_url)
    ),
    triggeredbyuser=lambda job: (
        None if job.triggered_by is None else UserRef(show_id(job.triggered_by), job.username or "")
    ),
)
_log_view = view_of(LogView, JobLogRow, "jobid")


def log_view(row: JobLogRow, job_id: PublicId) -> LogView:
    """A line as it is answered."""
    return _log_view(row, jobid=show_id(job_id))


def show_place(row: JobLogRow) -> str:
    """R49: where the next page begins; its time, and which line of that time."""
    return f"{iso(row.created_at)}_{show_id(row.id)}"


def read_place(text: str | None) -> LogPlace:
    """R49: a time, or a place that we gave; Invalid for anything else."""
    if text is None:
        return LogPlace()
    time, _, line = text.partition("_")
    line_id = read_id(line) if line else _AFTER_ALL
    try:
        at = from_iso(time)
    except ValueError:
        at = None
    if at is None or line_id is None or at < 0:
        raise Invalid(_BAD_PLACE, (Problem("since", _BAD_PLACE),))
    return LogPlace(at, line_id)
