"""Series: lists, covers, what filters offer, groups as collections, and trackers."""

import math
from collections import defaultdict
from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from tsuzuki.accounts.types import Slice
from tsuzuki.http.images import answer_image
from tsuzuki.images.files import cover_of
from tsuzuki.model.errors import Invalid, NotFound
from tsuzuki.model.ids import PublicId, SeriesSourceId, read_id, show_id
from tsuzuki.model.numbers import SCALE
from tsuzuki.protocols.access import ProtocolDeps
from tsuzuki.protocols.komga.conditions import read_condition
from tsuzuki.protocols.komga.filters import (
    SORTS,
    SearchBody,
    is_elsewhere,
    named_in_address,
    series_in_address,
    series_under,
    sorted_by,
)
from tsuzuki.protocols.komga.requests import KomgaRequest, KomgaResource, done, resource
from tsuzuki.protocols.komga.views import collection_view, library_view, series_view
from tsuzuki.shelves.groups import Group
from tsuzuki.shelves.library import STATES, LibrarySeries, LibrarySort, SeriesFilter, TrackedChapter
from tsuzuki.shelves.types import ChapterSelection

COVER_WIDTH = 320
TOLERANCE = 0.001
"""Apps keep numbers of chapters in 32 bits."""
_HIGHEST = 10**12


class TrackerBody(msgspec.Struct, frozen=True, rename="camel"):
    """Up to where a tracker has read."""

    last_book_number_sort_read: float


def resources(deps: ProtocolDeps) -> Sequence[KomgaResource]:
    """What is about series."""
    one = "/api/v1/series/{series_id}"
    return [
        resource(deps, "/api/v1/libraries", {"GET": _libraries}),
        resource(deps, "/api/v1/libraries/{library_id}", {"GET": _library}),
        resource(deps, "/api/v1/series", {"GET": _list}),
        resource(deps, "/api/v1/series/list", {"POST": _search}, reads=True),
        resource(deps, "/api/v1/series/new", {"GET": _newest}),
        resource(deps, "/api/v1/series/updated", {"GET": _latest}),
        resource(deps, "/api/v1/series/latest", {"GET": _latest}),
        resource(deps, one, {"GET": _show}),
        resource(deps, f"{one}/thumbnail", {"GET": _thumbnail}),
        resource(deps, f"{one}/collections", {"GET": _collections_of}),
        resource(deps, f"{one}/read-progress", {"POST": _read_all, "DELETE": _unread_all}),
        resource(deps, "/api/v2/series/{series_id}/read-progress/tachiyomi", {"GET": _tracked, "PUT": _track}),
        resource(deps, "/api/v1/collections", {"GET": _collections}),
        resource(deps, "/api/v1/collections/{collection_id}", {"GET": _collection}),
        resource(deps, "/api/v1/collections/{collection_id}/series", {"GET": _list_of_collection}),
        resource(deps, "/api/v1/collections/{collection_id}/thumbnail", {"GET": _collection_thumbnail}),
        resource(deps, "/api/v1/genres", {"GET": _genres}),
        resource(deps, "/api/v1/authors", {"GET": _authors}),
        resource(deps, "/api/v2/authors", {"GET": _author_pages}),
        resource(deps, "/api/v1/authors/names", {"GET": _author_names}),
        resource(deps, "/api/v1/authors/roles", {"GET": _author_roles}),
        resource(deps, "/api/v1/languages", {"GET": _languages}),
    ]


# -- lists


async def _list(asked: KomgaRequest) -> Response:
    return await answer_series(asked, series_in_address(asked))


async def _search(asked: KomgaRequest) -> Response:
    body = await asked.body(SearchBody)
    wanted = await series_under(asked, read_condition(body.condition), body.full_text_search or "")
    return await answer_series(asked, wanted)


