"""An inbox, and what it holds of items."""

from collections.abc import Callable
from typing import Any

from tests.builders import NOON
from tests.shelves.builders import shelf_deps
from tsuzuki.db import Database
from tsuzuki.inbox.entries import Entry, EntryFilter
from tsuzuki.inbox.service import Inbox
from tsuzuki.inbox.sync import SyncInbox
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.pages import FROM_THE_TOP
from tsuzuki.model.times import Millis
from tsuzuki.shelves.bookmarks import Bookmarks


def an_inbox(db: Database, clock: Callable[[], Millis] = lambda: NOON) -> Inbox:
    """One that has nobody to wake."""
    return Inbox(db, clock, lambda *_: None)


async def items_of(db: Database, shelf: ShelfId, **wanted: Any) -> list[Entry]:
    """The shelf's entries of items with their content, the newest first by their publishers' dates."""
    every = EntryFilter(kind="item", by_published=True, detail="content", **wanted)
    return (await an_inbox(db).list(shelf, every, after=FROM_THE_TOP, most=99)).rows


def a_sync_inbox(db: Database, clock: Callable[[], Millis] = lambda: NOON) -> SyncInbox:
    """The same for apps."""
    return SyncInbox(db, an_inbox(db, clock), Bookmarks(shelf_deps(db, clock=clock)))
