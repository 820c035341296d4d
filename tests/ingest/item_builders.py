"""Feeds that several readers follow, and workers that take their tasks."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

import msgspec

from tests.builders import HERE, stored_feed, stored_watch
from tests.delivery.builders import a_channel, a_reader
from tests.ingest.builders import item_batch
from tsuzuki.app.opening import wall_clock
from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.db import Database
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.items import ITEMS, FeedItems, ItemBatch
from tsuzuki.ingest.service import Ingest
from tsuzuki.model.ids import FeedId, ShelfId, WatchId
from tsuzuki.model.times import Millis
from tsuzuki.queue.leases import WorkerContext
from tsuzuki.queue.policy import INGEST
from tsuzuki.queue.service import Tasks
from tsuzuki.queue.tasks import NewTask, Queue, enqueue_many_tx
from tsuzuki.queue.worker import Worker

QUEUE: Queue[ItemBatch] = msgspec.structs.replace(
    ITEMS, settings=msgspec.structs.replace(INGEST, attempts=1, lease=Millis(900))
)
"""One that gives up and takes over within a second or two."""

q = parse_queries(
    "tests",
    """
-- name: statuses
select key, status from task where queue = 'item-ingest' order by id;
-- name: keys
select feed_id, key from item order by feed_id, key;
-- name: inbox
select entry.feed_id, item.key from entry join item on item.id = entry.item_id where shelf_id = :shelf_id
order by entry.feed_id, item.key;
""",
)


class Row(msgspec.Struct, frozen=True):
    key: str
    status: str


class StoredKey(msgspec.Struct, frozen=True):
    feed_id: FeedId
    key: str


class FollowedFeeds(msgspec.Struct):
    """Feeds with their watches, and a reader of all of them who wants to hear of everything."""

    db: Database
    feeds: list[tuple[WatchId, FeedId]]
    shelf: ShelfId

    def batch(self, number: int, *keys: str, first: bool = False) -> ItemBatch:
        watch, feed = self.feeds[number]
        return item_batch(watch, feed, *keys, first=first)

    async def hand_on(self, *batches: ItemBatch, poll: int = 0) -> None:
        """As polls do, in this order."""
        tasks = [
            NewTask(f"ingest-{batch.watch_id}-{poll + number}-0", batch, run_at=Millis(1 + number))
            for number, batch in enumerate(batches)
        ]
        await self.db.with_tx(lambda tx: enqueue_many_tx(tx, ITEMS, tasks, now=wall_clock()))

    async def statuses(self) -> list[str]:
        return [row.status for row in await self.db.read(lambda tx: tx.many(Row, q.statuses))]

    async def items(self) -> list[tuple[FeedId, str]]:
        return [(row.feed_id, row.key) for row in await self.db.read(lambda tx: tx.many(StoredKey, q.keys))]

    async def inbox(self) -> list[tuple[FeedId, str]]:
        rows = await self.db.read(lambda tx: tx.many(StoredKey, q.inbox, shelf_id=self.shelf))
        return [(row.feed_id, row.key) for row in rows]

    async def until_done(self, patience: float = 30.0) -> None:
        deadline = time.monotonic() + patience
        while {"queued", "running"} & set(statuses := await self.statuses()):
            assert time.monotonic() < deadline, statuses
            await asyncio.sleep(0.02)

    @property
    def tasks(self) -> Tasks:
        return Tasks(self.db, MemoryWakeup(), wall_clock)


async def followed_feeds(db: Database, feeds: int) -> FollowedFeeds:
    ids = [await stored_feed(db) for _ in range(feeds)]
    watches = [await stored_watch(db, feed) for feed in ids]
    shelf = await a_reader(db, feeds=ids)
    await a_channel(db, shelf)
    return FollowedFeeds(db, list(zip(watches, ids, strict=True)), shelf)


@contextlib.asynccontextmanager
async def working(db: Database, kind: type[Ingest[ItemBatch]] = Ingest) -> AsyncIterator[Ingest[ItemBatch]]:
    """A worker in this process, stopped at the end of the block."""
    ingest = kind(db, FeedItems(HERE), clock=wall_clock, after_commit=lambda *_: None)
    worker = Worker(WorkerContext(db=db, wakeup=MemoryWakeup(), clock=wall_clock, name="w"), QUEUE, ingest)
    running = asyncio.create_task(worker.run())
    try:
        yield ingest
    finally:
        worker.stop()
        await running
