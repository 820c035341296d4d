"""Books, which are chapters: lists, pages, and how far they were read."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
from starlette.responses import Response

from tsuzuki.http.books import answer_chapter
from tsuzuki.http.images import answer_image, wants_whole
from tsuzuki.images.files import page_of
from tsuzuki.images.service import PagePicture
from tsuzuki.model.errors import Invalid, NotFound
from tsuzuki.model.ids import ChapterId
from tsuzuki.model.structs import copied
from tsuzuki.model.times import Millis
from tsuzuki.protocols.access import ProtocolDeps
from tsuzuki.protocols.komga.conditions import Condition, read_condition
from tsuzuki.protocols.komga.filters import (
    SearchBody,
    books_under,
    condition_in_address,
    is_elsewhere,
    named_in_address,
    states_in,
)
from tsuzuki.protocols.komga.requests import KomgaRequest, KomgaResource, done, resource
from tsuzuki.protocols.komga.series import answer_cover
from tsuzuki.protocols.komga.views import book_view, page_view
from tsuzuki.protocols.releases import NO_RELEASE, ReadableRelease, readable_releases
from tsuzuki.shelves.library import STATES, LibraryChapter
from tsuzuki.shelves.types import ReportedProgress, ReportedReading

MOST_PAGES = 100_000


class BookProgressBody(msgspec.Struct, frozen=True):
    """How far a book was read; pages are counted from 1."""

    page: int | None = None
    completed: bool | None = None


def resources(deps: ProtocolDeps) -> Sequence[KomgaResource]:
    """What is about books."""
    one = "/api/v1/books/{book_id}"
    return [
        resource(deps, "/api/v1/series/{series_id}/books", {"GET": _list_of_series}),
        resource(deps, "/api/v1/books", {"GET": _list}),
        resource(deps, "/api/v1/books/list", {"POST": _search}, reads=True),
        resource(deps, "/api/v1/books/latest", {"GET": _latest}),
        resource(deps, "/api/v1/books/ondeck", {"GET": _on_deck}),
        resource(deps, one, {"GET": _show}),
        resource(deps, f"{one}/next", {"GET": _next}),
        resource(deps, f"{one}/previous", {"GET": _previous}),
        resource(deps, f"{one}/thumbnail", {"GET": _thumbnail}),
        resource(deps, f"{one}/pages", {"GET": _pages}),
        resource(deps, f"{one}/pages/{{number}}", {"GET": _page}),
        resource(deps, f"{one}/pages/{{number}}/raw", {"GET": _page}),
        resource(deps, f"{one}/pages/{{number}}/thumbnail", {"GET": _page_thumbnail}),
        resource(deps, f"{one}/file", {"GET": _file}),
        resource(deps, f"{one}/file/{{name}}", {"GET": _file}),
        resource(deps, f"{one}/read-progress", {"PATCH": _report, "DELETE": _unread}),
    ]


# -- lists


async def _list_of_series(asked: KomgaRequest) -> Response:
    """In their order; only if it is asked, by something else."""
    wanted, named = await books_under(asked, None, ""), named_in_address(asked)
    series, states = (await asked.library.get(asked.shelf_id, asked.series_id)).row, states_in(named)
    if is_elsewhere(asked, named):
        return asked.page([], 0)
    if wanted.order and (wanted.order[0][0] != "number" or len(wanted.order) > 1):
        wanted = msgspec.structs.replace(wanted, allowed={series.id: STATES if states is None else states})
        return await _answer(asked, *await asked.library.books(asked.shelf_id, wanted, asked.part))
    found = await asked.library.chapters(
        asked.shelf_id,
        series.public_id,
        asked.part,
        states=states,
        is_ready=wanted.is_ready,
        downwards=bool(wanted.order and wanted.order[0][1]),
    )
    return await _answer(asked, *found)


async def _list(asked: KomgaRequest) -> Response:
    return await _answer_books(asked, condition_in_address(asked), asked.params.one("search"))


async def _search(asked: KomgaRequest) -> Response:
    body = await asked.body(SearchBody)
    return await _answer_books(asked, read_condition(body.condition), body.full_text_search or "")


async def _answer_books(asked: KomgaRequest, condition: Condition | None, words: str) -> Response:
    """A page of books; as they arrived, where nothing else is asked."""
    wanted = await books_under(asked, condition, words)
    if wanted.allowed is None and wanted.is_ready is None and not wanted.words.strip() and not wanted.order:
        return await _answer(asked, *await asked.library.arrived(asked.shelf_id, asked.part))
    return await _answer(asked, *await asked.library.books(asked.shelf_id, wanted, asked.part))


async def _answer(asked: KomgaRequest, chapters: Sequence[LibraryChapter], total: int) -> Response:
    releases = await releases_of(asked, [chapter.id for chapter in chapters])
    shown = [book_view(chapter, releases.get(chapter.id), asked.library_id) for chapter in chapters]
    return asked.page(shown, total)


async def releases_of(asked: KomgaRequest, ids: Sequence[ChapterId]) -> Mapping[ChapterId, ReadableRelease]:
    """What these books are read from."""
    return await readable_releases(asked.services, asked.shelf_id, ids)


async def _latest(asked: KomgaRequest) -> Response:
    if is_elsewhere(asked, named_in_address(asked)):
        return asked.page([], 0)
    return await _answer(asked, *await asked.library.arrived(asked.shelf_id, asked.part))


async def _on_deck(asked: KomgaRequest) -> Response:
    if is_elsewhere(asked, named_in_address(asked)):
        return asked.page([], 0)
    return await _answer(asked, *await asked.library.on_deck(asked.shelf_id, asked.part))


# -- one


async def _chapter(asked: KomgaRequest) -> LibraryChapter:
    return await asked.library.chapter(asked.shelf_id, asked.chapter_id)


async def _answer_one(asked: KomgaRequest, chapter: LibraryChapter) -> Response:
    releases = await releases_of(asked, [chapter.id])
    return asked.answer(book_view(chapter, releases.get(chapter.id), asked.library_id))


async def _show(asked: KomgaRequest) -> Response:
    return await _answer_one(asked, await _chapter(asked))


async def _next(asked: KomgaRequest) -> Response:
    return await _beside(asked, 1)


async def _previous(asked: KomgaRequest) -> Response:
    return await _beside(asked, -1)


async def _beside(asked: KomgaRequest, way: Literal[1, -1]) -> Response:
    found = await asked.library.beside(asked.shelf_id, await _chapter(asked), way)
    if found is None:
        raise NotFound("No book that can be read is there in this series.")
    return await _answer_one(asked, found)


async def _thumbnail(asked: KomgaRequest) -> Response:
    """The cover of its series: to look at its first page, its source would be asked."""
    return await answer_cover(asked, (await _chapter(asked)).series_public_id)


# -- pages


async def _release(asked: KomgaRequest) -> ReadableRelease:
    """What the book in the path is read from; NotFound."""
    chapter_id = await asked.library.known_chapter(asked.shelf_id, asked.chapter_id)
    release = (await releases_of(asked, [chapter_id])).get(chapter_id)
    if release is None:
        raise NotFound(NO_RELEASE)
    return release


async def _pages(asked: KomgaRequest) -> Response:
    pictures = await page_pictures(asked, await _release(asked))
    return asked.answer([page_view(number, picture) for number, picture in enumerate(pictures, 1)])


async def page_pictures(asked: KomgaRequest, release: ReadableRelease) -> Sequence[PagePicture]:
    """The pages of a book; asks the source where its list is not here yet."""
    images, user_id = asked.services.pictures.images, asked.user.caller.user_id
    kept = await images.whole_copy(release.id, user_id)
    if kept:
        return [copied(PagePicture, image) for image in kept]
    answer = await asked.services.catalogue.chapters.pages(release.id)
    return await images.page_pictures(release.id, [page.image_url for page in answer.pages])


def _position(asked: KomgaRequest) -> int:
    """The page in the path, counted from 0."""
    text = asked.request.path_params["number"]
    first = 0 if asked.params.one("zero_based").lower() == "true" else 1
    number = int(text) - first if text.isascii() and text.isdigit() and len(text) < len(str(MOST_PAGES)) else -1
    if number < 0:
        raise Invalid("There is no such page.")
    return number


async def _page(asked: KomgaRequest) -> Response:
    """As it came: every app shows what browsers show. As JPEG, if that is asked."""
    services, user_id, position = asked.services, asked.user.caller.user_id, _position(asked)
    release = await _release(asked)
    try:
        images, whole = services.pictures.images, wants_whole(asked.request)
        show = images.show_jpeg if asked.params.one("convert").lower() == "jpeg" else images.show
        image = await show(page_of(release.id, position), user_id=user_id, whole=whole)
    except NotFound as error:
        raise Invalid(str(error)) from error
    services.pictures.prefetch.follow(user_id, release.id, position)
    return answer_image(asked.request, image, f"{release.id}-{position:03}")


async def _page_thumbnail(asked: KomgaRequest) -> Response:
    release, position = await _release(asked), _position(asked)
    images, user_id = asked.services.pictures.images, asked.user.caller.user_id
    try:
        small = await images.show_small(page_of(release.id, position), 160, user_id=user_id)
    except NotFound as error:
        raise Invalid(str(error)) from error
    return answer_image(asked.request, small, f"{release.id}-{position:03}-small")


async def _file(asked: KomgaRequest) -> Response:
    release, services = await _release(asked), asked.services
    return await answer_chapter(
        asked.request,
        services.chapter_files,
        services.pictures.images,
        release_id=release.id,
        user_id=asked.user.caller.user_id,
    )


# -- how far it was read


async def _report(asked: KomgaRequest) -> Response:
    """The last page completes a book, unless that is denied; what is said of it is set, never toggled."""
    body = await asked.body(BookProgressBody)
    if body.page is None and not body.completed:
        raise Invalid("Send the page, or that the book is completed.")
    chapter = await _chapter(asked)
    release = (await releases_of(asked, [chapter.id])).get(chapter.id)
    count = release.page_count if release is not None and release.page_count > 0 else None
    if body.page is not None and not 1 <= body.page <= (count or MOST_PAGES):
        raise Invalid(f"page must be between 1 and {count or MOST_PAGES}.")
    readings = []
    if body.completed is False and chapter.state == "READ":  # what was read is read again: from this page on
        readings.append(ReportedReading(is_read=False, at=Millis(asked.deps.clock() - 1)))
    page = None if body.page is None else body.page - 1
    readings.append(ReportedReading(page=page, is_read=body.completed or None, device=asked.device, page_count=count))
    reports = [
        ReportedProgress(series=chapter.series_public_id, chapter=chapter.id, number=None, reading=each)
        for each in readings
    ]
    await asked.services.reading.progress.report_many(asked.shelf_id, reports)
    return done()


async def _unread(asked: KomgaRequest) -> Response:
    chapter = await _chapter(asked)
    reading = ReportedReading(is_read=False)
    await asked.services.reading.progress.report(asked.shelf_id, chapter.series_public_id, chapter.id, reading)
    return done()
