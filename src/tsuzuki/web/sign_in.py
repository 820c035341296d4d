"""Signing in and out, the first set-up, and invitations."""

import structlog
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.invites import AccountRequest
from tsuzuki.accounts.policy import FIRST_ADMIN, SHORTEST_PASSWORD, ProviderFailed, local_path
from tsuzuki.http.auth import enter, join, leave, refuse_cross_site
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import Conflict, Unauthorized
from tsuzuki.web.forms import BLANK, Form, FormState, Rules, fill, must_match, problem, read_form, see
from tsuzuki.web.labels import find_label
from tsuzuki.web.site import ACCOUNT, SETUP, SIGN_IN, Site, with_query
from tsuzuki.web.texts import gettext as _


def accepted_of(form: Form) -> AccountRequest:
    """What somebody typed who is new here; Invalid when the two passwords differ."""
    password = must_match(form, "password", "repeat")
    return AccountRequest(code=form.one("code"), username=form.one("username"), password=password)


_RULES = Rules(keep=("username", "next"), beside={Unauthorized: "password"})


def sign_in_page(site: Site) -> Resource:
    """`/sign-in`; `next` is where to go afterwards, `reason` why the provider's way came to nothing."""

    async def show(form_state: FormState, reason: str | None = None, done: str | None = None) -> Response:
        next_path = local_path(form_state.value("next", "/"))
        return site.pages.private(
            "sign_in.html", form_state, next=next_path, provider=site.oidc.name, reason=reason, done=done, visitor=None
        )

    async def show_sign_in(request: Request) -> Response:
        asked = request.query_params
        word = asked.get("reason", "")
        reason = find_label("reason", word)
        if await site.visitor(request) is not None:  # who links an account comes back here too
            return see(with_query(ACCOUNT, reason=word) if reason else local_path(asked.get("next", "/")))
        if not site.oidc.name and await site.accounts.setup.is_needed():
            return see(SETUP)  # nobody has a password, and nobody vouches for anyone
        return await show(
            FormState(values={"next": (asked.get("next", "/"),)}), reason, find_label("done", asked.get("done"))
        )

    async def sign_in(request: Request) -> Response:
        async def act(form: Form) -> Response:
            username = form.one("username")
            if not username.strip():
                raise problem("username", _("Enter your username."))
            await enter(request, site.accounts.sign_in, username=username, password=form.one("password"))
            return see(local_path(form.one("next")))

        return await fill(request, act, show, rules=_RULES)

    return Resource(SIGN_IN, {"GET": show_sign_in, "POST": sign_in})


def sign_out_page(site: Site) -> Resource:
    """`/sign-out`: a button posts here; a link, or a picture in an article, signs nobody out (SEC-16)."""

    async def sign_out(request: Request) -> Response:
        refuse_cross_site(request)
        await leave(request, site.accounts.sign_in)
        return see(with_query(SIGN_IN, done="signed_out"))

    return Resource("/sign-out", {"POST": sign_out})


_log = structlog.stdlib.get_logger("tsuzuki.oidc")


def provider_page(site: Site) -> Resource:
    """`/sign-in/provider`: begins a sign-in there."""

    async def begin(request: Request) -> Response:
        refuse_cross_site(request)
        form = await read_form(request)
        return await to_provider(site, request, None, next_path=form.one("next"))

    return Resource("/sign-in/provider", {"POST": begin})


async def to_provider(site: Site, request: Request, caller: Caller | None, *, next_path: str) -> Response:
    """The page that goes on to the provider; with a caller, to link that account."""
    try:
        url = await site.oidc.begin(request, caller, next_path)
    except ProviderFailed as error:
        _log.warning("provider_failed", why=str(error))
        return see(with_query(SIGN_IN, reason="oidc_failed"))
    return site.pages.private("to_provider.html", BLANK, url=url, provider=site.oidc.name)


_SETUP_RULES = Rules(keep=("code", "username"), beside={Unauthorized: "code"})


def setup_page(site: Site) -> Resource:
    """`/setup`, for as long as nobody can sign in."""

    async def show(form_state: FormState) -> Response:
        return site.pages.private("setup.html", form_state, first_admin=FIRST_ADMIN, least=SHORTEST_PASSWORD)

    async def show_setup(_: Request) -> Response:
        return await show(BLANK) if await site.accounts.setup.is_needed() else see(SIGN_IN)

    async def set_up(request: Request) -> Response:
        async def act(form: Form) -> Response:
            try:
                await join(request, site.accounts.invites, accepted_of(form), is_setup=True)
            except Conflict:  # somebody was faster
                return see(SIGN_IN)
            return see("/")

        return await fill(request, act, show, rules=_SETUP_RULES)

    return Resource(SETUP, {"GET": show_setup, "POST": set_up})


LONGEST_CODE = 200
_INVITE_RULES = Rules(keep=("code", "username"), beside={Unauthorized: "code", Conflict: "username"})


def invite_page(site: Site) -> Resource:
    """`/invite?code=...`, the link that an administrator sends. The log has nothing of what is behind the `?`."""

    async def show(form_state: FormState, *, is_over: bool = False) -> Response:
        return site.pages.private("invite.html", form_state, least=SHORTEST_PASSWORD, is_over=is_over)

    async def show_invite(request: Request) -> Response:
        code = request.query_params.get("code", "")[:LONGEST_CODE]
        is_over = code != "" and not await site.accounts.invites.is_open(code)
        return await show(FormState(values={"code": (code,)}), is_over=is_over)

    async def accept_invite(request: Request) -> Response:
        async def act(form: Form) -> Response:
            await join(request, site.accounts.invites, accepted_of(form), is_setup=False)
            return see("/")

        return await fill(request, act, show, rules=_INVITE_RULES)

    return Resource("/invite", {"GET": show_invite, "POST": accept_invite})
