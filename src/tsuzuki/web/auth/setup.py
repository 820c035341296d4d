"""The first visit: whoever reads the server's log becomes its administrator."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.policy import SHORTEST_PASSWORD
from tsuzuki.accounts.setup import FIRST_ADMIN
from tsuzuki.http.entering import join
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import Conflict, Unauthorized
from tsuzuki.web.auth.joining import accepted_of
from tsuzuki.web.forms import BLANK, Form, Rules, Sheet, fill, see
from tsuzuki.web.site import SETUP, SIGN_IN, Site

_RULES = Rules(keep=("code", "username"), beside={Unauthorized: "code"})


def setup_page(site: Site) -> Resource:
    """`/setup`, for as long as nobody can sign in."""

    async def show(sheet: Sheet) -> Response:
        return site.pages.private("setup.html", sheet, first_admin=FIRST_ADMIN, least=SHORTEST_PASSWORD)

    async def show_setup(_: Request) -> Response:
        return await show(BLANK) if await site.accounts.setup.is_needed() else see(SIGN_IN)

    async def set_up(request: Request) -> Response:
        async def act(form: Form) -> Response:
            try:
                await join(request, site.accounts.invites, accepted_of(form), is_setup=True)
            except Conflict:  # somebody was faster
                return see(SIGN_IN)
            return see("/")

        return await fill(request, act, show, rules=_RULES)

    return Resource(SETUP, {"GET": show_setup, "POST": set_up})
