"""`/search`: everything in one answer."""

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.ids import show_id
from tsuzuki.web.frame import framing_of
from tsuzuki.web.ids import word_of
from tsuzuki.web.inbox.rows import chapter_name
from tsuzuki.web.site import Site

PATH = "/search"
MOST = 20
LONGEST = 500


def search_page(site: Site) -> Resource:
    """A field, and what was found."""
    framing = framing_of(site)
    search = site.search

    async def show_search(request: Request, caller: Caller) -> Response:
        frame = await framing.frame(request, caller, "search")
        text = word_of(request, "q", longest=LONGEST) or ""
        found = await search.find(frame.shelf.id, text, MOST) if text else None
        return framing.show(
            frame, "search.html", text=text, found=found, show_id=show_id, marked=marked, chapter_name=chapter_name
        )

    return page(PATH, site.signed_in(show_search))


def marked(snippet: str) -> Markup:
    """A search's snippet: escaped by the search itself, but for `<mark>` (I7)."""
    return Markup(snippet)  # noqa: S704  SearchHit.snippet promises it
