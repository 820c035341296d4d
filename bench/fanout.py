"""Fan-out: ten items of one feed onto the shelves of many subscribers, in portions, on both engines.

`python -m bench.fanout [subscribers]`. The reference is the driver alone in the same run: an INSERT ... SELECT of as
many rows as a portion has, into the same table with its indexes and triggers, in a transaction each; no look at what is
there already, no events, no tasks. Beside the time it says how long the longest portion took, how long somebody else's
write and event waited at most while all was delivered, and by how much the process grew.
"""

import argparse
import asyncio
import contextlib
import itertools
import os
import resource
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial
from pathlib import Path

import asyncpg
import msgspec

from bench.harness import Line, a_postgres, say, show
from tests.builders import a_new_item, store_items_tx, stored_feed, stored_shelf
from tsuzuki.app.opening import wall_clock
from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.db import Database, DatabaseOptions, Tx, open_database
from tsuzuki.db.migrate import migrate
from tsuzuki.db.queries import Query, parse_queries
from tsuzuki.db.sqlite_file import connect, path_of
from tsuzuki.db.statistics import refresh_statistics
from tsuzuki.delivery.fanout import Delivered, NewBatch, deliver_feeds_tx
from tsuzuki.delivery.portions import Deliverer
from tsuzuki.delivery.tasks import DELIVERIES, PORTION, Delivery
from tsuzuki.inbox.events import newest_of_shelf_tx, next_events_tx
from tsuzuki.model.ids import FeedId, ShelfId
from tsuzuki.queue.leases import WorkerContext
from tsuzuki.queue.tasks import Task
from tsuzuki.queue.worker import Worker
from tsuzuki.shelves.events import counts_changed_tx

ITEMS = 10
SUBSCRIBERS = 20_000
MOST = 2.0
"""Times the bare insert."""
LOOK_EVERY = 0.05
CHUNK = 5_000

q = parse_queries(
    "bench",
    """
-- fragment: numbers
with recursive number (n) as (select cast(:first as bigint) union all select n + 1 from number where n + 1 < :until)
-- name: add_shelves
insert into shelf (id, tenant_id, plan, public_id, name, created_at, updated_at)
{numbers} select n, (select min(id) from tenant), 'self-hosted', unhex(printf('%032x', n)), 'Bench ' || n, 1, 1
from number;
-- name: add_groups
insert into shelf_group (public_id, shelf_id, name, is_default, created_at, updated_at)
{numbers} select unhex(printf('%032x', n)), n, 'Default', true, 1, 1 from number;
-- name: subscribe
insert into subscription (public_id, shelf_id, feed_id, group_id, created_at, updated_at)
select unhex(printf('%016x%016x', cast(:feed_id as bigint), shelf_id)), shelf_id, cast(:feed_id as bigint), id, 1, 1
from shelf_group where shelf_id >= :first and shelf_id < :until;
-- name: count_entries
select count(*) from entry where feed_id = :feed_id;
-- name: unfinished
select count(*) from task where queue = 'delivery' and status in ('queued', 'running');
""",
    """
-- name: add_shelves
insert into shelf (id, tenant_id, plan, public_id, name, created_at, updated_at)
{numbers}
select n, (select min(id) from tenant), 'self-hosted', decode(lpad(to_hex(n), 32, '0'), 'hex'), 'Bench ' || n, 1, 1
from number;
-- name: add_groups
insert into shelf_group (public_id, shelf_id, name, is_default, created_at, updated_at)
{numbers} select decode(lpad(to_hex(n), 32, '0'), 'hex'), n, 'Default', true, 1, 1 from number;
-- name: subscribe
insert into subscription (public_id, shelf_id, feed_id, group_id, created_at, updated_at)
select decode(lpad(to_hex(cast(:feed_id as bigint)), 16, '0') || lpad(to_hex(shelf_id), 16, '0'), 'hex'), shelf_id,
  cast(:feed_id as bigint), id, 1, 1
from shelf_group where shelf_id >= :first and shelf_id < :until;
""",
)

