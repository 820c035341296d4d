"""Readers with subscriptions and follows, feeds with items, series with chapters, and a look at what became of them."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from tests.builders import (
    NOON,
    a_new_chapter,
    a_new_item,
    a_public_id,
    store_items_tx,
    stored_feed,
    stored_series,
    stored_shelf,
)
from tsuzuki.db import Database, Tx
from tsuzuki.db.queries import parse_queries
from tsuzuki.delivery.fanout import Delivered, NewBatch, deliver_chapters_tx, deliver_feeds_tx
from tsuzuki.delivery.tasks import PORTION
from tsuzuki.ingest.chapters import upsert_chapters_tx
from tsuzuki.ingest.items import adopt_items_tx
from tsuzuki.model.ids import ChapterId, EntryId, FeedId, ItemId, SeriesId, ShelfId
from tsuzuki.model.times import Millis

q = parse_queries(
    "tests",
    """
-- name: add_group
insert into shelf_group (public_id, shelf_id, name, is_default, created_at, updated_at)
values (:public_id, :shelf_id, :name, :is_default, :now, :now) returning id;
-- name: add_subscription
insert into subscription (public_id, shelf_id, feed_id, group_id, name, suspended_at, notify, created_at, updated_at)
values (:public_id, :shelf_id, :feed_id, :group_id, :name, :suspended_at, :notify, :now, :now);
-- name: add_follow
insert into follow (public_id, shelf_id, series_id, group_id, status, notify, created_at, updated_at)
values (:public_id, :shelf_id, :series_id, :group_id, :status, :notify, :now, :now);
-- name: add_channel
insert into channel (public_id, shelf_id, kind, name, config, created_at, updated_at)
values (:public_id, :shelf_id, 'webhook', 'Mine', '{"url": "https://example.org/"}', :now, :now);
-- name: default_group
select id from shelf_group where shelf_id = :shelf_id and is_default;
-- name: entries
select coalesce(item_id, chapter_id) as of_id, unread, sort_at, created_at from entry where shelf_id = :shelf_id
order by of_id;
-- name: entry_ids
select id from entry where shelf_id = :shelf_id order by id;
-- name: events
select kind, payload from event where shelf_id = :shelf_id order by place, id;
-- name: task_keys
select key from task where queue = :queue and run_at <= :now order by id;
-- name: count_sends
select count(*) from task where queue = 'channel-sends' and status = 'done';
-- name: truth
select count(*) from entry where shelf_id = :shelf_id and unread;
""",
)


class EntryRow(msgspec.Struct, frozen=True):
    of_id: int
    unread: bool
    sort_at: Millis
    created_at: Millis


class EventRow(msgspec.Struct, frozen=True):
    kind: str
    payload: dict[str, Any]


# -- readers


async def deliver_items_tx(
    tx: Tx,
    feed_id: FeedId,
    new_items: Sequence[ItemId],
    *,
    is_first_harvest: bool,
    now: Millis,
    came: int = 0,
    most: int = PORTION,
) -> Delivered:
    """`deliver_feeds_tx` for one."""
    batch = NewBatch("item", feed_id, tuple(new_items), is_first_harvest, came)
    return await deliver_feeds_tx(tx, [batch], now, most=most)


async def a_reader(db: Database, *, feeds: Iterable[FeedId] = (), series: Iterable[SeriesId] = ()) -> ShelfId:
    """A shelf with its default group that follows all of these."""
    shelf = await stored_shelf(db)
    await add_group(db, shelf, "Default", is_default=True)
    for feed in feeds:
        await subscribe(db, shelf, feed)
    for each in series:
        await follow(db, shelf, each)
    return shelf


async def add_group(db: Database, shelf: ShelfId, name: str, *, is_default: bool = False) -> int:
    values = {"public_id": a_public_id(), "shelf_id": shelf, "name": name, "is_default": is_default, "now": NOON}
    return await db.with_tx(lambda tx: tx.one(int, q.add_group, **values))


async def subscribe(db: Database, shelf: ShelfId, feed: FeedId, **over: Any) -> None:
    await db.with_tx(lambda tx: subscribe_tx(tx, shelf, feed, **over))


async def subscribe_tx(tx: Tx, shelf: ShelfId, feed: FeedId, **over: Any) -> None:
    group = over.pop("group_id", None) or await tx.one(int, q.default_group, shelf_id=shelf)
    values = {"name": "", "suspended_at": None, "notify": True, "now": NOON} | over
    ids = {"public_id": a_public_id(), "shelf_id": shelf, "feed_id": feed, "group_id": group}
    await tx.run(q.add_subscription, **ids, **values)


async def follow(db: Database, shelf: ShelfId, series: SeriesId, **over: Any) -> None:
    await db.with_tx(lambda tx: follow_tx(tx, shelf, series, **over))


async def follow_tx(tx: Tx, shelf: ShelfId, series: SeriesId, **over: Any) -> None:
    group = over.pop("group_id", None) or await tx.one(int, q.default_group, shelf_id=shelf)
    values = {"status": "reading", "notify": True} | over
    ids = {"public_id": a_public_id(), "shelf_id": shelf, "series_id": series, "group_id": group}
    await tx.run(q.add_follow, **ids, **values, now=NOON)


async def a_channel(db: Database, shelf: ShelfId) -> None:
    """Something that is to be told, so that there are notices."""
    values = {"public_id": a_public_id(), "shelf_id": shelf, "now": NOON}
    await db.with_tx(lambda tx: tx.run(q.add_channel, **values))


# -- what comes out


async def items_tx(tx: Tx, feed: FeedId, keys: Iterable[object], now: Millis = NOON) -> list[ItemId]:
    """Store items; the ids of the new ones."""
    stored = await store_items_tx(tx, feed, [a_new_item(str(key)) for key in keys], now)
    return [item.id for item in stored if item.is_new]


async def chapters_tx(tx: Tx, series: SeriesId, numbers: Iterable[int], now: Millis = NOON) -> list[ChapterId]:
    """Store chapters; the ids of the new ones."""
    stored = await upsert_chapters_tx(tx, series, [a_new_chapter(number) for number in numbers], now)
    return [chapter.id for chapter in stored if chapter.is_new]


async def publish(
    db: Database,
    feed: FeedId,
    keys: Iterable[object],
    *,
    first: bool = False,
    now: Millis = NOON,
    came: int = 0,
    most: int = PORTION,
) -> Delivered:
    """Items through storing and delivery, in one transaction as ingest does it."""

    async def ingest(tx: Tx) -> Delivered:
        stored = await store_items_tx(tx, feed, [a_new_item(str(key)) for key in keys], now)
        await adopt_items_tx(tx, stored)
        new = [item.id for item in stored if item.is_new]
        return await deliver_items_tx(tx, feed, new, is_first_harvest=first, now=now, came=came, most=most)

    return await db.with_tx(ingest)


async def release(
    db: Database,
    series: SeriesId,
    numbers: Iterable[int],
    *,
    first: bool = False,
    now: Millis = NOON,
    harvest: str = "",
    most: int = PORTION,
) -> Delivered:
    """Chapters through storing and delivery."""

    async def ingest(tx: Tx) -> Delivered:
        new = await chapters_tx(tx, series, numbers, now)
        return await deliver_chapters_tx(tx, series, new, is_first_harvest=first, now=now, harvest=harvest, most=most)

    return await db.with_tx(ingest)


async def a_followed_feed(db: Database, readers: int = 1) -> tuple[FeedId, list[ShelfId]]:
    feed = await stored_feed(db)
    return feed, [await a_reader(db, feeds=[feed]) for _ in range(readers)]


async def a_followed_series(db: Database, readers: int = 1) -> tuple[SeriesId, list[ShelfId]]:
    series = await stored_series(db, "One")
    return series, [await a_reader(db, series=[series]) for _ in range(readers)]


# -- what became of it


async def entries_of(db: Database, shelf: ShelfId) -> list[EntryRow]:
    return await db.read(lambda tx: tx.many(EntryRow, q.entries, shelf_id=shelf))


async def events_of(db: Database, shelf: ShelfId) -> list[EventRow]:
    return await db.read(lambda tx: tx.many(EventRow, q.events, shelf_id=shelf))


async def task_keys(db: Database, queue: str, *, now: int = 2**62) -> list[str]:
    """Of those that are due by now, else of all."""
    return await db.read(lambda tx: tx.many(str, q.task_keys, queue=queue, now=now))


async def unread_truth(db: Database, shelf: ShelfId) -> int:
    return await db.read(lambda tx: tx.one(int, q.truth, shelf_id=shelf))


async def entry_ids(db: Database, shelf: ShelfId) -> Sequence[EntryId]:
    return await db.read(lambda tx: tx.many(EntryId, q.entry_ids, shelf_id=shelf))


async def count_channel_sends(db: Database) -> int:
    return await db.read(lambda tx: tx.one(int, q.count_sends))
