"""Entries with what they are about, remembered."""

from typing import Any

from tsuzuki.db import Tx, load_queries
from tsuzuki.delivery.inbox.entries import InboxEntry, Wanted
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.pages import Cursor

q = load_queries("tsuzuki.delivery.inbox")


async def entries_tx(tx: Tx, shelf_id: ShelfId, wanted: Wanted, *, after: Cursor, most: int) -> list[InboxEntry]:
    """The newest entries that come after this place in the list."""
    params: dict[str, Any] = {"shelf_id": shelf_id, "kind": wanted.kind, "at": after.at, "id": after.id, "most": most}
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
