"""Crawl jobs as the operator manages them, and the maintenance of their records."""

from collections.abc import AsyncGenerator, Callable, Sequence

import msgspec

from tsuzuki.accounts.audit import AuditEvent, record_tx
from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import Actor, Slice
from tsuzuki.coord.cache import Cache
from tsuzuki.coord.wakeup import Wakeup
from tsuzuki.crawler.journal import JOB_WAKEUP
from tsuzuki.crawler.outcome import publish_jobs_tx
from tsuzuki.crawler.runner import CRAWLS, CrawlTask, task_key
from tsuzuki.crawler.store import (
    NewJob,
    add_job_tx,
    add_write_tx,
    append_log_tx,
    cancel_job_tx,
    cancel_queued_tx,
    count_archived_tx,
    count_log_tx,
    count_writes_tx,
    find_active_tx,
    find_job_tx,
    forget_tallies_tx,
    forget_uneventful_tx,
    has_running_tx,
    job_targets_tx,
    list_jobs_tx,
    list_log_tx,
    set_task_tx,
)
from tsuzuki.crawler.types import OVER, Job, JobFilter, JobLogLine, JobLogRow, Level, LogPage, LogPlace
from tsuzuki.db import Database, Tx
from tsuzuki.db.errors import Contention
from tsuzuki.model.errors import Conflict, Invalid, NotFound, Problem
from tsuzuki.model.ids import PublicId, SeriesId, SourceId, show_id, uuid7
from tsuzuki.model.times import DAY, Millis
from tsuzuki.queue.leases import cancel_wakeup
from tsuzuki.queue.tasks import TaskId, cancel_tx, enqueue_tx
from tsuzuki.shelves.events import EVENTS_WAKEUP
from tsuzuki.sources.series import find_series_tx
from tsuzuki.sources.sites import NO_SOURCE, find_source_tx, lock_source_tx
from tsuzuki.sources.types import Source

_PAGE = 500
_FLOOR = 1.0
"""Without a wake-up it is looked at so often."""
_SILENCE = 15
"""After so many looks without news, a sign of life."""


class Follower:
    """Follows jobs."""

    def __init__(self, db: Database, wakeup: Wakeup) -> None:
        self._db = db
        self._wakeup = wakeup
        self._is_closed = False

    def close(self) -> None:
        """End every stream within a second: the process stops, and whoever listens comes back elsewhere."""
        self._is_closed = True
        self._wakeup.wake(JOB_WAKEUP)

    async def follow(self, public_id: PublicId, after: LogPlace) -> AsyncGenerator[Job | JobLogRow | None, None]:
        """Every line from `after` on and the job whenever it changed, until it is over; None is a sign of life."""
        seen: Job | None = None
        silent = 0
        with self._wakeup.listen(JOB_WAKEUP) as listener:
            while not self._is_closed:
                job, lines = await self._look(public_id, after)
                for line in lines:
                    after = LogPlace(line.created_at, line.id)
                    yield line
                if len(lines) == _PAGE:
                    continue
                silent = 0 if lines or job != seen else silent + 1
                if job != seen:
                    seen = job
                    yield job
                if job.status in OVER:
                    return
                if silent >= _SILENCE:
                    silent = 0
                    yield None
                await listener.wait(_FLOOR)

    async def _look(self, public_id: PublicId, after: LogPlace) -> tuple[Job, list[JobLogRow]]:
        """The job first: when it is over, all its lines are there."""

        async def read(tx: Tx) -> tuple[Job, list[JobLogRow]]:
            job = await job_tx(tx, public_id)
            return job, await list_log_tx(tx, job.id, after=after, level=None, most=_PAGE)

        return await self._db.read(read)


ENTITY = "crawljob"
NO_JOB = "Job not found"
_DISABLED = "Source is disabled. Enable the source before triggering a job."
_NOT_LINKED = "Comic is not linked to this source (no comicsource mapping found)."
_ACTIVE = "A job for this comic and source is already queued or running."
_OVER = "Job cannot be cancelled — it has already finished"
_ROUNDS = 5


