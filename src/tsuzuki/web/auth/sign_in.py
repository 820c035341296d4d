"""Signing in with a name and a password, or at the identity provider."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.oidc.policy import local_path
from tsuzuki.http.entering import enter
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import Unauthorized
from tsuzuki.web.forms import Form, Rules, Sheet, fill, problem, see
from tsuzuki.web.labels import find_label
from tsuzuki.web.site import ACCOUNT, SETUP, SIGN_IN, Site, with_query
from tsuzuki.web.texts import gettext as _

_RULES = Rules(keep=("username", "next"), beside={Unauthorized: "password"})


def sign_in_page(site: Site) -> Resource:
    """`/sign-in`; `next` is where to go afterwards, `reason` why the provider's way came to nothing."""

    async def show(sheet: Sheet, reason: str | None = None, done: str | None = None) -> Response:
        next_path = local_path(sheet.value("next", "/"))
        return site.pages.private(
            "sign_in.html", sheet, next=next_path, provider=site.oidc.name, reason=reason, done=done, visitor=None
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
            Sheet(values={"next": (asked.get("next", "/"),)}), reason, find_label("done", asked.get("done"))
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
