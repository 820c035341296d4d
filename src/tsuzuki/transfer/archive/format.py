"""The format of an archive: one part per kind, a JSON object on each line (docs/archive.md).

A thing is named by what both servers call it: a feed by its address, an item by its key, a series by a source's key.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from tsuzuki.model.harvest import Enclosure
from tsuzuki.model.times import EARLIEST, LATEST
from tsuzuki.shelves.types import Fit, FollowStatus, Mode
from tsuzuki.sources.policy import MOST_CONNECTOR, MOST_NAME, MOST_SLUG, SLUG

FORMAT = "tsuzuki-shelf"
VERSION = 1
MANIFEST = "manifest.json"

Moment = Annotated[int, Meta(ge=EARLIEST, le=LATEST)]
"""Milliseconds since 1970."""
Since1970 = Annotated[int, Meta(ge=0, le=LATEST)]
"""A time by which lists are sorted: their cursors cannot be before 1970."""
Length = Annotated[int, Meta(gt=0, le=10**15)]
KeptFor = Annotated[int, Meta(ge=0, le=10**15)]
"""0 is for ever."""
"""Milliseconds."""
Page = Annotated[int, Meta(ge=0, le=10**9)]
Position = Annotated[int, Meta(ge=-(10**9), le=10**9)]
Key = Annotated[str, Meta(min_length=1, max_length=5_000)]
Address = Annotated[str, Meta(min_length=1, max_length=5_000)]
Validator = Annotated[str, Meta(min_length=1, max_length=1_000)]
Slug = Annotated[str, Meta(pattern=SLUG, max_length=MOST_SLUG)]
Kind = Annotated[int, Meta(ge=0, le=6)]


class ArchiveLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One line of a part. Defaults are not written."""


class FeedKey(ArchiveLine, frozen=True, kw_only=True):
    """Which feed."""

    link: Address
    proxy: str = ""


class Person(ArchiveLine, frozen=True, kw_only=True):
    """What the reader chose."""

    preferences: dict[str, Any] = {}
    proxy_images: bool = False
    retention: KeptFor | None = None
    backup_rest: bytes | None = None
    """What backups of Mihon said beside series, for the next one that is exported."""


class GroupLine(ArchiveLine, frozen=True, kw_only=True):
    """A group of the shelf."""

    name: Annotated[str, Meta(min_length=1, max_length=500)]
    position: Position = 0
    is_default: bool = False


class FeedLine(ArchiveLine, frozen=True, kw_only=True):
    """A feed with its subscription's settings."""

    link: Address
    proxy: str = ""
    title: str = ""
    site_url: str | None = None
    description: str | None = None
    language: str | None = None
    icon_url: str | None = None
    hub_url: str | None = None
    has_unstable_keys: bool = False
    is_harvested: bool = False
    group: str | None = None
    """None is the default group."""
    name: str = ""
    own_site_url: str | None = None
    suspended_at: Moment | None = None
    notify: bool = True
    full_text: bool = False
    poll_interval: Length | None = None
    retention: KeptFor | None = None
    created_at: Moment
    etag: Validator | None = None
    last_modified: Validator | None = None
    next_check_at: Moment | None = None
    lacks_password: bool = False
    """Its proxy's, which is not in the archive."""

    @property
    def feed_key(self) -> FeedKey:
        """The key by which other parts refer to this feed."""
        return FeedKey(link=self.link, proxy=self.proxy)


class EntryLine(ArchiveLine, frozen=True, kw_only=True):
    """An installment in the inbox."""

    unread: bool = True
    saved: bool = False
    sort_at: Since1970
    read_at: Moment | None = None
    created_at: Since1970


class FullTextLine(ArchiveLine, frozen=True, kw_only=True):
    """The whole text of an item's page, or why there is none."""

    content: str = ""
    error: str | None = None
    fetched_at: Moment


class ItemLine(ArchiveLine, frozen=True, kw_only=True):
    """An item that is in the inbox."""

    feed: FeedKey
    key: Key
    title: str
    link: str | None = None
    author: str | None = None
    content: str = ""
    summary: str | None = None
    published_at: Moment | None = None
    published_raw: str | None = None
    sort_at: Since1970
    categories: tuple[str, ...] = ()
    enclosures: tuple[Enclosure, ...] = ()
    page_urls: tuple[str, ...] = ()
    image_url: str | None = None
    comments_url: str | None = None
    created_at: Moment
    updated_at: Moment | None = None
    full_text: FullTextLine | None = None
    entry: EntryLine


class RemovedItemLine(ArchiveLine, frozen=True, kw_only=True):
    """An item that was known and is not in the inbox: it is no news."""

    feed: FeedKey
    key: Key


class ArchivedSource(ArchiveLine, frozen=True, kw_only=True):
    """A source that a series is read from; what is secret in its config is left out."""

    slug: Slug
    name: Annotated[str, Meta(min_length=1, max_length=MOST_NAME)]
    base_url: Address
    connector: Annotated[str, Meta(max_length=MOST_CONNECTOR)] | None = None
    config: dict[str, Any] = {}
    is_enabled: bool = True
    lacks: tuple[str, ...] = ()
    """The places of its config that were left out."""


