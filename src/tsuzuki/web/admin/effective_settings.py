"""`/admin/settings`: every setting as it is in force, and whether somebody set it."""

from itertools import groupby

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.http.routing import Resource, page
from tsuzuki.web.frame import framing_of
from tsuzuki.web.site import Site

PATH = "/admin/settings"


def in_force_page(site: Site) -> Resource:
    """The table."""
    framing = framing_of(site)
    groups = [(group, list(rows)) for group, rows in groupby(site.settings, key=lambda row: row.group)]

    async def show_in_force(request: Request, caller: Caller) -> Response:
        frame = await framing.frame(request, caller, "in_force")
        return framing.show(frame, "admin/settings.html", groups=groups)

    return page(PATH, site.operator(show_in_force))
