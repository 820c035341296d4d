"""R108: numbers that apps go by. None is used twice, and none appears below one that was seen."""

import asyncio
import random

import asyncpg
import pytest

from tests.builders import NOON, a_new_item, store_items_tx, stored_feed, stored_series, stored_watch
from tests.delivery.builders import a_reader, deliver_items_tx, follow, subscribe
from tests.inbox.builders import a_sync_inbox
from tsuzuki.db import Database
from tsuzuki.db.queries import parse_queries
from tsuzuki.inbox.sync import LONGEST_AT_ONCE, MOST_AT_ONCE, SyncFilter
from tsuzuki.model.ids import FeedId, ItemId, ShelfId

q = parse_queries(
    "tests",
    """
-- name: delete_entries
delete from entry where shelf_id = :shelf_id;
-- name: delete_subscription
delete from subscription where shelf_id = :shelf_id and feed_id = :feed_id;
-- name: point_subscription
update subscription set feed_id = :into where shelf_id = :shelf_id and feed_id = :feed_id;
""",
)
_INSERT = "insert into entry (shelf_id, feed_id, item_id, sort_at, created_at) values ($1, $2, $3, 0, 0) returning id"


async def a_followed_feed(db: Database) -> tuple[ShelfId, FeedId]:
    feed = await stored_feed(db)
    await stored_watch(db, feed)
    return await a_reader(db, feeds=[feed]), feed


async def another_feed(db: Database, shelf: ShelfId) -> FeedId:
    """Whoever delivers of it waits for nobody who delivers of the first."""
    feed = await stored_feed(db)
    await stored_watch(db, feed)
    await subscribe(db, shelf, feed)
    return feed


async def store(db: Database, feed: FeedId, *keys: str) -> list[ItemId]:
    """Items that are on no shelf yet."""
    stored = await db.with_tx(lambda tx: store_items_tx(tx, feed, map(a_new_item, keys), NOON))
    return [item.id for item in stored]


async def deliver(db: Database, feed: FeedId, *keys: str) -> None:
    items = await store(db, feed, *keys)
    await db.with_tx(lambda tx: deliver_items_tx(tx, feed, items, is_first_harvest=False, now=NOON))


async def numbers(db: Database, shelf: ShelfId, **wanted) -> list[int]:
    return [ref.id for ref in await a_sync_inbox(db).refs(shelf, SyncFilter(**wanted), most=1000)]


@pytest.mark.parametrize("engine", ["postgres"])  # SQLite has one writer
@pytest.mark.parametrize("is_marked", [True, False])
async def test_a_lower_number_never_appears_after_a_higher_one(db, database_url, is_marked):
    """A writer that is given its numbers first and commits last hides what others committed meanwhile.

    Without the mark that it leaves, an app would see the higher number first, and never the lower one.
    """
    shelf, feed = await a_followed_feed(db)
    other = await another_feed(db, shelf)
    await deliver(db, feed, "before")
    [before] = await numbers(db, shelf)
    [late] = await store(db, other, "late")
    writer = await asyncpg.connect(database_url)
    try:
        if not is_marked:
            await writer.execute("alter table entry disable trigger entry_arrives")
        async with writer.transaction():
            number = await writer.fetchval(_INSERT, shelf, other, late)
            await deliver(db, feed, "meanwhile")
            assert await numbers(db, shelf) == ([before] if is_marked else [before, number + 1])
        assert await numbers(db, shelf) == [before, number, number + 1]
    finally:
        await writer.close()


@pytest.mark.parametrize("engine", ["postgres"])  # SQLite has one writer
async def test_writers_in_any_order_leave_no_gap_behind(db, database_url):
    """An app that goes on from the highest number that it saw has every entry once all writers are done."""
    shelf, first = await a_followed_feed(db)
    feeds = [first] + [await another_feed(db, shelf) for _ in range(3)]
    items = {feed: await store(db, feed, *(f"n{n}" for n in range(20))) for feed in feeds}
    rng = random.Random(4)

    async def write(feed: FeedId) -> None:
        connection = await asyncpg.connect(database_url)
        try:
            for item in items[feed]:
                async with connection.transaction():
                    await connection.execute("select txid_current()")
                    await asyncio.sleep(rng.random() * 0.01)
                    await connection.fetchval(_INSERT, shelf, feed, item)
                    await asyncio.sleep(rng.random() * 0.02)
        finally:
            await connection.close()

    writing = [asyncio.create_task(write(feed)) for feed in feeds]
    seen: list[int] = []
    while not all(task.done() for task in writing):
        seen += await numbers(db, shelf, above=seen[-1] if seen else 0)
    await asyncio.gather(*writing)
    seen += await numbers(db, shelf, above=seen[-1] if seen else 0)
    assert len(seen) == 80
    assert seen == sorted(seen)


