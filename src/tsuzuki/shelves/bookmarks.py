"""Bookmarks: snapshots that outlive the item, its feed and its source."""

from collections.abc import Sequence

import msgspec

from tsuzuki.connectors.html.sanitiser import sanitise
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.errors import UniqueViolation
from tsuzuki.model.errors import Conflict, Invalid, NotFound, SourceError
from tsuzuki.model.ids import FeedId, GroupId, ItemId, PublicId, ShelfId
from tsuzuki.model.pages import Page, PageCursor
from tsuzuki.model.times import Millis
from tsuzuki.net.urls import parse
from tsuzuki.shelves.deps import ShelfDeps
from tsuzuki.shelves.events import EVENTS_WAKEUP, counts_changed_tx
from tsuzuki.shelves.groups import own_group_tx
from tsuzuki.shelves.subscriptions import own_subscription_tx


class Bookmark(msgspec.Struct, frozen=True):
    """A snapshot. `item_id` is None once the item is gone from the shelf."""

    id: int
    public_id: PublicId
    item_id: ItemId | None
    feed_id: PublicId | None
    """The shelf's subscription, while there is one."""
    link: str
    title: str
    content: str
    feed_name: str
    note: str
    published_at: Millis | None
    created_at: Millis


class NewBookmark(msgspec.Struct, frozen=True):
    """A snapshot to be stored."""

    title: str
    link: str = ""
    content: str = ""
    feed_name: str = ""
    note: str = ""
    published_at: Millis | None = None
    item_id: ItemId | None = None
    feed_id: FeedId | None = None


class BookmarkFilter(msgspec.Struct, frozen=True):
    """Which bookmarks: of one feed or group, or all."""

    feed_id: FeedId | None = None
    group_id: GroupId | None = None


q = load_queries("tsuzuki.shelves.bookmarks")


async def list_bookmarks_tx(
    tx: Tx, shelf_id: ShelfId, place: BookmarkFilter, *, after: PageCursor, most: int
) -> list[Bookmark]:
    """Bookmarks that come after this place in the list, the newest first."""
    where = {"feed_id": place.feed_id, "group_id": place.group_id, "at": after.at, "id": after.id}
    return await tx.many(Bookmark, q.list_bookmarks, shelf_id=shelf_id, most=most, **where)


async def add_bookmark_tx(tx: Tx, shelf_id: ShelfId, public_id: PublicId, new: NewBookmark, *, now: Millis) -> int:
    """Store it; its id. UniqueViolation when the shelf has this link (R71)."""
    said = msgspec.structs.asdict(new)
    return await tx.one(int, q.add_bookmark, public_id=public_id, shelf_id=shelf_id, **said, now=now)


async def delete_bookmark_tx(tx: Tx, bookmark_id: int) -> None:
    """Delete it."""
    await tx.run(q.delete_bookmark, id=bookmark_id)


async def save_entry_tx(tx: Tx, shelf_id: ShelfId, item_id: ItemId, *, saved: bool) -> None:
    """Mark the item's entry as bookmarked or not."""
    await tx.run(q.save_entry, shelf_id=shelf_id, item_id=item_id, saved=saved)


