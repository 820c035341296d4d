"""Books as Readium has them: a manifest of their pages, and progress by a place in them."""

from collections.abc import Sequence

from starlette.responses import Response

from tsuzuki.model.errors import Conflict, NotFound
from tsuzuki.model.ids import show_id
from tsuzuki.protocols.access import ProtocolDeps
from tsuzuki.protocols.komga.books import page_pictures, releases_of
from tsuzuki.protocols.komga.requests import KOMGA, KomgaRequest, KomgaResource, done, resource
from tsuzuki.protocols.komga.views import book_view
from tsuzuki.protocols.opds.progression import READ_ON, CantookProgression, answer_progression, reading_of
from tsuzuki.protocols.releases import NO_RELEASE, ReadableRelease, counted
from tsuzuki.shelves.library import LibraryChapter

_DIVINA = "application/divina+json"
_CONTEXT = "https://readium.org/webpub-manifest/context.jsonld"
_PROFILE = "https://readium.org/webpub-manifest/profiles/divina"


def resources(deps: ProtocolDeps) -> Sequence[KomgaResource]:
    """What Readium's readers call."""
    one = "/api/v1/books/{book_id}"
    return [
        resource(deps, f"{one}/manifest", {"GET": _manifest}),
        resource(deps, f"{one}/manifest/divina", {"GET": _manifest}),
        resource(deps, f"{one}/progression", {"GET": _show, "PUT": _store}),
    ]


async def _opened(asked: KomgaRequest) -> tuple[LibraryChapter, ReadableRelease]:
    chapter = await asked.library.chapter(asked.shelf_id, asked.chapter_id)
    release = (await releases_of(asked, [chapter.id])).get(chapter.id)
    if release is None:
        raise NotFound(NO_RELEASE)
    return chapter, release


def _address(asked: KomgaRequest, chapter: LibraryChapter) -> str:
    return f"{asked.deps.base_of(asked.request)}{KOMGA.path}/api/v1/books/{chapter.id}"


async def _manifest(asked: KomgaRequest) -> Response:
    """The manifest. Calls the source if its pages are not known yet."""
    chapter, release = await _opened(asked)
    base, view = _address(asked, chapter), book_view(chapter, release, asked.library_id)
    pictures = await page_pictures(asked, release)
    pages = []
    for number, picture in enumerate(pictures, 1):
        size = {} if picture.width is None else {"width": picture.width, "height": picture.height}
        pages.append({"href": f"{base}/pages/{number}", "type": picture.media_type} | size)
    series = {"name": view["seriesTitle"], "identifier": show_id(chapter.series_public_id), "position": chapter.sort}
    manifest = {
        "@context": _CONTEXT,
        "metadata": {
            "title": view["name"],
            "identifier": view["id"],
            "conformsTo": _PROFILE,
            "numberOfPages": len(pages),
            "belongsTo": {"series": [series]},
        },
        "links": [{"rel": "self", "href": f"{base}/manifest", "type": _DIVINA}],
        "readingOrder": pages,
        "resources": [],
        "toc": [],
    }
    response = asked.answer(manifest)
    response.headers["content-type"] = _DIVINA
    return response


async def _show(asked: KomgaRequest) -> Response:
    """The last page read, counted from 1; 204 if the chapter was not begun."""
    chapter, release = await _opened(asked)
    if chapter.state == "UNREAD":
        return done()
    pages = f"{_address(asked, chapter)}/pages"
    count = (await counted(asked.services, release)).page_count
    return answer_progression(chapter, count, lambda page: f"{pages}/{page + 1}")


async def _store(asked: KomgaRequest) -> Response:
    """Store progress; Conflict if something as new is known, so that the app fetches it."""
    body = await asked.body(CantookProgression)
    chapter, release = await _opened(asked)
    count = (await counted(asked.services, release)).page_count
    reading, is_known = reading_of(body, chapter, count)
    if is_known:
        raise Conflict(READ_ON)
    await asked.services.reading.progress.report(asked.shelf_id, chapter.series_public_id, chapter.id, reading)
    return done()
