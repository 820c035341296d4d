"""Entries of a shelf, listed, found and marked."""

from collections.abc import Sequence
from typing import Any

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.fulltext import match
from tsuzuki.model.ids import FeedId, GroupId, ItemId, ShelfId
from tsuzuki.model.pages import PageCursor
from tsuzuki.model.times import Millis
from tsuzuki.shelves.entries.nouns import ItemFilter, ShelfItem, Tallied

q = load_queries("tsuzuki.shelves.entries")


async def list_items_tx(
    tx: Tx, shelf_id: ShelfId, wanted: ItemFilter, *, after: PageCursor, most: int
) -> list[ShelfItem]:
    """Items that come after this place, the newest first. Each kind of list is read along an index of its own."""
    flags: dict[str, Any] = {"unread": wanted.unread, "saved": wanted.saved, "with_content": wanted.with_content}
    bounds: dict[str, Any] = {"since": wanted.since, "at": after.at, "id": after.id, "most": most}
    rest = {"shelf_id": shelf_id, **bounds, **flags}
    place: dict[str, Any] = {"feed_id": wanted.feed_id, "group_id": wanted.group_id}
    if wanted.sought is not None:
        words = match(tx.engine, wanted.sought)
        sought = {"match": words, "by_arrival": wanted.by_arrival}
        return [] if words is None else await tx.many(ShelfItem, q.list_sought_items, **rest, **place, **sought)
    if wanted.by_arrival:
        return await tx.many(ShelfItem, q.list_newcomers, **rest, **place)
    if wanted.feed_id is not None:
        return await tx.many(ShelfItem, q.list_feed_items, **rest, feed_id=wanted.feed_id)
    if wanted.group_id is not None:
        return await tx.many(ShelfItem, q.list_group_items, **rest, group_id=wanted.group_id)
    if wanted.saved:
        return await tx.many(ShelfItem, q.list_saved_items, **rest)
    if wanted.unread:
        return await tx.many(ShelfItem, q.list_unread_items, **rest)
    return await tx.many(ShelfItem, q.list_items, **rest)


async def count_items_tx(tx: Tx, shelf_id: ShelfId, wanted: ItemFilter) -> int:
    """How many such items the shelf has."""
    place: dict[str, Any] = {"shelf_id": shelf_id, "feed_id": wanted.feed_id, "group_id": wanted.group_id}
    flags = {"unread": wanted.unread, "saved": wanted.saved}
    bounds = {"since": wanted.since, "by_arrival": wanted.by_arrival}
    if wanted.sought is not None:
        words = match(tx.engine, wanted.sought)
        return 0 if words is None else await tx.one(int, q.count_sought_items, **place, **flags, **bounds, match=words)
    if wanted.since:
        return await tx.one(int, q.count_items_since, **place, **flags, **bounds)
    if wanted.saved:
        return (await tx.one(Tallied, q.tallied_saved, **place)).of(unread=wanted.unread)
    tallied = (await tx.one(Tallied, q.tallied_items, **place)).of(unread=wanted.unread)
    if wanted.saved is None:
        return tallied
    return tallied - (await tx.one(Tallied, q.tallied_saved, **place)).of(unread=wanted.unread)


async def find_item_tx(tx: Tx, shelf_id: ShelfId, item_id: ItemId) -> ShelfItem | None:
    """An item of the shelf with its content; None for one that is not there."""
    return await tx.maybe(ShelfItem, q.find_item, shelf_id=shelf_id, item_id=item_id, with_content=True)


async def mark_items_tx(tx: Tx, shelf_id: ShelfId, ids: Sequence[ItemId], *, unread: bool, now: Millis) -> int:
    """Mark the shelf's entries of these items; how many changed."""
    return await tx.run(q.mark_items, shelf_id=shelf_id, ids=ids, unread=unread, read_at=None if unread else now)


async def mark_feed_tx(tx: Tx, shelf_id: ShelfId, feed_id: FeedId, *, unread: bool, before: Millis, now: Millis) -> int:
    """Mark a feed's entries that sort before a moment; how many changed."""
    read_at = None if unread else now
    return await tx.run(q.mark_feed, shelf_id=shelf_id, feed_id=feed_id, unread=unread, read_at=read_at, before=before)


async def mark_group_tx(
    tx: Tx, shelf_id: ShelfId, group_id: GroupId, *, unread: bool, before: Millis, now: Millis
) -> int:
    """Mark the entries of a group's feeds that sort before a moment; how many changed."""
    marks = {"unread": unread, "read_at": None if unread else now, "before": before}
    return await tx.run(q.mark_group, shelf_id=shelf_id, group_id=group_id, **marks)


async def mark_all_tx(
    tx: Tx, shelf_id: ShelfId, *, unread: bool, before: Millis, now: Millis, with_chapters: bool
) -> int:
    """Mark all entries that sort before a moment, or all but those of chapters; how many changed."""
    marks = {"unread": unread, "read_at": None if unread else now, "before": before, "with_chapters": with_chapters}
    return await tx.run(q.mark_all, shelf_id=shelf_id, **marks)


async def unmark_since_tx(tx: Tx, shelf_id: ShelfId, at: Millis) -> int:
    """Make unread again what was marked read at this very moment; how many."""
    return await tx.run(q.unmark_since, shelf_id=shelf_id, at=at)
