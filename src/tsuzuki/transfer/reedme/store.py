"""Bookmarks that have no key of their own."""

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import ShelfId
from tsuzuki.shelves.bookmarks import NewBookmark

q = load_queries("tsuzuki.transfer.reedme")


async def has_loose_bookmark_tx(tx: Tx, shelf_id: ShelfId, new: NewBookmark) -> bool:
    """Whether the shelf has this one, which has neither a link nor an item."""
    names = {"title": new.title, "feed_name": new.feed_name}
    return await tx.one(bool, q.has_loose_bookmark, shelf_id=shelf_id, **names)
