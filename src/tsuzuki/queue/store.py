"""Queries on tasks and dead letters."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import DEAD_LETTER, check_order
from tsuzuki.model.times import HOUR, MINUTE, Millis
from tsuzuki.queue.policy import KEPT, LeasedTask, QueueSettings, storable
from tsuzuki.queue.tasks import (
    LOST,
    ClaimedRow,
    ClaimedTask,
    DeadLetter,
    DeadLetterId,
    Enqueued,
    NewTaskRow,
    QueueStats,
    Status,
    TaskId,
    enqueue_rows_tx,
    leased_rows,
)

q = load_queries("tsuzuki.queue")


class LostTask(msgspec.Struct, frozen=True):
    """A lost task, as it is now: queued again, or failed."""

    id: TaskId
    status: Status


class TaskFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a try ended, and what follows: `run_at` is None when the task is given up."""

    error: str
    code: str
    stack: str = ""
    run_at: Millis | None = None
    is_counted: bool = True


# -- working


async def claim_tx(
    tx: Tx, queue: str, settings: QueueSettings, *, worker: str, now: Millis, most: int
) -> list[ClaimedRow]:
    """Lease up to `most` due tasks, by priority and age; suspects are left to `claim_suspect_tx`."""
    lease = lease_values(queue, settings, worker=worker, now=now)
    rows = await tx.many(ClaimedRow, q.claim_tasks, **lease, most=most)
    return sorted(rows, key=lambda row: (row.priority, row.run_at, row.id))


async def has_suspect_tx(tx: Tx, queue: str, settings: QueueSettings, *, now: Millis) -> bool:
    """Whether `claim_suspect_tx` would find one."""
    return await tx.maybe(TaskId, q.find_suspect, queue=queue, now=now, suspect=settings.suspect_losses) is not None


def lease_values(queue: str, settings: QueueSettings, *, worker: str, now: Millis) -> dict[str, Any]:
    """What a claim goes by."""
    suspect = settings.suspect_losses
    return {"queue": queue, "worker": worker, "now": now, "until": now + settings.lease, "suspect": suspect}


async def fail_tx(tx: Tx, held: ClaimedTask, failure: TaskFailure, *, now: Millis) -> bool:
    """Back into the queue, or given up with a dead letter; False when the task is no longer ours."""
    given_up = failure.run_at is None
    touched = await tx.run(
        q.fail_task,
        id=held.id,
        token=held.lease_token,
        status="failed" if given_up else "queued",
        counted=int(failure.is_counted),
        run_at=now if failure.run_at is None else failure.run_at,
        error=storable(failure.error),
        now=now,
        finished_at=now if given_up else None,
    )
    if touched and given_up:
        await _add_dead_letter_tx(tx, [held.id], failure, now)
    return bool(touched)


async def release_tx(tx: Tx, tasks: Iterable[ClaimedTask], *, now: Millis) -> int:
    """Give back what was not tried to its end; how many were still ours."""
    return await tx.run(q.release_tasks, rows=leased_rows(tasks), now=now)


async def _add_dead_letter_tx(tx: Tx, task_ids: Iterable[int], failure: TaskFailure, now: Millis) -> None:
    rows = [[task_id] for task_id in task_ids]
    stack = storable(failure.stack)
    await tx.run(q.add_dead_letters, rows=rows, error_code=failure.code, stack=stack, now=now)


# -- leases


async def extend_tx(tx: Tx, tasks: Iterable[ClaimedTask], *, until: Millis) -> None:
    """A heartbeat for those that are still ours."""
    await tx.run(q.extend_leases, rows=leased_rows(tasks), until=until)


async def running_tx(tx: Tx, queue: str) -> list[LeasedTask]:
    """Every lease of this queue, whoever holds it."""
    return await tx.many(LeasedTask, q.running_tasks, queue=queue)


async def reclaim_lost_tx(
    tx: Tx, lost: Iterable[LeasedTask], settings: QueueSettings, *, now: Millis
) -> list[LostTask]:
    """Queue tasks again whose worker is gone; R42, REL-14: one that was lost too often is given up."""
    rows = [(lease.id, lease.lease_token, lease.lease_until) for lease in lost]
    error = LOST.format(losses=settings.most_losses)
    taken = await tx.bulk(LostTask, q.reclaim_lost, rows, most_losses=settings.most_losses, error=error, now=now)
    given_up = [task.id for task in taken if task.status == "failed"]
    if given_up:
        await _add_dead_letter_tx(tx, given_up, TaskFailure(error=error, code="lost"), now)
    return taken


# -- by people


async def lock_letter_tx(tx: Tx, letter_id: DeadLetterId) -> DeadLetter:
    """This dead letter, locked until the end of the transaction."""
    check_order(tx, DEAD_LETTER, letter_id)
    return await tx.one(DeadLetter, q.lock_letter, id=letter_id)


async def replay_tx(
    tx: Tx, letters: Sequence[DeadLetter], *, now: Millis, run_at: Millis | None = None
) -> list[Enqueued]:
    """Enqueue open letters again, to be tried at once or then.

    One whose key is busy stays open: the task there may carry something else.
    """
    answers: dict[DeadLetterId, Enqueued] = {}
    for queue in sorted({letter.queue for letter in letters}):
        own = [letter for letter in letters if letter.queue == queue]
        rows = [NewTaskRow(letter.key, letter.payload, letter.priority, run_at or now) for letter in own]
        answers |= zip((letter.id for letter in own), await enqueue_rows_tx(tx, queue, rows, now), strict=True)
    replayed = [(letter_id, task.id) for letter_id, task in answers.items() if task.is_new]
    if replayed:
        await tx.run(q.mark_replayed, rows=replayed, now=now)
    return [answers[letter.id] for letter in letters]


async def discard_tx(tx: Tx, letter_id: DeadLetterId, *, now: Millis) -> bool:
    """Discard a dead letter; False when it was dealt with before."""
    return bool(await tx.run(q.discard_letter, id=letter_id, now=now))


# -- housekeeping


async def queue_names_tx(tx: Tx) -> list[str]:
    """Every queue that has tasks."""
    return await tx.many(str, q.queue_names)


async def prune_tx(tx: Tx, queue: str, status: str, *, now: Millis, most: int) -> int:
    """Forget up to `most` tasks that ended like this and need not be kept (R58)."""
    kept = KEPT[status]
    old = await tx.run(q.prune_old, queue=queue, status=status, before=now - kept.age, most=most)
    if old >= most:
        return old
    return old + await tx.run(q.prune_surplus, queue=queue, status=status, kept=kept.count, most=most - old)


class _Counts(msgspec.Struct, frozen=True):
    queue: str
    due: int = 0
    scheduled: int = 0
    running: int = 0
    oldest_due_at: Millis | None = None
    finished_last_minute: int = 0
    failed_last_hour: int = 0


class _Letters(msgspec.Struct, frozen=True):
    queue: str
    letters: int


async def stats_tx(tx: Tx, *, now: Millis) -> list[QueueStats]:
    """The state of every queue that has tasks or open dead letters, by name."""
    counts = await tx.many(_Counts, q.queue_counts, now=now, minute_ago=now - MINUTE, hour_ago=now - HOUR)
    letters = {row.queue: row.letters for row in await tx.many(_Letters, q.letter_counts)}
    by_name = {name: _Counts(name) for name in letters} | {row.queue: row for row in counts}
    return [
        QueueStats(**msgspec.structs.asdict(row), dead_letters=letters.get(name, 0))
        for name, row in sorted(by_name.items())
    ]
