"""What `bench.polls` measures with: our pipeline, a bare client, and databases for both on either engine."""

import asyncio
import contextlib
import os
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol

import aiohttp
import apsw
import asyncpg

from tests import databases
from tests.builders import stored_feed, stored_watch
from tests.delivery.builders import a_reader
from tsuzuki.app.opening import wall_clock
from tsuzuki.connectors.registry import Registry
from tsuzuki.coord.pacer import MemoryPacer, Rate
from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.db import Database, DatabaseOptions, open_database
from tsuzuki.db.migrate import migrate
from tsuzuki.db.queries import parse_queries
from tsuzuki.db.sqlite_file import connect
from tsuzuki.ingest.items import ITEMS as ITEM_QUEUE
from tsuzuki.ingest.items import FeedItems
from tsuzuki.ingest.service import Ingest
from tsuzuki.model.times import HOUR, MINUTE, Millis
from tsuzuki.net.client import Client
from tsuzuki.net.guard import AddressGuard, AllowList
from tsuzuki.net.options import ClientOptions
from tsuzuki.parsing.forkserver import FORK_SERVER
from tsuzuki.parsing.pool import ParsePool, PoolOptions
from tsuzuki.polling.claims import PollOptions
from tsuzuki.polling.driver import Driver
from tsuzuki.polling.outcomes import PollContext
from tsuzuki.polling.policy import PullPace
from tsuzuki.polling.service import Poller, PollResult
from tsuzuki.queue.leases import WorkerContext
from tsuzuki.queue.worker import Worker
from tsuzuki.worker.loops import WorkerLoops
from tsuzuki.worker.poll_loop import PollLoop

AT_ONCE = 32
DAY_OLD = Millis(1)

q = parse_queries(
    "bench",
    """
-- name: make_due
update watch set next_check_at = 1, lease_until = null where host = '127.0.0.1';
-- name: count_tasks
select count(*) from task where status in ('queued', 'running');
""",
)


def parser_seconds() -> float:
    """The computing of the parser processes that live now."""
    server = FORK_SERVER._process
    pids = [] if server is None else Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    times = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13] for pid in pids]
    return sum(int(user) + int(system) for user, system in times) / os.sysconf("SC_CLK_TCK")


# -- ours


class Ours:
    """A poller and its ingest on a database of their own."""

    def __init__(self, db: Database, client: Client, pool: ParsePool) -> None:
        self.db = db
        self.client = Timing(client, "fetch")
        self.pool = pool
        self.parsing = Timing(pool, "run")
        self.timed_db = TimedDatabase(db)
        self.wakeup = MemoryWakeup()
        context = PollContext(
            PullPace(Millis(30 * MINUTE), Millis(48 * HOUR)), wall_clock, lambda: 0.5, self.wakeup.wake
        )
        driver = Driver(self.client, self.parsing)  # type: ignore[arg-type]  # they time what they wrap
        options = PollOptions(per_host=10_000)
        self.poller = Poller(self.timed_db, driver, Registry([]), context, folder_of=lambda _: None, options=options)

    async def make_due(self) -> None:
        """Have all watches due, which in life only the time does."""
        await self.db.with_tx(lambda tx: tx.run(q.make_due))

    async def poll_all(self, watches: int, *, are_due: bool = False) -> float:
        """Seconds until each of so many watches was polled, and what was found is in its inboxes."""
        polled, all_polled = 0, asyncio.Event()

        def count(_: PollResult, __: float) -> None:
            nonlocal polled
            polled += 1
            if polled >= watches:
                all_polled.set()

        worker_context = WorkerContext(db=self.timed_db, wakeup=self.wakeup, clock=wall_clock, name="bench")
        ingest = Ingest(self.timed_db, FeedItems(self.pool), clock=wall_clock, after_commit=lambda *_: None)
        wakeups = (ITEM_QUEUE.name,)
        poll = PollLoop(
            self.poller, self.wakeup, concurrency=AT_ONCE, ingest_wakeups=wakeups, polled=count, is_spread=False
        )
        worker_loops = WorkerLoops([poll, Worker(worker_context, ITEM_QUEUE, ingest)])
        if not are_due:
            await self.make_due()
        began = time.perf_counter()
        worker_loops.start()
        await all_polled.wait()
        while await self.db.read(lambda tx: tx.one(int, q.count_tasks)):  # noqa: ASYNC110  nothing tells when it is done
            await asyncio.sleep(0.005)
        took = time.perf_counter() - began
        await worker_loops.stop()
        return took


