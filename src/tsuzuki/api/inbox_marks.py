"""Marking what lies in the inbox, items and chapters alike."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.current_user import CurrentUser
from tsuzuki.api.declaring import declaring
from tsuzuki.api.endpoints import Access
from tsuzuki.api.forms import Body, Moment
from tsuzuki.api.ids import Number
from tsuzuki.api.items import MOST_AT_ONCE, MarkedView
from tsuzuki.api.shelf import ShelfQuery
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import EntryId, ShelfId, read_number
from tsuzuki.model.times import from_datetime
from tsuzuki.shelves.entries.service import Entries, MarkedEntries, MarkScope


class InboxMarkBody(Body, frozen=True, kw_only=True):
    """Entries by their ids, or all of them, those before a moment if one is given."""

    ids: Annotated[tuple[Number, ...], Meta(min_length=1, max_length=MOST_AT_ONCE)] | None = None
    all: Literal[True] | None = None
    before: Moment | None = None

    def __post_init__(self) -> None:
        if (self.ids is None) == (self.all is None):
            raise ValueError("Say ids or all.")
        if self.ids is not None and self.before is not None:
            raise ValueError("before goes with all.")


async def mark_inbox_read(
    *, query: ShelfQuery, body: InboxMarkBody, caller: Caller, current_user: CurrentUser, entries: Entries
) -> MarkedView:
    """Marks entries read; `/items/-/undo` takes its `undo` too."""
    marked = await _mark((await query.pick(caller, current_user)).id, body, entries, unread=False)
    return MarkedView(marked.changed, str(marked.at) if marked.changed else None)


async def mark_inbox_unread(
    *, query: ShelfQuery, body: InboxMarkBody, caller: Caller, current_user: CurrentUser, entries: Entries
) -> MarkedView:
    """Marks entries unread."""
    return MarkedView((await _mark((await query.pick(caller, current_user)).id, body, entries, unread=True)).changed)


async def _mark(shelf_id: ShelfId, body: InboxMarkBody, entries: Entries, *, unread: bool) -> MarkedEntries:
    if body.ids is not None:
        ids = [EntryId(number) for text in body.ids if (number := read_number(text)) is not None]
        return await entries.mark_entries(shelf_id, ids, unread=unread)
    scope = MarkScope(with_chapters=True)
    if body.before is not None:
        scope = msgspec.structs.replace(scope, before=from_datetime(body.before))
    return await entries.mark_scope(shelf_id, scope, unread=unread)


_write = declaring("inbox", Access.WRITE)

ENDPOINTS = (
    _write("PATCH", "/inbox/-/read", mark_inbox_read, "Mark entries read", errors=(NotFound,)),
    _write("PATCH", "/inbox/-/unread", mark_inbox_unread, "Mark entries unread", errors=(NotFound,)),
)
