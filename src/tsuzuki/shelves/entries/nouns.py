"""What is said of entries."""

import msgspec

from tsuzuki.model.harvest import Enclosure
from tsuzuki.model.ids import EntryId, FeedId, GroupId, ItemId, PublicId
from tsuzuki.model.times import Millis
from tsuzuki.model.tokens import Term


class ShelfItem(msgspec.Struct, frozen=True):
    """An item as it lies on a shelf."""

    entry_id: EntryId
    id: ItemId
    feed_id: PublicId
    """Of the shelf's subscription."""
    key: str
    title: str
    link: str | None
    author: str | None
    beginning: str
    """Of the content, where there is no title."""
    content: str
    summary: str | None
    published_at: Millis | None
    categories: list[str]
    enclosures: list[Enclosure]
    page_urls: list[str]
    image_url: str | None
    comments_url: str | None
    unread: bool
    saved: bool
    sort_at: Millis
    created_at: Millis
    updated_at: Millis
    wants_full_text: bool
    """Whether its reader wants the page's whole text instead of what the feed has."""


class ItemFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which items: of one feed or group or of all, by their flags and words where those are given."""

    feed_id: FeedId | None = None
    group_id: GroupId | None = None
    unread: bool | None = None
    saved: bool | None = None
    since: Millis = Millis(0)
    """By what the list is sorted by."""
    sought: tuple[Term, ...] | None = None
    by_arrival: bool = False
    with_content: bool = False


class Tallied(msgspec.Struct, frozen=True):
    """How many entries there are, and how many of them are unread."""

    entries: int
    unread: int

    def of(self, *, unread: bool | None) -> int:
        """How many that are unread, that are not, or all."""
        if unread is None:
            return self.entries
        return self.unread if unread else self.entries - self.unread
