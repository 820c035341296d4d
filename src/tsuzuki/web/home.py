"""The first page: what this server is and where to go from here."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.edge.routing import Resource, page
from tsuzuki.web.rendering import Pages


def home_page(pages: Pages, engine: str) -> Resource:
    """`/`"""

    async def show_home(_: Request) -> Response:
        return pages.render("home.html", engine={"sqlite": "SQLite", "postgres": "PostgreSQL"}[engine])

    return page("/", show_home)
