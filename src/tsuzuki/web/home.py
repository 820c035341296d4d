"""The first page: the inbox of who is signed in; for everyone else, what this server is and where to go from here."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.http.routing import Resource, page
from tsuzuki.model.errors import Unauthorized
from tsuzuki.web.forms import BLANK
from tsuzuki.web.inbox.page import show_inbox
from tsuzuki.web.site import Site

_ENGINES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}


def home_page(site: Site) -> Resource:
    """`/`: leads strangers to signing in, and the very first to setting up."""
    engine = _ENGINES[site.accounts.deps.db.engine]
    inbox = show_inbox(site)

    async def show_home(request: Request) -> Response:
        caller = await site.visitor(request)
        if caller is not None:
            return await inbox(request, caller)
        if "part" in request.query_params:
            raise Unauthorized("Sign in again.")  # a script asks for rows: this page would not fit into its list
        is_new = await site.accounts.setup.is_needed()
        return site.pages.private("home.html", BLANK, engine=engine, visitor=None, is_new=is_new)

    return page("/", show_home)
