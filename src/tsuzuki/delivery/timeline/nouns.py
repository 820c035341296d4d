"""What a line says, and which lines one wants."""

import msgspec

from tsuzuki.model.ids import ChapterId, EntryId, ItemId, PublicId
from tsuzuki.model.installments import Kind
from tsuzuki.model.pages import PageCursor
from tsuzuki.model.times import Millis


class TimelineLine(msgspec.Struct, frozen=True):
    """An entry with what is shown of its item or its chapter: the fields of the other are None."""

    id: EntryId
    unread: bool
    saved: bool
    sort_at: Millis
    """When its publisher dates it, or when it was first seen, whichever is earlier (R30)."""
    created_at: Millis
    """When it arrived."""
    item_id: ItemId | None
    feed_id: PublicId | None
    """Of the shelf's subscription."""
    feed_name: str | None
    item_title: str | None
    link: str | None
    author: str | None
    item_published_at: Millis | None
    beginning: str | None
    """The item's summary, or the beginning of its content: HTML that may be cut anywhere. To be made plain text.

    Longer where the item has no title: its first words stand for one (R103).
    """
    image_url: str | None
    chapter_id: ChapterId | None
    series_id: PublicId | None
    series_title: str | None
    chapter_title: str | None
    number: str | None
    volume: str | None
    chapter_published_at: Millis | None
    cover_id: int | None
    """The series source whose cover stands for the series."""

    def place(self, wanted: "TimelineFilter") -> PageCursor:
        """Where it stands in the list."""
        return wanted.place(arrived_at=self.created_at, published_at=self.sort_at, entry_id=self.id)


class TimelineFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which lines; None means all of them."""

    kind: Kind | None = None
    only_unread: bool = False
    only_saved: bool = False
    feed: PublicId | None = None
    series: PublicId | None = None
    group: PublicId | None = None
    read_since: Millis | None = None
    """With `only_unread`: what was read after this moment counts as unread, as it was when the list was made."""
    by_published: bool = False
    """R92: in the order of the publishers' dates, instead of that of arrival."""

    def place(self, *, arrived_at: Millis, published_at: Millis, entry_id: EntryId) -> PageCursor:
        """Where an entry stands in the list."""
        return (
            PageCursor(published_at, entry_id) if self.by_published else PageCursor(arrived_at, entry_id, published_at)
        )


class TimelinePage(msgspec.Struct, frozen=True):
    """Some lines, and where to go on; None at the end."""

    lines: list[TimelineLine]
    next: PageCursor | None
    newest: EntryId
    """The shelf's newest entry, read before the lines: what comes in between is not marked unseen. 0 for none."""


class EntryNeighbours(msgspec.Struct, frozen=True):
    """What stands before and after a place in a list."""

    newer: TimelineLine | None
    older: TimelineLine | None


class State(msgspec.Struct, frozen=True):
    """What can change of a line that is shown already."""

    id: EntryId
    unread: bool
    saved: bool
