"""`/komga/series/...` and `/komga/book/...`: to where comic apps send a browser; our pages are elsewhere."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import ChapterId, read_number, show_id
from tsuzuki.shelves.progress import NO_CHAPTER
from tsuzuki.web.forms import see
from tsuzuki.web.ids import id_of
from tsuzuki.web.links import chapter_path, series_path
from tsuzuki.web.site import Site


def app_link_pages(site: Site) -> tuple[Resource, ...]:
    """A series, and a chapter."""

    async def show_series(request: Request, _caller: Caller) -> Response:
        return see(series_path(show_id(id_of(request, "series_id"))))

    async def show_chapter(request: Request, caller: Caller) -> Response:
        number = read_number(request.path_params["chapter_id"])
        if number is None:
            raise NotFound(NO_CHAPTER)
        chapter = await site.reading.library.chapter(await site.shelf_id(caller), ChapterId(number))
        return see(chapter_path(show_id(chapter.series_public_id), chapter.id))

    return (
        page("/komga/series/{series_id}", site.signed_in(show_series)),
        page("/komga/book/{chapter_id}", site.signed_in(show_chapter)),
    )
