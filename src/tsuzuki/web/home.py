"""The first page: what this server is and where to go from here."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.edge.routing import Resource, page
from tsuzuki.web.forms import BLANK
from tsuzuki.web.site import Site

_ENGINES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}


def home_page(site: Site) -> Resource:
    """`/`: greets who is signed in, leads everyone else to signing in, and the very first to setting up."""
    engine = _ENGINES[site.accounts.ground.db.engine]

    async def show_home(request: Request) -> Response:
        caller = await site.visitor(request)
        is_new = caller is None and await site.accounts.setup.is_needed()
        visitor = None if caller is None else caller.username
        return site.pages.private("home.html", BLANK, engine=engine, visitor=visitor, is_new=is_new)

    return page("/", show_home)
