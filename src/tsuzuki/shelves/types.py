"""Subscriptions, follows, series and progress, as they are stored and changed."""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from tsuzuki.model.errors import TsuzukiError
from tsuzuki.model.ids import (
    ChapterId,
    FeedId,
    GroupId,
    PublicId,
    ReleaseId,
    SeriesId,
    SeriesSourceId,
    ShelfId,
    SourceId,
    WatchId,
)
from tsuzuki.model.secrets import PROXY, Sealed
from tsuzuki.model.times import Millis

FeedStatus = Literal["ok", "error", "suspended"]


class Subscription(msgspec.Struct, frozen=True):
    """A feed of a shelf, with what is known of the feed behind it and of the last looks at it."""

    id: int
    public_id: PublicId
    feed_id: FeedId
    group_id: GroupId
    group_public_id: PublicId
    name: str
    """What the reader calls it; empty where the feed's own title is good."""
    title: str
    link: str
    site_url: str | None
    proxy: Annotated[str, Sealed(PROXY)]
    icon_url: str | None
    suspended_at: Millis | None
    watch_suspended_at: Millis | None
    suspended_reason: str | None
    notify: bool
    full_text: bool
    poll_interval: Millis | None
    retention: Millis | None
    unread_count: int
    item_count: int
    created_at: Millis
    updated_at: Millis
    watch_id: WatchId
    etag: str | None
    last_modified: str | None
    cache_control: str | None
    expires_at: Millis | None
    retry_after_until: Millis | None
    last_checked_at: Millis | None
    next_check_at: Millis
    next_check_why: str
    refresh_at: Millis | None
    last_http_status: int | None
    last_success_at: Millis | None
    last_error_at: Millis | None
    last_error: str | None
    last_error_code: str | None
    consecutive_failures: int
    paused_at: Millis | None
    """Since when the operator lets nothing be called."""
    paused_reason: str | None

    @property
    def shown_name(self) -> str:
        """The reader's name for it, else the feed's, else its address."""
        return self.name or self.title or self.link

    @property
    def is_suspended(self) -> bool:
        """Whether it is left alone: by its reader, or because it is gone (R29)."""
        return self.suspended_at is not None or self.watch_suspended_at is not None

    @property
    def status(self) -> FeedStatus:
        """`suspended`, else `error` while the last look failed, else `ok`."""
        if self.is_suspended:
            return "suspended"
        return "error" if self.consecutive_failures else "ok"


class Refreshing(msgspec.Struct, frozen=True):
    """How many feeds wait to be looked at out of turn, and how many are being looked at."""

    waiting: int
    checking: int


class FeedName(msgspec.Struct, frozen=True):
    """What a feed of the shelf is called."""

    public_id: PublicId
    feed_id: FeedId
    name: str
    title: str
    link: str


class NewSubscriptionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A subscription to be stored."""

    public_id: PublicId
    shelf_id: ShelfId
    feed_id: FeedId
    group_id: GroupId
    name: str = ""
    site_url: str | None = None
    suspended_at: Millis | None = None
    notify: bool = True
    full_text: bool = False
    poll_interval: Millis | None = None
    retention: Millis | None = None
    created_at: Millis | None = None
    """Now when None."""


class FormerSubscription(msgspec.Struct, frozen=True):
    """A subscription that was ended, as it was."""

    feed_id: FeedId
    public_id: PublicId
    group_id: GroupId | None
    """None when its group is gone."""
    name: str
    site_url: str | None
    suspended_at: Millis | None
    notify: bool
    full_text: bool
    poll_interval: Millis | None
    retention: Millis | None
    created_at: Millis
    left_at: Millis


class NewSubscription(msgspec.Struct, frozen=True, kw_only=True):
    """A feed that a reader wants."""

    link: str
    name: str = ""
    group: PublicId | None = None
    """The default group when None."""
    site_url: str | None = None
    proxy: str = ""
    is_suspended: bool = False
    full_text: bool = False


class SubscriptionChange(msgspec.Struct, frozen=True, kw_only=True):
    """What to change of a subscription; what is UNSET stays."""

    name: str | UnsetType = UNSET
    group: PublicId | UnsetType = UNSET
    link: str | UnsetType = UNSET
    proxy: str | UnsetType = UNSET
    """Empty for none."""
    site_url: str | UnsetType = UNSET
    is_suspended: bool | UnsetType = UNSET
    notify: bool | UnsetType = UNSET
    full_text: bool | UnsetType = UNSET
    poll_interval: Millis | UnsetType | None = UNSET
    retention: Millis | UnsetType | None = UNSET


class SubscriptionResult(msgspec.Struct, frozen=True):
    """What became of one of many."""

    link: str
    subscription: Subscription | None = None
    error: TsuzukiError | None = None


FollowStatus = Literal["reading", "plan", "done", "dropped"]
Mode = Literal["ltr", "rtl", "double", "vertical", "webtoon"]
"""How pages follow one another: page by page either way, two at once, below one another, or without a gap."""
Fit = Literal["width", "height", "original"]
Sort = Literal["title", "last_chapter", "unread", "added", "last_read"]


class ReleasePreferences(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which release of a chapter a reader wants, the best first; an empty list has no wish. And how it is read."""

    sources: tuple[int, ...] = ()
    groups: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    mode: Mode | None = None
    """None: as it looks best."""
    fit: Fit | None = None


