"""The account page: profile, devices, tokens, password, linked identity."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.policy import SHORTEST_PASSWORD
from tsuzuki.accounts.sessions import device_name
from tsuzuki.accounts.tokens import TokenRequest, read_scopes
from tsuzuki.accounts.types import Token
from tsuzuki.http.auth import leave
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import DAY, Millis
from tsuzuki.web.forms import BLANK, Form, FormState, Rules, must_match, post_form, problem, read_name, see
from tsuzuki.web.ids import id_of
from tsuzuki.web.labels import find_label
from tsuzuki.web.sign_in import to_provider
from tsuzuki.web.site import ACCOUNT, DEVICE_PASSWORDS, SIGN_IN, Site, with_query
from tsuzuki.web.texts import gettext as _

LIVES = {"30": 30, "90": 90, "365": 365, "never": None}
"""In days, by what the forms call them."""


class TokenRow(msgspec.Struct, frozen=True):
    """A token without its secret; `is_open` when it still opens something."""

    id: str
    token: Token
    is_open: bool


class AccountNotes(msgspec.Struct, frozen=True, kw_only=True):
    """What the page has to say besides what was done: the form that was wrong, or why linking failed."""

    password: FormState = BLANK
    token: FormState = BLANK
    reason: str | None = None


async def show_account(site: Site, request: Request, caller: Caller, notes: AccountNotes) -> Response:
    """The whole page, with these notes on it."""
    accounts = site.accounts
    now = accounts.deps.clock()
    every = [token_row(one, now) for one in await accounts.tokens.list(caller)]
    wrong = notes.password if notes.password != BLANK else notes.token
    return site.show(
        await site.frame(request, caller, "account"),
        "account.html",
        wrong,
        me=await accounts.current_user.get(caller),
        devices=await accounts.sessions.list(caller),
        device_name=device_name,
        tokens=[row for row in every if row.token.kind == "token"],
        apps=sum(row.is_open for row in every),
        lives=LIVES,
        provider=site.oidc.name,
        notes=notes,
        least=SHORTEST_PASSWORD,
        is_billed=site.billing.is_on,
    )


def token_row(token: Token, now: Millis) -> TokenRow:
    """A token as a list shows it."""
    is_over = token.expires_at is not None and token.expires_at <= now
    return TokenRow(show_id(token.public_id), token, token.revoked_at is None and not is_over)


def account_pages(site: Site) -> tuple[Resource, ...]:
    """`/account`, and what its forms and buttons post to. Of a password nothing that was typed is shown again."""

    async def show_mine(request: Request, caller: Caller) -> Response:
        notes = AccountNotes(reason=find_label("reason", request.query_params.get("reason")))
        return await show_account(site, request, caller, notes)

    async def show_wrong(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        return await show_account(site, request, caller, AccountNotes(password=form_state))

    async def change(_request: Request, caller: Caller, form: Form) -> Response:
        new, keep = must_match(form, "new_password", "repeat"), bool(form.one("keep_tokens"))
        current = form.one("current_password")
        await site.accounts.current_user.change_own_password(caller, current, new, keep_tokens=keep)
        return see(with_query(ACCOUNT, done="password"))

    async def end_one(request: Request, caller: Caller) -> Response:
        wanted = id_of(request, "session_id")
        if wanted == caller.key_public_id:
            return await _leave(site, request, "signed_out")
        await site.accounts.sessions.end(caller, wanted)
        return see(with_query(ACCOUNT, done="device"))

    async def end_others(_: Request, caller: Caller) -> Response:
        await site.accounts.sessions.end_others(caller)
        return see(with_query(ACCOUNT, done="others"))

    async def end_all(request: Request, caller: Caller) -> Response:
        await site.accounts.sessions.end_others(caller)
        return await _leave(site, request, "signed_out_everywhere")

    async def link(request: Request, caller: Caller) -> Response:
        return await to_provider(site, request, caller, next_path=with_query(ACCOUNT, done="linked"))

    async def unlink(_: Request, caller: Caller) -> Response:
        await site.accounts.current_user.unlink(caller)
        return see(with_query(ACCOUNT, done="unlinked"))

    change_password = post_form(change, show_wrong, Rules())
    return (
        page(ACCOUNT, site.signed_in(show_mine, ACCOUNT)),
        Resource(f"{ACCOUNT}/password", {"POST": site.signed_in(change_password, ACCOUNT)}),
        Resource(f"{ACCOUNT}/devices/{{session_id}}/sign-out", {"POST": site.signed_in(end_one, ACCOUNT)}),
        Resource(f"{ACCOUNT}/devices/sign-out-others", {"POST": site.signed_in(end_others, ACCOUNT)}),
        Resource(f"{ACCOUNT}/devices/sign-out-all", {"POST": site.signed_in(end_all, ACCOUNT)}),
        Resource(f"{ACCOUNT}/identity/link", {"POST": site.signed_in(link, ACCOUNT)}),
        Resource(f"{ACCOUNT}/identity/unlink", {"POST": site.signed_in(unlink, ACCOUNT)}),
    )


async def _leave(site: Site, request: Request, done: str) -> Response:
    await leave(request, site.accounts.sign_in)
    return see(with_query(SIGN_IN, done=done))


LONGEST_NAME = 100
_TOKEN_RULES = Rules(keep=("name", "scopes", "life"))


def token_pages(site: Site) -> tuple[Resource, ...]:
    """What the form and the buttons of the tokens post to."""

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        return await show_account(site, request, caller, AccountNotes(token=form_state))

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
