"""A shelf's entries, found and marked."""

from collections.abc import Sequence

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.fulltext import match
from tsuzuki.model.ids import EntryId, FeedId, ItemId, SeriesId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.model.tokens import parse_terms

q = load_queries("tsuzuki.shelves")


class ItemHit(msgspec.Struct, frozen=True):
    """An item of the shelf that a search found."""

    id: ItemId
    feed_id: FeedId
    title: str
    sort_at: Millis
    unread: bool


class SeriesHit(msgspec.Struct, frozen=True):
    """A series that a search found."""

    id: SeriesId
    title: str
    last_chapter_at: Millis | None


async def search_items_tx(tx: Tx, shelf_id: ShelfId, query: str, most: int = 50) -> list[ItemHit]:
    """The shelf's items that match, best first; nothing for a query without a word in it."""
    wanted = match(tx.engine, parse_terms(query))
    if wanted is None:
        return []
    return await tx.many(ItemHit, q.search_items, match=wanted, shelf_id=shelf_id, most=most)


async def search_series_tx(tx: Tx, query: str, most: int = 50) -> list[SeriesHit]:
    """The series that match, best first."""
    wanted = match(tx.engine, parse_terms(query))
    return [] if wanted is None else await tx.many(SeriesHit, q.search_series, match=wanted, most=most)


async def mark_entries_tx(tx: Tx, shelf_id: ShelfId, ids: Sequence[EntryId], *, unread: bool, now: Millis) -> int:
    """Mark the shelf's entries read or unread; how many changed."""
    read_at = None if unread else now
    return await tx.run(q.mark_entries, shelf_id=shelf_id, ids=ids, unread=unread, read_at=read_at)
