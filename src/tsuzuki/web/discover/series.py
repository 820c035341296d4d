"""`/discover/series/{id}`: a series as one source has it, before it is followed."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.catalogue.chapter_lists import Releases
from tsuzuki.catalogue.ttl_cache import CachedAnswer
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.errors import SourceError, Unavailable
from tsuzuki.model.ids import ShelfId
from tsuzuki.web.discover.page import PATH
from tsuzuki.web.frame import framing_of
from tsuzuki.web.ids import number_at
from tsuzuki.web.inbox.rows import chapter_name
from tsuzuki.web.site import Site

MOST_SHOWN = 12


def preview_page(site: Site) -> Resource:
    """What somebody would follow."""
    framing = framing_of(site)
    details, lists, sources = site.catalogue.details, site.catalogue.chapter_lists, site.crawling.sources

    async def listed(manga_id: int, shelf_id: ShelfId) -> tuple[CachedAnswer[Releases] | None, str | None]:
        try:
            answered = await lists.list(manga_id, shelf_id)
        except (SourceError, Unavailable) as error:
            return None, str(error)
        return answered, answered.freshness.error

    async def show_preview(request: Request, caller: Caller) -> Response:
        frame = await framing.frame(request, caller, "discover")
        manga_id = number_at(request, "manga_id")
        answered = await details.show(manga_id, frame.shelf.id)
        chapters, trouble = await listed(manga_id, frame.shelf.id)
        manga = answered.value
        return framing.show(
            frame,
            "discover_series.html",
            manga=manga,
            source=await sources.get(manga.source_id),
            pause=await sources.show_pause(),
            freshness=answered.freshness,
            chapters=[] if chapters is None else chapters.value[:MOST_SHOWN],
            total=0 if chapters is None else len({one.chapter_id for one in chapters.value}),
            trouble=trouble,
            chapter_name=chapter_name,
        )

    return page(f"{PATH}/series/{{manga_id}}", site.signed_in(show_preview))
