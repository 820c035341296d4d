"""An invitation: its code makes one account."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.policy import SHORTEST_PASSWORD
from tsuzuki.http.entering import join
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import Conflict, Unauthorized
from tsuzuki.web.auth.joining import accepted_of
from tsuzuki.web.forms import Form, Rules, Sheet, fill, see
from tsuzuki.web.site import Site

PATH = "/invite"
LONGEST_CODE = 200
_RULES = Rules(keep=("code", "username"), beside={Unauthorized: "code", Conflict: "username"})


def invite_page(site: Site) -> Resource:
    """`/invite?code=...`, the link that an administrator sends. The log has nothing of what is behind the `?`."""

    async def show(sheet: Sheet, *, is_over: bool = False) -> Response:
        return site.pages.private("invite.html", sheet, least=SHORTEST_PASSWORD, is_over=is_over)

    async def show_invite(request: Request) -> Response:
        code = request.query_params.get("code", "")[:LONGEST_CODE]
        is_over = code != "" and not await site.accounts.invites.is_open(code)
        return await show(Sheet(values={"code": (code,)}), is_over=is_over)

    async def accept_invite(request: Request) -> Response:
        async def act(form: Form) -> Response:
            await join(request, site.accounts.invites, accepted_of(form), is_setup=False)
            return see("/")

        return await fill(request, act, show, rules=_RULES)

    return Resource(PATH, {"GET": show_invite, "POST": accept_invite})