BARE = """
insert into entry (shelf_id, feed_id, item_id, sort_at, created_at)
select subscription.shelf_id, item.feed_id, item.id, item.sort_at, 1
from subscription join item on item.feed_id = subscription.feed_id
where subscription.feed_id = {feed} and subscription.shelf_id >= {first} and subscription.shelf_id < {until}
order by subscription.shelf_id, item.id
"""
FIRST_SHELF = 1_000


class Figures(msgspec.Struct):
    """What a delivery took."""

    seconds: float = 0.0
    bare: float = 0.0
    longest: float = 0.0
    """Of the portions, in seconds."""
    others: float = 0.0
    """How long somebody else waited at most: from a write to its event being seen."""
    growth: float = 0.0
    """In MB."""


class TimedDeliverer(Deliverer):
    """Remembers how long its longest portion took."""

    longest = 0.0

    async def handle(self, task: Task[Delivery]) -> None:
        began = time.perf_counter()
        await super().handle(task)
        self.longest = max(self.longest, time.perf_counter() - began)


# -- setting up


async def subscribed_feed(db: Database, subscribers: int) -> FeedId:
    feed = await stored_feed(db)
    for span in spans_of(range(subscribers), CHUNK):
        await db.with_tx(partial(run_tx, query=q.subscribe, params={"feed_id": feed, **span}))
    return feed


async def fill(db: Database, subscribers: int) -> None:
    await stored_shelf(db)  # and its tenant
    for span in spans_of(range(subscribers), CHUNK):
        await db.with_tx(partial(run_tx, query=q.add_shelves, params=span))
        await db.with_tx(partial(run_tx, query=q.add_groups, params=span))


async def run_tx(tx: Tx, *, query: Query, params: Mapping[str, int]) -> None:
    await tx.run(query, **params)


def spans_of(subscribers: range, most: int) -> list[dict[str, int]]:
    """The shelves of these subscribers, so many at a time."""
    places = [*range(subscribers.start, subscribers.stop, most), subscribers.stop]
    return [{"first": FIRST_SHELF + one, "until": FIRST_SHELF + other} for one, other in itertools.pairwise(places)]


# -- ours


async def deliver(db: Database, feed: FeedId, figures: Figures) -> None:
    """The items as ingest stores them, and a worker until all have them."""
    wakeup = MemoryWakeup()
    deliverer = TimedDeliverer(db, wall_clock, after_commit=wakeup.wake)
    context = WorkerContext(db=db, wakeup=wakeup, clock=wall_clock, name="bench")
    worker = Worker(context, DELIVERIES, deliverer)
    running = asyncio.create_task(worker.run())
    async with somebody_else(db, figures):
        began = time.perf_counter()
        wakeup.wake(*(await db.with_tx(lambda tx: store_tx(tx, feed))).wakeups)
        while await db.read(lambda tx: tx.one(int, q.unfinished)):  # noqa: ASYNC110  the worker tells nobody
            await asyncio.sleep(LOOK_EVERY)
        figures.seconds = time.perf_counter() - began
    worker.stop()
    await running
    figures.longest = deliverer.longest


async def store_tx(tx: Tx, feed: FeedId) -> Delivered:
    now = wall_clock()
    stored = await store_items_tx(tx, feed, [a_new_item(str(number)) for number in range(ITEMS)], now)
    return await deliver_feeds_tx(tx, [NewBatch("item", feed, tuple(item.id for item in stored), is_quiet=False)], now)


@contextlib.asynccontextmanager
async def somebody_else(db: Database, figures: Figures) -> AsyncIterator[None]:
    """Writes an event on a shelf of their own again and again, and waits until its page would be told."""
    shelf, before = await stored_shelf(db), memory()

    async def go_on() -> None:
        while True:
            began = time.perf_counter()
            await until_told(db, shelf)
            figures.others = max(figures.others, time.perf_counter() - began)
            figures.growth = max(figures.growth, memory() - before)
            await asyncio.sleep(LOOK_EVERY)

    going = asyncio.create_task(go_on())
    try:
        yield
    finally:
        going.cancel()
        await asyncio.gather(going, return_exceptions=True)


