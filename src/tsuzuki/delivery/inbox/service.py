"""The inbox, page by page."""

import re

import msgspec

from tsuzuki.db import Database, Tx
from tsuzuki.delivery.inbox.store import InboxEntry, Place, Wanted, count_tx, entries_tx
from tsuzuki.model.errors import Invalid, Problem
from tsuzuki.model.ids import ShelfId

_PLACE = re.compile(r"(-?[0-9]{1,18})\.([0-9]{1,18})")


class InboxPage(msgspec.Struct, frozen=True):
    """Some entries, how many there are in all, and where the next page begins; None at the end."""

    entries: list[InboxEntry]
    total: int
    next_cursor: str | None


class Inbox:
    """What readers read from."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def page(self, shelf_id: ShelfId, wanted: Wanted, *, before: str | None, most: int) -> InboxPage:
        """The newest entries below `before`, which is the `next_cursor` of the page above."""
        place = _place(before)

        async def look(tx: Tx) -> tuple[list[InboxEntry], int]:
            found = await entries_tx(tx, shelf_id, wanted, before=place, most=most + 1)
            return found, await count_tx(tx, shelf_id, wanted)

        found, total = await self._db.read(look)
        entries = found[:most]
        more = len(found) > most
        return InboxPage(entries, total, f"{entries[-1].sort_at}.{entries[-1].id}" if more else None)


def _place(cursor: str | None) -> Place:
    if cursor is None:
        return Place()
    found = _PLACE.fullmatch(cursor)
    if found is None:
        message = "before must be a next_cursor of this list."
        raise Invalid(message, (Problem("before", message),))
    return Place(int(found[1]), int(found[2]))