class Follow(msgspec.Struct, frozen=True):
    """A series of a shelf, with what there is to read of it."""

    id: int
    public_id: PublicId
    series_id: SeriesId
    series_public_id: PublicId
    title: str
    author: str | None
    cover_url: str | None
    group_id: GroupId
    group_public_id: PublicId
    status: FollowStatus
    notify: bool
    preferences: ReleasePreferences
    latest_number: str | None
    last_chapter_at: Millis | None
    chapters: int
    unread: int
    """Chapters that were not read, whether or not they ever came into the inbox."""
    new: int
    """Unread entries of the inbox."""
    has_gaps: bool
    last_read_at: Millis | None
    created_at: Millis
    updated_at: Millis
    cover_id: int | None
    """The series source whose cover stands for it."""


class PlainFollowRow(msgspec.Struct, frozen=True):
    """The row alone."""

    id: int
    public_id: PublicId
    series_id: SeriesId
    group_id: GroupId
    status: FollowStatus
    notify: bool
    preferences: ReleasePreferences
    created_at: Millis


class FormerFollow(msgspec.Struct, frozen=True):
    """What a shelf that left a series comes back to."""

    group_id: GroupId | None
    status: FollowStatus
    notify: bool
    preferences: ReleasePreferences
    entries: list[str]
    """The keys of the chapters that were in its inbox."""


class NextToRead(msgspec.Struct, frozen=True):
    """The chapter to read next in a series."""

    follow_id: PublicId
    series_public_id: PublicId
    title: str
    cover_url: str | None
    chapter_id: ChapterId
    number: str | None
    volume: str | None
    chapter_title: str
    page: int
    furthest_page: int
    last_read_at: Millis | None
    unread: int
    cover_id: int | None
    """The series source whose cover stands for it."""


class FollowFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which follows; None means all of them."""

    status: FollowStatus | None = None
    group: PublicId | None = None
    unread: bool | None = None
    has_gaps: bool | None = None
    sort: Sort = "title"


class FollowRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A series that a reader wants to follow; what is UNSET is as it was before, or as usual."""

    series: PublicId
    group: PublicId | UnsetType = UNSET
    status: FollowStatus | UnsetType = UNSET
    notify: bool | UnsetType = UNSET
    preferences: ReleasePreferences | UnsetType = UNSET


class FollowChange(msgspec.Struct, frozen=True, kw_only=True):
    """What to change of a follow; what is UNSET stays."""

    group: PublicId | UnsetType = UNSET
    status: FollowStatus | UnsetType = UNSET
    notify: bool | UnsetType = UNSET
    preferences: ReleasePreferences | UnsetType = UNSET


class NewFollow(msgspec.Struct, frozen=True):
    """A new follow, how many chapters wait to be read (R8), and how many entries came back."""

    follow: Follow
    available: int
    restored: int


class SeriesRecord(msgspec.Struct, frozen=True):
    """A series."""

    id: SeriesId
    public_id: PublicId
    title: str
    author: str | None
    artist: str | None
    description: str | None
    cover_url: str | None
    language: str | None
    status: int
    is_nsfw: bool
    latest_number: str | None
    last_chapter_at: Millis | None
    created_at: Millis
    updated_at: Millis
    cover_id: int | None
    """The series source whose cover stands for it."""


class SeriesSourceState(msgspec.Struct, frozen=True):
    """A series as one source has it, and the state of that source."""

    id: SeriesSourceId
    source_id: SourceId
    source_name: str
    language: str
    title: str
    url: str
    is_on: bool
    """Whether source and mapping are switched on."""
    is_source_on: bool
    source_failures: int
    """Jobs of the source that failed in a row."""
    last_checked_at: Millis | None
    last_success_at: Millis | None
    next_check_at: Millis | None
    suspended_reason: str | None
    last_error: str | None
    failures: int
    paused_at: Millis | None
    """Since when the operator lets nothing be called."""
    paused_reason: str | None
    releases: int


