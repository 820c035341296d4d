"""What a server of so many readers takes, and how it grows: `python -m bench.scale [--small]`.

A database grows from one number of readers to the next (`--readers 100 1000`). All of them follow as many feeds, and
each feed has as many followers. At each size it measures what a shelf, a subscription and an entry take of the disk,
and the computing of a poll, of a delivered entry and of a page; then what a worker takes with and without Redis, and a
claim among many due watches (`--watches`). On SQLite, on PostgreSQL, and on PostgreSQL with `entry` in hash partitions
by shelf (`--partitions 16`). The last column is the last size beside the first one.

Computing is user and system time of our processes and of PostgreSQL's together, which other programs disturb least. The
references are measured in the same run: a bare insert of the same rows for delivery, `/healthz` for pages. At the end
are the figures multiplied for larger servers, with what is assumed. No figure makes it fail.
"""

import argparse
import asyncio
import contextlib
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import aiohttp
import msgspec

from bench._polls import AT_ONCE, DAY_OLD, Ours, a_publisher, parser_seconds
from bench._readers import (
    Library,
    add_feeds,
    add_readers,
    add_watches,
    follow_as_others,
    make_due,
    partition_entries,
    size_of,
)
from bench.fanout import ITEMS, insert_bare, store_tx
from bench.footprint import a_process, footprint
from bench.harness import a_postgres, family, opened, say
from tests import databases
from tests.app import in_settings
from tests.builders import a_new_item, store_items_tx, stored_feed, stored_watch
from tests.delivery.crowd import feed_of_crowd
from tests.servers import Postgres, Redis, shared_folder
from tsuzuki.app.opening import wall_clock
from tsuzuki.coord.pacer import MemoryPacer, Rate
from tsuzuki.coord.redis_client import redis_client
from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.db import Database, DatabaseOptions
from tsuzuki.db.migrate import migrate
from tsuzuki.db.queries import parse_queries
from tsuzuki.delivery.portions import Deliverer
from tsuzuki.delivery.tasks import DELIVERIES
from tsuzuki.model.times import HOUR, MINUTE, Millis
from tsuzuki.net.client import Client
from tsuzuki.net.guard import AddressGuard, AllowList
from tsuzuki.net.options import ClientOptions
from tsuzuki.parsing.pool import ParsePool, PoolOptions
from tsuzuki.polling.outcomes import PollContext
from tsuzuki.polling.policy import PullPace
from tsuzuki.polling.service import Poller
from tsuzuki.queue.leases import WorkerContext
from tsuzuki.queue.worker import Worker

PASSWORD = "a-password-for-this-run"
PAGES = {"bare": "/healthz", "inbox": "/", "list": "/api/v1/items?unread=true&limit=50"}
CLIENTS = 16
CLAIMS = 20
ROUNDS = 3
SETTLED_S = 0.5

q = parse_queries(
    "bench",
    """
-- name: first_shelf
select min(id) from shelf;
-- name: set_aside
update watch set host = 'done', next_check_at = 4000000000000 where host = '127.0.0.1';
-- name: make_worker_due
update watch set next_check_at = 1, last_checked_at = null where host like 'w%';
-- name: unpolled
select count(*) from watch where host like 'w%' and last_checked_at is null;
-- name: unfinished
select count(*) from task where queue in ('delivery', 'item-ingest') and status in ('queued', 'running');
""",
)

CONNECTIONS = "select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"


class Options(msgspec.Struct, frozen=True):
    """How large the trial is."""

    readers: tuple[int, ...]
    library: Library
    polls: int
    pages: int
    watches: tuple[int, ...]
    partitions: int


class Place(msgspec.Struct, frozen=True):
    """A database to measure on."""

    name: str
    url: str
    folder: Path
    postmaster: int | None = None
    """PostgreSQL's first process."""


