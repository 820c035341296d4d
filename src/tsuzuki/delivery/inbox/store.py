"""Entries with what they are about."""

from typing import Any, Literal

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import ChapterId, EntryId, ItemId, PublicId, ShelfId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.delivery.inbox")

Kind = Literal["item", "chapter"]
NEWEST = 2**62


class InboxEntry(msgspec.Struct, frozen=True):
    """An entry, and the item or the chapter that it is about: the fields of the other are None."""

    id: EntryId
    unread: bool
    saved: bool
    sort_at: Millis
    created_at: Millis
    item_id: ItemId | None
    feed_id: PublicId | None
    """Of the shelf's subscription; None when it is gone."""
    item_title: str | None
    link: str | None
    author: str | None
    item_published_at: Millis | None
    chapter_id: ChapterId | None
    series_id: PublicId | None
    series_title: str | None
    chapter_title: str | None
    number: str | None
    volume: str | None
    chapter_published_at: Millis | None


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries; None means all of them."""

    kind: Kind | None = None
    unread: bool | None = None


class Place(msgspec.Struct, frozen=True):
    """Where in the list one stands; the list begins above the newest."""

    sort_at: int = NEWEST
    id: int = NEWEST


async def entries_tx(tx: Tx, shelf_id: ShelfId, wanted: Wanted, *, before: Place, most: int) -> list[InboxEntry]:
    """The newest entries below this place."""
    params: dict[str, Any] = {"shelf_id": shelf_id, "kind": wanted.kind, "most": most}
    params |= {"sort_at": before.sort_at, "id": before.id}
    if wanted.unread is None:
        return await tx.many(InboxEntry, q.all_entries, **params)
    if wanted.unread:
        return await tx.many(InboxEntry, q.unread_entries, **params)
    return await tx.many(InboxEntry, q.read_entries, **params)


async def count_tx(tx: Tx, shelf_id: ShelfId, wanted: Wanted) -> int:
    """How many there are in all."""
    if wanted.unread is None:
        return await tx.one(int, q.count_all, shelf_id=shelf_id, kind=wanted.kind)
    unread = await tx.one(int, q.count_unread, shelf_id=shelf_id, kind=wanted.kind)
    if wanted.unread:
        return unread
    return await tx.one(int, q.count_all, shelf_id=shelf_id, kind=wanted.kind) - unread
