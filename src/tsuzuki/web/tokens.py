"""`/account/device-passwords`: passwords for apps and e-readers, each for its protocols and for nothing else (R77)."""

from typing import get_args

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.tokens import TokenRequest, read_scopes
from tsuzuki.accounts.types import Protocol, Token
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import DAY, Millis
from tsuzuki.web.account import LIVES, AccountNotes, show_account, token_row
from tsuzuki.web.forms import BLANK, Form, Rules, Sheet, post_form, problem, read_name, see
from tsuzuki.web.ids import id_of
from tsuzuki.web.site import ACCOUNT, DEVICE_PASSWORDS, Site, with_query
from tsuzuki.web.texts import gettext as _

LONGEST_NAME = 100
_TOKEN_RULES = Rules(keep=("name", "scopes", "life"))


def token_pages(site: Site) -> tuple[Resource, ...]:
    """What the form and the buttons of the tokens post to."""

    async def show(request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
        return await show_account(site, request, caller, AccountNotes(token=sheet))

    async def make(request: Request, caller: Caller, form: Form) -> Response:
        made = await site.accounts.tokens.make(caller, _token_request(form, site.accounts.deps.clock()))
        # No redirect: what is shown once has no address to be found at again.
        frame = await site.frame(request, caller, "account")
        return site.show(frame, "token.html", name=made.token.name, key=made.key)

    tokens = Resource(f"{ACCOUNT}/tokens", {"POST": site.signed_in(post_form(make, show, _TOKEN_RULES), ACCOUNT)})
    return tokens, _revoking(site)


def _revoking(site: Site) -> Resource:
    """Revoking a token, or a device password: asked first, because it cannot be taken back."""

    async def held(request: Request, caller: Caller) -> Token:
        wanted = id_of(request, "token_id")
        found = [one for one in await site.accounts.tokens.list(caller) if one.public_id == wanted]
        if not found:
            raise NotFound("There is no such token.")
        return found[0]

    async def ask(request: Request, caller: Caller) -> Response:
        token = await held(request, caller)
        frame = await site.frame(request, caller, "account")
        used = token.last_used_at
        return site.ask(
            frame,
            title=_("Revoke %(name)s?", name=token.name),
            text=" ".join(
                (
                    _("It was last used %(time)s.", time=frame.locale.moment(used))
                    if used
                    else _("It was never used."),
                    _(
                        "Anything that uses it, or a token created with it, stops working immediately. "
                        "This cannot be undone."
                    ),
                )
            ),
            yes=_("Revoke"),
            path=f"{ACCOUNT}/tokens/{show_id(token.public_id)}/revoke",
            back=_home(token),
        )

    async def revoke(request: Request, caller: Caller) -> Response:
        token = await held(request, caller)
        await site.accounts.tokens.revoke(caller, token.public_id)
        home = _home(token)
        return see(with_query(home, done="revoked") if home == ACCOUNT else with_query(home, done="password_revoked"))

    return Resource(
        f"{ACCOUNT}/tokens/{{token_id}}/revoke",
        {"GET": site.signed_in(ask, ACCOUNT), "POST": site.signed_in(revoke, ACCOUNT)},
    )


def _home(token: Token) -> str:
    return DEVICE_PASSWORDS if token.kind == "device" else ACCOUNT


def read_end(form: Form, now: Millis) -> Millis | None:
    """When it ends; None for never, Invalid for a word that we do not know."""
    life = form.one("life")
    if life not in LIVES:
        raise problem("life", _("Choose when it expires."))
    days = LIVES[life]
    return None if days is None else Millis(now + days * DAY)


def _token_request(form: Form, now: Millis) -> TokenRequest:
    """What the form asks for; Invalid with the first thing that is wrong."""
    name = read_name(form, most=LONGEST_NAME)
    scopes = form.several("scopes")
    if not scopes:
        raise problem("scopes", _("Choose at least one."))
    return TokenRequest(name=name, scopes=read_scopes(scopes), expires_at=read_end(form, now))


PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
SPOKEN: frozenset[Protocol] = frozenset()
"""Those that this server answers. A password for another opens nothing yet, and the page says so."""
_DEVICE_RULES = Rules(keep=("name", "protocols", "life"))


def device_password_page(site: Site) -> Resource:
    """The list, and the form that makes one."""

    async def show(request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
        now = site.accounts.deps.clock()
        held = await site.accounts.tokens.list(caller)
        return site.show(
            await site.frame(request, caller, "settings"),
            "device_passwords.html",
            sheet,
            rows=[token_row(one, now) for one in held if one.kind == "device"],
            protocols=PROTOCOLS,
            spoken=SPOKEN,
            lives=LIVES,
            most=LONGEST_NAME,
        )

    async def make(request: Request, caller: Caller, form: Form) -> Response:
        made = await site.accounts.tokens.make(caller, _device_request(form, site))
        # No redirect: what is shown once has no address to be found at again.
        frame = await site.frame(request, caller, "settings")
        return site.show(frame, "device_password.html", name=made.token.name, key=made.key)

    return site.form_page(DEVICE_PASSWORDS, show, make, rules=_DEVICE_RULES)


def _device_request(form: Form, site: Site) -> TokenRequest:
    """What the form asks for; Invalid with the first thing that is wrong."""
    name = read_name(form, most=LONGEST_NAME)
    ticked = form.several("protocols")
    protocols = tuple(one for one in PROTOCOLS if one in ticked)
    if not protocols or len(protocols) != len(set(ticked)):
        raise problem("protocols", _("Choose at least one."))
    return TokenRequest(name=name, protocols=protocols, expires_at=read_end(form, site.accounts.deps.clock()))
