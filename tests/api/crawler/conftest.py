from collections.abc import AsyncIterator

import pytest

from tests.api.crawler.contract import World
from tests.crawler.builders import a_crawling_town, a_source_body, made, the_admin


@pytest.fixture
async def world(tmp_path, database_url) -> AsyncIterator[World]:
    async with a_crawling_town(tmp_path / "data", database_url) as town:
        admin = await the_admin(town)
        source = await made(admin, "/admin/crawler/sources", a_source_body())
        comic = await made(admin, "/admin/comics", {"title": "Solo"})
        body = {"sourceid": source["id"], "sourceid_ext": "solo", "sourceurl": "https://mangafire.example/solo"}
        mapping = await made(admin, f"/admin/comics/{comic['id']}/sources", body)
        job = await made(admin, "/admin/crawler/jobs", {"sourceid": source["id"], "comicid": comic["id"]})
        ids = {"source": source["id"], "comic": comic["id"], "mapping": mapping["id"], "job": job["id"]}
        yield World(town, admin, ids)