async def answer_series(asked: KomgaRequest, wanted: SeriesFilter | None) -> Response:
    """A page of series, sorted as it is asked."""
    found: Sequence[LibrarySeries] = ()
    total = 0
    if wanted is not None:
        order = wanted.order or sorted_by(asked, SORTS, wanted.words)
        wanted = msgspec.structs.replace(wanted, order=order)
        found, total = await asked.library.list(asked.shelf_id, wanted, asked.part)
    return asked.page([series_view(series, asked.library_id) for series in found], total)


async def _newest(asked: KomgaRequest) -> Response:
    return await _by(asked, "added")


async def _latest(asked: KomgaRequest) -> Response:
    return await _by(asked, "latest")


async def _by(asked: KomgaRequest, sort: LibrarySort) -> Response:
    is_none = is_elsewhere(asked, named_in_address(asked))
    return await answer_series(asked, None if is_none else SeriesFilter(order=[(sort, True)]))


async def _show(asked: KomgaRequest) -> Response:
    return asked.answer(series_view(await asked.library.get(asked.shelf_id, asked.series_id), asked.library_id))


async def _thumbnail(asked: KomgaRequest) -> Response:
    return await answer_cover(asked, asked.series_id)


async def answer_cover(asked: KomgaRequest, series: PublicId) -> Response:
    """The cover of a series, small, as JPEG: some apps show nothing else. NotFound where it has none."""
    cover_id = (await asked.library.get(asked.shelf_id, series)).row.cover_id
    if cover_id is None:
        raise NotFound("This series has no cover.")
    images, user_id = asked.services.pictures.images, asked.user.caller.user_id
    small = await images.show_jpeg(cover_of(SeriesSourceId(cover_id)), COVER_WIDTH, user_id=user_id)
    return answer_image(asked.request, small, f"cover-{cover_id}")


# -- what filters offer


async def _libraries(asked: KomgaRequest) -> Response:
    return asked.answer([library_view(asked.library_id, asked.user.shelf.name)])


async def _library(asked: KomgaRequest) -> Response:
    if asked.request.path_params["library_id"] != asked.library_id:
        raise NotFound("There is no such library.")
    return asked.answer(library_view(asked.library_id, asked.user.shelf.name))


async def _genres(asked: KomgaRequest) -> Response:
    return asked.answer(await asked.library.genres(asked.shelf_id))


async def _languages(asked: KomgaRequest) -> Response:
    return asked.answer(await asked.library.languages(asked.shelf_id))


async def _authors(asked: KomgaRequest) -> Response:
    return asked.answer(await asked.library.authors(asked.shelf_id))


async def _author_pages(asked: KomgaRequest) -> Response:
    """The same in pages, as newer apps ask for them: those whose name has these letters, and who do this."""
    wanted, role, part = asked.params.one("search").casefold(), asked.params.one("role"), asked.part
    authors = [
        author
        for author in await asked.library.authors(asked.shelf_id)
        if wanted in author.name.casefold() and role in {"", author.role}
    ]
    return asked.page(authors[part.skip : part.skip + part.most], len(authors))


async def _author_names(asked: KomgaRequest) -> Response:
    authors = await asked.library.authors(asked.shelf_id)
    return asked.answer(list(dict.fromkeys(author.name for author in authors)))


async def _author_roles(asked: KomgaRequest) -> Response:
    return asked.answer(["penciller", "writer"])


# -- collections


async def _collections(asked: KomgaRequest) -> Response:
    """Groups that have series."""
    found = [(group, series) for group, series in await _groups(asked) if series]
    part = asked.part
    content = [collection_view(group, series) for group, series in found[part.skip : part.skip + part.most]]
    return asked.page(content, len(found))


async def _groups(asked: KomgaRequest) -> list[tuple[Group, list[str]]]:
    held = defaultdict[PublicId, list[str]](list)
    for one in await asked.library.grouped(asked.shelf_id):
        held[one.group_id].append(show_id(one.series_id))
    groups = await asked.services.reading.groups.list(asked.shelf_id)
    return [(group, held[group.public_id]) for group in groups]


