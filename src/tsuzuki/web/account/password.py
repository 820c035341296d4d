"""Changing one's password, or setting the first one."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.http.routing import Resource
from tsuzuki.web.account.page import AccountNotes, show_account
from tsuzuki.web.forms import Form, Rules, Sheet, fill, must_match, see
from tsuzuki.web.site import ACCOUNT, Site, with_query


def password_page(site: Site) -> Resource:
    """What the form of the password posts to. Nothing that was typed is shown again."""

    async def change(request: Request, caller: Caller) -> Response:
        async def show(sheet: Sheet) -> Response:
            return await show_account(site, request, caller, AccountNotes(password=sheet))

        async def act(form: Form) -> Response:
            new = must_match(form, "new_password", "repeat")
            keep = bool(form.one("keep_tokens"))
            await site.accounts.current_user.change_own_password(
                caller, form.one("current_password"), new, keep_tokens=keep
            )
            return see(with_query(ACCOUNT, done="password"))

        return await fill(request, act, show, rules=Rules())

    return Resource(f"{ACCOUNT}/password", {"POST": site.signed_in(change, ACCOUNT)})
