"""The page reader of a chapter."""

from collections.abc import Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.catalogue.chapters import Chapters
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.errors import Conflict, NotFound, SourceError, Unavailable
from tsuzuki.model.ids import ChapterId, ReleaseId, ShelfId, show_id
from tsuzuki.shelves.series import ChapterWithReleases, SeriesOverview, SeriesService
from tsuzuki.shelves.types import ChapterName, Mode, SeriesRelease
from tsuzuki.web.ids import id_of, number_at, number_of
from tsuzuki.web.links import chapter_path
from tsuzuki.web.series import FITS, MODES, release_lines
from tsuzuki.web.site import Site
from tsuzuki.web.texts import chapter_name

AROUND = 150
"""Chapters to jump to, before and after this one; the series has them all."""
_RIGHT_TO_LEFT = "ja"


class ChapterChoice(msgspec.Struct, frozen=True):
    """A chapter to jump to."""

    path: str
    name: str
    is_here: bool


class ChapterPages(msgspec.Struct, frozen=True, kw_only=True):
    """The images of a chapter, or why there are none."""

    images: list[str]
    trouble: str | None = None


class ChapterNeighbours(msgspec.Struct, frozen=True):
    """The chapters around this one, in reading order."""

    before: ChapterChoice | None
    after: ChapterChoice | None
    near: list[ChapterChoice]


def reader_page(site: Site) -> Resource:
    """The page reader."""
    series_service, chapters = site.reading.series, site.catalogue.chapters

    async def show_chapter(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "library")
        series = await series_service.get(frame.shelf.id, id_of(request, "series_id"))
        chapter_id = ChapterId(number_at(request, "chapter_id"))
        chapter = await series_service.chapter(frame.shelf.id, series.details.public_id, chapter_id)
        series_id = show_id(series.details.public_id)
        release = _release(chapter, request)
        order = await series_service.order(frame.shelf.id, series.details.public_id)
        return site.show(
            frame,
            "reader.html",
            id=series_id,
            series=series,
            row=chapter.row,
            name=chapter_name(chapter.row.number, chapter.row.volume, chapter.row.title),
            release=release,
            releases=release_lines(chapter, series_id),
            shown=await _images(chapters, release),
            around=_neighbours(series_id, order, chapter_id),
            modes=MODES,
            fits=FITS,
            mode=None if series.follow is None else series.follow.preferences.mode,
            guess=_guess(series, release),
            next_release=await _next_release(series_service, frame.shelf.id, series, _after(order, chapter_id)),
            fit=None if series.follow is None else series.follow.preferences.fit,
        )

    return page("/series/{series_id}/chapters/{chapter_id}", site.signed_in(show_chapter))


def _release(chapter: ChapterWithReleases, request: Request) -> SeriesRelease | None:
    """The one that was picked, else the preferred one; NotFound for one of another chapter."""
    wanted = request.query_params.get("release")
    if wanted is None:
        return chapter.preferred
    picked = next((one for one in chapter.releases if one.id == number_of(wanted)), None)
    if picked is None:
        raise NotFound("There is no such release of this chapter.")
    return picked


async def _images(chapters: Chapters, release: SeriesRelease | None) -> ChapterPages:
    if release is None:
        return ChapterPages(images=[])
    try:
        answer = await chapters.pages(release.id)
    except (Conflict, SourceError, Unavailable) as error:
        return ChapterPages(images=[], trouble=str(error))
    base = f"/api/v1/chapters/{release.id}/pages"
    images = [f"{base}/{one.position}/image" for one in answer.pages]
    return ChapterPages(images=images, trouble=answer.freshness.error)


def _neighbours(series_id: str, order: Sequence[ChapterName], chapter_id: ChapterId) -> ChapterNeighbours:
    """The chapters before and after this one, from a list with the newest first."""
    at = next((place for place, one in enumerate(order) if one.id == chapter_id), None)
    if at is None:
        return ChapterNeighbours(None, None, [])
    places = {
        place: ChapterChoice(
            chapter_path(series_id, order[place].id),
            chapter_name(order[place].number, order[place].volume, order[place].title),
            place == at,
        )
        for place in range(max(0, at - AROUND), min(len(order), at + AROUND + 1))
    }
    return ChapterNeighbours(places.get(at + 1), places.get(at - 1), list(places.values()))


def _after(order: Sequence[ChapterName], chapter_id: ChapterId) -> ChapterId | None:
    """The chapter that is read after this one, of a list that has the newest first."""
    ids = [one.id for one in order]
    return ids[ids.index(chapter_id) - 1] if chapter_id in ids[1:] else None


async def _next_release(
    series_service: SeriesService, shelf_id: ShelfId, series: SeriesOverview, chapter_id: ChapterId | None
) -> ReleaseId | None:
    """Whose first pages are fetched ahead; None where there is nothing to fetch."""
    if chapter_id is None:
        return None
    release = (await series_service.chapter(shelf_id, series.details.public_id, chapter_id)).preferred
    return release.id if release and release.is_readable and release.is_available else None


def _guess(series: SeriesOverview, release: SeriesRelease | None) -> Mode:
    """How a series is read of which nobody said it; scripts take tall images for a webtoon."""
    language = (release and release.language) or series.details.language or ""
    return "rtl" if language.lower().split("-")[0] == _RIGHT_TO_LEFT else "ltr"
