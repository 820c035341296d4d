"""What is said of bookmarks."""

import msgspec

from tsuzuki.model.ids import FeedId, GroupId, ItemId, PublicId
from tsuzuki.model.times import Millis


class Bookmark(msgspec.Struct, frozen=True):
    """A snapshot. `item_id` is None once the item is gone from the shelf."""

    id: int
    public_id: PublicId
    item_id: ItemId | None
    feed_id: PublicId | None
    """Of the shelf's subscription, while it has one."""
    link: str
    title: str
    content: str
    feed_name: str
    note: str
    published_at: Millis | None
    created_at: Millis


class NewBookmark(msgspec.Struct, frozen=True):
    """A snapshot to be stored."""

    title: str
    link: str = ""
    content: str = ""
    feed_name: str = ""
    note: str = ""
    published_at: Millis | None = None
    item_id: ItemId | None = None
    feed_id: FeedId | None = None


class BookmarkFilter(msgspec.Struct, frozen=True):
    """Of one feed or group, or of all."""

    feed_id: FeedId | None = None
    group_id: GroupId | None = None
