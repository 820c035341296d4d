"""What is said of a series."""

import msgspec

from tsuzuki.model.ids import ChapterId, PublicId, ReleaseId, SeriesId, SeriesSourceId, SourceId
from tsuzuki.model.times import Millis


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


class SourceOf(msgspec.Struct, frozen=True):
    """A series as one source has it, and how the source fares."""

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


class Offered(msgspec.Struct, frozen=True):
    """Who puts a series out, and in which languages."""

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


class Numbers(msgspec.Struct, frozen=True):
    """Which chapters there are: numbers in millionths, and volumes of those without a number."""

    numbers: list[int]
    volumes: list[str]


class ReadCount(msgspec.Struct, frozen=True):
    """How much there is, and how much of it was read."""

    chapters: int
    unread: int
    last_read_at: Millis | None