class Timing:
    """Passes a coroutine function on and adds up how long it took."""

    def __init__(self, inner: Any, name: str) -> None:
        self._call: Callable[..., Awaitable[Any]] = getattr(inner, name)
        self.seconds = 0.0
        setattr(self, name, self._timed)

    async def _timed(self, *arguments: Any, **options: Any) -> Any:
        began = time.perf_counter()
        try:
            return await self._call(*arguments, **options)
        finally:
            self.seconds += time.perf_counter() - began


class Spent(Protocol):
    """Something that knows how long it took."""

    @property
    def seconds(self) -> float: ...


class TimedDatabase:
    """A database, and how long it took."""

    def __init__(self, db: Database) -> None:
        self.engine = db.engine
        self._with_tx = Timing(db, "with_tx")
        self._read = Timing(db, "read")
        self.with_tx = self._with_tx._timed
        self.read = self.read_replica = self._read._timed
        self.ping = db.ping
        self.release_memory = db.release_memory
        self.close = db.close

    @property
    def seconds(self) -> float:
        return self._with_tx.seconds + self._read.seconds


# -- bare


class AnyBare(ABC):
    """A session, and somewhere to write."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def poll_all(
        self, watches: list[tuple[int, int, str]], *, tag: bytes | None, new: int, shelves: int
    ) -> float:
        """Seconds; watches are (watch, feed, address)."""
        left = iter(watches)
        began = time.perf_counter()

        async def some() -> None:
            for watch, feed, url in left:
                headers = {} if tag is None else {"if-none-match": tag.decode()}
                async with self._session.get(url, headers=headers) as response:
                    body = await response.read()
                await self._save(watch, feed, body, new=new, shelves=shelves)

        await asyncio.gather(*(some() for _ in range(AT_ONCE)))
        return time.perf_counter() - began

    @abstractmethod
    async def _save(self, watch: int, feed: int, body: bytes, *, new: int, shelves: int) -> None:
        """One transaction with the rows of one answer."""


class BareSqlite(AnyBare):
    """One connection, inline."""

    def __init__(self, session: aiohttp.ClientSession, connection: apsw.Connection) -> None:
        super().__init__(session)
        self._connection = connection

    async def _save(self, watch: int, feed: int, body: bytes, *, new: int, shelves: int) -> None:
        run, now = self._connection.execute, wall_clock()
        run("begin immediate")
        run(
            "update watch set next_check_at = ?, last_checked_at = ?, last_http_status = 200 where id = ?",
            (now, now, watch),
        )
        for number in range(new):
            words = body[number * 900 : (number + 1) * 900].decode("latin-1")
            run(
                "insert into item (feed_id, key, title, content, sort_at, content_hash, created_at)"
                " values (?, ?, ?, ?, ?, ?, ?)",
                (feed, f"{now}-{number}-{os.urandom(4).hex()}", f"Item {number}", words, now, b"0" * 16, now),
            )
            item = self._connection.last_insert_rowid()
            run("insert into item_search (rowid, title, body) values (?, ?, ?)", (item, "item", words))
            run(
                "insert into entry (shelf_id, feed_id, item_id, sort_at, created_at)"
                " select shelf_id, ?, ?, ?, ? from subscription where feed_id = ? limit ?",
                (feed, item, now, now, feed, shelves),
            )
        run("commit")


class BarePostgres(AnyBare):
    """A pool without its reset query; few statements for each answer, all rows of a kind in one."""

    def __init__(self, session: aiohttp.ClientSession, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        super().__init__(session)
        self._pool = pool

    async def _save(self, watch: int, feed: int, body: bytes, *, new: int, shelves: int) -> None:
        now = wall_clock()
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute(
                "update watch set next_check_at = $1, last_checked_at = $1, last_http_status = 200 where id = $2",
                now,
                watch,
            )
            if not new:
                return
            words = [body[number * 900 : (number + 1) * 900].decode("latin-1") for number in range(new)]
            items = await connection.fetch(
                "insert into item (feed_id, key, title, content, sort_at, content_hash, created_at)"
                " select $1, key, 'Item', words, $2, $3, $2 from unnest($4::text[], $5::text[]) as new (key, words)"
                " returning id",
                feed,
                now,
                b"0" * 16,
                [f"{now}-{number}-{os.urandom(4).hex()}" for number in range(new)],
                words,
            )
            ids = [row["id"] for row in items]
            await connection.execute(
                "insert into item_search (item_id, document)"
                " select id, to_tsvector('simple', words) from unnest($1::bigint[], $2::text[]) as new (id, words)",
                ids,
                words,
            )
            await connection.execute(
                "insert into entry (shelf_id, feed_id, item_id, sort_at, created_at)"
                " select shelf_id, $1, id, $2, $2 from unnest($3::bigint[]) as id,"
                " (select shelf_id from subscription where feed_id = $1 limit $4) as readers",
                feed,
                now,
                ids,
                shelves,
            )


# -- the stage


class EngineSetup(Protocol):
    """Where the databases of both contestants stand."""

    name: str

    def databases(self) -> AbstractAsyncContextManager[tuple[str, str]]:
        """Two new, migrated databases: ours, and the bare client's."""
        ...

    def bare(self, url: str, session: aiohttp.ClientSession) -> AbstractAsyncContextManager[AnyBare]:
        """The bare client on its database."""
        ...


