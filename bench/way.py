"""From a local publisher into inboxes, against a bare client and bare inserts: `python -m bench.way [--small]`.

The publisher is a process of its own. Ours is the real loop with the real client, guard, parser and ingest on SQLite.
Bare is aiohttp and one transaction for each answer with the same rows in it: the watch, and for new items the items,
their words in the index, and the entries. It checks no address, parses nothing, knows no lease and enqueues nothing.
Both run in one process under uvloop, in turns, with as many calls at the same time. No time makes this fail.
"""

import argparse
import asyncio
import contextlib
import gc
import os
import sys
import tempfile
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import aiohttp
import apsw
import msgspec
import uvloop

from bench._publisher import ITEMS, TAG
from bench.harness import say
from tests.builders import stored_feed, stored_watch
from tests.delivery.builders import a_reader
from tsuzuki.bootstrap import wall_clock
from tsuzuki.connectors.feed import visiting
from tsuzuki.connectors.registry import Registry
from tsuzuki.coord.bell import MemoryBell
from tsuzuki.coord.pace import Rate
from tsuzuki.coord.pacer import MemoryPacer
from tsuzuki.db import Database, DatabaseOptions, open_database
from tsuzuki.db.migrate import migrate
from tsuzuki.db.queries import parse_queries
from tsuzuki.db.sqlite_file import connect
from tsuzuki.ingest.service import ItemIngest
from tsuzuki.ingest.tasks import ITEMS as ITEM_QUEUE
from tsuzuki.model.times import HOUR, MINUTE, Millis
from tsuzuki.net.client import Client
from tsuzuki.net.guard import AllowList, Guard
from tsuzuki.net.options import ClientOptions
from tsuzuki.polling.policy import Pace
from tsuzuki.polling.pool import ParsePool, PoolOptions
from tsuzuki.polling.saving import Conditions
from tsuzuki.polling.service import Polled, Poller, PollOptions
from tsuzuki.polling.visit import Driver
from tsuzuki.queue.station import Station
from tsuzuki.queue.worker import Worker
from tsuzuki.worker.crew import Crew
from tsuzuki.worker.polls import PollLoop

T = TypeVar("T")

AT_ONCE = 32
AIM = 0.5
DAY_OLD = Millis(1)


class Sizes(msgspec.Struct, frozen=True):
    rounds: int
    polls: int
    feeds: int
    mixed: int
    watches: tuple[int, ...]


FULL = Sizes(rounds=3, polls=1000, feeds=100, mixed=10_000, watches=(1_000, 100_000, 1_000_000))
SMALL = Sizes(rounds=2, polls=400, feeds=40, mixed=1_000, watches=(1_000, 50_000))

q = parse_queries(
    "bench",
    """
-- name: make_due
update watch set next_check_at = 1, lease_until = null;
-- name: count_tasks
select count(*) from task where status in ('queued', 'running');
-- name: add_feeds
insert into feed (link, created_at, updated_at)
with recursive n (i) as (select 1 union all select i + 1 from n where i < :count)
select 'https://example.org/' || i, 1, 1 from n;
-- name: add_watches
insert into watch (feed_id, host, priority, next_check_at, created_at)
select id, 'h' || id, 1 + id % 3, 1, 1 from feed;
""",
)


# -- ours


class Ours:
    """A poller and its ingest on a database of their own."""

    def __init__(self, db: Database, client: Client, pool: ParsePool) -> None:
        self.db = db
        self.client = Timing(client, "fetch")
        self.parsing = Parsing()
        self.timed_db = TimedDatabase(db)
        self.bell = MemoryBell()
        conditions = Conditions(Pace(Millis(30 * MINUTE), Millis(48 * HOUR)), wall_clock, lambda: 0.5, self.bell.ring)
        driver = Driver(self.client, pool)  # type: ignore[arg-type]  # it times what it wraps
        options = PollOptions(per_host=10_000)
        self.poller = Poller(self.timed_db, driver, Registry([]), conditions, folder_of=lambda _: None, options=options)

    async def poll_all(self, watches: int) -> float:
        """Seconds until each of so many due watches was polled, and what was found is in its inboxes."""
        polled, all_polled = 0, asyncio.Event()

        def count(_: Polled, __: float) -> None:
            nonlocal polled
            polled += 1
            if polled >= watches:
                all_polled.set()

        station = Station(db=self.timed_db, bell=self.bell, clock=wall_clock, name="bench")
        ingest = ItemIngest(self.timed_db, clock=wall_clock, after_commit=lambda _: None)
        poll = PollLoop(self.poller, self.bell, concurrency=AT_ONCE, ingest_bells=(ITEM_QUEUE.name,), polled=count)
        crew = Crew([poll, Worker(station, ITEM_QUEUE, ingest)])
        await self.db.with_tx(lambda tx: tx.run(q.make_due))
        began = time.perf_counter()
        crew.start()
        await all_polled.wait()
        while await self.db.read(lambda tx: tx.one(int, q.count_tasks)):  # noqa: ASYNC110  a table rings no bell
            await asyncio.sleep(0.005)
        took = time.perf_counter() - began
        await crew.stop()
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


