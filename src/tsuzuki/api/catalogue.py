"""Browsing sources: their lists, their filters, and what is noted about them."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import Shelf
from tsuzuki.api.catalogue_views import (
    CacheMeta,
    CatalogueChapterView,
    CatalogueSourceView,
    FilterView,
    ListMeta,
    MangaView,
    PageView,
    cache_meta,
    chapter_views,
    filter_view,
    list_meta,
    manga_view,
    page_views,
    source_view,
)
from tsuzuki.api.decoder import invalid, refuse_nul
from tsuzuki.api.endpoints import Access, Body, PageNumber, QueryParameters, declaring
from tsuzuki.api.ids import MangaPath, ReleasePath, SourcePath
from tsuzuki.api.paging import PageQuery
from tsuzuki.api.shelf import ShelfQuery
from tsuzuki.api.views import ListAnswer, PageMeta, WithMeta
from tsuzuki.catalogue.browse import BrowseService, ListRequest
from tsuzuki.catalogue.chapters import ChapterLists, Chapters
from tsuzuki.catalogue.details import DetailsService
from tsuzuki.catalogue.notes import LONGEST_KEY, LONGEST_VALUE, CatalogueNotes
from tsuzuki.catalogue.types import ListKind
from tsuzuki.connectors.filters import FilterValue
from tsuzuki.connectors.registry import Registry
from tsuzuki.model.errors import Conflict, LimitExceeded, NotFound, Problem, Unavailable
from tsuzuki.model.ids import ShelfId
from tsuzuki.sources.sites import Sources, source_info
from tsuzuki.sources.types import SourceFilter

MOST_FILTERS = 500
_FILTERS = 'filters must be a JSON list such as [{"name": "Status", "state": 1}]'

_Values = Annotated[tuple[FilterValue, ...], Meta(max_length=MOST_FILTERS)]


class SourcesQuery(PageQuery, frozen=True, kw_only=True):
    """Which sources, by a part of the name, and which page of them."""

    q: Annotated[str, Meta(max_length=200)] | None = None


class BrowseQuery(ShelfQuery, frozen=True, kw_only=True):
    """Which page; `refresh` asks the source whatever is stored."""

    page: PageNumber = 1
    refresh: bool = False


class CatalogueSearchQuery(BrowseQuery, frozen=True, kw_only=True):
    """`filters` is JSON: a list of `{"name", "state"}`, with `"group"` where `/filters` has it in one."""

    q: Annotated[str, Meta(max_length=200)] = ""
    filters: Annotated[str, Meta(max_length=20_000)] = ""


class CatalogueNoteBody(Body, frozen=True, kw_only=True):
    """A value for a key; null deletes it."""

    key: Annotated[str, Meta(min_length=1, max_length=LONGEST_KEY)]
    value: Annotated[str, Meta(max_length=LONGEST_VALUE)] | None


async def list_sources(
    query: SourcesQuery, sources: Sources, registry: Registry
) -> ListAnswer[CatalogueSourceView, PageMeta]:
    """Sorted by id, disabled sources included: what was fetched from them can still be read."""
    rows, total = await sources.list(SourceFilter(text=query.q), query.part)
    pause = await sources.show_pause()
    known = [source_info(registry, row.connector, row.config) for row in rows]
    views = [
        source_view(row, info.abilities if info is not None else None, pause=pause)
        for row, info in zip(rows, known, strict=True)
    ]
    return ListAnswer(views, query.meta(total))


async def list_popular(
    site_id: SourcePath, query: BrowseQuery, shelf: Shelf, browsing: BrowseService
) -> ListAnswer[MangaView, ListMeta]:
    """One page of the most popular series."""
    return await _list(site_id, "popular", query, browsing, shelf_id=shelf.id)


async def list_latest(
    site_id: SourcePath, query: BrowseQuery, shelf: Shelf, browsing: BrowseService
) -> ListAnswer[MangaView, ListMeta]:
    """One page of the series with the newest chapters."""
    return await _list(site_id, "latest", query, browsing, shelf_id=shelf.id)


async def search_source(
    site_id: SourcePath, query: CatalogueSearchQuery, shelf: Shelf, browsing: BrowseService
) -> ListAnswer[MangaView, ListMeta]:
    """One page of results. Filters without a text browse the source."""
    return await _list(site_id, "search", query, browsing, shelf_id=shelf.id)


async def list_filters(site_id: SourcePath, browsing: BrowseService) -> list[FilterView]:
    """The filters that a search can use."""
    found = await browsing.filters(site_id)
    return [filter_view(entry) for entry in found]


async def show_source_meta(site_id: SourcePath, notes: CatalogueNotes) -> dict[str, str]:
    """All notes about a source; secrets are `***`."""
    return await notes.list(site_id)


async def set_source_meta(
    site_id: SourcePath, body: CatalogueNoteBody, caller: Caller, notes: CatalogueNotes
) -> dict[str, str]:
    """Returns all notes afterwards."""
    await notes.set(caller.actor, site_id, body.key, body.value)
    return await notes.list(site_id)


async def _list(
    site_id: int, kind: ListKind, query: BrowseQuery, browsing: BrowseService, *, shelf_id: ShelfId
) -> ListAnswer[MangaView, ListMeta]:
    text, filters = (query.q, query.filters) if isinstance(query, CatalogueSearchQuery) else ("", "")
    wanted = ListRequest(
        kind=kind,
        shelf_id=shelf_id,
        page=query.page,
        text=text,
        filters=filter_values(filters),
        refresh=query.refresh,
    )
    answered = await browsing.browse(site_id, wanted)
    meta = list_meta(answered.freshness, page=query.page, has_next=answered.value.has_next)
    return ListAnswer([manga_view(manga) for manga in answered.value.manga], meta)


def filter_values(text: str) -> tuple[FilterValue, ...]:
    """The filters that a query sets; Invalid for what is no list of them, or sets one twice."""
    if not text.strip():
        return ()
    try:
        values: tuple[FilterValue, ...] = msgspec.json.decode(text, type=_Values)
    except msgspec.MsgspecError as error:
        raise invalid([Problem("filters", f"{_FILTERS}: {error}.")]) from error
    for problem in refuse_nul(msgspec.to_builtins(list(values)), "filters"):
        raise invalid([Problem("filters", problem.message)])
    if len({(value.group, value.name) for value in values}) < len(values):
        raise invalid([Problem("filters", "filters must set each filter once.")])
    return values


_read = declaring("catalogue", Access.READ)
_admin = declaring("catalogue", Access.ADMIN)
_ONE = "/sources/{site_id}"
_LIST = (NotFound, Unavailable)

ENDPOINTS = (
    _read("GET", "/sources", list_sources, "List sources to browse"),
    _read("GET", f"{_ONE}/popular", list_popular, "List popular series of a source", errors=_LIST),
    _read("GET", f"{_ONE}/latest", list_latest, "List latest series of a source", errors=_LIST),
    _read("GET", f"{_ONE}/search", search_source, "Search a source", errors=_LIST),
    _read("GET", f"{_ONE}/filters", list_filters, "List the search filters of a source", errors=_LIST),
    _read("GET", f"{_ONE}/meta", show_source_meta, "Show the notes about a source", errors=(NotFound,)),
    _admin("PUT", f"{_ONE}/meta", set_source_meta, "Set a note about a source", errors=(NotFound, LimitExceeded)),
)


class MangaQuery(ShelfQuery, frozen=True, kw_only=True):
    """`refresh` asks the source whatever is stored."""

    refresh: bool = False


class PagesQuery(QueryParameters, frozen=True, kw_only=True):
    """`refresh` asks the source whatever is stored."""

    refresh: bool = False


async def show_manga(
    manga_id: MangaPath, query: MangaQuery, shelf: Shelf, details: DetailsService
) -> WithMeta[MangaView, CacheMeta]:
    """A series with its details."""
    answered = await details.show(manga_id, shelf.id, refresh=query.refresh)
    return WithMeta(manga_view(answered.value), cache_meta(answered.freshness))


async def list_manga_chapters(
    manga_id: MangaPath, query: MangaQuery, shelf: Shelf, lists: ChapterLists
) -> ListAnswer[CatalogueChapterView, CacheMeta]:
    """Every release, newest first, with the shelf's reading progress."""
    answered = await lists.list(manga_id, shelf.id, refresh=query.refresh)
    kept = await lists.downloaded_of(shelf.id, answered.value)
    return ListAnswer(chapter_views(answered.value, manga_id, kept), cache_meta(answered.freshness))


async def list_chapter_pages(
    release_id: ReleasePath, query: PagesQuery, chapters: Chapters
) -> ListAnswer[PageView, CacheMeta]:
    """The pages of a release in reading order."""
    answer = await chapters.pages(release_id, refresh=query.refresh)
    return ListAnswer(page_views(answer), cache_meta(answer.freshness))


_MANGA = "/manga/{manga_id}"
_PAGES = "/chapters/{release_id}/pages"

SERIES_ENDPOINTS = (
    _read("GET", _MANGA, show_manga, "Show a series of a source", errors=(NotFound,)),
    _read(
        "GET",
        f"{_MANGA}/chapters",
        list_manga_chapters,
        "List the chapters of a source's series",
        errors=(NotFound, Unavailable),
    ),
    _read("GET", _PAGES, list_chapter_pages, "List the pages of a chapter", errors=(NotFound, Conflict, Unavailable)),
)