class SeriesSource(ArchiveLine, frozen=True, kw_only=True):
    """A series as one source knows it."""

    source: Slug
    key: Key
    url: Address
    real_url: str | None = None
    is_active: bool = True
    title: str = ""
    author: str | None = None
    artist: str | None = None
    description: str | None = None
    genres: tuple[str, ...] = ()
    status: Kind = 0
    cover_url: str | None = None
    update_strategy: Literal["ALWAYS_UPDATE", "ONLY_FETCH_ONCE"]
    is_harvested: bool = False


class ArchivedPreferences(ArchiveLine, frozen=True, kw_only=True):
    """Which releases a reader prefers, and how they are read."""

    sources: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    mode: Mode | None = None
    fit: Fit | None = None


class FollowLine(ArchiveLine, frozen=True, kw_only=True):
    """That the shelf follows a series."""

    group: str | None = None
    status: FollowStatus
    notify: bool = True
    preferences: ArchivedPreferences
    created_at: Moment


class FormerFollowLine(ArchiveLine, frozen=True, kw_only=True):
    """That the shelf followed a series, and what following it again restores."""

    group: str | None = None
    status: FollowStatus
    notify: bool = True
    preferences: ArchivedPreferences
    entries: tuple[str, ...] = ()
    created_at: Moment
    left_at: Moment


class BackupLine(ArchiveLine, frozen=True, kw_only=True):
    """What a backup of Mihon said of a series, for the next backup that is exported."""

    source: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
    """The id of its source there."""
    url: Annotated[str, Meta(max_length=5_000)]
    """What the source's extension calls the series."""
    source_name: Annotated[str, Meta(max_length=500)] = ""
    message: bytes
    """All of it, as it stood in the backup, packed with zlib."""


class ArchivedSeries(ArchiveLine, frozen=True, kw_only=True):
    """A series that the shelf follows, followed or read."""

    key: Key
    """`slug/key` of its first source; chapters refer to the series by it."""
    title: str
    author: str | None = None
    artist: str | None = None
    description: str | None = None
    cover_url: str | None = None
    language: str | None = None
    status: Kind = 0
    is_nsfw: bool = False
    latest_number: str | None = None
    last_chapter_at: Moment | None = None
    sources: tuple[SeriesSource, ...] = ()
    follow: FollowLine | None = None
    former: FormerFollowLine | None = None
    backups: tuple[BackupLine, ...] = ()


class ArchivedRelease(ArchiveLine, frozen=True, kw_only=True):
    """A chapter as one group put it on one source."""

    source: Slug
    series_key: Key
    key: Key
    source_key: str | None = None
    url: Address
    real_url: str | None = None
    title: str = ""
    language: str | None = None
    group: str | None = None
    published_at: Moment | None = None
    source_order: Position = 0
    page_count: Position = -1
    is_available: bool = True
    is_readable: bool = True
    first_seen_at: Moment
    last_seen_at: Moment


class ProgressLine(ArchiveLine, frozen=True, kw_only=True):
    """How far a chapter was read. `opened_at` is the history."""

    page: Page = 0
    furthest_page: Page = 0
    is_read: bool = False
    is_bookmarked: bool = False
    device: str | None = None
    paged_at: Moment | None = None
    marked_at: Moment | None = None
    opened_at: Since1970 | None = None
    updated_at: Moment


class ArchivedChapter(ArchiveLine, frozen=True, kw_only=True):
    """A chapter of such a series."""

    series: Key
    key: Key
    number: str | None = None
    volume: str | None = None
    title: str = ""
    published_at: Moment | None = None
    first_seen_at: Moment
    releases: tuple[ArchivedRelease, ...] = ()
    entry: EntryLine | None = None
    progress: ProgressLine | None = None


class BookmarkLine(ArchiveLine, frozen=True, kw_only=True):
    """A bookmark with its snapshot."""

    link: str = ""
    title: str
    content: str = ""
    feed_name: str = ""
    note: str = ""
    published_at: Moment | None = None
    created_at: Since1970
    feed: FeedKey | None = None
    item: str | None = None
    """The item's key in that feed."""


class ChannelLine(ArchiveLine, frozen=True, kw_only=True):
    """A notification channel, without its secrets and without the path of its address."""

    kind: Annotated[str, Meta(max_length=100)]
    name: Annotated[str, Meta(min_length=1, max_length=100)]
    config: dict[str, Any] = {}


PARTS: dict[str, type[ArchiveLine]] = {
    "person.jsonl": Person,
    "groups.jsonl": GroupLine,
    "feeds.jsonl": FeedLine,
    "items.jsonl": ItemLine,
    "gone.jsonl": RemovedItemLine,
    "sources.jsonl": ArchivedSource,
    "series.jsonl": ArchivedSeries,
    "chapters.jsonl": ArchivedChapter,
    "bookmarks.jsonl": BookmarkLine,
    "channels.jsonl": ChannelLine,
}
"""In the order in which they are written and read."""


class ArchivePart(ArchiveLine, frozen=True, kw_only=True):
    """What the manifest says of a part."""

    lines: Annotated[int, Meta(ge=0, le=10**9)]
    bytes: Annotated[int, Meta(ge=0, le=10**12)]
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


class Manifest(ArchiveLine, frozen=True, kw_only=True):
    """What the archive is."""

    format: str
    version: int
    program: Annotated[str, Meta(max_length=200)]
    exported_at: Annotated[str, Meta(max_length=40)]
    parts: dict[str, ArchivePart]