class Parsing:
    """How long the reader of feeds took; it is called in the middle of a visit."""

    def __init__(self) -> None:
        self.seconds = 0.0
        module: Any = visiting
        original = module.parse_fast

        def timed(*arguments: Any) -> Any:
            began = time.perf_counter()
            try:
                return original(*arguments)
            finally:
                self.seconds += time.perf_counter() - began

        module.parse_fast = timed


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
        self.read = self._read._timed
        self.ping = db.ping
        self.close = db.close

    @property
    def seconds(self) -> float:
        return self._with_tx.seconds + self._read.seconds


# -- bare


class Bare:
    """A session and a connection."""

    def __init__(self, session: aiohttp.ClientSession, connection: apsw.Connection) -> None:
        self._session = session
        self._connection = connection

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
                self._save(watch, feed, body, new=new, shelves=shelves)

        await asyncio.gather(*(some() for _ in range(AT_ONCE)))
        return time.perf_counter() - began

    def _save(self, watch: int, feed: int, body: bytes, *, new: int, shelves: int) -> None:
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


# -- the stage


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
async def a_stage(urls: list[str], shelves: int = 0) -> AsyncIterator[tuple[Ours, Bare, list[tuple[int, int, str]]]]:
    """A database with a watch for each of these addresses and so many readers of all of them, for each contestant."""
    with tempfile.TemporaryDirectory() as folder:
        ours, bare = Path(folder) / "ours.db", Path(folder) / "bare.db"
        watches = await _filled(ours, urls, shelves)
        await _filled(bare, urls, shelves)
        options = ClientOptions(
            guard=Guard(allow=AllowList.read(["127.0.0.0/8"])),
            allowed_rate=Rate(per_second=1_000_000, burst=1_000_000),
            allowed_slots=AT_ONCE,
        )
        pool, connection = ParsePool(PoolOptions()), connect(bare)
        db = await open_database(DatabaseOptions(f"sqlite://{ours}"))
        async with Client(options, MemoryPacer(lambda: time.monotonic_ns() // 1000), now=wall_clock) as client:
            connector = aiohttp.TCPConnector(limit=AT_ONCE)
            async with aiohttp.ClientSession(connector=connector) as session:
                yield Ours(db, client, pool), Bare(session, connection), watches
        await db.close()
        await pool.close()
        connection.close()


async def _filled(path: Path, urls: list[str], shelves: int) -> list[tuple[int, int, str]]:
    options = DatabaseOptions(f"sqlite://{path}")
    await migrate(options, now=0)
    db = await open_database(options)
    feeds = await asyncio.gather(*(stored_feed(db, url) for url in urls))
    ids = await asyncio.gather(*(stored_watch(db, feed, host="127.0.0.1", next_check_at=DAY_OLD) for feed in feeds))
    await asyncio.gather(*(a_reader(db, feeds=feeds) for _ in range(shelves)))
    await db.close()
    return [(watch, feed, url) for watch, feed, url in zip(ids, feeds, urls, strict=True)]


# -- what is measured


async def polls(base: str, sizes: Sizes, kind: str, what: str) -> None:
    """Polls a second, ours and bare."""
    urls = [f"{base}/{kind}/{number}" for number in range(sizes.polls)]
    new, tag = (ITEMS, None) if kind == "new" else (0, TAG if kind == "same" else None)
    best = {"ours": float("inf"), "bare": float("inf")}
    async with a_stage(urls, shelves=0) as (ours, bare, watches):
        await ours.poll_all(len(urls))  # the first harvest, and the warm-up
        for _ in range(sizes.rounds):
            gc.collect()
            best["ours"] = min(best["ours"], await ours.poll_all(len(urls)))
            best["bare"] = min(best["bare"], await bare.poll_all(watches, tag=tag, new=new, shelves=0))
    line(what, len(urls) / best["ours"], len(urls) / best["bare"], "polls/s")


async def end_to_end(base: str, sizes: Sizes, shelves: int) -> None:
    """Installments a second from the publisher into every inbox."""
    urls = [f"{base}/new/{number}" for number in range(sizes.feeds)]
    best = {"ours": float("inf"), "bare": float("inf")}
    async with a_stage(urls, shelves) as (ours, bare, watches):
        for _ in range(sizes.rounds):
            gc.collect()
            best["ours"] = min(best["ours"], await ours.poll_all(len(urls)))
            best["bare"] = min(best["bare"], await bare.poll_all(watches, tag=None, new=ITEMS, shelves=shelves))
    count = len(urls) * ITEMS
    line(f"end to end, {shelves} inboxes each", count / best["ours"], count / best["bare"], "installments/s")


async def shares(base: str, sizes: Sizes, kind: str, what: str) -> None:
    """Where the time of one poll goes, one after the other."""
    urls = [f"{base}/{kind}/{number}" for number in range(sizes.polls // 4)]
    async with a_stage(urls) as (ours, _, __):
        await ours.poll_all(len(urls))
        parts: dict[str, Spent] = {"HTTP": ours.client, "parsing": ours.parsing, "SQL": ours.timed_db}
        before = {name: part.seconds for name, part in parts.items()}
        await ours.db.with_tx(lambda tx: tx.run(q.make_due))
        claimed = await ours.poller.claim(len(urls), {})
        began = time.perf_counter()
        for watch in claimed:
            await ours.poller.poll(watch)
        took = time.perf_counter() - began
        spent = {name: part.seconds - before[name] for name, part in parts.items()}
        spent["the rest"] = took - sum(spent.values())
        told = ", ".join(f"{name} {seconds / took:.0%}" for name, seconds in spent.items())
        print(f"{what:36}{took / len(claimed) * 1000:>8.2f} ms a poll, alone: {told}")


async def mixed(base: str, sizes: Sizes) -> None:
    """As at noon: nine in ten have nothing new."""
    urls = [f"{base}/{'new' if number % 10 == 0 else 'tiny'}/{number}" for number in range(sizes.mixed)]
    async with a_stage(urls) as (ours, _, __):
        await ours.poll_all(len(urls))
        took = await ours.poll_all(len(urls))
    mark = "" if sizes.mixed != FULL.mixed else "  (aim: within 60 s) " + ("ok" if took < 60 else "MISSED")
    print(f"{sizes.mixed:,} watches, 90 % with a 304{'':6}{took:>8.1f} s{mark}")


async def claims(sizes: Sizes) -> None:
    """The cost of a claim does not grow with the table."""
    for count in sizes.watches:
        with tempfile.TemporaryDirectory() as folder:
            options = DatabaseOptions(f"sqlite://{Path(folder) / 'claims.db'}")
            await migrate(options, now=0)
            db = await open_database(options)
            await db.with_tx(lambda tx, count=count: tx.run(q.add_feeds, count=count))  # type: ignore[misc]  # mypy sees no default
            await db.with_tx(lambda tx: tx.run(q.add_watches))
            missing: Any = None
            conditions = Conditions(Pace(Millis(30 * MINUTE), Millis(48 * HOUR)), wall_clock, lambda: 0.5)
            poller = Poller(db, missing, missing, conditions, folder_of=missing)
            times = []
            for _ in range(30):
                began = time.perf_counter()
                claimed = await poller.claim(AT_ONCE, {})
                times.append((time.perf_counter() - began) / len(claimed))
            await db.close()
        print(f"claim among {count:>9,} due watches{'':5}{sorted(times)[len(times) // 2] * 1e6:>8.0f} us a watch")


def line(what: str, ours: float, bare: float, unit: str) -> None:
    ratio = ours / bare
    mark = "ok" if ratio >= AIM else "MISSED"
    print(f"{what:36}{ours:>10,.0f}{bare:>10,.0f} {unit:16}{ratio:>6.2f}  aim {AIM} {mark}")


def resident() -> float:
    """MB of this process."""
    with open("/proc/self/statm", encoding="utf-8") as memory:  # noqa: PTH123  not a file on any disk
        return int(memory.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


async def main(sizes: Sizes) -> None:
    async with a_publisher() as base:
        print(f"{'':36}{'ours':>10}{'bare':>10}{'':17}{'ratio':>6}")
        for kind, what in (("same", "304"), ("mute", "200, unchanged"), ("new", f"200, {ITEMS} new items")):
            say(f"polls: {what}")
            await polls(base, sizes, kind, what)
        for shelves in (1, 10, 100):
            say(f"end to end: {shelves}")
            await end_to_end(base, sizes, shelves)
        for kind, what in (("same", "304"), ("mute", "200, unchanged"), ("new", f"200, {ITEMS} new items")):
            await shares(base, sizes, kind, what)
        say("mixed")
        await mixed(base, sizes)
    print(f"resident after all of this{'':10}{resident():>8.0f} MB")
    await claims(sizes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a minute instead of several")
    uvloop.run(main(SMALL if parser.parse_args().small else FULL))
