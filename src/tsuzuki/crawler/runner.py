"""Runs crawl jobs from their queue."""

from collections.abc import Callable

import msgspec
import structlog

from tsuzuki.coord.cache import Cache
from tsuzuki.coord.wakeup import Wakeup
from tsuzuki.crawler.discovery import Discovery
from tsuzuki.crawler.journal import JOB_WAKEUP, JobLog
from tsuzuki.crawler.outcome import JobEnding, end_tx, publish_jobs_tx
from tsuzuki.crawler.store import begin_job_tx
from tsuzuki.crawler.targeted import Targeted
from tsuzuki.crawler.types import BegunJob, JobId
from tsuzuki.db import Database, Tx
from tsuzuki.model.errors import Invalid, NotFound, NotOurTurn, SourceError, TsuzukiError, Unavailable
from tsuzuki.model.ids import PublicId, show_id
from tsuzuki.model.times import Millis
from tsuzuki.queue.errors import LeaseLost, Postponed
from tsuzuki.queue.policy import CRAWL
from tsuzuki.queue.tasks import Queue, Task, skip_tx
from tsuzuki.shelves.events import EVENTS_WAKEUP
from tsuzuki.sources.sites import find_source_tx, paused_since_tx


class CrawlTask(msgspec.Struct, frozen=True):
    """A job to be done."""

    job_id: JobId


CRAWLS: Queue[CrawlTask] = Queue("crawl", CrawlTask, CRAWL)


def task_key(public_id: PublicId) -> str:
    """One task for each job."""
    return f"crawl-{show_id(public_id)}"


_log = structlog.stdlib.get_logger("tsuzuki.crawler")

_DISABLED = "The source is disabled."


class Crawler(msgspec.Struct, frozen=True):
    """Runs crawl jobs; the job records whatever happens."""

    db: Database
    wakeup: Wakeup
    clock: Callable[[], Millis]
    targeted: Targeted
    discovery: Discovery
    random_bytes: Callable[[int], bytes]
    threshold: int
    cache: Cache

    async def is_open(self) -> bool:
        """False while the operator lets no job begin."""
        return await self.db.read(paused_since_tx) is None

    async def handle(self, task: Task[CrawlTask]) -> None:
        """Begin the job, or go on with it; end it with its task. A job that is over is skipped."""
        job = await self.db.with_tx(lambda tx: self._begin_tx(tx, task))
        if job is None:
            return
        self.wakeup.wake(JOB_WAKEUP, EVENTS_WAKEUP)
        await self.cache.forget()
        journal = JobLog(self.db, job, self.clock, random_bytes=self.random_bytes, after_commit=self.wakeup.wake)
        async with journal.kept():
            ending = await self._run(job, journal)
        now = self.clock()
        journal.end(ending.error, took=Millis(now - job.started_at))
        outcome = await self.db.with_tx(
            lambda tx: end_tx(tx, task, job, ending, journal=journal, threshold=self.threshold, now=now)
        )
        self.wakeup.wake(JOB_WAKEUP, EVENTS_WAKEUP, *outcome.wakeups)
        await self.cache.forget()

    async def _begin_tx(self, tx: Tx, task: Task[CrawlTask]) -> BegunJob | None:
        now = self.clock()
        if await paused_since_tx(tx) is not None:
            raise Postponed("The crawler is paused.")  # since the gate was asked
        job = await begin_job_tx(tx, task.payload.job_id, lease_token=task.lease_token, now=now)
        if job is None:
            await skip_tx(tx, task, now=now, why="its job has ended")
        else:
            await publish_jobs_tx(tx, [job.id], now)
        return job

    async def _run(self, job: BegunJob, journal: JobLog) -> JobEnding:
        try:
            await self._do(job, journal)
        except NotOurTurn as error:  # nothing was asked, so nothing counts against the source
            return JobEnding(str(error), is_counted=False)
        except SourceError as error:
            return JobEnding(str(error))
        except (LeaseLost, Unavailable):
            raise
        except (Invalid, NotFound) as error:
            return JobEnding(str(error))
        except TsuzukiError as error:
            return JobEnding(str(error), is_counted=False)
        except Exception as error:  # noqa: BLE001  a mistake of ours must not leave the job running, nor count
            _log.exception("crawl_failed", job=show_id(job.public_id))
            return JobEnding(f"Something went wrong on the server: {type(error).__name__}.", is_counted=False)
        return JobEnding()

    async def _do(self, job: BegunJob, journal: JobLog) -> None:
        source = await self.db.read(lambda tx: find_source_tx(tx, job.source_id))
        if source is None or not source.is_enabled:
            raise TsuzukiError(_DISABLED)
        if job.kind == "targeted":
            comic = None if job.comic_id is None else show_id(job.comic_id)
            which = comic or "that is gone"
            journal.say("info", f"Starting targeted crawl for comic {which}", comicid=comic, sourceid=source.id)
            await self.targeted.run(job, journal)
        else:
            journal.say(
                "info", f"Starting discovery on {source.name}", sourceid=source.id, frompage=job.resume_from or "1"
            )
            await self.discovery.run(job, journal)
