"""A queue, its workers and their effects, in this process and in others."""

import asyncio
import contextlib
import itertools
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.builders import NOON
from tsuzuki.coord.redis_client import RedisTransport
from tsuzuki.coord.wakeup import MemoryWakeup, SharedWakeup, Wakeup
from tsuzuki.db import Database, DatabaseOptions, Tx, open_database
from tsuzuki.db.postgres_transport import PostgresTransport
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.times import Millis
from tsuzuki.queue.leases import WorkerContext, cancel_wakeup
from tsuzuki.queue.policy import QueueSettings
from tsuzuki.queue.service import Tasks
from tsuzuki.queue.store import claim_tx
from tsuzuki.queue.tasks import (
    Enqueued,
    NewTask,
    Queue,
    Status,
    Task,
    TaskId,
    cancel_tx,
    enqueue_many_tx,
    enqueue_tx,
    finish_tx,
)
from tsuzuki.queue.worker import Worker

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 20.0

_names = itertools.count(1)


class Note(msgspec.Struct, frozen=True):
    """What the tasks of these tests carry."""

    number: int = 0
    manner: str = "well"


def a_queue(name: str = "notes", **settings: Any) -> Queue[Note]:
    values: dict[str, Any] = {"lease": Millis(900), "jitter": 0.0, "delays": (Millis(50),), "concurrency": 4}
    return Queue(name, Note, QueueSettings(**values | settings))


NOTES = a_queue()


class Clock:
    """Wall time that goes on by itself, and that a test steps and freezes as it likes."""

    def __init__(self, now: int = NOON) -> None:
        self._offset = now - wall()
        self._frozen: Millis | None = None

    def __call__(self) -> Millis:
        return Millis(wall() + self._offset) if self._frozen is None else self._frozen

    def step(self, by: int) -> None:
        self._offset += by

    def freeze(self) -> None:
        self._frozen = self()

    def thaw(self) -> None:
        self._frozen = None


