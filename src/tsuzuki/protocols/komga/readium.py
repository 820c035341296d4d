"""Books as Readium has them: a manifest of their pages, and progress by a place in them."""

from collections.abc import Sequence

from starlette.responses import Response

from tsuzuki.model.errors import Conflict, Invalid, NotFound
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import Millis, from_iso
from tsuzuki.protocols.access import ProtocolDeps
from tsuzuki.protocols.komga.books import page_pictures, releases_of
from tsuzuki.protocols.komga.requests import KOMGA, KomgaRequest, KomgaResource, answer_json, done, resource
from tsuzuki.protocols.komga.views import book_view, when
from tsuzuki.protocols.opds.progression import LONGEST_DEVICE, ProgressionBody
from tsuzuki.protocols.releases import NO_RELEASE, ReadableRelease
from tsuzuki.shelves.library import LibraryChapter
from tsuzuki.shelves.types import ReportedReading

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
    """Asks the source for its pages where they are not known yet."""
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
    response = answer_json(manifest)
    response.headers["content-type"] = _DIVINA
    return response


async def _show(asked: KomgaRequest) -> Response:
    """The page, counted from 1; 204 where nobody began."""
    chapter, release = await _opened(asked)
    if chapter.state == "UNREAD":
        return done()
    count = max(release.page_count, chapter.page + 1)
    page = count if chapter.state == "READ" else chapter.page + 1
    locations = {"position": page, "totalProgression": round(page / count, 4)}
    name = chapter.device or "Tsuzuki"
    return answer_json(
        {
            "modified": when(chapter.read_at or chapter.updated_at),
            "device": {"id": name, "name": name},
            "locator": {
                "href": f"{_address(asked, chapter)}/pages/{page}",
                "type": "image/jpeg",
                "locations": locations,
            },
        }
    )


async def _store(asked: KomgaRequest) -> Response:
    """Conflict where something newer is known, so that the app fetches it."""
    body = await asked.body(ProgressionBody)
    chapter, release = await _opened(asked)
    page, count = body.locator.locations.position, release.page_count
    if page is None or page < 1 or page > (count if count > 0 else page):
        raise Invalid("position must be a page of the book.")
    try:
        at = from_iso(body.modified)
    except ValueError:
        raise Invalid("modified must be a time such as 2026-01-01T08:30:00Z.") from None
    if chapter.state != "UNREAD" and at < (chapter.read_at or 0):
        raise Conflict("Another device has read on since then.")
    device = body.device.name.strip()[:LONGEST_DEVICE] or asked.device
    known = count if count > 0 else None
    reading = ReportedReading(page=page - 1, at=Millis(at), device=device, page_count=known)
    await asked.services.reading.progress.report(asked.shelf_id, chapter.series_public_id, chapter.id, reading)
    return done()
