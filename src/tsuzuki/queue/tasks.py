"""Queues and tasks: enqueued, finished and cancelled inside the caller's transaction."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Generic, Literal, NewType, Protocol, TypeVar

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.errors import Contention
from tsuzuki.db.rows import in_portions
from tsuzuki.model.times import Millis
from tsuzuki.queue.errors import LeaseLost, Undecodable
from tsuzuki.queue.policy import QueueSettings, storable

q = load_queries("tsuzuki.queue")

LOST = "Its worker died or stopped answering, {losses} times."
_ROUNDS = 5
_PORTION = 256 * 1024  # characters of payload in one statement


TaskId = NewType("TaskId", int)
DeadLetterId = NewType("DeadLetterId", int)
Status = Literal["queued", "running", "done", "failed", "cancelled", "skipped"]
Ending = Literal["done", "skipped"]

P = TypeVar("P", bound=msgspec.Struct)


class Queue(msgspec.Struct, Generic[P], frozen=True):
    """A queue and the Struct that its tasks carry."""

    name: str
    payload: type[P]
    settings: QueueSettings = QueueSettings()

    def decode(self, text: str) -> P:
        """The payload as it was enqueued; Undecodable when it is something else (R58)."""
        try:
            return msgspec.json.decode(text, type=self.payload)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Undecodable(f"This is not a {self.payload.__name__}: {error}") from error


class NewTask(msgspec.Struct, Generic[P], frozen=True):
    """A task to be enqueued. Priorities are 1 (first) to 3; without `run_at` it is due at once."""

    key: str
    payload: P
    priority: int = 2
    run_at: Millis | None = None


class Enqueued(msgspec.Struct, frozen=True):
    """The task under that key; not new when one was queued or running already."""

    id: TaskId
    is_new: bool


class ClaimedTask(Protocol):
    """A task and the token that it was claimed with."""

    @property
    def id(self) -> TaskId: ...

    @property
    def lease_token(self) -> int: ...

    @property
    def key(self) -> str: ...


class ClaimedRow(msgspec.Struct, frozen=True):
    """A task as the database gives it to a worker."""

    id: TaskId
    lease_token: int
    key: str
    payload: str
    priority: int
    run_at: Millis
    attempts: int
    losses: int
    created_at: Millis


class Task(msgspec.Struct, Generic[P], kw_only=True):
    """A task that is this worker's for as long as its lease is kept."""

    id: TaskId
    lease_token: int
    key: str
    payload: P
    priority: int
    attempt: int
    """1 for the first try; tries that died with their worker do not count."""
    losses: int
    created_at: Millis
    is_finished: bool = False
    """Set by `finish_tx`, so that a handler that forgot it is seen."""


class DeadLetter(msgspec.Struct, frozen=True):
    """A task that was given up, with all that is needed to replay it (R55)."""

    id: DeadLetterId
    task_id: TaskId
    queue: str
    key: str
    payload: str
    priority: int
    error: str
    error_code: str
    stack: str
    attempts: int
    first_failed_at: Millis
    last_failed_at: Millis
    replayed_at: Millis | None
    replayed_as: TaskId | None
    discarded_at: Millis | None


class LetterFilter(msgspec.Struct, frozen=True):
    """Which dead letters; None means any."""

    queue: str | None = None
    error_code: str | None = None
    key: str | None = None

    def parameters(self) -> dict[str, Any]:
        """The parameters of the queries."""
        return {"queue": self.queue, "error_code": self.error_code, "key": self.key}


class QueueStats(msgspec.Struct, frozen=True):
    """The state of a queue, for metrics and the admin page."""

    queue: str
    due: int
    scheduled: int
    running: int
    oldest_due_at: Millis | None
    finished_last_minute: int
    failed_last_hour: int
    dead_letters: int

    @property
    def depth(self) -> int:
        """All that is still to be done."""
        return self.due + self.scheduled + self.running

    def oldest_age(self, now: Millis) -> Millis:
        """How long the oldest due task has been waiting."""
        return Millis(max(0, now - self.oldest_due_at)) if self.oldest_due_at is not None else Millis(0)


class _KeyedTask(msgspec.Struct, frozen=True):
    id: TaskId
    key: str


class NewTaskRow(msgspec.Struct, frozen=True):
    """A task to be enqueued, its payload encoded."""

    key: str
    payload: str
    priority: int
    run_at: Millis


class _Token(msgspec.Struct, frozen=True):
    id: TaskId
    token: int


async def enqueue_tx(
    tx: Tx,
    queue: Queue[P],
    key: str,
    payload: P,
    *,
    now: Millis,
    run_at: Millis | None = None,
    priority: int = 2,
) -> Enqueued:
    """The task under this key: a new one, or the one that is queued or running already."""
    return (await enqueue_many_tx(tx, queue, [NewTask(key, payload, priority, run_at)], now=now))[0]


async def enqueue_many_tx(tx: Tx, queue: Queue[P], wanted: Iterable[NewTask[P]], *, now: Millis) -> list[Enqueued]:
    """One answer for each wanted task, in their order; of those with the same key the first counts."""
    tasks = sorted(enumerate(wanted), key=lambda numbered: numbered[1].key)
    rows = (
        NewTaskRow(task.key, msgspec.json.encode(task.payload).decode(), task.priority, task.run_at or now)
        for _, task in tasks
    )
    portions = in_portions(rows, size=lambda row: len(row.payload), most=_PORTION)
    found = [answer for some in portions for answer in await enqueue_rows_tx(tx, queue.name, some, now)]
    answers = {number: answer for (number, _), answer in zip(tasks, found, strict=True)}
    return [answers[number] for number in range(len(tasks))]


