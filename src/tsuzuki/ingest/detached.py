"""Detached items: imported ones that no fetch of their feed brought. A feed holds only what was fetched.

Its entries are listed under the feed all the same, on the shelves that have them. Nobody else sees it, and when the
feed brings the same item, these entries become that item's.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.fulltext import IndexWords, document
from tsuzuki.db.locks import lock_feeds_shared_tx
from tsuzuki.ingest.items import index_items_tx
from tsuzuki.model.ids import FeedId, ItemId, ShelfId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.ingest")

Row = Mapping[str, Any]


class ImportedItem(msgspec.Struct, frozen=True):
    """An item with the state that it has on its shelf."""

    key: str
    item: Row
    """The columns of `item`; the content's hash in hex."""
    entry: Row
    """The columns of `entry`."""
    words: IndexWords
    """By which it is found."""


class ImportedCounts(msgspec.Struct, frozen=True):
    """How many came to the shelf, and which items are new at all."""

    created: int
    existing: int
    new: Mapping[str, ItemId]


class _KeyedItem(msgspec.Struct, frozen=True):
    key: str
    id: ItemId


async def shelf_items_tx(tx: Tx, shelf_id: ShelfId, feed_id: FeedId, keys: Iterable[str]) -> dict[str, ItemId]:
    """Those of these keys that the shelf has under the feed."""
    rows = await tx.bulk(_KeyedItem, q.shelf_items, [[key] for key in keys], shelf_id=shelf_id, feed_id=feed_id)
    return {row.key: row.id for row in rows}


async def import_items_tx(
    tx: Tx, shelf_id: ShelfId, feed_id: FeedId, brought: Sequence[ImportedItem], *, now: Millis
) -> ImportedCounts:
    """Put items that somebody says a feed had onto one shelf: the feed's own where it holds them, else detached ones.

    To be called with the feed's items locked. A repeat changes nothing (I2); what is read or saved stays so. A shelf
    that has left the feed gets nothing of it.
    """
    await lock_feeds_shared_tx(tx, [feed_id])
    if not await tx.one(bool, q.is_subscribed, shelf_id=shelf_id, feed_id=feed_id):
        return ImportedCounts(0, 0, {})
    keys: dict[str, ImportedItem] = {}
    for item in brought:
        keys.setdefault(item.key, item)
    had = await shelf_items_tx(tx, shelf_id, feed_id, keys)
    held = await tx.bulk(_KeyedItem, q.feed_items, [[key] for key in keys if key not in had], feed_id=feed_id)
    ids = had | {row.key: row.id for row in held}
    rows = [{**item.item, "key": key, "n": n} for n, (key, item) in enumerate(keys.items()) if key not in ids]
    new = {row.key: row.id for row in await tx.bulk(_KeyedItem, q.add_detached, rows)} if rows else {}
    if new:
        await index_items_tx(tx, [document(row_id, keys[key].words) for key, row_id in new.items()])
    ids |= new
    entries = [{**item.entry, "item_id": ids[key], "n": n} for n, (key, item) in enumerate(keys.items())]
    await tx.run(q.put_entries, rows=entries, shelf_id=shelf_id, feed_id=feed_id, now=now)
    created = len(keys) - len(had)
    return ImportedCounts(created, len(brought) - created, new)


async def next_detached_tx(tx: Tx, *, after: ItemId, most: int) -> list[ItemId]:
    """The next items that no feed holds, by their ids."""
    return await tx.many(ItemId, q.next_detached, after=after, most=most)


async def drop_unheld_tx(tx: Tx, items: Iterable[ItemId]) -> int:
    """Forget those of these that no feed holds and no shelf has; how many."""
    return await tx.run(q.drop_unheld, rows=[[item] for item in items])