def wall() -> Millis:
    return Millis(time.time_ns() // 1_000_000)


class TaskRow(msgspec.Struct, frozen=True):
    """What is stored of a task."""

    id: TaskId
    queue: str
    key: str
    status: Status
    attempts: int
    losses: int
    worker: str | None
    error: str | None
    run_at: Millis
    finished_at: Millis | None


_tasks = parse_queries(
    "tests",
    "-- name: find\nselect id, queue, key, status, attempts, losses, worker, error, run_at, finished_at "
    "from task where id = :id;",
)


class QueueTasks(Tasks):
    """Tasks that are enqueued and cancelled by themselves; areas do it in transactions of their own."""

    async def enqueue(self, queue: Queue[Note], key: str, payload: Note, *, run_at: Millis | None = None) -> Enqueued:
        return (await self.enqueue_many(queue, [NewTask(key, payload, run_at=run_at)]))[0]

    async def enqueue_many(self, queue: Queue[Note], wanted: Iterable[NewTask[Note]]) -> list[Enqueued]:
        now, tasks = self._clock(), list(wanted)
        answers = await self._db.with_tx(lambda tx: enqueue_many_tx(tx, queue, tasks, now=now))
        self._wakeup.wake(queue.name)
        return answers

    async def find(self, task_id: TaskId) -> TaskRow:
        return await self._db.read(lambda tx: tx.one(TaskRow, _tasks.find, id=task_id))

    async def cancel(self, task_id: TaskId) -> bool:
        now = self._clock()
        queue = await self._db.with_tx(lambda tx: cancel_tx(tx, task_id, now=now))
        if queue is not None:
            self._wakeup.wake(cancel_wakeup(queue))
        return queue is not None


class QueueHarness:
    """Everything around a queue."""

    def __init__(self, db: Database, wakeup: Wakeup, urls: tuple[str, str]) -> None:
        self.db = db
        self.wakeup = wakeup
        self.urls = urls
        self.tasks = QueueTasks(db, wakeup, wall)

    def worker_context(self, **over: Any) -> WorkerContext:
        values: dict[str, Any] = {"db": self.db, "wakeup": self.wakeup, "clock": wall, "name": f"worker-{next(_names)}"}
        return WorkerContext(**values | over)

    async def enqueue(self, *numbers: int, queue: Queue[Note] = NOTES, manner: str = "well") -> list[TaskId]:
        wanted = [NewTask(str(number), Note(number, manner)) for number in numbers]
        return [task.id for task in await self.tasks.enqueue_many(queue, wanted)]

    async def statuses(self) -> dict[str, str]:
        """Key and status of every task, the newest of each key."""
        rows = await self.db.read(lambda tx: tx.many(_Row, _rows.all_tasks))
        return {row.key: row.status for row in rows}

    async def effects(self) -> list[str]:
        """The key of every effect that stayed, sorted."""
        return await self.db.read(lambda tx: tx.many(str, _rows.all_effects))

    async def losses(self) -> int:
        """How many times a task died with its worker."""
        return sum(await self.db.read(lambda tx: tx.many(int, _rows.all_losses)))

    async def until(self, holds: Callable[[], Awaitable[bool]], patience: float = PATIENCE) -> None:
        """Return when it holds; fail when it does not in time."""
        deadline = time.monotonic() + patience
        while not await holds():
            assert time.monotonic() < deadline, f"still not so after {patience} s: {await self.statuses()}"
            await asyncio.sleep(0.02)

    async def until_all_are(self, status: str, patience: float = PATIENCE) -> None:
        async def so() -> bool:
            return set((await self.statuses()).values()) == {status}

        await self.until(so, patience)

    @contextlib.asynccontextmanager
    async def working(self, handler: Any, queue: Queue[Note] = NOTES, **over: Any) -> AsyncIterator[Worker[Note]]:
        """A worker in this process, stopped at the end of the block."""
        patience = over.pop("patience", 5.0)
        worker = Worker(self.worker_context(**over), queue, handler)
        running = asyncio.create_task(worker.run(patience=patience))
        try:
            yield worker
        finally:
            worker.stop()
            await running

    @contextlib.contextmanager
    def process(self, queue: Queue[Note] = NOTES) -> Iterator[subprocess.Popen[bytes]]:
        """A worker in a process of its own, killed at the end of the block."""
        child = self.spawn(queue)
        try:
            yield child
        finally:
            child.kill()
            child.wait()

    def spawn(self, queue: Queue[Note] = NOTES) -> subprocess.Popen[bytes]:
        settings = msgspec.json.encode(queue.settings).decode()
        command = [sys.executable, "-m", "tests.queue.worker_process", *self.urls, queue.name, settings]
        return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL)


async def forget_everything(database_url: str) -> None:
    """An empty queue, and a table for the effects of its tasks."""

    async def work(tx: Tx) -> None:
        for query in (_rows.make_effects, _rows.forget_effects, _rows.forget_tasks, _rows.forget_letters):
            await tx.run(query)

    db = await open_database(DatabaseOptions(database_url))
    await db.with_tx(work)
    await db.close()


@contextlib.asynccontextmanager
async def a_harness(db: Database, database_url: str, wakeup_url: str) -> AsyncIterator[QueueHarness]:
    async with a_wakeup(wakeup_url) as wakeup:
        yield QueueHarness(db, wakeup, (database_url, wakeup_url))


@contextlib.asynccontextmanager
async def a_wakeup(url: str) -> AsyncIterator[Wakeup]:
    """Wake-ups through what the URL names, or in memory."""
    if not url:
        yield MemoryWakeup()
        return
    wakeup = SharedWakeup(RedisTransport(url) if url.startswith("redis") else PostgresTransport(url))
    running = asyncio.create_task(wakeup.run())
    try:
        yield wakeup
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


