"""`/account/device-passwords`: passwords for apps and e-readers, each for its protocols and for nothing else (R77)."""

from typing import get_args

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.nouns import Protocol
from tsuzuki.accounts.tokens import TokenRequest
from tsuzuki.http.routing import Resource
from tsuzuki.web.account.page import LIVES, token_row
from tsuzuki.web.account.tokens import LONGEST_NAME, read_end, read_name
from tsuzuki.web.forms import BLANK, Form, Rules, Sheet, fill, problem
from tsuzuki.web.frame import framing_of
from tsuzuki.web.labels import done_text
from tsuzuki.web.site import DEVICE_PASSWORDS, Site
from tsuzuki.web.texts import gettext as _

PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
SPOKEN: frozenset[Protocol] = frozenset()
"""Those that this server answers. A password for another opens nothing yet, and the page says so."""
_RULES = Rules(keep=("name", "protocols", "life"))


def device_password_page(site: Site) -> Resource:
    """The list, and the form that makes one."""
    framing = framing_of(site)

    async def show(request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
        now = site.accounts.deps.clock()
        held = await site.accounts.tokens.list(caller)
        return framing.show(
            await framing.frame(request, caller, "settings"),
            "device_passwords.html",
            sheet,
            rows=[token_row(one, now) for one in held if one.kind == "device"],
            protocols=PROTOCOLS,
            spoken=SPOKEN,
            lives=LIVES,
            most=LONGEST_NAME,
            done=done_text(request),
        )

    async def show_page(request: Request, caller: Caller) -> Response:
        return await show(request, caller)

    async def make(request: Request, caller: Caller) -> Response:
        async def act(form: Form) -> Response:
            made = await site.accounts.tokens.make(caller, _wish(form, site))
            # No redirect: what is shown once has no address to be found at again.
            frame = await framing.frame(request, caller, "settings")
            return framing.show(frame, "device_password.html", name=made.token.name, key=made.key)

        return await fill(request, act, lambda sheet: show(request, caller, sheet), rules=_RULES)

    return Resource(
        DEVICE_PASSWORDS,
        {"GET": site.signed_in(show_page), "POST": site.signed_in(make, DEVICE_PASSWORDS)},
    )


def _wish(form: Form, site: Site) -> TokenRequest:
    """What the form asks for; Invalid with the first thing that is wrong."""
    name = read_name(form)
    ticked = form.several("protocols")
    protocols = tuple(one for one in PROTOCOLS if one in ticked)
    if not protocols or len(protocols) != len(set(ticked)):
        raise problem("protocols", _("Choose at least one."))
    return TokenRequest(name=name, protocols=protocols, expires_at=read_end(form, site.accounts.deps.clock()))
