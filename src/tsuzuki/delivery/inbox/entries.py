"""What stands in an inbox, and how one asks for it."""

import msgspec

from tsuzuki.model.ids import ChapterId, EntryId, ItemId, PublicId
from tsuzuki.model.installments import Kind
from tsuzuki.model.times import Millis


class InboxEntry(msgspec.Struct, frozen=True):
    """An entry, and the item or the chapter that it is about: the fields of the other are None."""

    id: EntryId
    unread: bool
    saved: bool
    sort_at: Millis
    created_at: Millis
    item_id: ItemId | None
    feed_id: PublicId | None
    """Of the shelf's subscription; None when it is gone."""
    item_title: str | None
    beginning: str | None
    """Of the text of an item that has no title."""
    link: str | None
    author: str | None
    item_published_at: Millis | None
    chapter_id: ChapterId | None
    series_id: PublicId | None
    series_title: str | None
    chapter_title: str | None
    number: str | None
    volume: str | None
    chapter_published_at: Millis | None


class InboxFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries; None means all of them."""

    kind: Kind | None = None
    unread: bool | None = None
    by_published: bool = False
    """R92: in the order of the publishers' dates, instead of that of arrival."""
