"""A series over all its sources, as clients see it."""

import msgspec

from tsuzuki.api.library_views import PreferencesView, ProgressView, preferences_view, progress_view
from tsuzuki.api.views import PageMeta, Time, shown
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import iso
from tsuzuki.shelves.library.follows.nouns import PlainFollowRow, Status
from tsuzuki.shelves.library.series.nouns import SeriesRelease, SourceOf
from tsuzuki.shelves.library.series.policy import Gaps, Health, Stop, health, stop_reason, stopped_by
from tsuzuki.shelves.library.series.service import ChapterWithReleases, SeriesOverview


class SeriesSourceView(msgspec.Struct, frozen=True, kw_only=True):
    """The series as one source has it, and how that source fares with it.

    `stopped_by` says why it is not called, until somebody changes that; `stopped_reason` what was said about it.
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
    """Whole numbers from the first to the last."""

    first: int
    last: int


class GapsView(msgspec.Struct, frozen=True, kw_only=True):
    """What no source has between the lowest and the highest; `is_cut` when there are more ranges than are listed."""

    of: str
    missing: int
    ranges: list[GapView]
    is_cut: bool


class OwnFollowView(msgspec.Struct, frozen=True, kw_only=True):
    """How the shelf follows it."""

    id: str
    status: Status
    notify: bool
    preferences: PreferencesView


class ReleaseView(msgspec.Struct, frozen=True, kw_only=True):
    """A chapter as one group put it on one source; `page_count` is null while nobody knows it."""

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
    """A chapter over all sources; `preferred_id` names the release that the shelf's reader would take."""

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
    """A series; `follow` is null where the shelf does not follow it."""

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


def series_view(series: SeriesOverview, chapters: list[ChapterView], meta: PageMeta) -> SeriesView:
    """As clients see it, with a page of its chapters."""
    details = series.details
    return SeriesView(
        id=show_id(details.public_id),
        title=details.title,
        author=details.author,
        artist=details.artist,
        description=details.description,
        cover_url=details.cover_url,
        language=details.language,
        status=details.status,
        is_nsfw=details.is_nsfw,
        latest_chapter=details.latest_number,
        last_chapter_at=shown(details.last_chapter_at),
        unread=series.counted.unread,
        last_read_at=shown(series.counted.last_read_at),
        follow=None if series.follow is None else _follow(series.follow),
        sources=[_source(source) for source in series.sources],
        gaps=_gaps(series.gaps),
        chapters=chapters,
        chapters_meta=meta,
    )


def chapter_view(chapter: ChapterWithReleases) -> ChapterView:
    """As clients see it."""
    row = chapter.row
    return ChapterView(
        id=str(row.id),
        number=row.number,
        volume=row.volume,
        title=row.title,
        published_at=shown(row.published_at),
        first_seen_at=iso(row.first_seen_at),
        is_new=row.is_new,
        progress=progress_view(row.id, row),
        preferred_id=None if chapter.preferred is None else str(chapter.preferred.id),
        releases=[_release(release) for release in chapter.releases],
    )


def _follow(follow: PlainFollowRow) -> OwnFollowView:
    return OwnFollowView(
        id=show_id(follow.public_id),
        status=follow.status,
        notify=follow.notify,
        preferences=preferences_view(follow.preferences),
    )


def _source(source: SourceOf) -> SeriesSourceView:
    return SeriesSourceView(
        id=source.id,
        source_id=source.source_id,
        source_name=source.source_name,
        language=source.language,
        title=source.title,
        url=source.url,
        health=health(source),
        stopped_by=stopped_by(source),
        stopped_reason=stop_reason(source),
        paused_at=shown(source.paused_at),
        error=source.last_error,
        last_checked_at=shown(source.last_checked_at),
        last_success_at=shown(source.last_success_at),
        next_check_at=shown(source.next_check_at),
        releases=source.releases,
    )


def _gaps(gaps: Gaps) -> GapsView:
    ranges = [GapView(gap.first, gap.last) for gap in gaps.ranges]
    return GapsView(of=gaps.of, missing=gaps.missing, ranges=ranges, is_cut=gaps.is_cut)


def _release(release: SeriesRelease) -> ReleaseView:
    return ReleaseView(
        id=str(release.id),
        source_id=release.source_id,
        source_name=release.source_name,
        url=release.url,
        title=release.title,
        language=release.language,
        group=release.group_name,
        published_at=shown(release.published_at),
        page_count=None if release.page_count < 0 else release.page_count,
        is_available=release.is_available,
        is_readable=release.is_readable,
    )
