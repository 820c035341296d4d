"""Making a token, which is shown in the answer and never again, and revoking one."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.tokens import Wish, read_scopes
from tsuzuki.edge.routing import Resource
from tsuzuki.model.times import DAY, Millis
from tsuzuki.web.account.page import Notes, show_account
from tsuzuki.web.forms import Form, Rules, Sheet, fill, problem, see
from tsuzuki.web.frame import framing_of
from tsuzuki.web.ids import id_of
from tsuzuki.web.messages import say
from tsuzuki.web.site import ACCOUNT, Site, with_query

LONGEST_NAME = 100
LIVES = {"30": 30, "90": 90, "365": 365, "never": None}
"""In days, by what the form calls them."""
_RULES = Rules(keep=("name", "scopes", "life"))


def token_pages(site: Site) -> tuple[Resource, ...]:
    """What the form and the buttons of the tokens post to."""
    framing = framing_of(site)

    async def make(request: Request, caller: Caller) -> Response:
        async def show(sheet: Sheet) -> Response:
            return await show_account(site, request, caller, Notes(token=sheet))

        async def act(form: Form) -> Response:
            made = await site.accounts.tokens.make(caller, _wish(form, site.accounts.ground.clock()))
            # No redirect: what is shown once has no address to be found at again.
            frame = await framing.frame(request, caller, "account")
            return framing.show(frame, "token.html", name=made.token.name, key=made.key)

        return await fill(request, act, show, rules=_RULES)

    async def revoke(request: Request, caller: Caller) -> Response:
        await site.accounts.tokens.revoke(caller, id_of(request, "token_id"))
        return see(with_query(ACCOUNT, done="revoked"))

    return (
        Resource(f"{ACCOUNT}/tokens", {"POST": site.signed_in(make, ACCOUNT)}),
        Resource(f"{ACCOUNT}/tokens/{{token_id}}/revoke", {"POST": site.signed_in(revoke, ACCOUNT)}),
    )


def _wish(form: Form, now: Millis) -> Wish:
    """What the form asks for; Invalid with the first thing that is wrong."""
    name = form.one("name").strip()
    if not 1 <= len(name) <= LONGEST_NAME:
        raise problem("name", say("tokens.name_problem", most=LONGEST_NAME))
    scopes = form.several("scopes")
    if not scopes:
        raise problem("scopes", say("tokens.scopes_missing"))
    life = form.one("life")
    if life not in LIVES:
        raise problem("life", say("tokens.life_problem"))
    days = LIVES[life]
    return Wish(name=name, scopes=read_scopes(scopes), expires_at=None if days is None else Millis(now + days * DAY))