class Effects:
    """A handler whose effect is a row, written in the transaction that finishes the task."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.handled: list[str] = []

    async def handle(self, task: Task[Note]) -> None:
        self.handled.append(task.key)
        await self.take_effect([task])

    async def leave_mark(self, key: str) -> None:
        """An effect that no task is finished with."""
        await self._db.with_tx(lambda tx: tx.run(_rows.add_effect, key=key))

    async def take_effect(self, tasks: Sequence[Task[Note]]) -> None:
        async def work(tx: Tx) -> None:
            for task in tasks:
                await tx.run(_rows.add_effect, key=task.key)
            await finish_tx(tx, *tasks, now=wall())

        await self._db.with_tx(work)


class BatchEffects(Effects):
    """The same for whole batches; a payload whose manner is `badly` fails the batch it is in."""

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self.sizes: list[int] = []

    async def handle_all(self, tasks: Sequence[Task[Note]]) -> None:
        self.sizes.append(len(tasks))
        if any(task.payload.manner == "badly" for task in tasks):
            raise ValueError("poison")
        await self.take_effect(tasks)


class _Row(msgspec.Struct, frozen=True):
    key: str
    status: str


_rows = parse_queries(
    "tests",
    """
-- name: make_effects
create table if not exists effect (key text not null);
-- name: forget_effects
delete from effect;
-- name: forget_tasks
delete from task;
-- name: forget_letters
delete from dead_letter;
-- name: add_effect
insert into effect (key) values (:key);
-- name: all_effects
select key from effect order by key;
-- name: all_tasks
select key, status from task order by id;
-- name: all_losses
select losses from task;
-- name: put_task
insert into task (queue, key, payload, run_at, created_at) values (:queue, 'odd', :payload, :now, :now);
-- name: put_ended
insert into task (queue, key, payload, run_at, created_at, finished_at, status)
with recursive n (i) as (select 1 union all select i + 1 from n where i < :most)
select 'notes', 'ended', '{}', cast(:now as bigint), cast(:now as bigint), cast(:now as bigint), cast(:status as text)
from n;
-- name: put_letter
insert into dead_letter (
  task_id, queue, key, payload, priority, error, error_code, attempts, first_failed_at, last_failed_at
) values (0, :queue, :key, '{}', 2, 'x', 'x', 1, :now, :now);
-- name: count_by_status
select status, count(*) as tasks from task group by status;
""",
)


# -- rows as no worker of ours would write them, or as only time would


async def put_task(db: Database, payload: str, queue: str = "notes") -> None:
    """A task with any payload."""
    await db.with_tx(lambda tx: tx.run(_rows.put_task, queue=queue, payload=payload, now=wall()))


async def put_ended(db: Database, status: str, count: int, finished_at: int) -> None:
    """Tasks that ended long ago."""
    await db.with_tx(lambda tx: tx.run(_rows.put_ended, status=status, most=count, now=finished_at))


async def put_letters(db: Database, *keys: str, now: int, queue: str = "notes") -> None:
    """Open dead letters."""

    async def work(tx: Tx) -> None:
        for key in keys:
            await tx.run(_rows.put_letter, queue=queue, key=key, now=now)

    await db.with_tx(work)


async def count_by_status(db: Database) -> dict[str, int]:
    rows = await db.read(lambda tx: tx.many(_Count, _rows.count_by_status))
    return {row.status: row.tasks for row in rows}


class _Count(msgspec.Struct, frozen=True):
    status: str
    tasks: int


async def claimed(db, queue=NOTES, *, now=NOON, most=10):
    """What is due, as a worker takes it."""
    return await db.with_tx(lambda tx: claim_tx(tx, queue.name, queue.settings, worker="w", now=now, most=most))


async def enqueue(db, key="1", *, now=NOON, **over):
    return await db.with_tx(lambda tx: enqueue_tx(tx, NOTES, key, Note(), now=now, **over))


def task_of(row) -> Task[Note]:
    """A claimed row as its handler gets it."""
    return Task(
        id=row.id,
        lease_token=row.lease_token,
        key=row.key,
        payload=Note(),
        priority=row.priority,
        attempt=1,
        losses=0,
        created_at=row.created_at,
    )
