"""`/search`."""

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.http.routing import Resource, page
from tsuzuki.web.ids import word_of
from tsuzuki.web.links import as_feed_path
from tsuzuki.web.site import Site
from tsuzuki.web.texts import chapter_name

PATH = "/search"
MOST = 20
LONGEST = 500


def search_page(site: Site) -> Resource:
    """A field, and what was found."""
    search = site.search

    async def show_search(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "search")
        text = word_of(request, "q", longest=LONGEST) or ""
        found = await search.find(frame.shelf.id, text, MOST) if text else None
        # A feed knows words; what narrows a search in other ways, it does not.
        as_feed = as_feed_path(text, search=text) if found and found.items and ":" not in text else None
        return site.show(
            frame, "search.html", text=text, found=found, as_feed=as_feed, marked=marked, chapter_name=chapter_name
        )

    return page(PATH, site.signed_in(show_search))


def marked(snippet: str) -> Markup:
    """A search's snippet: escaped by the search itself, but for `<mark>` (I7)."""
    return Markup(snippet)  # noqa: S704  SearchHit.snippet promises it