class ChapterProgressRow(msgspec.Struct, frozen=True):
    """A chapter and how far it was read."""

    id: ChapterId
    number: str | None
    volume: str | None
    title: str
    published_at: Millis | None
    first_seen_at: Millis
    is_read: bool
    is_bookmarked: bool
    page: int
    furthest_page: int
    device: str | None
    paged_at: Millis | None
    is_new: bool
    """Whether it lies unread in the inbox."""


class ChapterName(msgspec.Struct, frozen=True):
    """A chapter among the others."""

    id: ChapterId
    number: str | None
    volume: str | None
    title: str
    is_read: bool


class OfferedReleases(msgspec.Struct, frozen=True):
    """The groups that release a series, and their languages."""

    groups: list[str]
    languages: list[str]


class SeriesRelease(msgspec.Struct, frozen=True):
    """A chapter as one group put it on one source."""

    id: ReleaseId
    chapter_id: ChapterId
    series_source_id: SeriesSourceId
    source_id: SourceId
    source_name: str
    url: str
    title: str
    language: str | None
    group_name: str | None
    published_at: Millis | None
    first_seen_at: Millis
    page_count: int
    is_available: bool
    is_readable: bool
    is_on: bool
    """Whether its source is switched on."""


class ChapterNumbers(msgspec.Struct, frozen=True):
    """The chapters there are: numbers in millionths, and volumes of those without a number."""

    numbers: list[int]
    volumes: list[str]


class ReadCount(msgspec.Struct, frozen=True):
    """How much there is, and how much of it was read."""

    chapters: int
    unread: int
    last_read_at: Millis | None


class ChapterProgress(msgspec.Struct, frozen=True):
    """How far a chapter was read. The page and whether it is read are each the newest that any device said."""

    chapter_id: ChapterId
    page: int
    furthest_page: int
    is_read: bool
    is_bookmarked: bool
    device: str | None
    paged_at: Millis | None
    marked_at: Millis | None
    updated_at: Millis


class ReportedReading(msgspec.Struct, frozen=True, kw_only=True):
    """What a device says of one chapter; None is nothing."""

    page: int | None = None
    """Counted from 0."""
    is_read: bool | None = None
    is_bookmarked: bool | None = None
    at: Millis | None = None
    """When, by the device's clock; now, when None."""
    device: str | None = None
    page_count: int | None = None
    """Pages of the release that was read; without it the largest that is known counts."""


class ReportedProgress(msgspec.Struct, frozen=True, kw_only=True):
    """One of many tellings: of a chapter of a series, by its id or by its number."""

    series: PublicId
    chapter: ChapterId | None
    number: str | None
    reading: ReportedReading


class ProgressResult(msgspec.Struct, frozen=True):
    """What became of one of many: how it stands now, or why it could not be taken."""

    chapter_id: ChapterId | None = None
    progress: ChapterProgress | None = None
    error: TsuzukiError | None = None


class ReadChapter(msgspec.Struct, frozen=True):
    """A chapter, as far as progress needs it."""

    id: ChapterId
    series_id: SeriesId
    page_count: int
    """The largest that is known; -1 when none is."""


class ChapterSelection(msgspec.Struct, frozen=True, kw_only=True):
    """Which chapters of a series: these; all up to a number; all that come before one; or all."""

    chapters: Sequence[ChapterId] | None = None
    up_to: int | None = None
    """In millionths."""
    before: ChapterId | None = None
    is_inclusive: bool = False
    """Whether `before` is one of them."""


class MarkedChapters(msgspec.Struct, frozen=True):
    """How many chapters changed, and the moment that undoes it."""

    changed: int
    at: Millis


class HistoryRow(msgspec.Struct, frozen=True):
    """A chapter that was opened."""

    opened_at: Millis
    chapter_id: ChapterId
    series_public_id: PublicId
    series_title: str
    cover_url: str | None
    title: str
    number: str | None
    volume: str | None
    page: int
    furthest_page: int
    is_read: bool
    device: str | None
    cover_id: int | None
    """The series source whose cover stands for it."""


T = TypeVar("T")


def new_or(wanted: T | UnsetType, before: T) -> T:
    """What was said; what was before where nothing was."""
    return before if isinstance(wanted, UnsetType) else wanted
