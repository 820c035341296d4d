"""Queries on crawl jobs and their logs."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from tsuzuki.accounts.types import Slice
from tsuzuki.crawler.types import (
    BegunJob,
    CrawlTarget,
    EndedJob,
    Job,
    JobFilter,
    JobId,
    JobLogLine,
    JobLogRow,
    JobStats,
    Kind,
    LastFailure,
    Level,
    LogPlace,
    SourceWatches,
    Status,
    StatusCount,
)
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import PublicId, SeriesId, SourceId, UserId, uuid7
from tsuzuki.model.secrets import mask_text
from tsuzuki.model.times import HOUR, Millis
from tsuzuki.queue.policy import storable

q = load_queries("tsuzuki.crawler")

_LOW_BITS = 20
_NONE = PublicId(bytes(16))
_Narrow = Literal["comic", "not done", "people", "source", "all"]


class NewJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job to be queued."""

    public_id: PublicId
    kind: Kind
    source_id: SourceId
    source_name: str
    source_slug: str
    series_id: SeriesId | None
    scheduled_at: Millis
    triggered_by: UserId | None


class PolledJob(msgspec.Struct, frozen=True, kw_only=True):
    """A scheduled poll of a series that is over."""

    public_id: PublicId
    source_id: SourceId
    source_name: str
    source_slug: str
    series_id: SeriesId
    status: Status
    started_at: Millis
    pages: int
    errors: int
    last_error: str | None


class _Reserved(msgspec.Struct, frozen=True):
    count: int
    at: Millis


class _Gone(msgspec.Struct, frozen=True):
    source_id: SourceId
    started_at: Millis
    finished_at: Millis


class _Tally(msgspec.Struct, frozen=True):
    source_id: SourceId
    hour: int
    jobs: int = 0
    spent: int = 0
    longest: int = 0

    def plus(self, took: int) -> "_Tally":
        return _Tally(self.source_id, self.hour, self.jobs + 1, self.spent + took, max(self.longest, took))


# -- jobs


async def add_job_tx(tx: Tx, new: NewJob, now: Millis) -> JobId | None:
    """A queued job; None while one of the same kind for the same source and comic is active (R43)."""
    return await tx.maybe(JobId, q.add_job, **msgspec.structs.asdict(new), now=now)


async def add_polled_job_tx(
    tx: Tx, job: PolledJob, lines: Sequence[JobLogLine], *, now: Millis, random_bytes: Callable[[int], bytes]
) -> None:
    """A job that is over, with its log. It was never active, so none is in its way (R43)."""
    values = msgspec.structs.asdict(job) | {"last_error": _in_words(job.last_error)}
    job_id = await tx.one(JobId, q.add_polled_job, **values, lines=len(lines), now=now)
    if lines:
        await _add_log_tx(tx, job_id, lines, first=0, at=now, random_bytes=random_bytes)


async def find_active_tx(tx: Tx, new: NewJob) -> PublicId | None:
    """The active job that is in the way of this one."""
    series_id = new.series_id or 0
    return await tx.maybe(PublicId, q.find_active, source_id=new.source_id, kind=new.kind, series_id=series_id)


async def set_task_tx(tx: Tx, job_id: JobId, task_id: int) -> None:
    """Remember the task whose lease is the job's."""
    await tx.run(q.set_task, id=job_id, task_id=task_id)


async def list_jobs_tx(tx: Tx, wanted: JobFilter, part: Slice) -> tuple[list[Job], int]:
    """In the wanted order, and how many there are in all."""
    filters: dict[str, Any] = {
        "statuses": f",{','.join(wanted.statuses)}," if wanted.statuses else None,
        "source_id": wanted.source_id,
        "has_comic": wanted.comic_id is not None,
        "comic_id": wanted.comic_id or _NONE,
        "is_manual": wanted.is_manual,
        "since": wanted.since,
    }
    narrow = _narrowest(wanted)
    total = await _count_tx(tx, narrow, filters)
    page = filters | {"most": part.most, "skip": part.skip}
    if wanted.sort != "scheduledat" and narrow not in ("all", "source"):
        return await _sorted_tx(tx, narrow, page | {"is_by_pages": wanted.sort == "pagescount"}), total
    if wanted.sort == "finishedat":
        return await tx.many(Job, q.list_jobs_finished, **page), total
    if wanted.sort == "pagescount":
        return await _by_pages_tx(tx, filters, part), total
    return await _by_schedule_tx(tx, narrow, page), total


def _narrowest(wanted: JobFilter) -> _Narrow:
    """By what to look at the fewest rows: a condition that may be none finds no index."""
    if wanted.comic_id is not None:
        return "comic"
    if wanted.statuses and "done" not in wanted.statuses:
        return "not done"
    if wanted.is_manual:
        return "people"
    return "all" if wanted.source_id is None else "source"