class OnSqlite:
    """Two files."""

    name = "SQLite"

    @contextlib.asynccontextmanager
    async def databases(self) -> AsyncIterator[tuple[str, str]]:
        with tempfile.TemporaryDirectory() as folder:
            urls = [f"sqlite://{Path(folder) / name}" for name in ("ours.db", "bare.db")]
            for url in urls:
                await migrate(DatabaseOptions(url), now=0)
            yield urls[0], urls[1]

    @contextlib.asynccontextmanager
    async def bare(self, url: str, session: aiohttp.ClientSession) -> AsyncIterator[AnyBare]:
        connection = connect(Path(url.removeprefix("sqlite://")))
        yield BareSqlite(session, connection)
        connection.close()


class OnPostgres:
    """Two databases of one server."""

    name = "PostgreSQL"

    def __init__(self, server_url: str) -> None:
        self._server_url = server_url

    async def log_bytes(self) -> int:
        """All that the server has written to its log (WAL) so far."""
        return int(await databases.ask(self._server_url, "select pg_current_wal_insert_lsn() - '0/0'"))

    @contextlib.asynccontextmanager
    async def databases(self) -> AsyncIterator[tuple[str, str]]:
        names = [await databases.make(self._server_url, "template0") for _ in range(2)]
        urls = [databases.named(self._server_url, name) for name in names]
        for url in urls:
            await migrate(DatabaseOptions(url), now=0)
        yield urls[0], urls[1]
        for name in names:
            await databases.drop(self._server_url, name)

    @contextlib.asynccontextmanager
    async def bare(self, url: str, session: aiohttp.ClientSession) -> AsyncIterator[AnyBare]:
        async with asyncpg.create_pool(url, min_size=2, max_size=10, reset=_no_reset) as pool:
            yield BarePostgres(session, pool)


async def _no_reset(_: object) -> None:
    return None


@contextlib.asynccontextmanager
async def a_publisher() -> AsyncIterator[str]:
    child = await asyncio.create_subprocess_exec(sys.executable, "-m", "bench._publisher", stdout=PIPE)
    assert child.stdout is not None
    port = (await child.stdout.readline()).decode().strip()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        child.kill()
        await child.wait()


@contextlib.asynccontextmanager
async def a_setup(
    place: EngineSetup, urls: list[str], shelves: int = 0
) -> AsyncIterator[tuple[Ours, AnyBare, list[tuple[int, int, str]]]]:
    """A database with a watch for each of these addresses and so many readers of all of them, for each contestant."""
    async with place.databases() as (mine, theirs):
        watches = await _filled(mine, urls, shelves)
        await _filled(theirs, urls, shelves)
        options = ClientOptions(
            guard=AddressGuard(allow=AllowList.read(["127.0.0.0/8"])),
            allowed_rate=Rate(per_second=1_000_000, burst=1_000_000),
            allowed_slots=AT_ONCE,
        )
        pool = ParsePool(PoolOptions())
        db = await open_database(DatabaseOptions(mine))
        async with Client(options, MemoryPacer(lambda: time.monotonic_ns() // 1000), now=wall_clock) as client:
            connector = aiohttp.TCPConnector(limit=AT_ONCE)
            async with aiohttp.ClientSession(connector=connector) as session, place.bare(theirs, session) as bare:
                yield Ours(db, client, pool), bare, watches
        await db.close()
        await pool.close()


async def _filled(url: str, urls: list[str], shelves: int) -> list[tuple[int, int, str]]:
    db = await open_database(DatabaseOptions(url))
    feeds = await asyncio.gather(*(stored_feed(db, url) for url in urls))
    ids = await asyncio.gather(*(stored_watch(db, feed, host="127.0.0.1", next_check_at=DAY_OLD) for feed in feeds))
    await asyncio.gather(*(a_reader(db, feeds=feeds) for _ in range(shelves)))
    await db.close()
    return [(watch, feed, url) for watch, feed, url in zip(ids, feeds, urls, strict=True)]
