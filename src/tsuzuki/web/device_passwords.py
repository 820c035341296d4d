"""`/account/device-passwords`: what apps and e-readers sign in with (R107)."""

from typing import get_args
from urllib.parse import unquote

import msgspec
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.sessions import device_name
from tsuzuki.accounts.tokens import TokenRequest
from tsuzuki.accounts.types import DeviceKinds, Protocol
from tsuzuki.http.routing import Resource
from tsuzuki.model.ids import PublicId, read_id
from tsuzuki.web.account import LIVES, LONGEST_NAME, read_end, token_row
from tsuzuki.web.apps import app_names, spoken_apps
from tsuzuki.web.forms import BLANK, Form, FormState, Rules, problem, read_name
from tsuzuki.web.site import APPS, DEVICE_PASSWORDS, Site
from tsuzuki.web.texts import gettext as _

KINDS: tuple[DeviceKinds, ...] = get_args(DeviceKinds)
LONGEST_SHOWN_CLIENT = 40

_RULES = Rules(keep=("name", "protocols", "kinds", "shelf", "life"))

# What browsers, and apps made of one, say about themselves besides their name.
_ENGINES = (
    "mozilla",
    "applewebkit",
    "gecko",
    "chrome",
    "chromium",
    "version",
    "mobile",
    "safari",
    "electron",
    "firefox",
)
# What apps call with, if they do not say who they are.
_LIBRARIES = ("okhttp", "dart", "cfnetwork", "ktor-client", "reqwest", "axios", "python-requests", "go-http-client")


class AppAddress(msgspec.Struct, frozen=True):
    """What is typed into an app of a protocol."""

    protocol: Protocol
    address: str


def device_password_page(site: Site) -> Resource:
    """The list, and the form that makes one."""

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        now = site.accounts.deps.clock()
        held = await site.accounts.tokens.list(caller)
        protocols = site.accounts.tokens.protocols
        return site.show(
            await site.frame(request, caller, "settings"),
            "device_passwords.html",
            form_state,
            rows=[token_row(one, now) for one in held if one.kind == "device"],
            protocols=protocols,
            titles={one.name: one.title for one in protocols},
            client_name=client_name,
            kinds=KINDS,
            lives=LIVES,
            most=LONGEST_NAME,
            apps=APPS,
            app_names=app_names,
        )

    async def make(request: Request, caller: Caller, form: Form) -> Response:
        wanted = _wanted(form, site)
        made = await site.accounts.tokens.make(caller, wanted)
        here = site.address(request)
        spoken = [one for one in site.accounts.tokens.protocols if one.name in wanted.protocols]
        # No redirect: what is shown once has no address to be found at again.
        return site.show(
            await site.frame(request, caller, "settings"),
            "device_password.html",
            name=made.token.name,
            key=made.key,
            code=qr_code(made.key),
            addresses=[AppAddress(one, here + one.path) for one in spoken],
            apps=APPS,
            spoken=spoken_apps(set(wanted.protocols)),
        )

    return site.form_page(DEVICE_PASSWORDS, show, make, rules=_RULES)


def _wanted(form: Form, site: Site) -> TokenRequest:
    """What the form asks for; Invalid with the first thing that is wrong."""
    name = read_name(form, most=LONGEST_NAME)
    ticked = form.several("protocols")
    protocols = tuple(one.name for one in site.accounts.tokens.protocols if one.name in ticked)
    if not protocols or len(protocols) != len(set(ticked)):
        raise problem("protocols", _("Choose at least one."))
    kinds = next((one for one in KINDS if one == form.one("kinds")), None)
    if kinds is None:
        raise problem("kinds", _("Choose what the app shows."))
    return TokenRequest(
        name=name,
        protocols=protocols,
        kinds=kinds,
        shelf=_shelf(form),
        expires_at=read_end(form, site.accounts.deps.clock()),
    )


def _shelf(form: Form) -> PublicId | None:
    """The chosen one, if it exists and is theirs is seen later; None for whichever is open."""
    if not (text := form.one("shelf")):
        return None
    shelf = read_id(text)
    if shelf is None:
        raise problem("shelf", _("There is no such shelf."))
    return shelf


def qr_code(text: str) -> Markup:
    """A drawing that a camera reads the text from; black on white in dark pages too, or many cameras fail."""
    import segno

    code = segno.make_qr(text, error="m")
    drawn = code.svg_inline(dark="#000", light="#fff", omitsize=True, svgclass="qr", lineclass=None)
    return Markup(drawn)  # noqa: S704  made of numbers only: the text is drawn, not written


def client_name(said: str) -> str:
    """What an app calls itself, without versions and systems: `Reeder` of `Reeder/5040 CFNetwork/1410`."""
    name = unquote(said.partition("/")[0].partition("(")[0]).strip()
    if name.lower() in _ENGINES:
        products = (word.partition("/")[0] for word in said.split() if "/" in word and word[0].isalpha())
        return next((word for word in products if word.lower() not in _ENGINES), None) or device_name(said)
    if name.lower() in _LIBRARIES:
        return _("an app (%(name)s)", name=name)
    return name[:LONGEST_SHOWN_CLIENT] or _("an app without a name")
