"""What is said of reading."""

from collections.abc import Sequence

import msgspec

from tsuzuki.model.errors import TsuzukiError
from tsuzuki.model.ids import ChapterId, PublicId, SeriesId
from tsuzuki.model.times import Millis


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
    """Of the release that was read; else the largest that is known counts."""


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


class Some(msgspec.Struct, frozen=True, kw_only=True):
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
    series_id: PublicId
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
