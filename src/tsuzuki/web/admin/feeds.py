"""`/admin/feeds`: the feeds that fail, whoever follows them."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.http.routing import Resource, page
from tsuzuki.web.admin.pages import pages_of, slice_of
from tsuzuki.web.frame import framing_of
from tsuzuki.web.site import Site

PATH = "/admin/feeds"


def failing_feeds_page(site: Site) -> Resource:
    """The list, the worst first."""
    framing, figures = framing_of(site), site.figures

    async def show_failing_feeds(request: Request, caller: Caller) -> Response:
        frame = await framing.frame(request, caller, "desk")
        rows, total = await figures.failing_feeds(slice_of(request))
        return framing.show(frame, "admin/feeds.html", rows=rows, pages=pages_of(request, total))

    return page(PATH, site.operator(show_failing_feeds))