class Bookmarks:
    """What a reader keeps, whatever becomes of where it came from.

    Whoever changes a bookmark and its entry changes the bookmark first: in different order, two would deadlock.
    """

    def __init__(self, deps: ShelfDeps) -> None:
        self._deps = deps

    async def list(
        self, shelf_id: ShelfId, *, feed: PublicId | None, group: PublicId | None, after: PageCursor, most: int
    ) -> Page[Bookmark]:
        """A page of the shelf's bookmarks, the newest first; NotFound for another shelf's feed or group."""

        async def collect(tx: Tx) -> Page[Bookmark]:
            place = await _filter_tx(tx, shelf_id, feed, group)
            rows = await list_bookmarks_tx(tx, shelf_id, place, after=after, most=most + 1)
            last = rows[most - 1] if len(rows) > most else None
            total = await tx.one(
                int, q.count_bookmarks, shelf_id=shelf_id, feed_id=place.feed_id, group_id=place.group_id
            )
            return Page(rows[:most], total, None if last is None else PageCursor(last.created_at, last.id))

        return await self._deps.db.read(collect)

    async def get(self, shelf_id: ShelfId, public_id: PublicId) -> Bookmark:
        """One of the shelf's, or NotFound."""
        return await self._deps.db.read(lambda tx: _own_tx(tx, shelf_id, public_id))

    async def add_item(self, shelf_id: ShelfId, item_id: ItemId, note: str = "") -> Bookmark:
        """A snapshot of an item as it is now; Conflict when the shelf has its link, NotFound for a foreign item."""

        async def snapshot(tx: Tx) -> Bookmark:
            item = await tx.maybe(NewBookmark, q.snapshot, shelf_id=shelf_id, item_id=item_id, note=note)
            if item is None:
                raise NotFound("There is no such item.")
            made = await self._add_tx(tx, shelf_id, item)
            await self._save_tx(tx, shelf_id, item_id, saved=True)
            return made

        made = await self._deps.db.with_tx(snapshot)
        self._deps.after_commit(EVENTS_WAKEUP)
        return made

    async def save_items_tx(self, tx: Tx, shelf_id: ShelfId, items: Sequence[ItemId], *, saved: bool) -> int:
        """Bookmark these, or delete their bookmarks; how many entries changed. An app does not ask what is there, and
        may repeat it.
        """
        if saved:
            rows = [(item, self._deps.new_id()) for item in items]
            await tx.bulk(int, q.keep_bookmarks, rows, shelf_id=shelf_id, now=self._deps.clock())
        else:
            await tx.run(q.delete_bookmarks_of_items, shelf_id=shelf_id, ids=items)
        return await tx.run(q.save_entries, shelf_id=shelf_id, ids=items, saved=saved)

    async def add(self, shelf_id: ShelfId, new: NewBookmark) -> Bookmark:
        """A bookmark of a page, its content sanitised like any other (I7); RefusedAddress for a link that is none."""
        link = str(parse(new.link))
        try:
            content = await self._deps.parsers.run(sanitise, (new.content, link))
        except SourceError as error:
            raise Invalid(f"The content cannot be saved. {error}") from error
        clean = msgspec.structs.replace(new, link=link, content=content)
        return await self._deps.db.with_tx(lambda tx: self._add_tx(tx, shelf_id, clean))

    async def set_note(self, shelf_id: ShelfId, public_id: PublicId, note: str) -> Bookmark:
        """Set its note."""

        async def write(tx: Tx) -> Bookmark:
            await tx.run(q.set_note, id=(await _own_tx(tx, shelf_id, public_id)).id, note=note)
            return await _own_tx(tx, shelf_id, public_id)

        return await self._deps.db.with_tx(write)

    async def delete(self, shelf_id: ShelfId, public_id: PublicId) -> None:
        """Delete it."""

        async def delete(tx: Tx) -> None:
            gone = await _own_tx(tx, shelf_id, public_id)
            await delete_bookmark_tx(tx, gone.id)
            if gone.item_id is not None:
                await self._save_tx(tx, shelf_id, gone.item_id, saved=False)

        await self._deps.db.with_tx(delete)
        self._deps.after_commit(EVENTS_WAKEUP)

    async def delete_of_item(self, shelf_id: ShelfId, item_id: ItemId) -> Bookmark | None:
        """Delete the bookmark of an item; what was deleted, or None."""

        async def delete(tx: Tx) -> Bookmark | None:
            found = await tx.maybe(Bookmark, q.find_bookmark_of_item, shelf_id=shelf_id, item_id=item_id)
            if found is not None:
                await delete_bookmark_tx(tx, found.id)
            await self._save_tx(tx, shelf_id, item_id, saved=False)
            return found

        gone = await self._deps.db.with_tx(delete)
        self._deps.after_commit(EVENTS_WAKEUP)
        return gone

    async def _save_tx(self, tx: Tx, shelf_id: ShelfId, item_id: ItemId, *, saved: bool) -> None:
        """The entry shows it, and so do pages that are open elsewhere."""
        await save_entry_tx(tx, shelf_id, item_id, saved=saved)
        await counts_changed_tx(tx, [shelf_id], self._deps.clock())

    async def _add_tx(self, tx: Tx, shelf_id: ShelfId, new: NewBookmark) -> Bookmark:
        now, public_id = self._deps.clock(), self._deps.new_id()
        try:
            await add_bookmark_tx(tx, shelf_id, public_id, new, now=now)
        except UniqueViolation as error:
            raise Conflict("This shelf already has a bookmark of it.") from error
        return await _own_tx(tx, shelf_id, public_id)


async def _filter_tx(tx: Tx, shelf_id: ShelfId, feed: PublicId | None, group: PublicId | None) -> BookmarkFilter:
    """SEC-31: a feed or a group of this shelf, or NotFound."""
    group_id = None if group is None else (await own_group_tx(tx, shelf_id, group)).id
    if feed is None:
        return BookmarkFilter(None, group_id)
    subscription = await own_subscription_tx(tx, shelf_id, feed)
    if group_id not in (None, subscription.group_id):
        raise NotFound("There is no such feed in this group.")
    return BookmarkFilter(subscription.feed_id, group_id)


async def _own_tx(tx: Tx, shelf_id: ShelfId, public_id: PublicId) -> Bookmark:
    found = await tx.maybe(Bookmark, q.find_bookmark, shelf_id=shelf_id, public_id=public_id)
    if found is None:
        raise NotFound("There is no such bookmark.")
    return found