async def _count_tx(tx: Tx, narrow: _Narrow, filters: dict[str, Any]) -> int:
    match narrow:
        case "comic":
            return await tx.one(int, q.count_jobs_of_comic, **filters)
        case "not done":
            return await tx.one(int, q.count_jobs_not_done, **filters)
        case "people":
            return await tx.one(int, q.count_jobs_of_people, **filters)
        case "source":
            return await tx.one(int, q.count_jobs_of_source, **filters)
    return await tx.one(int, q.count_jobs, **filters)


async def _by_schedule_tx(tx: Tx, narrow: _Narrow, page: dict[str, Any]) -> list[Job]:
    match narrow:
        case "comic":
            return await tx.many(Job, q.list_jobs_of_comic, **page)
        case "not done":
            return await tx.many(Job, q.list_jobs_not_done, **page)
        case "people":
            return await tx.many(Job, q.list_jobs_of_people, **page)
        case "source":
            return await tx.many(Job, q.list_jobs_of_source, **page)
    return await tx.many(Job, q.list_jobs, **page)


async def _sorted_tx(tx: Tx, narrow: _Narrow, page: dict[str, Any]) -> list[Job]:
    match narrow:
        case "comic":
            return await tx.many(Job, q.sort_jobs_of_comic, **page)
        case "people":
            return await tx.many(Job, q.sort_jobs_of_people, **page)
    return await tx.many(Job, q.sort_jobs_not_done, **page)


async def _by_pages_tx(tx: Tx, filters: dict[str, Any], part: Slice) -> list[Job]:
    """Those with pages, most first, then the many without."""
    rows = await tx.many(Job, q.list_jobs_with_pages, **filters, most=part.most, skip=part.skip)
    if len(rows) == part.most:
        return rows
    before = part.skip + len(rows) if rows else await tx.one(int, q.count_jobs_with_pages, **filters)
    rest = Slice(most=part.most - len(rows), skip=max(part.skip - before, 0))
    return rows + await tx.many(Job, q.list_jobs_without_pages, **filters, most=rest.most, skip=rest.skip)


async def find_job_tx(tx: Tx, public_id: PublicId) -> Job | None:
    """One job."""
    return await tx.maybe(Job, q.find_job, public_id=public_id)


async def begin_job_tx(tx: Tx, job_id: JobId, *, lease_token: int, now: Millis) -> BegunJob | None:
    """Run it, or go on with it; None when it is over."""
    return await tx.maybe(BegunJob, q.begin_job, id=job_id, lease_token=lease_token, now=now)


async def move_job_tx(
    tx: Tx, job: BegunJob, *, pages: int = 0, errors: int = 0, resume_from: str | None = None, now: Millis
) -> bool:
    """Count up; False when the job is no longer ours."""
    values = {"pages": pages, "errors": errors, "resume_from": resume_from}
    return bool(await tx.run(q.move_job, id=job.id, lease_token=job.lease_token, **values, now=now))


async def end_job_tx(tx: Tx, job: BegunJob, status: Status, *, last_error: str | None, now: Millis) -> bool:
    """End a running job; False when it is over already, or no longer ours (R45)."""
    error = _in_words(last_error)
    touched = await tx.run(q.end_job, id=job.id, lease_token=job.lease_token, status=status, last_error=error, now=now)
    return bool(touched)


def _in_words(error: str | None) -> str | None:
    """A reason as it is kept: without secrets (R47)."""
    return None if error is None else storable(mask_text(error))


async def cancel_job_tx(tx: Tx, public_id: PublicId, now: Millis) -> EndedJob | None:
    """Cancel an active job; None when there is none (R45)."""
    return await tx.maybe(EndedJob, q.cancel_job, public_id=public_id, now=now)


async def has_running_tx(tx: Tx, source_id: SourceId) -> bool:
    """Whether a job of this source runs."""
    return await tx.one(bool, q.has_running, source_id=source_id)


async def cancel_queued_tx(tx: Tx, source_id: SourceId, now: Millis) -> list[EndedJob]:
    """Cancel what waits for this source."""
    return await tx.many(EndedJob, q.cancel_queued, source_id=source_id, now=now)


async def fail_abandoned_tx(tx: Tx, *, reason: str, now: Millis) -> list[EndedJob]:
    """End jobs whose task was given up (R42)."""
    return await tx.many(EndedJob, q.fail_abandoned, reason=reason, now=now)


async def job_targets_tx(tx: Tx, series_id: SeriesId, source_id: SourceId) -> list[CrawlTarget]:
    """The active mappings of a comic on a source."""
    return await tx.many(CrawlTarget, q.job_targets, series_id=series_id, source_id=source_id)


# -- logs


