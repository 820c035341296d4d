"""Those who compete in `bench.queue`: how each enqueues, and `python -m bench._queues WHO URL`, a worker of its own."""

import asyncio
import contextlib
import importlib
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import asyncpg
import msgspec
import uvloop

from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.db import Database, DatabaseOptions, open_database
from tsuzuki.db.sqlite_file import connect, path_of
from tsuzuki.model.times import Millis
from tsuzuki.queue.leases import WorkerContext
from tsuzuki.queue.policy import QueueSettings
from tsuzuki.queue.tasks import NewTask, Queue, Task, enqueue_many_tx, finish_tx
from tsuzuki.queue.worker import Worker

PATIENCE = 300
INSTALLED = "TSUZUKI_BENCH_PGQUEUER"
"""Where pgqueuer was put, for the workers to find it."""


class Nothing(msgspec.Struct, frozen=True):
    """What a no-op task carries."""

    number: int


def wall() -> Millis:
    return Millis(time.time_ns() // 1_000_000)


# -- the workers, each in a process of its own


class OneByOne:
    """A transaction for each task."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def handle(self, task: Task[Nothing]) -> None:
        await self._db.with_tx(lambda tx: finish_tx(tx, task, now=wall()))


class Batches:
    """A transaction for each batch."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def handle_all(self, tasks: Sequence[Task[Nothing]]) -> None:
        await self._db.with_tx(lambda tx: finish_tx(tx, *tasks, now=wall()))


async def work_ours(url: str, handler: Callable[[Database], Any], settings: QueueSettings) -> None:
    db = await open_database(DatabaseOptions(url))
    worker_context = WorkerContext(db=db, wakeup=MemoryWakeup(), clock=wall, name=f"bench-{os.getpid()}")
    worker = Worker(worker_context, Queue("bench", Nothing, settings), handler(db))
    await ready()
    await worker.run()


CLAIM_BARE = """
update task set status = 'running', lease_token = lease_token + 1, lease_until = {1}, worker = 'bare'
where id in (
  select id from task where status = 'queued' and queue = 'bench' and {due} <= {0}
  order by priority, run_at, id limit 50 {lock}
) returning id, lease_token, payload"""


FINISH_BARE = "update task set status = 'done', lease_until = null, finished_at = {0} where id {1}"


async def work_bare_postgres(url: str) -> None:
    connection = await asyncpg.connect(url)
    claim = await connection.prepare(CLAIM_BARE.format("$1", "$2", due="run_at", lock="for update skip locked"))
    finish = await connection.prepare(FINISH_BARE.format("$1", "= any ($2)"))
    await ready()
    while rows := await claim.fetch(wall(), wall() + 30_000):
        await finish.fetch(wall(), [row["id"] for row in rows])
    await asyncio.sleep(PATIENCE)


async def work_bare_sqlite(url: str) -> None:
    connection = connect(path_of(url))
    finish = FINISH_BARE.format("?1", "in (select value from json_each(?2))")
    await ready()
    while True:
        connection.execute("begin immediate")
        rows = connection.execute(CLAIM_BARE.format("?1", "?2", due="+run_at", lock=""), (wall(), wall() + 30_000)).get
        connection.execute("commit")
        if not rows:
            break
        connection.execute("begin immediate")
        connection.execute(finish, (wall(), msgspec.json.encode([row[0] for row in rows]).decode()))
        connection.execute("commit")
    await asyncio.sleep(PATIENCE)


async def work_pgqueuer(url: str, batch: int) -> None:
    from pgqueuer import AsyncpgPoolDriver, Queries, QueueManager  # type: ignore[import-not-found]  # comes later

    async def nothing(_: Any) -> None:
        return None

    async with asyncpg.create_pool(url) as pool:
        manager = QueueManager(queries=Queries(AsyncpgPoolDriver(pool)))
        manager.entrypoint("bench")(nothing)
        await ready()
        await manager.run(batch_size=batch)


async def ready() -> None:
    """Tell the parent, and begin when it says so."""
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)


def main(who: str, url: str) -> None:
    """Work as this contestant until nobody wants it any more."""
    find_installed()
    kind, _, batch = who.partition(":")
    works = {
        "ours": lambda: work_ours(url, Batches, QueueSettings(batch=int(batch), concurrency=4)),
        "ours-each": lambda: work_ours(url, OneByOne, QueueSettings(concurrency=50)),
        "bare-postgres": lambda: work_bare_postgres(url),
        "bare-sqlite": lambda: work_bare_sqlite(url),
        "pgqueuer": lambda: work_pgqueuer(url, int(batch)),
    }
    uvloop.run(works[kind]())


def find_installed() -> None:
    """At the end of the path: what both of us use is the same."""
    if folder := os.environ.get(INSTALLED):
        sys.path.append(folder)
        importlib.invalidate_caches()


# -- enqueueing, in the process that measures


Enqueue = Callable[[range], Awaitable[None]]


@contextlib.asynccontextmanager
async def ours(url: str) -> AsyncIterator[Enqueue]:
    db = await open_database(DatabaseOptions(url))
    queue = Queue("bench", Nothing)

    async def enqueue(numbers: range) -> None:
        tasks = [NewTask(str(n), Nothing(n)) for n in numbers]
        await db.with_tx(lambda tx: enqueue_many_tx(tx, queue, tasks, now=wall()))

    yield enqueue
    await db.close()


INSERT_SQLITE = "insert into task (queue, key, payload, run_at, created_at) values ('bench', ?1, ?2, ?3, ?3)"
INSERT_POSTGRES = """
insert into task (queue, key, payload, run_at, created_at)
select 'bench', key, payload, $3::bigint, $3 from unnest($1::text[], $2::text[]) as new (key, payload)"""


@contextlib.asynccontextmanager
async def bare_postgres(url: str) -> AsyncIterator[Enqueue]:
    connection = await asyncpg.connect(url)

    async def enqueue(numbers: range) -> None:
        payloads = [msgspec.json.encode(Nothing(n)).decode() for n in numbers]
        await connection.execute(INSERT_POSTGRES, [str(n) for n in numbers], payloads, wall())

    yield enqueue
    await connection.close()


@contextlib.asynccontextmanager
async def bare_sqlite(url: str) -> AsyncIterator[Enqueue]:
    connection = connect(path_of(url))

    async def enqueue(numbers: range) -> None:
        now = wall()
        rows = ((str(n), msgspec.json.encode(Nothing(n)).decode(), now) for n in numbers)
        connection.execute("begin immediate")
        connection.executemany(INSERT_SQLITE, rows)
        connection.execute("commit")

    yield enqueue
    connection.close()


async def make_pgqueuers_tables(url: str) -> None:
    from pgqueuer import AsyncpgDriver, Queries

    connection = await asyncpg.connect(url)
    await Queries(AsyncpgDriver(connection)).install()
    await connection.close()


@contextlib.asynccontextmanager
async def pgqueuer(url: str) -> AsyncIterator[Enqueue]:
    from pgqueuer import AsyncpgDriver, Queries

    connection = await asyncpg.connect(url)
    queries = Queries(AsyncpgDriver(connection))

    async def enqueue(numbers: range) -> None:
        payloads: list[bytes | None] = [msgspec.json.encode(Nothing(n)) for n in numbers]
        await queries.enqueue(["bench"] * len(numbers), payloads, [0] * len(numbers))

    yield enqueue
    await connection.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
