"""The inbox, page by page."""

from tsuzuki.db import Database, Tx
from tsuzuki.delivery.inbox.entries import InboxEntry, InboxFilter
from tsuzuki.delivery.inbox.store import count_tx, entries_tx
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.pages import Page, PageCursor


class Inbox:
    """What readers read from."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def page(self, shelf_id: ShelfId, wanted: InboxFilter, *, after: PageCursor, most: int) -> Page[InboxEntry]:
        """Entries from this place on, the newest first."""

        async def look(tx: Tx) -> Page[InboxEntry]:
            found = await entries_tx(tx, shelf_id, wanted, after=after, most=most + 1)
            rows = found[:most]
            further = _place(rows[-1], wanted) if len(found) > most else None
            return Page(rows, await count_tx(tx, shelf_id, wanted), further)

        return await self._db.read(look)


def _place(entry: InboxEntry, wanted: InboxFilter) -> PageCursor:
    if wanted.by_published:
        return PageCursor(entry.sort_at, entry.id)
    return PageCursor(entry.created_at, entry.id, entry.sort_at)
