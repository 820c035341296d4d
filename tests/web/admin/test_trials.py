"""A source is tried from its form before it is saved, and a definition is written at the desk."""

import re
from collections.abc import AsyncIterator

import pytest

from tests.api.people import a_town
from tests.crawler.builders import DEFINITION, SITE, the_admin, until_over
from tests.web.admin.builders import Desk, a_desk
from tests.web.guests import a_guest, error_of, value_of
from tsuzuki.accounts.types import Slice
from tsuzuki.sources.types import SourceFilter

ADD = "/admin/sources/add?connector=tsuzuki.definition"
TRY = {"act": "try"}


@pytest.fixture
async def desk(tmp_path) -> AsyncIterator[Desk]:
    async with a_desk(tmp_path) as desk:
        yield desk


def written(desk: Desk, **over: str) -> dict[str, str]:
    text = DEFINITION.format(url=desk.site.url).replace("name: A site", "name: Mine")
    return {"config.definition": text, "enabled": "on"} | over


async def count(desk: Desk) -> int:
    return (await desk.town.crawling.sources.list(SourceFilter(), Slice()))[1]


async def test_an_unsaved_source_is_tried_and_nothing_that_was_typed_is_lost_or_stored(desk):
    said = {"name": "Second", "baseurl": desk.site.url, "config.maxpages": "7", "config.ratelimit": "20"} | TRY
    tried = await desk.operator.send(f"/admin/sources/add?connector={SITE}", said)
    assert tried.status == 200
    assert "It works" in tried.text
    assert "Nothing is saved yet" in tried.text
    assert f"GET {desk.site.url}/list-1.html" in tried.text
    assert (value_of(tried, "name"), value_of(tried, "config.maxpages")) == ("Second", "7")
    assert await count(desk) == 1
    wrong = await desk.operator.send(f"/admin/sources/add?connector={SITE}", said | {"config.maxpages": "many"})
    assert error_of(wrong, "config.maxpages") == "Enter a whole number."


async def test_a_change_is_tried_as_it_stands_in_the_form_with_the_secrets_that_are_stored(desk):
    kept = {"name": "Site", "slug": "site", "baseurl": desk.site.url, "config.ratelimit": "20"}
    await desk.operator.send(f"{desk.source}/edit", kept | {"config.headers": "Cookie: s3cret"})
    before = (await desk.town.crawling.sources.get(desk.source_id)).config
    changed = kept | {"config.headers": "Cookie: ***", "config.proxy": "http://127.0.0.1:1"}
    tried = await desk.operator.send(f"{desk.source}/edit", changed | TRY)
    assert "It does not work yet" in tried.text
    assert value_of(tried, "config.proxy") == "http://127.0.0.1:1"
    assert "s3cret" not in tried.text
    assert (await desk.town.crawling.sources.get(desk.source_id)).config == before
    works = await desk.operator.send(f"{desk.source}/edit", kept | {"config.headers": "Cookie: ***"} | TRY)
    assert "It works" in works.text
    assert any(b"s3cret" in head for head in desk.site.server.heads)


async def test_a_definition_is_written_tried_saved_and_crawled_without_a_restart(desk):
    assert "/admin/sources/add?connector=tsuzuki.definition" in (await desk.operator.see("/admin/sources/add")).text
    assert value_of(await desk.operator.see(ADD), "name") == ""
    assert "It works" in (await desk.operator.send(ADD, written(desk) | TRY)).text
    added = await desk.operator.send(ADD, written(desk))
    [number] = re.findall(r"/admin/sources/(\d+)\?done=source_added", added.headers["location"])
    source = await desk.town.crawling.sources.get(int(number))
    assert (source.name, source.slug, source.base_url, source.lang) == ("Mine", "mine", desk.site.url, "en")
    browsed = await desk.operator.see(f"/discover/sources/{number}")
    assert "One" in browsed.text
    desk.town.worker_loops.start()
    queued = await desk.operator.send(f"/admin/sources/{number}/crawl")
    [job] = re.findall(r"/admin/jobs/([\w-]+)\?", queued.headers["location"])
    assert (await until_over(await the_admin(desk.town), job))["status"] == "done"
    await desk.town.worker_loops.stop()


async def test_mistakes_of_a_definition_stand_beside_it_with_their_lines(desk):
    broken = written(desk)["config.definition"].replace("each:", "eech:", 1)
    answer = await desk.operator.send(ADD, written(desk, **{"config.definition": broken}))
    assert answer.status == 400
    assert re.search(r"Line \d+, column 3: `eech` is not known", error_of(answer, "config.definition") or "")
    assert "eech:" in answer.text
    elsewhere = written(desk)["config.definition"].replace(desk.site.url, "http://10.1.2.3")
    answer = await desk.operator.send(ADD, written(desk, **{"config.definition": elsewhere}))
    assert "base_url" in (error_of(answer, "config.definition") or "")
    assert await count(desk) == 1


async def test_a_changed_definition_moves_the_address_along(desk):
    added = await desk.operator.send(ADD, written(desk, name="Other"))
    [number] = re.findall(r"/admin/sources/(\d+)\?", added.headers["location"])
    text = written(desk)["config.definition"].replace("127.0.0.1", "localhost")
    saved = await desk.operator.send(
        f"/admin/sources/{number}/edit", {"name": "Other", "slug": "other", "config.definition": text}
    )
    assert saved.status == 303
    assert "localhost" in (await desk.town.crawling.sources.get(int(number))).base_url


async def test_where_there_is_no_source_yet_the_operator_is_led_to_adding_one(tmp_path):
    async with a_town(tmp_path) as town:
        operator, reader = await a_guest(town, await town.admin()), await a_guest(town, await town.add())
        assert 'href="/admin/sources/add"' in (await operator.see("/discover")).text
        assert "/admin/sources/add" not in (await reader.see("/discover")).text