async def until_told(db: Database, shelf: ShelfId) -> None:
    seen = await db.read(lambda tx: newest_of_shelf_tx(tx, shelf))
    await db.with_tx(lambda tx: counts_changed_tx(tx, [shelf], wall_clock()))
    while not await db.read(lambda tx: next_events_tx(tx, shelf, seen, most=1)):  # noqa: ASYNC110  as `Events` does
        await asyncio.sleep(0.005)


def memory() -> float:
    """Of this process, now, in MB."""
    return int(Path("/proc/self/statm").read_text("utf-8").split()[1]) * resource.getpagesize() / 1e6


# -- the reference


async def insert_bare(url: str, feed: FeedId, subscribers: range) -> float:
    """Seconds for the same rows, so many in a transaction as a portion has."""
    statements = [BARE.format(feed=feed, **span) for span in spans_of(subscribers, PORTION // ITEMS)]
    if url.startswith("sqlite"):
        return await asyncio.to_thread(insert_bare_sqlite, url, statements)
    connection = await asyncpg.connect(url)
    try:
        began = time.perf_counter()
        for statement in statements:
            await connection.execute(statement)
        return time.perf_counter() - began
    finally:
        await connection.close()


def insert_bare_sqlite(url: str, statements: list[str]) -> float:
    with contextlib.closing(connect(path_of(url))) as file:
        began = time.perf_counter()
        for statement in statements:
            file.execute(statement)
        return time.perf_counter() - began


# -- saying it


async def measure(url: str, subscribers: int) -> Figures:
    figures = Figures()
    await migrate(DatabaseOptions(url), now=0)
    db = await open_database(DatabaseOptions(url))
    try:
        say(f"{subscribers:,} shelves on {url.partition(':')[0]}")
        await fill(db, subscribers)
        ours, bare = await subscribed_feed(db, subscribers), await subscribed_feed(db, subscribers)
        await db.with_tx(lambda tx: store_items_tx(tx, bare, [a_new_item(str(n)) for n in range(ITEMS)], wall_clock()))
        await refresh_statistics(db)
        half = subscribers // 2  # the reference runs before and after, for the table grows meanwhile
        say("the bare insert, first half")
        figures.bare = await insert_bare(url, bare, range(half))
        say("the delivery")
        await deliver(db, ours, figures)
        found = await db.read(lambda tx: tx.one(int, q.count_entries, feed_id=ours))
        assert found == subscribers * ITEMS, f"{found} entries"
        say("the bare insert, second half")
        figures.bare += await insert_bare(url, bare, range(half, subscribers))
    finally:
        await db.close()
    return figures


def report(engine: str, subscribers: int, figures: Figures) -> None:
    share = 100_000 / (subscribers * ITEMS)
    ratio = figures.seconds / figures.bare
    lines = [
        Line("100,000 entries", figures.seconds * share, figures.bare * share, ratio, f"at most {MOST}", ratio <= MOST),
        Line("all of it", figures.seconds, figures.bare),
        Line("the longest portion", figures.longest),
        Line("somebody else waited for their event", figures.others),
    ]
    show(f"{subscribers:,} subscribers, {ITEMS} items, on {engine}", ("ours", "bare"), lines)
    print(f"the process grew by {figures.growth:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure fan-out.")
    parser.add_argument("subscribers", type=int, nargs="?", default=SUBSCRIBERS)
    parser.add_argument("--engine", choices=["sqlite", "postgres"], help="only this one")
    options = parser.parse_args()
    for engine, place in (("sqlite", a_file()), ("postgres", a_server())):
        if options.engine in {None, engine}:
            with place as url:
                report(engine, options.subscribers, asyncio.run(measure(url, options.subscribers)))


@contextlib.contextmanager
def a_file() -> Iterator[str]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        yield f"sqlite://{folder}/fanout.db"


@contextlib.contextmanager
def a_server() -> Iterator[str]:
    with a_postgres() as server:
        yield server.url


if __name__ == "__main__":
    main()