async def test_numbers_are_never_used_twice(db):
    shelf, feed = await a_followed_feed(db)
    await deliver(db, feed, "one")
    [gone] = await numbers(db, shelf)
    await db.with_tx(lambda tx: tx.run(q.delete_entries, shelf_id=shelf))
    await deliver(db, feed, "two")
    [new] = await numbers(db, shelf)
    assert new > gone


async def test_a_feed_followed_again_keeps_its_number(db):
    shelf, feed = await a_followed_feed(db)
    sync = a_sync_inbox(db)
    [before] = await sync.feeds(shelf, None)
    await db.with_tx(lambda tx: tx.run(q.delete_subscription, shelf_id=shelf, feed_id=feed))
    assert await sync.feeds(shelf, None) == []
    assert await numbers(db, shelf, feed=before.number) == []
    other = await another_feed(db, shelf)
    await subscribe(db, shelf, feed)
    found = {one.of_id: one.number for one in await sync.feeds(shelf, None)}
    assert found[feed] == before.number
    assert found[other] != before.number


async def test_the_number_goes_along_when_a_feed_moves(db):
    shelf, feed = await a_followed_feed(db)
    [before] = await a_sync_inbox(db).feeds(shelf, None)
    into = await stored_feed(db)
    await stored_watch(db, into)
    await db.with_tx(lambda tx: tx.run(q.point_subscription, shelf_id=shelf, feed_id=feed, into=into))
    [after] = await a_sync_inbox(db).feeds(shelf, None)
    assert (after.number, after.of_id) == (before.number, into)


async def test_feeds_and_series_share_one_row_of_numbers(db):
    shelf, _ = await a_followed_feed(db)
    await follow(db, shelf, await stored_series(db))
    found = await a_sync_inbox(db).feeds(shelf, None)
    assert [one.kind for one in found] == ["item", "chapter"]
    assert len({one.number for one in found}) == 2


async def test_long_texts_are_read_a_few_at_a_time(db):
    """In the order that was asked for, without numbers that the shelf does not have."""
    shelf, feed = await a_followed_feed(db)
    await deliver(db, feed, *(f"short{n}" for n in range(MOST_AT_ONCE + 1)))
    texts = ["é" * (LONGEST_AT_ONCE // 4 + 1)] * 4  # two bytes each: one of them and no more
    long = [a_new_item(f"long{place}", content=text) for place, text in enumerate(texts)]
    stored = await db.with_tx(lambda tx: store_items_tx(tx, feed, long, NOON))
    ids = [item.id for item in stored]
    await db.with_tx(lambda tx: deliver_items_tx(tx, feed, ids, is_first_harvest=False, now=NOON))
    every = (await numbers(db, shelf))[::-1]
    found = [part async for part in a_sync_inbox(db).portions(shelf, [0, -1, *every, every[0], 10**12, 2**70])]
    assert [number for part in found for number in part] == every
    assert [len(part) for part in found[:4]] == [1, 1, 1, MOST_AT_ONCE - 3]
    assert max(map(len, found)) <= MOST_AT_ONCE
    stranger, _ = await a_followed_feed(db)
    assert [part async for part in a_sync_inbox(db).portions(stranger, every)] == []


async def test_another_shelfs_numbers_are_unknown(db):
    shelf, feed = await a_followed_feed(db)
    await deliver(db, feed, "one")
    stranger, theirs = await a_followed_feed(db)
    sync = a_sync_inbox(db)
    [entry] = await numbers(db, shelf)
    [mine] = await sync.feeds(shelf, None)
    assert await numbers(db, stranger, feed=mine.number) == []
    assert await sync.entries(stranger, [entry], None) == []
    await sync.mark(stranger, [entry], None, unread=False)
    await sync.mark(stranger, [entry], None, saved=True)
    assert await numbers(db, shelf, unread=True, saved=False) == [entry]
    assert theirs != feed
