"""What came in, newest first."""

from typing import Literal

import msgspec

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.current_user import CurrentUser
from tsuzuki.api.cursors import CursorQuery, listing
from tsuzuki.api.declaring import declaring
from tsuzuki.api.endpoints import Access
from tsuzuki.api.views import CursorMeta, ListAnswer, Time, display_title, shown
from tsuzuki.delivery.inbox.entries import InboxEntry, InboxFilter
from tsuzuki.delivery.inbox.service import Inbox
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import show_id
from tsuzuki.model.installments import Kind
from tsuzuki.model.times import iso


class InboxQuery(CursorQuery, frozen=True, kw_only=True):
    """Which entries."""

    kind: Kind | None = None
    unread: bool | None = None
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
    """Something that came in: an item or a chapter."""

    id: str
    kind: Kind
    unread: bool
    saved: bool
    created_at: Time
    item: ItemRef | None = None
    chapter: ChapterRef | None = None


async def list_inbox(
    query: InboxQuery, caller: Caller, current_user: CurrentUser, inbox: Inbox
) -> ListAnswer[EntryView, CursorMeta]:
    """Newest first (R92)."""
    shelf = await query.pick(caller, current_user)
    wanted = InboxFilter(kind=query.kind, unread=query.unread, by_published=query.order_by == "pub_date")
    return listing(await inbox.page(shelf.id, wanted, after=query.after, most=query.limit), _entry)


def _entry(entry: InboxEntry) -> EntryView:
    return EntryView(
        id=str(entry.id),
        kind="chapter" if entry.item_id is None else "item",
        unread=entry.unread,
        saved=entry.saved,
        created_at=iso(entry.created_at),
        item=_item(entry),
        chapter=_chapter(entry),
    )


def _item(entry: InboxEntry) -> ItemRef | None:
    if entry.item_id is None:
        return None
    return ItemRef(
        id=str(entry.item_id),
        feed_id=None if entry.feed_id is None else show_id(entry.feed_id),
        title=entry.item_title or "",
        display_title=display_title(
            entry.item_title or "", entry.beginning or "", entry.item_published_at or entry.sort_at
        ),
        link=entry.link,
        author=entry.author,
        pub_date=shown(entry.item_published_at),
    )


def _chapter(entry: InboxEntry) -> ChapterRef | None:
    if entry.chapter_id is None or entry.series_id is None:
        return None
    return ChapterRef(
        id=str(entry.chapter_id),
        series_id=show_id(entry.series_id),
        series_title=entry.series_title or "",
        title=entry.chapter_title or "",
        number=entry.number,
        volume=entry.volume,
        published_at=shown(entry.chapter_published_at),
    )


_read = declaring("inbox", Access.READ)

ENDPOINTS = (_read("GET", "/inbox", list_inbox, "What came in", errors=(NotFound,)),)
