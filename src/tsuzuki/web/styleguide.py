"""`/styleguide`: every component once, for whoever builds pages."""

import re

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.times import HOUR, Millis, iso
from tsuzuki.web.forms import FormState
from tsuzuki.web.frame import Frame
from tsuzuki.web.inbox.rows import InboxRow
from tsuzuki.web.site import Site

COLOURS = ("paper", "raised", "sunk", "ink", "faint", "line", "edge", "accent", "wash", "good", "warn", "bad", "calm")
# The first error takes the cursor, and the page would open there.
_SHEET = FormState(values={"wrong": ("half past",)}, errors={"": "", "wrong": "That is no time."})


def styleguide_page(site: Site) -> Resource:
    """The page of components, for administrators."""
    icons = re.findall(r'<symbol id="([\w-]+)"', site.pages.assets.get("icons.svg").content.decode())

    async def show_styleguide(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "styleguide")
        rows = [_row(1, "item", frame), _row(2, "chapter", frame), _row(3, "item", frame, unread=False)]
        return site.show(frame, "styleguide.html", rows=rows, older=None, colours=COLOURS, icons=icons, wrong=_SHEET)

    return page("/styleguide", site.operator(show_styleguide))


def _row(number: int, kind: str, frame: Frame, *, unread: bool = True) -> InboxRow:
    at = Millis(frame.now - number * HOUR)
    return InboxRow(
        id=number,
        kind=kind,
        unread=unread,
        saved=number == 1,
        at=iso(at),
        ago=frame.locale.ago(at, frame.now),
        title="The third floor" if kind == "item" else "Chapter 41: The letter",
        origin="The Paper Lantern" if kind == "item" else "The Lighthouse Keepers",
        origin_path="/styleguide",
        path="/styleguide",
        original="https://example.org/" if kind == "item" else None,
        author=None,
        snippet="The ink was still wet when the first copies left the press." if kind == "item" else "",
        picture=None,
        tile=("T", number),
        save_value=f"i{number}",
        day="Today" if number == 1 else None,
        day_id="0",
    )
