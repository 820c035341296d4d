from collections.abc import AsyncIterator

import pytest

from tests.api.crawler.contract import CrawlerFixture
from tests.crawler.builders import a_crawling_app, a_source_body, made, the_admin


@pytest.fixture
async def fixture(tmp_path, database_url) -> AsyncIterator[CrawlerFixture]:
    async with a_crawling_app(tmp_path / "data", database_url) as app:
        admin = await the_admin(app)
        source = await made(admin, "/admin/crawler/sources", a_source_body())
        comic = await made(admin, "/admin/comics", {"title": "Solo"})
        body = {"sourceid": source["id"], "sourceid_ext": "solo", "sourceurl": "https://mangafire.example/solo"}
        mapping = await made(admin, f"/admin/comics/{comic['id']}/sources", body)
        job = await made(admin, "/admin/crawler/jobs", {"sourceid": source["id"], "comicid": comic["id"]})
        ids = {"source": source["id"], "comic": comic["id"], "mapping": mapping["id"], "job": job["id"]}
        yield CrawlerFixture(app, admin, ids)