async def enqueue_rows_tx(tx: Tx, queue: str, rows: Sequence[NewTaskRow], now: Millis) -> list[Enqueued]:
    """Enqueue; a task in the way that ended meanwhile is no longer in the way (REL-07)."""
    if not rows:
        return []
    # Everyone inserts in the order of the keys: two batches that overlap then wait, and do not deadlock.
    first = {row.key: row for row in reversed(rows)}
    missing = dict(sorted(first.items()))
    found: dict[str, Enqueued] = {}
    for _ in range(_ROUNDS):
        for new in await tx.bulk(_KeyedTask, q.enqueue, missing.values(), queue=queue, now=now):
            found[new.key] = Enqueued(new.id, is_new=True)
        repeats = [[key] for key in missing if key not in found]
        if repeats:
            for active in await tx.bulk(_KeyedTask, q.find_active, repeats, queue=queue):
                found[active.key] = Enqueued(active.id, is_new=False)
        missing = {key: row for key, row in missing.items() if key not in found}
        if not missing:
            return _in_order([row.key for row in rows], found)
    raise Contention(f"The tasks {', '.join(missing)} changed too quickly. Try again.")


def _in_order(keys: Iterable[str], found: dict[str, Enqueued]) -> list[Enqueued]:
    answers = []
    for key in keys:
        answers.append(found[key])
        found[key] = Enqueued(found[key].id, is_new=False)
    return answers


async def finish_tx(tx: Tx, *tasks: Task[Any], now: Millis, status: Ending = "done", note: str | None = None) -> None:
    """End tasks in the transaction of their effect; LeaseLost, which undoes it, when one is no longer ours (I4)."""
    held = leased_rows(tasks)
    if await tx.run(q.finish_tasks, rows=held, status=status, note=note and storable(note), now=now) != len(held):
        raise LeaseLost(await lost_by_us_tx(tx, tasks) or [task.id for task in tasks])
    for task in tasks:
        task.is_finished = True


async def advance_tx(tx: Tx, task: Task[P], left: P) -> None:
    """Store what is left of a task in the transaction of what was done of it; LeaseLost, which undoes it, as above.

    Failures are counted anew: they were those of what is done.
    """
    payload = msgspec.json.encode(left).decode()
    if not await tx.run(q.advance_task, id=task.id, token=task.lease_token, payload=payload):
        raise LeaseLost([task.id])


async def withdraw_tx(tx: Tx, queue: str, prefix: str, now: Millis) -> None:
    """Cancel whatever is queued, running or given up under keys that begin with `prefix`, which ends in "-"."""
    keys = _keys_from(queue, prefix)
    await tx.run(q.withdraw_tasks, **keys, now=now)
    await tx.run(q.withdraw_letters, **keys, now=now)


async def open_payloads_tx(tx: Tx, queue: Queue[P], prefix: str) -> list[P]:
    """What `withdraw_tx` would cancel, the oldest first, without what does not decode."""
    found = []
    for text in await tx.many(str, q.open_payloads, **_keys_from(queue.name, prefix)):
        with suppress(Undecodable):
            found.append(queue.decode(text))
    return found


def _keys_from(queue: str, prefix: str) -> dict[str, str]:
    return {"queue": queue, "prefix": prefix, "beyond": prefix.removesuffix("-") + "."}


async def skip_tx(tx: Tx, *tasks: Task[Any], now: Millis, why: str) -> None:
    """End tasks that have become pointless, such as one whose watch is gone (R58)."""
    await finish_tx(tx, *tasks, now=now, status="skipped", note=why)


def leased_rows(tasks: Iterable[ClaimedTask]) -> list[tuple[int, int]]:
    """Ids with the tokens of their leases."""
    return [(task.id, task.lease_token) for task in tasks]


async def lost_by_us_tx(tx: Tx, tasks: Iterable[ClaimedTask]) -> list[TaskId]:
    """Which of our tasks were cancelled or taken by another: that changes the token, finishing keeps it."""
    ours = {task.id: task.lease_token for task in tasks}
    tokens = await tx.bulk(_Token, q.lease_tokens, [[task_id] for task_id in ours])
    return [row.id for row in tokens if row.token != ours[row.id]]


async def cancel_tx(tx: Tx, task_id: TaskId, *, now: Millis) -> str | None:
    """Cancel what is queued or running; the queue whose workers to wake, or None when the task was over (R45)."""
    return await tx.maybe(str, q.cancel_task, id=task_id, now=now)


async def settle_letters_tx(tx: Tx, queue: str, tasks: Iterable[Task[Any]], *, now: Millis) -> int:
    """Close the open dead letters under these tasks' keys, whose work is done now; how many."""
    return await tx.run(q.settle_letters, queue=queue, rows=[(task.key, task.id) for task in tasks], now=now)


async def last_run_at_tx(tx: Tx, queue: str, key: str) -> Millis:
    """When the newest task under this key that is over was due; 0 when none is remembered."""
    return await tx.one(Millis, q.last_run_at, queue=queue, key=key)


async def run_earlier_tx(tx: Tx, queue: str, key: str, run_at: Millis) -> bool:
    """Have what is queued under this key run no later than then; False when it does already."""
    return bool(await tx.run(q.run_earlier, queue=queue, key=key, run_at=run_at))
