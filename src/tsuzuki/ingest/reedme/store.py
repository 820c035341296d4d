"""Items by their keys, and bookmarks that have none."""

from collections.abc import Iterable

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import FeedId, ItemId, ShelfId
from tsuzuki.shelves.bookmarks.nouns import NewBookmark

q = load_queries("tsuzuki.ingest.reedme")


class _Keyed(msgspec.Struct, frozen=True):
    id: ItemId
    key: str


async def item_ids_tx(tx: Tx, feed_id: FeedId, keys: Iterable[str]) -> dict[str, ItemId]:
    """The stored items of these keys."""
    return {row.key: row.id for row in await tx.bulk(_Keyed, q.item_ids, [[key] for key in keys], feed_id=feed_id)}


async def has_loose_bookmark_tx(tx: Tx, shelf_id: ShelfId, new: NewBookmark) -> bool:
    """Whether the shelf has this one, which has neither a link nor an item."""
    names = {"title": new.title, "feed_name": new.feed_name}
    return await tx.one(bool, q.has_loose_bookmark, shelf_id=shelf_id, **names)
