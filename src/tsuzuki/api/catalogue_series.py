"""One series of a source, its chapters, and a chapter's pages."""

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.oneself import Oneself
from tsuzuki.api.catalogue_views import (
    CacheMeta,
    ChapterView,
    MangaView,
    PageView,
    cache_meta,
    chapter_views,
    manga_view,
    page_views,
)
from tsuzuki.api.declaring import declaring
from tsuzuki.api.endpoints import Access
from tsuzuki.api.forms import Query
from tsuzuki.api.ids import Number, number_in_path
from tsuzuki.api.shelf import ShelfQuery
from tsuzuki.api.views import Listing, Told
from tsuzuki.catalogue.chapter_lists import ChapterLists
from tsuzuki.catalogue.chapters import NO_CHAPTER, Chapters
from tsuzuki.catalogue.details import NO_MANGA, Details
from tsuzuki.model.errors import Conflict, NotFound, Unavailable


class MangaQuery(ShelfQuery, frozen=True, kw_only=True):
    """`refresh` asks the source whatever is stored."""

    refresh: bool = False


class PagesQuery(Query, frozen=True, kw_only=True):
    """`refresh` asks the source whatever is stored."""

    refresh: bool = False


async def show_manga(
    *, manga_id: Number, query: MangaQuery, caller: Caller, oneself: Oneself, details: Details
) -> Told[MangaView, CacheMeta]:
    """A series with its details."""
    shelf = await query.pick(caller, oneself)
    answered = await details.show(number_in_path(manga_id, NO_MANGA), shelf.id, refresh=query.refresh)
    return Told(manga_view(answered.value), cache_meta(answered.freshness))


async def list_manga_chapters(
    *, manga_id: Number, query: MangaQuery, caller: Caller, oneself: Oneself, lists: ChapterLists
) -> Listing[ChapterView, CacheMeta]:
    """Every release, newest first, with what the shelf has read of them."""
    shelf = await query.pick(caller, oneself)
    number = number_in_path(manga_id, NO_MANGA)
    answered = await lists.list(number, shelf.id, refresh=query.refresh)
    kept = await lists.kept_of(shelf.id, answered.value)
    return Listing(chapter_views(answered.value, number, kept), cache_meta(answered.freshness))


async def list_chapter_pages(release_id: Number, query: PagesQuery, chapters: Chapters) -> Listing[PageView, CacheMeta]:
    """The pages of a release in reading order."""
    answer = await chapters.pages(number_in_path(release_id, NO_CHAPTER), refresh=query.refresh)
    return Listing(page_views(answer), cache_meta(answer.freshness))


_read = declaring("catalogue", Access.READ)
_MANGA = "/manga/{manga_id}"
_PAGES = "/chapters/{release_id}/pages"

ENDPOINTS = (
    _read("GET", _MANGA, show_manga, "A series of a source", errors=(NotFound,)),
    _read("GET", f"{_MANGA}/chapters", list_manga_chapters, "Its chapters", errors=(NotFound, Unavailable)),
    _read("GET", _PAGES, list_chapter_pages, "Pages of a chapter", errors=(NotFound, Conflict, Unavailable)),
)
