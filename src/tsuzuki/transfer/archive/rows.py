"""Rows read from the database for an archive."""

from typing import Annotated, Any

import msgspec

from tsuzuki.model.harvest import Enclosure
from tsuzuki.model.ids import ChapterId, EntryId, FeedId, GroupId, SeriesId, SeriesSourceId, SourceId
from tsuzuki.model.secrets import PROXY, SOURCE, Sealed
from tsuzuki.model.times import Millis
from tsuzuki.shelves.types import FollowStatus, ReleasePreferences


class PersonRow(msgspec.Struct, frozen=True):
    """What a reader chose."""

    preferences: dict[str, Any]
    proxy_images: bool
    retention: Millis | None
    """The shelf's own; 0 is for ever."""
    backup_rest: bytes | None


class ArchiveFeedRow(msgspec.Struct, frozen=True):
    """A feed with its subscription."""

    id: FeedId
    link: str
    proxy: Annotated[str, Sealed(PROXY)]
    title: str
    site_url: str | None
    description: str | None
    language: str | None
    icon_url: str | None
    hub_url: str | None
    has_unstable_keys: bool
    is_harvested: bool
    group_id: GroupId
    name: str
    own_site_url: str | None
    suspended_at: Millis | None
    notify: bool
    full_text: bool
    poll_interval: Millis | None
    retention: Millis | None
    created_at: Millis
    etag: str | None
    last_modified: str | None
    next_check_at: Millis | None


class ItemRow(msgspec.Struct, frozen=True):
    """An item with its full text and its entry."""

    entry_id: EntryId
    key: str
    title: str
    link: str | None
    author: str | None
    content: str
    summary: str | None
    published_at: Millis | None
    published_raw: str | None
    sort_at: Millis
    categories: tuple[str, ...]
    enclosures: tuple[Enclosure, ...]
    page_urls: tuple[str, ...]
    image_url: str | None
    comments_url: str | None
    created_at: Millis
    updated_at: Millis | None
    full_content: str | None
    full_error: str | None
    fetched_at: Millis | None
    unread: bool
    saved: bool
    entry_sort_at: Millis
    read_at: Millis | None
    entry_created_at: Millis


class ArchiveSeriesRow(msgspec.Struct, frozen=True):
    """A series with its follow, or the one that was."""

    id: SeriesId
    title: str
    match_key: str
    author: str | None
    artist: str | None
    description: str | None
    cover_url: str | None
    language: str | None
    status: int
    is_nsfw: bool
    latest_number: str | None
    last_chapter_at: Millis | None
    group_id: GroupId | None
    follow_status: FollowStatus | None
    notify: bool | None
    preferences: ReleasePreferences | None
    created_at: Millis | None
    former_group_id: GroupId | None
    former_status: FollowStatus | None
    former_notify: bool | None
    former_preferences: ReleasePreferences | None
    entries: tuple[str, ...] | None
    former_created_at: Millis | None
    left_at: Millis | None


class MappingRow(msgspec.Struct, frozen=True):
    """A series on a source."""

    id: SeriesSourceId
    source_id: SourceId
    slug: str
    source_key: str
    url: str
    real_url: str | None
    is_active: bool
    title: str
    author: str | None
    artist: str | None
    description: str | None
    genres: tuple[str, ...]
    status: int
    cover_url: str | None
    update_strategy: str
    is_harvested: bool


class ArchiveSourceRow(msgspec.Struct, frozen=True):
    """A source, its secrets in it: never to be written as it is."""

    id: SourceId
    slug: str
    name: str
    base_url: str
    connector: str | None
    config: Annotated[dict[str, Any], Sealed(SOURCE)]
    is_enabled: bool


class ArchiveChapterRow(msgspec.Struct, frozen=True):
    """A chapter with its entry and its progress, where there are any."""

    id: ChapterId
    key: str
    number: str | None
    volume: str | None
    title: str
    published_at: Millis | None
    first_seen_at: Millis
    unread: bool | None
    saved: bool | None
    sort_at: Millis | None
    read_at: Millis | None
    created_at: Millis | None
    page: int | None
    furthest_page: int | None
    is_read: bool | None
    is_bookmarked: bool | None
    device: str | None
    paged_at: Millis | None
    marked_at: Millis | None
    opened_at: Millis | None
    updated_at: Millis | None


class ReleaseRow(msgspec.Struct, frozen=True):
    """A release of one of these chapters."""

    chapter_id: ChapterId
    slug: str
    series_key: str
    key: str
    source_key: str | None
    url: str
    real_url: str | None
    title: str
    language: str | None
    group_name: str | None
    published_at: Millis | None
    source_order: int
    page_count: int
    is_available: bool
    is_readable: bool
    first_seen_at: Millis
    last_seen_at: Millis


class BookmarkRow(msgspec.Struct, frozen=True):
    """A bookmark, and which item of which feed it is of."""

    id: int
    link: str
    title: str
    content: str
    feed_name: str
    note: str
    published_at: Millis | None
    created_at: Millis
    feed_link: str | None
    feed_proxy: Annotated[str | None, Sealed(PROXY)]
    item_key: str | None


class BackupRow(msgspec.Struct, frozen=True):
    """What a backup of Mihon said of a series."""

    source: int
    url: str
    source_name: str
    message: bytes


class ChapterOfKey(msgspec.Struct, frozen=True):
    """A chapter of a series, as it is stored."""

    id: ChapterId
    key: str
    title: str
