"""The inbox: what came in, marks, counts, and what happens as it happens."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import StreamingResponse

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.current_user import CurrentUser
from tsuzuki.accounts.types import MemberShelf, Shelf
from tsuzuki.api.endpoints import Access, Body, Moment, declaring
from tsuzuki.api.ids import IdText, Number, id_in_field
from tsuzuki.api.items import MOST_AT_ONCE, MarkedView, marked_view
from tsuzuki.api.paging import CursorQuery, listing
from tsuzuki.api.views import CursorMeta, ListAnswer, Time, display_title, view_of
from tsuzuki.http.streams import event_stream
from tsuzuki.inbox.entries import Entry, EntryFilter, MarkedEntries, MarkScope, UnreadCounts
from tsuzuki.inbox.events import EventMessage, Events
from tsuzuki.inbox.service import Inbox
from tsuzuki.model.errors import NotFound, TooManyRequests
from tsuzuki.model.harvest import Kind
from tsuzuki.model.ids import EntryId, read_number, show_id
from tsuzuki.model.times import from_datetime
from tsuzuki.shelves.tags import Tags

# -- the list


class InboxQuery(CursorQuery, frozen=True, kw_only=True):
    """Which entries; those of a tag are tagged themselves, or of a tagged feed or series."""

    kind: Kind | None = None
    unread: bool | None = None
    tag_id: IdText | None = None
    order_by: Literal["created_at", "pub_date"] = "created_at"
    """By arrival, or by the publishers' dates."""


class ItemRef(msgspec.Struct, frozen=True, kw_only=True):
    """An item, without its content."""

    id: str
    feed_id: str | None
    """Null when the shelf is no longer subscribed."""
    title: str
    display_title: str
    """The title; else the first words, what stands for the picture, or the date (R103)."""
    link: str | None
    author: str | None
    pub_date: Time | None


class ChapterRef(msgspec.Struct, frozen=True, kw_only=True):
    """A chapter and its series."""

    id: str
    series_id: str
    series_title: str
    title: str
    number: str | None
    volume: str | None
    published_at: Time | None


class EntryView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An entry of the inbox: an item or a chapter."""

    id: str
    kind: Kind
    unread: bool
    saved: bool
    created_at: Time
    tags: list[str] = []
    """Its own, and those of its feed or series."""
    item: ItemRef | None = None
    chapter: ChapterRef | None = None


async def list_inbox(query: InboxQuery, shelf: Shelf, inbox: Inbox, tags: Tags) -> ListAnswer[EntryView, CursorMeta]:
    """Newest first."""  # R92
    wanted = EntryFilter(
        kind=query.kind,
        unread=query.unread,
        tag=id_in_field(query.tag_id, "tag_id"),
        by_published=query.order_by == "pub_date",
    )
    page = await inbox.list(shelf.id, wanted, after=query.after, most=query.limit)
    tagged = await tags.of_entries(shelf.id, [entry.id for entry in page.rows])

    def shown(entry: Entry) -> EntryView:
        view, names = _entry_view(entry), [tag.name for tag in tagged.get(entry.id, ())]
        return msgspec.structs.replace(view, tags=names) if names else view

    return listing(page, shown)


def _chapter(entry: Entry) -> ChapterRef | None:
    if entry.chapter_id is None or entry.series_public_id is None:
        return None
    return _chapter_view(entry, id=str(entry.chapter_id), series_id=show_id(entry.series_public_id))


_item_view = view_of(
    ItemRef,
    Entry,
    id=lambda entry: str(entry.item_id),
    display_title=lambda entry: display_title(entry.title, entry.beginning, entry.published_at or entry.sort_at),
    pub_date="published_at",
)
_chapter_view = view_of(ChapterRef, Entry, "id", "series_id", series_title=lambda entry: entry.series_title or "")
_entry_view = view_of(
    EntryView,
    Entry,
    "tags",
    kind=lambda entry: "chapter" if entry.item_id is None else "item",
    item=lambda entry: None if entry.item_id is None else _item_view(entry),
    chapter=_chapter,
)


# -- marks


class InboxMarkBody(Body, frozen=True, kw_only=True):
    """Entries by id, or all of them, optionally only those before a time."""

    ids: Annotated[tuple[Number, ...], Meta(min_length=1, max_length=MOST_AT_ONCE)] | None = None
    all: Literal[True] | None = None
    before: Moment | None = None

    def __post_init__(self) -> None:
        if (self.ids is None) == (self.all is None):
            raise ValueError("Send either ids or all.")
        if self.ids is not None and self.before is not None:
            raise ValueError("before can only be sent with all.")


async def mark_inbox_read(shelf: Shelf, body: InboxMarkBody, inbox: Inbox) -> MarkedView:
    """Marks entries read. Send the `undo` of the response to `/items/-/undo` to undo it."""
    return marked_view(await _mark(shelf, body, inbox, unread=False))


async def mark_inbox_unread(shelf: Shelf, body: InboxMarkBody, inbox: Inbox) -> MarkedView:
    """Marks entries unread."""
    return MarkedView((await _mark(shelf, body, inbox, unread=True)).changed)


async def _mark(shelf: Shelf, body: InboxMarkBody, inbox: Inbox, *, unread: bool) -> MarkedEntries:
    if body.ids is not None:
        ids = [EntryId(number) for text in body.ids if (number := read_number(text)) is not None]
        return await inbox.mark_entries(shelf.id, ids, unread=unread)
    scope = MarkScope(with_chapters=True)
    if body.before is not None:
        scope = msgspec.structs.replace(scope, before=from_datetime(body.before))
    return await inbox.mark_scope(shelf.id, scope, unread=unread)


# -- counts and events


async def follow_events(
    *, shelf: MemberShelf, caller: Caller, request: Request, current_user: CurrentUser, events: Events
) -> StreamingResponse:
    """A `text/event-stream` of `entry`, `counts` and `feed` events, and of `job` events for administrators.

    `Last-Event-ID` resumes without a gap; if that is no longer possible, the first `counts` has `missed`.
    """
    events.refuse_one_too_many(shelf.id)
    place, with_jobs = request.headers.get("last-event-id"), caller.may("admin")
    stream = events.follow(shelf.id, place, with_jobs=with_jobs)
    # I8: it may not be shared with this reader any more
    return event_stream(stream, _message, lambda: current_user.still_has(caller, shelf))


async def show_counts(shelf: Shelf, inbox: Inbox) -> UnreadCounts:
    """Unread entries: in total, by group, by feed and by series."""
    return await inbox.count(shelf.id)


def _message(event: EventMessage) -> bytes:
    """The data is JSON of ours and has no line breaks."""
    place = "" if event.id is None else f"id: {event.id}\n"
    return f"{place}event: {event.kind}\ndata: {event.data}\n\n".encode()


_read = declaring("inbox", Access.READ)
_write = declaring("inbox", Access.WRITE)

ENDPOINTS = (
    _read("GET", "/inbox", list_inbox, "List the inbox", errors=(NotFound,)),
    _write("PATCH", "/inbox/-/read", mark_inbox_read, "Mark entries read", errors=(NotFound,)),
    _write("PATCH", "/inbox/-/unread", mark_inbox_unread, "Mark entries unread", errors=(NotFound,)),
    _read("GET", "/events", follow_events, "Stream events", errors=(NotFound, TooManyRequests)),
    _read("GET", "/counts", show_counts, "Show unread counts", errors=(NotFound,)),
)
