"""A series over all its sources, as clients see it."""

import msgspec

from tsuzuki.api.library import PreferencesView, ProgressView, row_progress_view
from tsuzuki.api.views import PageMeta, Time, shown, view_of
from tsuzuki.shelves.policy import Gaps, Health, Stop, health, stop_reason, stopped_by
from tsuzuki.shelves.series import ChapterWithReleases, SeriesOverview
from tsuzuki.shelves.types import (
    ChapterProgressRow,
    FollowStatus,
    PlainFollowRow,
    SeriesRecord,
    SeriesRelease,
    SeriesSourceState,
)


class SeriesSourceView(msgspec.Struct, frozen=True, kw_only=True):
    """The series at one source, and its health there.

    `stopped_by` says why it is not polled until somebody changes that; `stopped_reason` is the reason that was given.
    """

    id: int
    source_id: int
    source_name: str
    language: str
    title: str
    url: str
    health: Health
    stopped_by: Stop | None
    stopped_reason: str | None
    paused_at: Time | None
    error: str | None
    last_checked_at: Time | None
    last_success_at: Time | None
    next_check_at: Time | None
    releases: int


class GapView(msgspec.Struct, frozen=True):
    """A range of whole numbers, first and last included."""

    first: int
    last: int


class GapsView(msgspec.Struct, frozen=True, kw_only=True):
    """The chapters missing at all sources, between the lowest and the highest;

    `is_cut` if there are more ranges than listed.
    """

    of: str
    missing: int
    ranges: list[GapView]
    is_cut: bool


class OwnFollowView(msgspec.Struct, frozen=True, kw_only=True):
    """How the shelf follows it."""

    id: str
    status: FollowStatus
    notify: bool
    preferences: PreferencesView


class ReleaseView(msgspec.Struct, frozen=True, kw_only=True):
    """A chapter as one group released it on one source; `page_count` is null while it is unknown."""

    id: str
    source_id: int
    source_name: str
    url: str
    title: str
    language: str | None
    group: str | None
    published_at: Time | None
    page_count: int | None
    is_available: bool
    is_readable: bool


class ChapterView(msgspec.Struct, frozen=True, kw_only=True):
    """A chapter over all sources; `preferred_id` is the release that the shelf's preferences select."""

    id: str
    number: str | None
    volume: str | None
    title: str
    published_at: Time | None
    first_seen_at: Time
    is_new: bool
    progress: ProgressView
    preferred_id: str | None
    releases: list[ReleaseView]


class SeriesView(msgspec.Struct, frozen=True, kw_only=True):
    """A series; `follow` is null if the shelf does not follow it."""

    id: str
    title: str
    author: str | None
    artist: str | None
    description: str | None
    cover_url: str | None
    language: str | None
    status: int
    is_nsfw: bool
    latest_chapter: str | None
    last_chapter_at: Time | None
    unread: int
    last_read_at: Time | None
    follow: OwnFollowView | None
    sources: list[SeriesSourceView]
    gaps: GapsView
    chapters: list[ChapterView]
    chapters_meta: PageMeta


_source_view = view_of(
    SeriesSourceView,
    SeriesSourceState,
    health=health,
    stopped_by=stopped_by,
    stopped_reason=stop_reason,
    error="last_error",
)
_release_view = view_of(
    ReleaseView,
    SeriesRelease,
    group="group_name",
    page_count=lambda release: None if release.page_count < 0 else release.page_count,
)
_follow_view = view_of(OwnFollowView, PlainFollowRow)
_gaps_view = view_of(GapsView, Gaps)
_chapter_view = view_of(ChapterView, ChapterProgressRow, "preferred_id", "releases", progress=row_progress_view)
_COUNTED = ("unread", "last_read_at", "follow", "sources", "gaps", "chapters", "chapters_meta")
_series_view = view_of(SeriesView, SeriesRecord, *_COUNTED, latest_chapter="latest_number")


def series_view(series: SeriesOverview, chapters: list[ChapterView], meta: PageMeta) -> SeriesView:
    """As clients see it, with a page of its chapters."""
    return _series_view(
        series.details,
        unread=series.counted.unread,
        last_read_at=shown(series.counted.last_read_at),
        follow=None if series.follow is None else _follow_view(series.follow),
        sources=[_source_view(source) for source in series.sources],
        gaps=_gaps_view(series.gaps),
        chapters=chapters,
        chapters_meta=meta,
    )


def chapter_view(chapter: ChapterWithReleases) -> ChapterView:
    """As clients see it."""
    return _chapter_view(
        chapter.row,
        preferred_id=None if chapter.preferred is None else str(chapter.preferred.id),
        releases=[_release_view(release) for release in chapter.releases],
    )
