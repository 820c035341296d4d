"""Bookmarks, remembered."""

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import ItemId, PublicId, ShelfId
from tsuzuki.model.pages import PageCursor
from tsuzuki.model.times import Millis
from tsuzuki.shelves.bookmarks.nouns import Bookmark, BookmarkFilter, NewBookmark

q = load_queries("tsuzuki.shelves.bookmarks")


async def list_bookmarks_tx(
    tx: Tx, shelf_id: ShelfId, place: BookmarkFilter, *, after: PageCursor, most: int
) -> list[Bookmark]:
    """Bookmarks that come after this place in the list, the newest first."""
    where = {"feed_id": place.feed_id, "group_id": place.group_id, "at": after.at, "id": after.id}
    return await tx.many(Bookmark, q.list_bookmarks, shelf_id=shelf_id, most=most, **where)


async def count_bookmarks_tx(tx: Tx, shelf_id: ShelfId, place: BookmarkFilter) -> int:
    """How many there are."""
    return await tx.one(int, q.count_bookmarks, shelf_id=shelf_id, feed_id=place.feed_id, group_id=place.group_id)


async def find_bookmark_tx(tx: Tx, shelf_id: ShelfId, public_id: PublicId) -> Bookmark | None:
    """The shelf's bookmark with this id; None for another shelf's."""
    return await tx.maybe(Bookmark, q.find_bookmark, shelf_id=shelf_id, public_id=public_id)


async def find_bookmark_of_item_tx(tx: Tx, shelf_id: ShelfId, item_id: ItemId) -> Bookmark | None:
    """The shelf's bookmark of this item; None when it has none."""
    return await tx.maybe(Bookmark, q.find_bookmark_of_item, shelf_id=shelf_id, item_id=item_id)


async def add_bookmark_tx(tx: Tx, shelf_id: ShelfId, public_id: PublicId, new: NewBookmark, *, now: Millis) -> None:
    """Store it; UniqueViolation when the shelf has this link (R71)."""
    await tx.run(q.add_bookmark, public_id=public_id, shelf_id=shelf_id, **msgspec.structs.asdict(new), now=now)


async def set_note_tx(tx: Tx, bookmark_id: int, note: str) -> None:
    """What the reader wants to remember with it."""
    await tx.run(q.set_note, id=bookmark_id, note=note)


async def delete_bookmark_tx(tx: Tx, bookmark_id: int) -> None:
    """Forget it."""
    await tx.run(q.delete_bookmark, id=bookmark_id)


async def save_entry_tx(tx: Tx, shelf_id: ShelfId, item_id: ItemId, *, saved: bool) -> None:
    """Let the item's entry say whether it is bookmarked."""
    await tx.run(q.save_entry, shelf_id=shelf_id, item_id=item_id, saved=saved)


async def snapshot_tx(tx: Tx, shelf_id: ShelfId, item_id: ItemId, note: str) -> NewBookmark | None:
    """An item of the shelf as it is now; None when it has none such."""
    return await tx.maybe(NewBookmark, q.snapshot, shelf_id=shelf_id, item_id=item_id, note=note)