class Table:
    """Figures by what they are, one for each size."""

    def __init__(self, name: str, sizes: Sequence[int], unit: str) -> None:
        self._rows: dict[str, list[float]] = {}
        self._head = f"\n{name:52}" + "".join(f"{f'{size:,} {unit}':>18}" for size in sizes)

    def add(self, what: str, figure: float) -> None:
        self._rows.setdefault(what, []).append(figure)

    def last(self, what: str) -> float:
        return self._rows[what][-1]

    def show(self, plain: "Table | None" = None) -> None:
        """With the last column beside the first one, and beside the same column of another table."""
        print(f"{self._head}{'ratio':>9}" + ("" if plain is None else f"{'to plain':>10}"))
        for what, figures in self._rows.items():
            line = f"{what:52}" + "".join(f"{figure:>18,.2f}" for figure in figures)
            line += _ratio(figures[-1], figures[0]) if len(figures) > 1 else ""
            print(line + ("" if plain is None else " " + _ratio(figures[-1], plain.last(what))))


def _ratio(one: float, other: float) -> str:
    return f"{one / other:>9.2f}" if other else f"{'':9}"


# -- computing


def seconds_of(pid: int | None) -> float:
    """User and system time of a process and all below it, those that ended too."""
    if pid is None:
        return 0.0
    while True:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # one has just ended: it is its parent's now
            return sum(_ticks(each) for each in family(pid)) / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> int:
    """Its own, and those of its children that have ended."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))


class Computing:
    """Seconds of this process, its parsers and PostgreSQL since it was made."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._before = self._now()

    def _now(self) -> float:
        return time.process_time() + parser_seconds() + seconds_of(self._place.postmaster)

    def spent(self) -> float:
        return self._now() - self._before


# -- what is measured at each size


