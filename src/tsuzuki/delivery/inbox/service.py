"""The inbox, page by page."""

from tsuzuki.db import Database, Tx
from tsuzuki.delivery.inbox.entries import InboxEntry, Wanted
from tsuzuki.delivery.inbox.store import count_tx, entries_tx
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.pages import Cursor, Page


class Inbox:
    """What readers read from."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def page(self, shelf_id: ShelfId, wanted: Wanted, *, after: Cursor, most: int) -> Page[InboxEntry]:
        """Entries from this place on, the newest first."""

        async def look(tx: Tx) -> Page[InboxEntry]:
            found = await entries_tx(tx, shelf_id, wanted, after=after, most=most + 1)
            rows = found[:most]
            further = _place(rows[-1], wanted) if len(found) > most else None
            return Page(rows, await count_tx(tx, shelf_id, wanted), further)

        return await self._db.read(look)


def _place(entry: InboxEntry, wanted: Wanted) -> Cursor:
    if wanted.by_published:
        return Cursor(entry.sort_at, entry.id)
    return Cursor(entry.created_at, entry.id, entry.sort_at)
