"""How a job ends: its status, its source's count, the audit row and the task's end in one transaction (I4)."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import structlog

from tsuzuki.accounts.audit import AuditEvent, record_tx
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.coord.cache import Cache
from tsuzuki.crawler.journal import JobLog
from tsuzuki.crawler.store import end_job_tx, fail_abandoned_tx
from tsuzuki.crawler.types import BegunJob, JobId, Status
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.deadlines import with_tx_again
from tsuzuki.delivery.fanout import NOTHING, Delivered
from tsuzuki.delivery.outages import alert_operators_tx
from tsuzuki.model.ids import PublicId, SourceId, show_id
from tsuzuki.model.times import Millis
from tsuzuki.queue.errors import LeaseLost
from tsuzuki.queue.tasks import LOST, Task, finish_tx
from tsuzuki.shelves.events import JobChanged, notify_admins_tx
from tsuzuki.sources.sites import lock_source_tx, source_failed_tx, source_succeeded_tx

_log = structlog.stdlib.get_logger("tsuzuki.crawler")


class JobEnding(msgspec.Struct, frozen=True):
    """How it went; `error` is None when it went well. Only what is the source's fault counts against it."""

    error: str | None = None
    is_counted: bool = True


async def end_tx(
    tx: Tx, task: Task[Any], job: BegunJob, ending: JobEnding, *, journal: JobLog, threshold: int, now: Millis
) -> Delivered:
    """Write all that follows; LeaseLost, which undoes it, when the job was cancelled or is another worker's.

    What comes back says whom to wake after the commit.
    """
    status: Status = "done" if ending.error is None else "failed"
    await lock_source_tx(tx, job.source_id)  # before its job, like whoever asks for another one
    await journal.write_rest_tx(tx)
    if not await end_job_tx(tx, job, status, last_error=ending.error, now=now):
        raise LeaseLost([task.id])
    counted = NOTHING
    if ending.error is None:
        await source_succeeded_tx(tx, job.source_id, now)
    elif ending.is_counted:
        counted = await count_failure_tx(tx, job.source_id, job.id, threshold=threshold, now=now)
    await finish_tx(tx, task, now=now)
    await publish_jobs_tx(tx, [job.id], now)
    return counted


async def count_failure_tx(tx: Tx, source_id: SourceId, job_id: JobId, *, threshold: int, now: Millis) -> Delivered:
    """R46, REL-11: count a failure; the one that reaches the threshold disables the source and alerts operators."""
    outcome = await source_failed_tx(tx, source_id, job_id=job_id, threshold=threshold, now=now)
    if outcome is None or not outcome.is_disabled_now:
        return NOTHING
    reason = f"{outcome.consecutive_fails} crawl jobs failed in a row"
    audit_event = AuditEvent(
        "crawlersource.disable",
        "crawlersource",
        str(source_id),
        before={"isenabled": True},
        after={"isenabled": False, "consecutivefails": outcome.consecutive_fails},
        reason=reason,
    )
    await record_tx(tx, SYSTEM, audit_event, now=now)
    _log.error("source_disabled", source=outcome.name, reason=reason)
    about = f"source-{source_id}-disabled-{job_id}"
    return await alert_operators_tx(tx, outcome.name, about, reason=f"it was disabled, because {reason}", now=now)


async def fail_abandoned(db: Database, clock: Callable[[], Millis], *, threshold: int, cache: Cache) -> int:
    """R42: end jobs whose workers died too often as failed, with the reason; how many. A chore."""
    now, reason = clock(), LOST.format(losses=3)

    async def end(tx: Tx) -> int:
        ended = await fail_abandoned_tx(tx, reason=reason, now=now)
        for job in ended:
            await count_failure_tx(tx, job.source_id, job.id, threshold=threshold, now=now)
        await publish_jobs_tx(tx, [job.id for job in ended], now)
        return len(ended)

    count = await with_tx_again(db, end)  # jobs of many sources, in no order
    if count:
        await cache.forget()
    return count


q = load_queries("tsuzuki.crawler")


class JobState(msgspec.Struct, frozen=True):
    """The state of a job, for its event."""

    public_id: PublicId
    kind: str
    status: str
    source_name: str
    comic_title: str | None


async def publish_jobs_tx(tx: Tx, jobs: Iterable[JobId], now: Millis) -> None:
    """Write an event for each of these jobs. Wake `EVENTS_WAKEUP` after the commit.

    Not for scheduled polls, which are too many.
    """
    for job in await tx.bulk(JobState, q.job_news, [[job_id] for job_id in jobs]):
        news = JobChanged(
            id=show_id(job.public_id),
            kind=job.kind,
            status=job.status,
            source=job.source_name,
            comic=job.comic_title,
        )
        await notify_admins_tx(tx, news, now)
