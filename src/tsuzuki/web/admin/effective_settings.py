"""`/admin/settings`: every setting as it is in force, and whether somebody set it."""

from itertools import groupby

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.http.routing import Resource, page
from tsuzuki.web.frame import framing_of
from tsuzuki.web.site import Site

PATH = "/admin/settings"


class SettingRow(msgspec.Struct, frozen=True, kw_only=True):
    """A setting for people; its secrets are masked already."""

    name: str
    value: str
    is_set: bool
    """By the environment; else it is what it is by default."""
    group: str
    says: str


class EffectiveSettings(msgspec.Struct, frozen=True):
    """All of them, in the order of their table. Settings lie above the pages: whoever starts the server tells."""

    rows: tuple[SettingRow, ...]


def in_force_page(site: Site) -> Resource:
    """The table."""
    framing, settings = framing_of(site), site.part(EffectiveSettings)
    groups = [(group, list(rows)) for group, rows in groupby(settings.rows, key=lambda row: row.group)]

    async def show_in_force(request: Request, caller: Caller) -> Response:
        frame = await framing.frame(request, caller, "in_force")
        return framing.show(frame, "admin/settings.html", groups=groups)

    return page(PATH, site.operator(show_in_force))
