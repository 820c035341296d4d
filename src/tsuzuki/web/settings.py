"""How the pages look and behave for this person."""

from typing import get_args

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.preferences import Clock, Density, Preferences, ReadingFont, ReadingWidth, TextSize, Theme
from tsuzuki.http.routing import Resource
from tsuzuki.web.forms import BLANK, Form, Rules, Sheet, fill, problem, see
from tsuzuki.web.frame import framing_of
from tsuzuki.web.labels import done_text
from tsuzuki.web.locale import is_zone
from tsuzuki.web.scripts import data_of, wants_json
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

PATH = "/settings"
CHOICES = {
    "theme": get_args(Theme),
    "density": get_args(Density),
    "text_size": get_args(TextSize),
    "reading_font": get_args(ReadingFont),
    "reading_width": get_args(ReadingWidth),
    "clock": get_args(Clock),
}
_RULES = Rules(keep=(*CHOICES, "time_zone"))


def settings_page(site: Site) -> Resource:
    """`/settings`; a script posts a single choice, the form all of them."""
    framing = framing_of(site)

    async def show(request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
        frame = await framing.frame(request, caller, "settings")
        done = done_text(request)
        return framing.show(frame, "settings.html", sheet, chosen=frame.preferences, choices=CHOICES, done=done)

    async def show_settings(request: Request, caller: Caller) -> Response:
        return await show(request, caller)

    async def change(request: Request, caller: Caller) -> Response:
        async def act(form: Form) -> Response:
            await site.accounts.preferences.change(caller, _wishes(form))
            if wants_json(request):
                return data_of({})
            return see(with_query(PATH, done="settings"))

        async def show_again(sheet: Sheet) -> Response:
            return await show(request, caller, sheet)

        return await fill(request, act, show_again, rules=_RULES)

    return Resource(PATH, {"GET": site.signed_in(show_settings), "POST": site.signed_in(change, PATH)})


def _wishes(form: Form) -> dict[str, object]:
    """What the form says; a box that is not ticked says no only where the whole form was sent."""
    known = {field.name for field in msgspec.structs.fields(Preferences)}
    wishes: dict[str, object] = {name: form.one(name) for name in form.fields if name in known}
    zone = str(wishes.get("time_zone", "")).strip()
    if zone and not is_zone(zone):
        raise problem("time_zone", _("Unknown time zone."))
    if "time_zone" in wishes:
        wishes["time_zone"] = zone
    if "is_whole" in form.fields:
        wishes["marks_on_scroll"] = False
    if "marks_on_scroll" in form.fields:
        wishes["marks_on_scroll"] = form.one("marks_on_scroll") == "on"
    return wishes