async def append_log_tx(
    tx: Tx,
    job_id: JobId,
    lines: Sequence[JobLogLine],
    *,
    now: Millis,
    random_bytes: Callable[[int], bytes],
    lease_token: int | None = None,
) -> bool:
    """Write lines in their order; False when the job is no longer its worker's. R52: nothing ever changes them."""
    if not lines:
        return True
    place = await tx.maybe(_Reserved, q.reserve_log, id=job_id, lines=len(lines), now=now, lease_token=lease_token)
    if place is None:
        return False
    await _add_log_tx(tx, job_id, lines, first=place.count - len(lines), at=place.at, random_bytes=random_bytes)
    return True


async def _add_log_tx(
    tx: Tx, job_id: JobId, lines: Sequence[JobLogLine], *, first: int, at: Millis, random_bytes: Callable[[int], bytes]
) -> None:
    rows = [
        {
            "id": log_id(at, first + index, random_bytes).hex(),
            "level": line.level,
            "message": storable(line.message),
            "meta": None if line.meta is None else storable_json(line.meta),
        }
        for index, line in enumerate(lines)
    ]
    await tx.run(q.add_log, job_id=job_id, at=at, rows=rows)


def log_id(at: Millis, number: int, random_bytes: Callable[[int], bytes]) -> PublicId:
    """A UUIDv7 that sorts by the line's number within one millisecond (R49)."""
    high, low = number >> _LOW_BITS & 0xFFF, number & (1 << _LOW_BITS) - 1
    tail = int.from_bytes(random_bytes(8), "big") & (1 << 62 - _LOW_BITS) - 1
    return uuid7(at, high.to_bytes(2, "big") + (low << 62 - _LOW_BITS | tail).to_bytes(8, "big"))


def storable_json(meta: dict[str, Any]) -> str:
    """JSON that both engines take: no NUL, no half of a character."""
    return msgspec.json.encode(_storable(meta)).decode().replace("\\u0000", "\ufffd")


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(str(name)): _storable(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(inner) for inner in value]
    return value


async def list_log_tx(tx: Tx, job_id: JobId, *, after: LogPlace, level: Level | None, most: int) -> list[JobLogRow]:
    """The next lines, the oldest first."""
    return await tx.many(
        JobLogRow, q.list_log, job_id=job_id, after_at=after.at, after_id=after.id, level=level, most=most
    )


async def count_log_tx(tx: Tx, job_id: JobId, level: Level | None) -> int:
    """How many lines a job has, of this level or of any."""
    return await tx.one(int, q.count_log, job_id=job_id, level=level)


async def count_archived_tx(tx: Tx, job_id: JobId) -> int:
    """How many lines of a job are in the archive."""
    return max(0, await tx.one(int, q.count_archived, job_id=job_id))


# -- kept answers


async def count_writes_tx(tx: Tx) -> int:
    """How often something was written that a kept answer could show."""
    return await tx.maybe(int, q.count_writes) or 0


async def add_write_tx(tx: Tx) -> None:
    """Count one more write to sources."""
    await tx.run(q.add_write)


# -- health


async def count_by_status_tx(tx: Tx, source_id: SourceId) -> dict[Status, int]:
    """How many jobs a source has of each status that occurs."""
    rows = await tx.many(StatusCount, q.count_by_status, source_id=source_id)
    return {row.status: row.jobs for row in rows}


async def last_job_tx(tx: Tx, source_id: SourceId, now: Millis) -> Job | None:
    """The newest whose time has come, and that was not cancelled before it began."""
    return await tx.maybe(Job, q.last_job, source_id=source_id, now=now)


async def job_stats_tx(tx: Tx, source_id: SourceId, since: Millis) -> JobStats:
    """How the jobs went that ended since then; of what was forgotten, to the hour."""
    return await tx.one(JobStats, q.job_stats, source_id=source_id, since=since)


async def forget_uneventful_tx(tx: Tx, *, before: Millis, most: int) -> int:
    """Forget up to `most` scheduled polls that ended before then and say nothing; how many. Their tally stays."""
    gone = await tx.many(_Gone, q.forget_uneventful, before=before, most=most)
    tallies: dict[tuple[SourceId, int], _Tally] = {}
    for job in gone:
        key = job.source_id, job.finished_at // HOUR
        tallies[key] = tallies.get(key, _Tally(*key)).plus(job.finished_at - job.started_at)
    if tallies:
        await tx.run(q.add_tallies, rows=[msgspec.structs.astuple(tally) for tally in tallies.values()])
    return len(gone)


async def forget_tallies_tx(tx: Tx, *, before: Millis) -> int:
    """Forget tallies of hours that nobody asks for any more."""
    return await tx.run(q.forget_tallies, before=before // HOUR)


async def watching_tx(tx: Tx, source_id: SourceId, *, breaker_at: int) -> SourceWatches:
    """How the watches of a source fare."""
    return await tx.one(SourceWatches, q.watching, source_id=source_id, breaker_at=breaker_at)


async def last_failure_tx(tx: Tx, source_id: SourceId) -> LastFailure | None:
    """What failed last, triggered or scheduled."""
    return await tx.maybe(LastFailure, q.last_failure, source_id=source_id)