@contextlib.asynccontextmanager
async def polling(db: Database) -> AsyncIterator[Ours]:
    options = ClientOptions(
        guard=AddressGuard(allow=AllowList.read(["127.0.0.0/8"])),
        allowed_rate=Rate(per_second=1_000_000, burst=1_000_000),
        allowed_slots=AT_ONCE,
    )
    pool = ParsePool(PoolOptions())
    async with Client(options, MemoryPacer(lambda: time.monotonic_ns() // 1000), now=wall_clock) as client:
        yield Ours(db, client, pool)
    await pool.close()


async def measure_polls(place: Place, db: Database, base: str, table: Table, *, size: int, polls: int) -> None:
    """Of feeds that nobody follows: nothing new, and ten new items that are stored and indexed."""
    async with polling(db) as ours:
        for kind, what in (("same", "a poll with a 304, ms"), ("new", f"a poll with {ITEMS} new items, ms")):
            for number in range(polls):
                feed = await stored_feed(db, f"{base}/{kind}/{size}-{number}")
                await stored_watch(db, feed, host="127.0.0.1", next_check_at=DAY_OLD)
            await ours.poll_all(polls)  # the first harvest
            before, times = await size_of(db), []
            for _ in range(ROUNDS):
                computing = Computing(place)
                await ours.poll_all(polls)
                times.append(computing.spent())
            table.add(what, min(times) / polls * 1e3)
            if kind == "new":
                table.add(
                    "disk: an item of 0.9 kB with its words, bytes",
                    (await size_of(db) - before) / (ROUNDS * ITEMS * polls),
                )
            await db.with_tx(lambda tx: tx.run(q.set_aside))


async def measure_delivery(place: Place, db: Database, table: Table, readers: int) -> None:
    """Ten items of a feed that all of them follow, beside a bare insert of as many rows."""
    ours, bare = await feed_of_crowd(db, readers), await feed_of_crowd(db, readers)
    await db.with_tx(lambda tx: store_items_tx(tx, bare, [a_new_item(str(n)) for n in range(ITEMS)], wall_clock()))
    wakeup = MemoryWakeup()
    deliverer = Deliverer(db, wall_clock, after_commit=wakeup.wake)
    worker = Worker(WorkerContext(db=db, wakeup=wakeup, clock=wall_clock, name="bench"), DELIVERIES, deliverer)
    running = asyncio.create_task(worker.run())
    computing = Computing(place)
    wakeup.wake(*(await db.with_tx(lambda tx: store_tx(tx, ours))).wakeups)
    while await db.read(lambda tx: tx.one(int, q.unfinished)):  # noqa: ASYNC110  nothing tells when it is done
        await asyncio.sleep(0.05)
    spent = computing.spent()
    worker.stop()
    await running
    computing = Computing(place)
    await insert_bare(place.url, bare, range(readers))
    await asyncio.sleep(SETTLED_S)  # what the connection computed is seen when PostgreSQL has buried its process
    reference, entries = computing.spent(), readers * ITEMS
    table.add("a delivered entry, us", spent / entries * 1e6)
    table.add("  the same rows by a bare insert, us", reference / entries * 1e6)
    table.add("  times the bare insert", spent / reference)


async def measure_pages(place: Place, table: Table, pages: int) -> None:
    """One request after the other of somebody with as much as all others have, then of many clients at once."""
    others = await connections(place)
    async with a_process(place.folder, in_settings(place.url), SERVE, PASSWORD=PASSWORD) as (child, line):
        base = address_in(line)
        async with aiohttp.ClientSession() as session:
            headers = {"cookie": await sign_in(session, base), "accept-encoding": "identity"}

            async def ask(path: str) -> None:
                async with session.get(
                    base + path, headers=headers | accept_of(path), allow_redirects=False
                ) as response:
                    assert response.status == 200, (path, response.status)
                    await response.read()

            async def ask_often(path: str, times: int = pages) -> None:
                for _ in range(times):
                    await ask(path)

            spent = {}
            for name, path in PAGES.items():
                await ask_often(path)
                before, times = seconds_of(child.pid) + seconds_of(place.postmaster), 4 * pages
                await ask_often(path, times)
                spent[name] = (seconds_of(child.pid) + seconds_of(place.postmaster) - before) / times
            await asyncio.gather(*(ask_often(PAGES["list"]) for _ in range(CLIENTS)))
            table.add("a bare answer (/healthz), ms", spent["bare"] * 1e3)
            table.add("the inbox page, ms", spent["inbox"] * 1e3)
            table.add("  times the bare answer", spent["inbox"] / max(spent["bare"], 1e-5))
            table.add("a list of 50 by API, ms", spent["list"] * 1e3)
            table.add("memory of the web process after these, MB", footprint(child.pid).shared_once)
            if place.postmaster is not None:
                table.add(f"connections for {CLIENTS} clients at once", await connections(place) - others)


SERVE = ("serve", "--no-workers", "--port", "0")


async def connections(place: Place) -> int:
    """All that PostgreSQL has now."""
    return 0 if place.postmaster is None else int(await databases.ask(place.url, CONNECTIONS))


def address_in(line: str) -> str:
    found = re.search(r"http://[\d.]+:\d+", line)
    assert found is not None, line
    return found[0]


def accept_of(path: str) -> dict[str, str]:
    return {} if path.startswith("/api") else {"accept": "text/html"}


async def sign_in(session: aiohttp.ClientSession, base: str) -> str:
    said = {"username": "admin", "password": PASSWORD}
    async with session.post(f"{base}/api/v1/sessions", json=said) as response:
        assert response.status == 200, await response.text()
        return response.headers.getall("set-cookie")[-1].partition(";")[0]


# -- once


async def measure_worker(place: Place, base: str, options: Options, redis: Redis) -> None:
    """`tsuzuki work` and its polls with a 304, alone and with Redis."""
    table = Table(f"{place.name}: a worker with and without Redis", (0, 1), "Redis")
    async with opened(place.url) as db:
        for number in range(options.polls):
            feed = await stored_feed(db, f"{base}/same/worker-{number}")
            await stored_watch(db, feed, host=f"w{number}", next_check_at=Millis(1))
        await until_polled(place, db, {}, Table("", (), ""), options=options)  # the first harvest
        await until_polled(place, db, {}, table, options=options)
        async with contextlib.aclosing(redis_client(redis.url)) as client:
            before = await client.info()
            await until_polled(place, db, {"REDIS_URL": redis.url}, table, options=options)
            after = await client.info()
    table.show()
    calls = (after["total_commands_processed"] - before["total_commands_processed"]) / options.polls
    grown = (after["used_memory"] - before["used_memory"]) / 1000
    print(f"Redis: {calls:.2f} commands a poll, with all else that a worker says to it; it grew by {grown:.0f} kB")


async def until_polled(place: Place, db: Database, more: dict[str, str], table: Table, *, options: Options) -> None:
    """Start a worker, and wait until it has polled all of its feeds."""
    await db.with_tx(lambda tx: tx.run(q.make_worker_due))
    ours = await connections(place)
    before = seconds_of(place.postmaster)
    async with a_process(place.folder, in_settings(place.url), ("work",), **more) as (child, _):
        started = seconds_of(child.pid)
        while await db.read(lambda tx: tx.one(int, q.unpolled)):  # noqa: ASYNC110  nothing tells when it is done
            await asyncio.sleep(0.2)
        spent = seconds_of(child.pid) - started + seconds_of(place.postmaster) - before
        table.add("a poll with a 304, ms", spent / options.polls * 1e3)
        table.add("connections of the worker", await connections(place) - ours)
        table.add("memory of the worker, MB", footprint(child.pid).shared_once)


async def measure_claims(place: Place, counts: Sequence[int]) -> None:
    """Of watches that are all due."""
    table, known = Table(f"{place.name}: claims of {AT_ONCE}", counts, "due"), 0
    missing: object = None
    context = PollContext(PullPace(Millis(30 * MINUTE), Millis(48 * HOUR)), wall_clock, lambda: 0.5)
    async with opened(place.url) as db:
        poller = Poller(db, missing, missing, context, folder_of=missing)  # type: ignore[arg-type]  # it only claims
        for count in counts:
            say(f"{place.name}: {count:,} watches")
            await add_watches(db, range(known, count))
            await make_due(db, is_due=True)
            known, claimed, computing = count, 0, Computing(place)
            for _ in range(CLAIMS):
                claimed += len(await poller.claim(AT_ONCE, {}))
            table.add("a claimed watch, us", computing.spent() / claimed * 1e6)
            await make_due(db, is_due=False)
    table.show()


# -- all of it


async def measure(place: Place, base: str, options: Options, plain: Table | None = None) -> Table:
    """At each size, beside a database whose tables are not partitioned."""
    table = Table(place.name, options.readers, "readers")
    async with a_process(place.folder, in_settings(place.url), SERVE, PASSWORD=PASSWORD):
        pass  # the administrator and the first shelf are there now
    async with opened(place.url) as db:
        watch = await add_feeds(db, options.library)
        await follow_as_others(db, options.library, await db.read(lambda tx: tx.one(int, q.first_shelf)))
        known = 0
        for count in options.readers:
            say(f"{place.name}: {count:,} readers")
            growth = await add_readers(db, options.library, range(known, count))
            known = count
            table.add("disk: all of it, MB", await size_of(db) / 1e6)
            table.add("disk: a shelf, bytes", growth.shelf)
            table.add("disk: a watched feed without its items, bytes", watch)
            table.add("disk: a subscription, bytes", growth.subscription)
            table.add("disk: an entry, bytes", growth.entry)
            await measure_polls(place, db, base, table, size=count, polls=options.polls)
            await measure_delivery(place, db, table, count)
            await measure_pages(place, table, options.pages)
    table.show(plain)
    return table


@contextlib.contextmanager
def a_redis() -> Iterator[Redis]:
    redis = Redis(shared_folder()).start()
    try:
        yield redis
    finally:
        redis.stop()


# -- multiplied

FOLLOWS, PER_FEED, FRESH, PER_HOUR, READ = 50, 10, 2, 1, 40
ASSUMED = (
    f"Assumed: a reader follows {FOLLOWS} feeds and opens {READ} pages a day; {PER_FEED} feeds for each reader are "
    f"watched, each polled {PER_HOUR} time an hour, with {FRESH} new items a day; nothing is removed for a year."
)


def project(table: Table) -> None:
    """Cores as computing per second, on average over the day, and disk after a year."""
    print(f"\nMultiplied by the last column above. {ASSUMED}")
    print(f"{'readers':>12}{'feeds':>14}{'cores: polls':>14}{'delivery':>10}{'pages':>8}{'disk, GB':>12}")
    day = 86_400
    poll, new = table.last("a poll with a 304, ms") / 1e3, table.last(f"a poll with {ITEMS} new items, ms") / 1e3
    for readers in (1_000, 10_000, 100_000, 1_000_000):
        feeds = readers * PER_FEED
        polls = feeds * (PER_HOUR * 24 * poll + FRESH * (new - poll) / ITEMS) / day
        entries = readers * FOLLOWS * FRESH
        delivery = entries * table.last("a delivered entry, us") / 1e6 / day
        pages = readers * READ * table.last("the inbox page, ms") / 1e3 / day
        disk = (
            readers * table.last("disk: a shelf, bytes")
            + readers * FOLLOWS * table.last("disk: a subscription, bytes")
            + feeds * table.last("disk: a watched feed without its items, bytes")
            + feeds * FRESH * 365 * table.last("disk: an item of 0.9 kB with its words, bytes")
            + entries * 365 * table.last("disk: an entry, bytes")
        )
        print(f"{readers:>12,}{feeds:>14,}{polls:>14.2f}{delivery:>10.2f}{pages:>8.2f}{disk / 1e9:>12,.0f}")


async def on_sqlite(base: str, options: Options) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Place("SQLite", f"sqlite://{name}/tsuzuki.db", Path(name))
        await migrate(DatabaseOptions(place.url), now=0)
        project(await measure(place, base, options))
    with tempfile.TemporaryDirectory() as name:
        place = Place("SQLite", f"sqlite://{name}/claims.db", Path(name))
        await migrate(DatabaseOptions(place.url), now=0)
        await measure_claims(place, options.watches)


async def on_postgres(server: Postgres, base: str, options: Options) -> None:
    assert server._server is not None
    pid = server._server.process.pid

    async def on_new(name: str, work: Callable[[Place], Awaitable[None]]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            database = await databases.make(server.url, "template0")
            place = Place(name, databases.named(server.url, database), Path(folder), pid)
            await migrate(DatabaseOptions(place.url), now=0)
            await work(place)
            await databases.drop(server.url, database)

    tables: list[Table] = []

    async def plain(place: Place) -> None:
        tables.append(await measure(place, base, options))
        project(tables[0])
        with a_redis() as redis:
            await measure_worker(place, base, options, redis)

    async def partitioned(place: Place) -> None:
        await partition_entries(place.url, options.partitions)
        await measure(place, base, options, tables[0])

    await on_new("PostgreSQL", plain)
    await on_new("PostgreSQL", lambda place: measure_claims(place, options.watches))
    if options.partitions:
        await on_new(f"PostgreSQL, entry in {options.partitions} partitions", partitioned)


async def main(options: Options, engine: str | None) -> None:
    async with a_publisher() as base:
        if engine != "postgres":
            await on_sqlite(base, options)
        if engine != "sqlite":
            with a_postgres(memory="256MB") as server:
                await on_postgres(server, base, options)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # it is a TextIOWrapper
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="20 and 100 readers, 2,000 watches: a minute or two")
    parser.add_argument("--readers", type=int, nargs="+", help="default: 100 1000")
    parser.add_argument("--follows", type=int, default=20, help="feeds of each reader")
    parser.add_argument("--feeds", type=int, default=1_000)
    parser.add_argument("--items", type=int, default=10, help="of each feed")
    parser.add_argument("--watches", type=int, nargs="+", help="all of them due; default: 10000 100000")
    parser.add_argument("--partitions", type=int, default=16, help="0: without")
    parser.add_argument("--engine", choices=["sqlite", "postgres"], help="only this one")
    said = parser.parse_args()
    chosen = Options(
        readers=tuple(said.readers or ((20, 100) if said.small else (100, 1_000))),
        library=Library(feeds=said.feeds, items=said.items, follows=said.follows),
        polls=50 if said.small else 200,
        pages=20 if said.small else 200,
        watches=tuple(said.watches or ((500, 2_000) if said.small else (10_000, 100_000))),
        partitions=said.partitions,
    )
    asyncio.run(main(chosen, said.engine))
