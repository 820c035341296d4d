"""The page about oneself. Each part of it posts to a module of its own, which shows it again when that is wrong."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.devices import device_name
from tsuzuki.accounts.nouns import Session, Token
from tsuzuki.accounts.policy import SHORTEST_PASSWORD
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import Millis
from tsuzuki.web.forms import BLANK, Sheet
from tsuzuki.web.frame import framing_of
from tsuzuki.web.labels import find_label
from tsuzuki.web.site import ACCOUNT, Site

LIVES = {"30": 30, "90": 90, "365": 365, "never": None}
"""In days, by what the forms call them."""


class DeviceRow(msgspec.Struct, frozen=True):
    """A signed-in browser."""

    id: str
    name: str
    address: str
    is_this: bool
    created_at: Millis
    last_used_at: Millis


class TokenRow(msgspec.Struct, frozen=True):
    """A token without its secret; `is_open` when it still opens something."""

    id: str
    token: Token
    is_open: bool


class AccountNotes(msgspec.Struct, frozen=True, kw_only=True):
    """What the page has to say besides: the form that was wrong, or what was done."""

    password: Sheet = BLANK
    token: Sheet = BLANK
    done: str | None = None
    reason: str | None = None


def account_page(site: Site) -> Resource:
    """`/account`"""

    async def show_mine(request: Request, caller: Caller) -> Response:
        asked = request.query_params
        notes = AccountNotes(
            done=find_label("done", asked.get("done")), reason=find_label("reason", asked.get("reason"))
        )
        return await show_account(site, request, caller, notes)

    return page(ACCOUNT, site.signed_in(show_mine, ACCOUNT))


async def show_account(site: Site, request: Request, caller: Caller, notes: AccountNotes) -> Response:
    """The whole page, with these notes on it."""
    accounts = site.accounts
    now = accounts.deps.clock()
    every = [token_row(one, now) for one in await accounts.tokens.list(caller)]
    wrong = notes.password if notes.password != BLANK else notes.token
    framing = framing_of(site)
    return framing.show(
        await framing.frame(request, caller, "account"),
        "account.html",
        wrong,
        me=await accounts.current_user.look(caller),
        devices=[_device(one, caller) for one in await accounts.sessions.list(caller)],
        tokens=[row for row in every if row.token.kind == "token"],
        apps=sum(row.is_open for row in every),
        lives=LIVES,
        provider=site.oidc.name,
        notes=notes,
        least=SHORTEST_PASSWORD,
        is_billed=site.billing.is_on,
    )


def _device(session: Session, caller: Caller) -> DeviceRow:
    return DeviceRow(
        id=show_id(session.public_id),
        name=device_name(session.user_agent),
        address=session.address,
        is_this=session.id == caller.session_id,
        created_at=session.created_at,
        last_used_at=session.last_used_at,
    )


def token_row(token: Token, now: Millis) -> TokenRow:
    """As a list shows it."""
    is_over = token.expires_at is not None and token.expires_at <= now
    return TokenRow(show_id(token.public_id), token, token.revoked_at is None and not is_over)