class NewCrawlJob(msgspec.Struct, frozen=True):
    """A job that somebody wants; without a comic it is a discovery, without a time it is due now."""

    source_id: int
    comic_id: PublicId | None = None
    scheduled_at: Millis | None = None


class JobExists(Conflict):
    """R54, REL-07: the active job that is in the way, by its id."""

    def __init__(self, job_id: PublicId) -> None:
        super().__init__(_ACTIVE)
        self.problems = (Problem("jobid", show_id(job_id)),)


class Jobs(msgspec.Struct, frozen=True):
    """The crawl jobs of this server."""

    db: Database
    wakeup: Wakeup
    clock: Callable[[], Millis]
    random_bytes: Callable[[int], bytes]
    cache: Cache

    # -- looking

    async def list(self, wanted: JobFilter, part: Slice) -> tuple[Sequence[Job], int]:
        """In the wanted order, and how many there are in all."""
        return await self.db.read(lambda tx: list_jobs_tx(tx, wanted, part))

    async def get(self, public_id: PublicId) -> Job:
        """One job, or NotFound."""
        return await self.db.read(lambda tx: job_tx(tx, public_id))

    async def log(self, public_id: PublicId, *, after: LogPlace, level: Level | None, most: int) -> LogPage:
        """The next lines of a job's log, how many there are in all, and how many are in the archive."""

        async def read(tx: Tx) -> LogPage:
            job = await job_tx(tx, public_id)
            rows = await list_log_tx(tx, job.id, after=after, level=level, most=most)
            return LogPage(rows, await count_log_tx(tx, job.id, level), await count_archived_tx(tx, job.id))

        return await self.db.read(read)

    async def problems(self, wanted: NewCrawlJob) -> Sequence[Problem]:
        """What keeps such a job from being queued, as far as the job itself is to blame."""

        async def read(tx: Tx) -> Sequence[Problem]:
            return (await _fitting_tx(tx, await find_source_tx(tx, wanted.source_id), wanted))[1]

        return await self.db.read(read)

    # -- doing

    async def trigger(self, caller: Caller, wanted: NewCrawlJob) -> Job:
        """A queued job. R40: the row and its task are written together; the wake-up only saves waiting."""
        now = self.clock()
        job = await self.db.with_tx(lambda tx: self._trigger_tx(tx, caller, wanted, now))
        self.wakeup.wake(CRAWLS.name, JOB_WAKEUP, EVENTS_WAKEUP)
        await self.cache.forget()
        return job

    async def _trigger_tx(self, tx: Tx, caller: Caller, wanted: NewCrawlJob, now: Millis) -> Job:
        new = await self._new_job_tx(tx, caller, wanted, now)
        for _ in range(_ROUNDS):
            job_id = await add_job_tx(tx, new, now)
            if job_id is not None:
                break
            # What was in the way and ended before we could look at it is no longer in the way.
            if (active := await find_active_tx(tx, new)) is not None:
                raise JobExists(active)
        else:
            raise Contention("The jobs of this source changed too quickly. Try again.")
        key, payload = task_key(new.public_id), CrawlTask(job_id)
        task = await enqueue_tx(tx, CRAWLS, key, payload, now=now, run_at=new.scheduled_at)  # R41
        await set_task_tx(tx, job_id, task.id)
        job = await job_tx(tx, new.public_id)
        comic = None if job.comic_id is None else show_id(job.comic_id)
        after = {"kind": job.kind, "sourceid": job.source_id, "comicid": comic}
        audit_event = AuditEvent(f"{ENTITY}.create", ENTITY, show_id(job.public_id), after=after)
        await record_tx(tx, caller.actor, audit_event, now=now)
        await publish_jobs_tx(tx, [job_id], now)
        return job

    async def _new_job_tx(self, tx: Tx, caller: Caller, wanted: NewCrawlJob, now: Millis) -> NewJob:
        source = await lock_source_tx(tx, wanted.source_id)  # held: it cannot go before the job is in
        series_id, problems = await _fitting_tx(tx, source, wanted)
        if source is None:
            raise NotFound(NO_SOURCE)
        if problems:
            raise Invalid(problems[0].message, tuple(problems))
        return NewJob(
            public_id=uuid7(now, self.random_bytes(10)),
            kind="discovery" if wanted.comic_id is None else "targeted",
            source_id=source.id,
            source_name=source.name,
            source_slug=source.slug,
            series_id=series_id,
            scheduled_at=now if wanted.scheduled_at is None else wanted.scheduled_at,
            triggered_by=caller.user_id,
        )

    async def cancel(self, actor: Actor, public_id: PublicId, *, reason: str | None) -> Job:
        """R45: one conditional update. What runs is stopped within a second, its requests with it."""
        now = self.clock()

        async def end(tx: Tx) -> Job:
            ended = await cancel_job_tx(tx, public_id, now)
            if ended is None:
                await job_tx(tx, public_id)
                raise Invalid(_OVER)
            await cancel_tx(tx, TaskId(ended.task_id), now=now)
            said = JobLogLine("warn", "Job cancelled", {"reason": reason, "by": actor.name})
            await append_log_tx(tx, ended.id, [said], now=now, random_bytes=self.random_bytes)
            job = await job_tx(tx, public_id)
            audit_event = AuditEvent(
                f"{ENTITY}.cancel", ENTITY, show_id(public_id), after={"status": job.status}, reason=reason
            )
            await record_tx(tx, actor, audit_event, now=now)
            await publish_jobs_tx(tx, [ended.id], now)
            return job

        job = await self.db.with_tx(end)
        self.wakeup.wake(cancel_wakeup(CRAWLS.name), JOB_WAKEUP, EVENTS_WAKEUP)
        await self.cache.forget()
        return job


