"""Entries with what they are about, remembered."""

from typing import Any

from tsuzuki.db import Tx, load_queries
from tsuzuki.delivery.inbox.entries import InboxEntry, InboxFilter
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.pages import LATEST, PageCursor
from tsuzuki.shelves.entries.nouns import Tallied

q = load_queries("tsuzuki.delivery.inbox")


async def entries_tx(
    tx: Tx, shelf_id: ShelfId, wanted: InboxFilter, *, after: PageCursor, most: int
) -> list[InboxEntry]:
    """The newest entries that come after this place in the list."""
    params: dict[str, Any] = {"shelf_id": shelf_id, "kind": wanted.kind, "at": after.at, "id": after.id, "most": most}
    by_published = wanted.by_published
    if not by_published:
        params["then"] = LATEST if after.then is None else after.then
    if wanted.unread is None:
        return await tx.many(InboxEntry, q.all_entries_published if by_published else q.all_entries, **params)
    if wanted.unread:
        return await tx.many(InboxEntry, q.unread_entries_published if by_published else q.unread_entries, **params)
    return await tx.many(InboxEntry, q.read_entries_published if by_published else q.read_entries, **params)


async def count_tx(tx: Tx, shelf_id: ShelfId, wanted: InboxFilter) -> int:
    """How many there are in all."""
    tallied = await tx.one(Tallied, q.tallied, shelf_id=shelf_id, kind=wanted.kind)
    return tallied.of(unread=wanted.unread)
