"""An operator at the desk, with a site that can be called and broken."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.api.people import Town
from tests.crawler.builders import Site, a_crawling_town, a_mapped_comic, a_site, the_admin
from tests.web.guests import Guest, a_guest


class Desk(msgspec.Struct, frozen=True):
    """A server with one source for the site, and one comic of it."""

    town: Town
    site: Site
    operator: Guest
    source_id: int
    comic_id: str

    @property
    def source(self) -> str:
        return f"/admin/sources/{self.source_id}"


@asynccontextmanager
async def a_desk(folder: Path, **settings: Any) -> AsyncIterator[Desk]:
    async with a_site() as site, a_crawling_town(folder, "sqlite:///tsuzuki.db", site, **settings) as town:
        source_id, comic_id = await a_mapped_comic(await the_admin(town), site.url)
        operator = await a_guest(town, await town.admin())
        yield Desk(town, site, operator, source_id, comic_id)
