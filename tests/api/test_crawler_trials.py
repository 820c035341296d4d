"""Sources are tried through the API before anything is stored."""

from collections.abc import AsyncIterator

import pytest

from tests.api.people import Visitor
from tests.crawler.builders import SITE, Site, a_crawling_app, a_mapped_comic, a_site, a_source_body, the_admin

TRY = "/admin/crawler/try"
SOURCES = "/admin/crawler/sources"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with a_site() as site:
        yield site


@pytest.fixture
async def admin(tmp_path, database_url, site) -> AsyncIterator[Visitor]:
    async with a_crawling_app(tmp_path / "data", database_url, site) as app:
        yield await the_admin(app)


async def test_a_source_is_tried_before_registration_without_storing_anything(admin, site):
    body = a_source_body(baseurl=site.url, extensionid=SITE, config={"ratelimit": 50})
    tried = (await admin.post(TRY, body)).json()["data"]
    assert (tried["isgood"], tried["trouble"], tried["failures"]) == (True, None, {})
    assert [one["url"].removeprefix(site.url) for one in tried["requests"]] == [
        "/list-1.html",
        "/s/one",
        "/s/one",
        "/s/one/2",
    ]
    assert {one["status"] for one in tried["requests"]} == {200}
    assert [one["title"] for one in tried["series"]] == ["One"]
    assert tried["details"]["title"] == "One"
    assert [one["number"] for one in tried["chapters"]] == ["2", "1"]
    assert (tried["pagescount"], len(tried["pages"])) == (3, 3)
    assert (await admin.get(SOURCES)).json()["data"] == []


async def test_what_is_wrong_is_named_and_what_fails_is_data(admin, site):
    wrong = await admin.post(TRY, a_source_body(baseurl=site.url, extensionid=SITE, config={"maxpages": "x", "odd": 1}))
    assert wrong.status == 400
    assert {one["field"] for one in wrong.json()["details"]} == {"config.maxpages", "config.odd"}
    site.is_down = True
    body = a_source_body(baseurl=site.url, extensionid=SITE, config={"ratelimit": 50})
    down = (await admin.post(TRY, body)).json()["data"]
    assert down["isgood"] is False
    assert down["requests"][0]["status"] == 500
    assert "series" in down["failures"]
    nobody = (await admin.post(TRY, a_source_body(baseurl=site.url))).json()["data"]
    assert (nobody["isgood"], nobody["requests"]) == (False, [])
    assert nobody["trouble"]


async def test_trying_a_stored_source_does_not_change_it(admin, site):
    source, _ = await a_mapped_comic(admin, site.url, config={"headers": {"Cookie": "s3cret"}})
    path = f"{SOURCES}/{source}/try"
    assert (await admin.post(path, {})).json()["data"]["isgood"] is True
    assert any(b"s3cret" in head for head in site.server.heads)
    change = {"config": {"headers": {"Cookie": "***"}, "proxy": "http://127.0.0.1:1"}}
    tried = await admin.post(path, change)
    assert tried.json()["data"]["isgood"] is False
    assert "s3cret" not in tried.text
    stored = (await admin.get(f"{SOURCES}/{source}")).json()["data"]["config"]
    assert stored == {"ratelimit": 50, "headers": {"Cookie": "***"}}
    assert (await admin.post(f"{SOURCES}/999/try", {})).status == 404
