"""MangaDex at another address than its own."""

from tests.catalogue.builders import a_reader, got
from tests.catalogue.test_chapters import polled
from tests.connectors.test_end_to_end import a_mangadex
from tests.crawler.builders import made, the_admin
from tests.net.builders import a_server


async def test_mangadex_is_called_at_the_sources_address(app):
    """By readers and by polls."""
    async with a_server(a_mangadex(3)) as server:
        body = {"name": "Mirror", "slug": "mirror", "baseurl": server.url, "extensionid": "org.mangadex"}
        source = (await made(await the_admin(app), "/admin/crawler/sources", body))["id"]
        [manga] = (await got(await a_reader(app), f"/sources/{source}/popular"))["data"]
        assert await polled(app, manga["id"]) == 3
        assert len(server.heads) == 2