async def job_tx(tx: Tx, public_id: PublicId) -> Job:
    """The job, or NotFound."""
    job = await find_job_tx(tx, public_id)
    if job is None:
        raise NotFound(NO_JOB)
    return job


async def _fitting_tx(tx: Tx, source: Source | None, wanted: NewCrawlJob) -> tuple[SeriesId | None, list[Problem]]:
    """The series that is meant, if any, and all that keeps the job from being queued."""
    if source is None:
        return None, []
    problems = [] if source.is_enabled else [Problem("sourceid", _DISABLED)]
    if wanted.comic_id is None:
        return None, problems
    comic_id = await find_series_tx(tx, wanted.comic_id)  # or what it was merged into
    if comic_id is None or not await job_targets_tx(tx, comic_id, source.id):
        return None, [*problems, Problem("comicid", _NOT_LINKED)]
    return comic_id, problems


CHUNK = 1_000
KEPT = DAY
"""How long a scheduled poll that says nothing is kept."""
TALLIES_KEPT = Millis(8 * DAY)
"""A day longer than health looks back."""


async def forget_uneventful(db: Database, now: Millis) -> int:
    """Forget scheduled polls of yesterday that found nothing new and met no error; how many. Their tally stays."""
    before = Millis(now - KEPT)
    total = 0
    while gone := await db.with_tx(lambda tx: forget_uneventful_tx(tx, before=before, most=CHUNK)):
        total += gone
    await db.with_tx(lambda tx: forget_tallies_tx(tx, before=Millis(now - TALLIES_KEPT)))
    return total


class CrawlerWrites:
    """Writes of any process to what the crawler's answers show."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def count(self) -> int:
        """How many writes to sources there were."""
        return await self._db.read(count_writes_tx)

    async def add(self) -> None:
        """Once more; after the commit of what was written."""
        await self._db.with_tx(add_write_tx)


_RUNNING = "Cannot delete a source with running jobs. Cancel all jobs first."


async def release_source_tx(tx: Tx, source_id: SourceId, now: Millis) -> None:
    """Cancel what waits; Conflict while something runs. Finished jobs keep the source's name themselves."""
    if await has_running_tx(tx, source_id):
        raise Conflict(_RUNNING)
    for job in await cancel_queued_tx(tx, source_id, now):
        await cancel_tx(tx, TaskId(job.task_id), now=now)
