"""A source is tried from its form before it is saved, and a definition is written on the admin pages."""

import re
from collections.abc import AsyncIterator

import pytest

from tests.api.people import a_running_app
from tests.crawler.builders import DEFINITION, SITE, the_admin, until_over
from tests.web.admin.builders import AdminSite, an_admin_site
from tests.web.guests import a_guest, error_of, value_of
from tsuzuki.accounts.types import Slice
from tsuzuki.sources.types import SourceFilter

ADD = "/admin/sources/add?connector=tsuzuki.definition"
TRY = {"act": "try"}


@pytest.fixture
async def admin_site(tmp_path) -> AsyncIterator[AdminSite]:
    async with an_admin_site(tmp_path) as admin_site:
        yield admin_site


def written(admin_site: AdminSite, **over: str) -> dict[str, str]:
    text = DEFINITION.format(url=admin_site.site.url).replace("name: A site", "name: Mine")
    return {"config.definition": text, "enabled": "on"} | over


async def count(admin_site: AdminSite) -> int:
    return (await admin_site.app.crawling.sources.list(SourceFilter(), Slice()))[1]


async def test_trying_an_unsaved_source_keeps_inputs_and_stores_nothing(admin_site):
    said = {"name": "Second", "baseurl": admin_site.site.url, "config.maxpages": "7", "config.ratelimit": "20"} | TRY
    tried = await admin_site.operator.send(f"/admin/sources/add?connector={SITE}", said)
    assert tried.status == 200
    assert "It works" in tried.text
    assert "Nothing is saved yet" in tried.text
    assert f"GET {admin_site.site.url}/list-1.html" in tried.text
    assert (value_of(tried, "name"), value_of(tried, "config.maxpages")) == ("Second", "7")
    assert await count(admin_site) == 1
    wrong = await admin_site.operator.send(f"/admin/sources/add?connector={SITE}", said | {"config.maxpages": "many"})
    assert error_of(wrong, "config.maxpages") == "Enter a whole number."


async def test_trying_a_change_uses_the_stored_secrets(admin_site):
    kept = {"name": "Site", "slug": "site", "baseurl": admin_site.site.url, "config.ratelimit": "20"}
    await admin_site.operator.send(f"{admin_site.source}/edit", kept | {"config.headers": "Cookie: s3cret"})
    before = (await admin_site.app.crawling.sources.get(admin_site.source_id)).config
    changed = kept | {"config.headers": "Cookie: ***", "config.proxy": "http://127.0.0.1:1"}
    tried = await admin_site.operator.send(f"{admin_site.source}/edit", changed | TRY)
    assert "It does not work yet" in tried.text
    assert value_of(tried, "config.proxy") == "http://127.0.0.1:1"
    assert "s3cret" not in tried.text
    assert (await admin_site.app.crawling.sources.get(admin_site.source_id)).config == before
    works = await admin_site.operator.send(f"{admin_site.source}/edit", kept | {"config.headers": "Cookie: ***"} | TRY)
    assert "It works" in works.text
    assert any(b"s3cret" in head for head in admin_site.site.server.heads)


async def test_a_definition_is_saved_and_crawled_without_a_restart(admin_site):
    assert (
        "/admin/sources/add?connector=tsuzuki.definition" in (await admin_site.operator.see("/admin/sources/add")).text
    )
    assert value_of(await admin_site.operator.see(ADD), "name") == ""
    assert "It works" in (await admin_site.operator.send(ADD, written(admin_site) | TRY)).text
    added = await admin_site.operator.send(ADD, written(admin_site))
    [number] = re.findall(r"/admin/sources/(\d+)\?done=source_added", added.headers["location"])
    source = await admin_site.app.crawling.sources.get(int(number))
    assert (source.name, source.slug, source.base_url, source.lang) == ("Mine", "mine", admin_site.site.url, "en")
    browsed = await admin_site.operator.see(f"/discover/sources/{number}")
    assert "One" in browsed.text
    admin_site.app.worker_loops.start()
    queued = await admin_site.operator.send(f"/admin/sources/{number}/crawl")
    [job] = re.findall(r"/admin/jobs/([\w-]+)\?", queued.headers["location"])
    assert (await until_over(await the_admin(admin_site.app), job))["status"] == "done"
    await admin_site.app.worker_loops.stop()


async def test_mistakes_of_a_definition_stand_beside_it_with_their_lines(admin_site):
    broken = written(admin_site)["config.definition"].replace("each:", "eech:", 1)
    answer = await admin_site.operator.send(ADD, written(admin_site, **{"config.definition": broken}))
    assert answer.status == 400
    assert re.search(r"Line \d+, column 3: `eech` is unknown", error_of(answer, "config.definition") or "")
    assert "eech:" in answer.text
    elsewhere = written(admin_site)["config.definition"].replace(admin_site.site.url, "http://10.1.2.3")
    answer = await admin_site.operator.send(ADD, written(admin_site, **{"config.definition": elsewhere}))
    assert "base_url" in (error_of(answer, "config.definition") or "")
    assert await count(admin_site) == 1


async def test_a_changed_definition_moves_the_address_along(admin_site):
    added = await admin_site.operator.send(ADD, written(admin_site, name="Other"))
    [number] = re.findall(r"/admin/sources/(\d+)\?", added.headers["location"])
    text = written(admin_site)["config.definition"].replace("127.0.0.1", "localhost")
    saved = await admin_site.operator.send(
        f"/admin/sources/{number}/edit", {"name": "Other", "slug": "other", "config.definition": text}
    )
    assert saved.status == 303
    assert "localhost" in (await admin_site.app.crawling.sources.get(int(number))).base_url


async def test_without_sources_the_operator_is_led_to_add_one(tmp_path):
    async with a_running_app(tmp_path) as app:
        operator, reader = await a_guest(app, await app.admin()), await a_guest(app, await app.add())
        assert 'href="/admin/sources/add"' in (await operator.see("/discover")).text
        assert "/admin/sources/add" not in (await reader.see("/discover")).text
