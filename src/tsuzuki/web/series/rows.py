"""Chapters as the page of a series lists them, with what is missing between them."""

from collections.abc import Mapping, Sequence

import msgspec

from tsuzuki.catalogue.images.rows import KeptChapter
from tsuzuki.model.ids import ReleaseId
from tsuzuki.model.numbers import parse_number
from tsuzuki.model.times import Millis
from tsuzuki.shelves.library.series.nouns import ChapterProgressRow, SeriesRelease
from tsuzuki.shelves.library.series.policy import Gap, Gaps
from tsuzuki.shelves.library.series.service import ChapterWithReleases
from tsuzuki.web.inbox.rows import chapter_name
from tsuzuki.web.links import chapter_path


class ReleaseLine(msgspec.Struct, frozen=True, kw_only=True):
    """One release in the picker."""

    id: int
    path: str
    source: str
    by: str
    is_preferred: bool
    is_readable: bool
    url: str


class ChapterLine(msgspec.Struct, frozen=True, kw_only=True):
    """One chapter; `above` are whole numbers that no source has, between it and the one before in the list."""

    row: ChapterProgressRow
    name: str
    path: str
    at: Millis
    releases: list[ReleaseLine]
    release: SeriesRelease | None
    kept: KeptChapter | None
    above: Gap | None


def chapter_lines(
    chapters: Sequence[ChapterWithReleases], gaps: Gaps, kept: Mapping[ReleaseId, KeptChapter], *, series_id: str
) -> list[ChapterLine]:
    """In their order; each gap is told once, above the chapter that it follows."""
    missing = {gap.first - 1: gap for gap in gaps.ranges} if gaps.of == "chapters" else {}
    lines = []
    for chapter in chapters:
        number = None if chapter.row.number is None else parse_number(chapter.row.number)
        above = None if number is None else missing.pop(int(number), None)
        lines.append(_line(chapter, kept, series_id, above))
    return lines


def release_lines(chapter: ChapterWithReleases, series_id: str) -> list[ReleaseLine]:
    """The releases, the preferred one first."""
    path = chapter_path(series_id, chapter.row.id)
    lines = [
        ReleaseLine(
            id=release.id,
            path=f"{path}?release={release.id}",
            source=release.source_name,
            by=" · ".join(part for part in (release.group_name, release.language) if part),
            is_preferred=release is chapter.preferred,
            is_readable=release.is_readable and release.is_available,
            url=release.url,
        )
        for release in chapter.releases
    ]
    return sorted(lines, key=lambda line: not line.is_preferred)


def _line(
    chapter: ChapterWithReleases, kept: Mapping[ReleaseId, KeptChapter], series_id: str, above: Gap | None
) -> ChapterLine:
    row = chapter.row
    return ChapterLine(
        row=row,
        name=chapter_name(row.number, row.volume, row.title),
        path=chapter_path(series_id, row.id),
        at=row.published_at if row.published_at is not None else row.first_seen_at,
        releases=release_lines(chapter, series_id),
        release=chapter.preferred,
        kept=next((kept[release.id] for release in chapter.releases if release.id in kept), None),
        above=above,
    )
