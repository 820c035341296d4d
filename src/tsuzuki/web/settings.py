"""`/settings`: preferences of the pages."""

from typing import get_args

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.preferences import Clock, Density, Preferences, ReadingFont, ReadingWidth, TextSize, Theme
from tsuzuki.http.routing import Resource
from tsuzuki.web.forms import BLANK, Form, FormState, Rules, problem, see
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
TICKS = ("marks_on_scroll", "opds_turns_pages")
_RULES = Rules(keep=(*CHOICES, "time_zone"))


def settings_page(site: Site) -> Resource:
    """`/settings`; a script posts a single choice, the form all of them."""

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        frame = await site.frame(request, caller, "settings")
        return site.show(frame, "settings.html", form_state, chosen=frame.preferences, choices=CHOICES)

    async def change(request: Request, caller: Caller, form: Form) -> Response:
        await site.accounts.preferences.change(caller, _chosen(form))
        return data_of({}) if wants_json(request) else see(with_query(PATH, done="settings"))

    return site.form_page(PATH, show, change, rules=_RULES)


def _chosen(form: Form) -> dict[str, object]:
    """What the form says; a box that is not ticked says no only where the whole form was sent."""
    known = {field.name for field in msgspec.structs.fields(Preferences)}
    chosen: dict[str, object] = {name: form.one(name) for name in form.fields if name in known}
    zone = str(chosen.get("time_zone", "")).strip()
    if zone and not is_zone(zone):
        raise problem("time_zone", _("Unknown time zone."))
    if "time_zone" in chosen:
        chosen["time_zone"] = zone
    for name in TICKS:
        if "is_whole" in form.fields or name in form.fields:
            chosen[name] = name in form.fields and form.one(name) == "on"
    return chosen