async def _own_collection(asked: KomgaRequest) -> tuple[Group, list[str]]:
    wanted = read_id(asked.request.path_params["collection_id"])
    found = next((one for one in await _groups(asked) if one[0].public_id == wanted), None)
    if found is None:
        raise NotFound("There is no such collection.")
    return found


async def _collection(asked: KomgaRequest) -> Response:
    return asked.answer(collection_view(*await _own_collection(asked)))


async def _list_of_collection(asked: KomgaRequest) -> Response:
    group, _ = await _own_collection(asked)
    wanted = series_in_address(asked)
    return await answer_series(asked, wanted and msgspec.structs.replace(wanted, groups=[group.public_id]))


async def _collection_thumbnail(asked: KomgaRequest) -> Response:
    """The cover of its first series."""
    group, _ = await _own_collection(asked)
    found, _ = await asked.library.list(asked.shelf_id, SeriesFilter(groups=[group.public_id]), Slice(1))
    if not found:
        raise NotFound("There is nothing in this collection.")
    return await answer_cover(asked, found[0].row.public_id)


async def _collections_of(asked: KomgaRequest) -> Response:
    series = show_id((await asked.library.get(asked.shelf_id, asked.series_id)).row.public_id)
    return asked.answer([collection_view(group, held) for group, held in await _groups(asked) if series in held])


# -- marking


async def _read_all(asked: KomgaRequest) -> Response:
    return await _mark(asked, ChapterSelection(), is_read=True)


async def _unread_all(asked: KomgaRequest) -> Response:
    return await _mark(asked, ChapterSelection(), is_read=False)


async def _mark(asked: KomgaRequest, some: ChapterSelection, *, is_read: bool) -> Response:
    series = await asked.library.get(asked.shelf_id, asked.series_id)
    await asked.services.reading.progress.mark(asked.shelf_id, series.row.public_id, some, is_read=is_read)
    return done()


# -- trackers


async def _tracked(asked: KomgaRequest) -> Response:
    chapters = await asked.library.tracked(asked.shelf_id, asked.series_id)
    counts = {state: sum(chapter.state == state for chapter in chapters) for state in STATES}
    return asked.answer(
        {
            "booksCount": len(chapters),
            "booksReadCount": counts["READ"],
            "booksUnreadCount": counts["UNREAD"],
            "booksInProgressCount": counts["IN_PROGRESS"],
            "lastReadContinuousNumberSort": last_read(chapters),
            "maxNumberSort": max((chapter.sort for chapter in chapters if chapter.sort >= 0), default=0.0),
        }
    )


def last_read(chapters: Sequence[TrackedChapter]) -> float:
    """The last that was read before the first that was not; 0 where that is the first. Only numbers count."""
    reached = 0.0
    for chapter in sorted((each for each in chapters if each.sort >= 0), key=lambda each: each.sort):
        if chapter.state != "READ":
            break
        reached = chapter.sort
    return reached


async def _track(asked: KomgaRequest) -> Response:
    """Everything up to this number is read; nothing becomes unread, and what has no number stays as it is."""
    number = (await asked.body(TrackerBody)).last_book_number_sort_read
    if not math.isfinite(number) or number < 0:
        raise Invalid("lastBookNumberSortRead must be a number that is not negative.")
    chapters = await asked.library.tracked(asked.shelf_id, asked.series_id)
    if number == 0:
        return done()
    upto = min(number, _HIGHEST) + TOLERANCE
    if any(chapter.number_sort is not None for chapter in chapters):
        return await _mark(asked, ChapterSelection(up_to=int(upto * SCALE)), is_read=True)
    read = [chapter.id for chapter in chapters if 0 <= chapter.sort <= upto]
    return await _mark(asked, ChapterSelection(chapters=read), is_read=True)
