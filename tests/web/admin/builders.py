"""An operator on the admin pages, with a site that can be called and broken."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.api.people import RunningApp
from tests.crawler.builders import Site, a_crawling_app, a_mapped_comic, a_site, the_admin
from tests.web.guests import Guest, a_guest


class AdminSite(msgspec.Struct, frozen=True):
    """A server with one source for the site, and one comic of it."""

    app: RunningApp
    site: Site
    operator: Guest
    source_id: int
    comic_id: str

    @property
    def source(self) -> str:
        return f"/admin/sources/{self.source_id}"


@asynccontextmanager
async def an_admin_site(folder: Path, **settings: Any) -> AsyncIterator[AdminSite]:
    async with a_site() as site, a_crawling_app(folder, "sqlite:///tsuzuki.db", site, **settings) as app:
        source_id, comic_id = await a_mapped_comic(await the_admin(app), site.url)
        operator = await a_guest(app, await app.admin())
        yield AdminSite(app, site, operator, source_id, comic_id)
