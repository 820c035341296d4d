"""Entries of an inbox, and the filters by which they are listed and marked."""

from typing import Literal

import msgspec

from tsuzuki.model.harvest import Enclosure, Kind
from tsuzuki.model.ids import ChapterId, EntryId, GroupId, ItemId, PublicId
from tsuzuki.model.pages import PageCursor
from tsuzuki.model.times import Millis

Detail = Literal["title", "preview", "item", "content"]
"""How much of its item an entry brings: a beginning that may stand for a title; the first words; all but the content;
and with it.
"""

FAR = Millis(10**15 - 1)
"""After everything."""


class Entry(msgspec.Struct, frozen=True):
    """An entry of a shelf, with the item or the chapter that it is about: what belongs to the other is None."""

    id: EntryId
    unread: bool
    saved: bool
    sort_at: Millis
    """When its publisher dates it, or when it was first seen, whichever is earlier (R30)."""
    created_at: Millis
    """When it arrived."""
    title: str
    published_at: Millis | None
    # -- of an item
    item_id: ItemId | None
    feed_id: PublicId | None
    """The shelf's subscription; None when it is gone."""
    feed_name: str | None
    link: str | None
    author: str | None
    image_url: str | None
    beginning: str
    """HTML that may be cut anywhere, to be made plain text: of the content where there is no title (R103); as a preview
    of the summary, else of the content.
    """
    # -- of a chapter
    chapter_id: ChapterId | None
    series_public_id: PublicId | None
    series_title: str | None
    number: str | None
    volume: str | None
    cover_id: int | None
    """The series source whose cover stands for the series."""
    # -- of an item, where it is asked for
    key: str | None
    summary: str | None
    categories: list[str] | None
    enclosures: list[Enclosure] | None
    page_urls: list[str] | None
    comments_url: str | None
    updated_at: Millis | None
    wants_full_text: bool | None
    """Whether its reader wants the page's whole text instead of what the feed has."""
    content: str | None

    def place(self, wanted: "EntryFilter") -> PageCursor:
        """Where it stands in the list."""
        if wanted.by_published:
            return PageCursor(self.sort_at, self.id)
        return PageCursor(self.created_at, self.id, self.sort_at)


class EntryFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries, in which order; None means all of them."""

    kind: Kind | None = None
    unread: bool | None = None
    saved: bool | None = None
    feed: PublicId | None = None
    series: PublicId | None = None
    group: PublicId | None = None
    tag: PublicId | None = None
    since: Millis = Millis(0)
    """Only what sorts at this moment or later, by what the list is sorted by."""
    search: str | None = None
    """Of items: words, "phrases", -word, pre*."""
    read_since: Millis | None = None
    """Among unread entries, what was read after this moment is still a neighbour, as it was when the list was made."""
    by_published: bool = False
    """R92: in the order of the publishers' dates, instead of that of arrival."""
    detail: Detail = "title"


class InboxPage(msgspec.Struct, frozen=True):
    """Some entries, and where to go on; None at the end."""

    rows: list[Entry]
    next_cursor: PageCursor | None
    newest: EntryId
    """The shelf's newest entry, read before the rows: what comes in between is not marked unseen. 0 for none."""


class EntryNeighbours(msgspec.Struct, frozen=True):
    """What stands before and after a place in a list."""

    newer: Entry | None
    older: Entry | None


class EntryState(msgspec.Struct, frozen=True):
    """What can change of an entry that is shown already."""

    id: EntryId
    unread: bool
    saved: bool


class MarkScope(msgspec.Struct, frozen=True, kw_only=True):
    """What a mass mark is about: a feed, a group, or everything; only what sorts before a moment, if one is given."""

    feed: PublicId | None = None
    group: PublicId | None = None
    before: Millis = FAR
    with_chapters: bool = False


class MarkedEntries(msgspec.Struct, frozen=True):
    """How many changed, and the moment that undoes it."""

    changed: int
    at: Millis


class UnreadSums(msgspec.Struct, frozen=True, kw_only=True):
    """Unread entries of a shelf: all, by kind, and by group for each that has some."""

    unread: int
    items: int
    chapters: int
    groups: dict[GroupId, int]


class UnreadCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Unread entries of a shelf; only ids that have some are listed."""

    unread: int
    items: int
    chapters: int
    groups: dict[str, int]
    feeds: dict[str, int]
    """By the id of the shelf's subscription."""
    series: dict[str, int]
