"""One series of a source, its chapters, and a chapter's pages."""

from tsuzuki.accounts.nouns import Shelf
from tsuzuki.api.catalogue_views import (
    CacheMeta,
    CatalogueChapterView,
    MangaView,
    PageView,
    cache_meta,
    chapter_views,
    manga_view,
    page_views,
)
from tsuzuki.api.declaring import declaring
from tsuzuki.api.endpoints import Access
from tsuzuki.api.forms import QueryParameters
from tsuzuki.api.ids import Number, number_in_path
from tsuzuki.api.shelf import ShelfQuery
from tsuzuki.api.views import ListAnswer, WithMeta
from tsuzuki.catalogue.chapter_lists import ChapterLists
from tsuzuki.catalogue.chapters import NO_CHAPTER, Chapters
from tsuzuki.catalogue.details import NO_MANGA, DetailsService
from tsuzuki.model.errors import Conflict, NotFound, Unavailable


class MangaQuery(ShelfQuery, frozen=True, kw_only=True):
    """`refresh` asks the source whatever is stored."""

    refresh: bool = False


class PagesQuery(QueryParameters, frozen=True, kw_only=True):
    """`refresh` asks the source whatever is stored."""

    refresh: bool = False


async def show_manga(
    manga_id: Number, query: MangaQuery, shelf: Shelf, details: DetailsService
) -> WithMeta[MangaView, CacheMeta]:
    """A series with its details."""
    answered = await details.show(number_in_path(manga_id, NO_MANGA), shelf.id, refresh=query.refresh)
    return WithMeta(manga_view(answered.value), cache_meta(answered.freshness))


async def list_manga_chapters(
    manga_id: Number, query: MangaQuery, shelf: Shelf, lists: ChapterLists
) -> ListAnswer[CatalogueChapterView, CacheMeta]:
    """Every release, newest first, with what the shelf has read of them."""
    number = number_in_path(manga_id, NO_MANGA)
    answered = await lists.list(number, shelf.id, refresh=query.refresh)
    kept = await lists.kept_of(shelf.id, answered.value)
    return ListAnswer(chapter_views(answered.value, number, kept), cache_meta(answered.freshness))


async def list_chapter_pages(
    release_id: Number, query: PagesQuery, chapters: Chapters
) -> ListAnswer[PageView, CacheMeta]:
    """The pages of a release in reading order."""
    answer = await chapters.pages(number_in_path(release_id, NO_CHAPTER), refresh=query.refresh)
    return ListAnswer(page_views(answer), cache_meta(answer.freshness))


_read = declaring("catalogue", Access.READ)
_MANGA = "/manga/{manga_id}"
_PAGES = "/chapters/{release_id}/pages"

ENDPOINTS = (
    _read("GET", _MANGA, show_manga, "A series of a source", errors=(NotFound,)),
    _read("GET", f"{_MANGA}/chapters", list_manga_chapters, "Its chapters", errors=(NotFound, Unavailable)),
    _read("GET", _PAGES, list_chapter_pages, "Pages of a chapter", errors=(NotFound, Conflict, Unavailable)),
)
