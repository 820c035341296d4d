"""The catalogue's contract and R60-R66, over the API, with every call counted at a local site."""

import asyncio
import json
from typing import Any
from urllib.parse import quote

from tests.catalogue.builders import SMALL, a_browsing_app, a_reader, a_site, counted, got
from tests.catalogue.sample import PER_LIST, Plan, a_sample
from tests.crawler.builders import the_admin
from tsuzuki.model.times import MINUTE, SECOND


def as_query(filters: Any) -> str:
    return quote(json.dumps(filters))


async def test_everything_that_was_asked_for_once_is_in_the_database(app, sample):
    """The round trip, and every table filled after API calls."""
    site, reader = await a_site(app, sample), await a_reader(app)
    listed = await got(reader, f"/sources/{site}/popular")
    manga = listed["data"][0]
    assert (manga["title"], manga["initialized"], manga["cover_url"]) == (
        "The Tale of 000",
        False,
        f"{sample.url}/era1/s/0/cover.png",
    )
    detailed = (await got(reader, f"/manga/{manga['id']}"))["data"]
    assert detailed["initialized"] is True
    assert (detailed["author"], detailed["genres"], detailed["status"]) == ("Author 0", ["Drama", "Travel"], 2)
    assert detailed["series_id"] == manga["series_id"]
    names = [detailed[name] for name in ("genre", "thumbnail_url", "thumbnail_last_fetched", "uid", "update_strategy")]
    source = (await got(reader, "/sources"))["data"][0]
    assert names == ["Drama, Travel", detailed["cover_url"], None, source["uid"], "ALWAYS_UPDATE"]
    chapters = (await got(reader, f"/manga/{manga['id']}/chapters"))["data"]
    assert len(chapters) == sample.counts()[0]
    assert [chapter["name"] for chapter in chapters] == [chapter["title"] for chapter in chapters]
    pages = (await got(reader, f"/chapters/{chapters[0]['id']}/pages"))["data"]
    assert [page["index"] for page in pages] == [0, 1, 2]
    assert pages[1]["image"] == f"/api/v1/chapters/{chapters[0]['id']}/pages/1/image"
    rows = await counted(app)
    assert (rows["series"], rows["sources"], rows["pages"], rows["listings"]) == (12, 12, 3, 1)
    assert rows["releases"] == len(chapters)


async def test_chapters_are_newest_first_and_count_from_the_oldest(app, sample):
    """R11, R2: source_order is 0 for the oldest; numbers are canonical however they were written."""
    site, reader = await a_site(app, sample), await a_reader(app)
    manga = (await got(reader, f"/sources/{site}/popular"))["data"][0]
    chapters = (await got(reader, f"/manga/{manga['id']}/chapters"))["data"]
    assert [chapter["source_order"] for chapter in chapters] == list(range(len(chapters)))[::-1]
    oldest = sample.chapters(0)
    assert [chapter["title"] for chapter in chapters] == [one.title for one in reversed(oldest)]
    numbers = [None if one.number is None else f"{one.number:f}" for one in reversed(oldest)]
    assert [chapter["number"] for chapter in chapters] == numbers
    assert [chapter["chapter_number"] for chapter in chapters] == [float(number or -1) for number in numbers]
    assert {chapter["scanlator"] for chapter in chapters} == {"Alpha Scans", "Beta", "Gamma & Friends"}


async def test_a_second_call_asks_nobody_and_refresh_asks_again(app, sample):
    """Fresh answers come from the database; ?refresh=true bypasses that on any route."""
    site, reader = await a_site(app, sample), await a_reader(app)
    manga = (await got(reader, f"/sources/{site}/popular"))["data"][3]["id"]
    chapter = (await got(reader, f"/manga/{manga}/chapters"))["data"][0]["id"]
    lists = [f"/sources/{site}/{kind}" for kind in ("popular?page=1", "latest?page=1", "search?q=tale")]
    for path in (*lists, f"/manga/{manga}?", f"/manga/{manga}/chapters?", f"/chapters/{chapter}/pages?"):
        first = await got(reader, path)
        asked = len(sample.asked)
        second = await got(reader, path)
        assert len(sample.asked) == asked, path
        assert second["data"] == first["data"]
        meta = second["meta"]
        assert (meta["from_cache"], meta["stale"], "error" in meta) == (True, False, False)
        again = await got(reader, f"{path}&refresh=true")
        assert len(sample.asked) == asked + 1, path
        assert again["meta"]["from_cache"] is False
        assert again["meta"]["fetched_at"] >= meta["fetched_at"]


async def test_what_is_past_its_time_is_asked_for_again(app, sample):
    site, reader = await a_site(app, sample), await a_reader(app)
    first = await got(reader, f"/sources/{site}/popular")
    asked = len(sample.asked)
    app.time.pass_(10 * MINUTE - SECOND)
    assert (await got(reader, f"/sources/{site}/popular"))["meta"]["from_cache"] is True
    assert len(sample.asked) == asked
    app.time.pass_(SECOND)
    again = await got(reader, f"/sources/{site}/popular")
    assert (again["meta"]["from_cache"], len(sample.asked)) == (False, asked + 1)
    assert again["meta"]["fetched_at"] > first["meta"]["fetched_at"]


async def test_an_unchanged_list_is_not_sent_again(app, sample):
    """A refresh is conditional where the source knows how."""
    site, reader = await a_site(app, sample), await a_reader(app)
    first = await got(reader, f"/sources/{site}/popular")
    again = await got(reader, f"/sources/{site}/popular?refresh=true")
    assert [manga["title"] for manga in again["data"]] == [manga["title"] for manga in first["data"]]
    assert again["meta"]["fetched_at"] > first["meta"]["fetched_at"]
    assert sample.not_modified == 1
    sample.is_sparse = True
    await got(reader, f"/sources/{site}/popular?refresh=true")
    assert sample.not_modified == 1


async def test_fifty_concurrent_requests_cause_one_call(app, sample):
    """R65: one call to the source, an answer for everyone, and nobody sees another's shelf (I8)."""
    site = await a_site(app, sample)
    readers = [await a_reader(app) for _ in range(5)]
    for path in (f"/sources/{site}/popular", "/manga/{manga}", "/manga/{manga}/chapters", "/chapters/{chapter}/pages"):
        if "{manga}" in path:
            path = path.format(manga=(await got(readers[0], f"/sources/{site}/popular"))["data"][1]["id"])
        if "{chapter}" in path:
            manga = (await got(readers[0], f"/sources/{site}/popular"))["data"][1]["id"]
            path = path.format(chapter=(await got(readers[0], f"/manga/{manga}/chapters"))["data"][0]["id"])
        asked, sample.gate = len(sample.asked), asyncio.Event()
        asking = [asyncio.create_task(got(readers[number % 5], path)) for number in range(50)]
        await asyncio.sleep(0.3)
        sample.gate.set()
        answers = await asyncio.gather(*asking)
        assert len(sample.asked) == asked + 1, path
        assert all(one["data"] == answers[0]["data"] for one in answers)


async def test_a_source_that_is_down_serves_stale_data(app, sample):
    """R64: with its age and the last error; what nobody ever fetched is a 503 that says why."""
    site, reader = await a_site(app, sample), await a_reader(app)
    manga = (await got(reader, f"/sources/{site}/popular"))["data"][0]["id"]
    chapters = await got(reader, f"/manga/{manga}/chapters")
    sample.is_down = True
    app.time.pass_(2 * 60 * MINUTE)
    for path in (f"/sources/{site}/popular", f"/manga/{manga}", f"/manga/{manga}/chapters"):
        meta = (await got(reader, path))["meta"]
        assert (meta["stale"], meta["from_cache"]) == (True, True), path
        assert "500" in meta["error"]
    stale = await got(reader, f"/manga/{manga}/chapters")
    assert stale["data"] == chapters["data"]
    assert stale["meta"]["age"] >= 2 * 60 * 60
    cold = await reader.get(f"/sources/{site}/popular?page=2")
    assert (cold.status, cold.json()["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert "500" in cold.json()["error"]
    sample.is_down = False
    assert (await got(reader, f"/manga/{manga}/chapters"))["meta"]["stale"] is False


async def test_a_slow_source_does_not_delay_stored_data(app, sample):
    """R64: after a while they get what there is, and the call goes on for the next one."""
    app.catalogue.cache.patience = 0.2
    site, reader = await a_site(app, sample), await a_reader(app)
    await got(reader, f"/sources/{site}/popular")
    sample.gate = asyncio.Event()
    meta = (await got(reader, f"/sources/{site}/popular?refresh=true"))["meta"]
    assert meta["stale"] is True
    assert "still running" in meta["error"]
    asked = len(sample.asked)
    sample.gate.set()
    app.catalogue.cache.patience = 10.0
    joined = (await got(reader, f"/sources/{site}/popular?refresh=true"))["meta"]
    assert joined["stale"] is False
    assert len(sample.asked) <= asked + 1


async def test_a_disabled_source_is_readable_but_not_called(app, sample):
    site, reader, admin = await a_site(app, sample), await a_reader(app), await the_admin(app)
    await got(reader, f"/sources/{site}/popular")
    asked = len(sample.asked)
    await admin.ask("PATCH", f"/admin/crawler/sources/{site}/enable", {"isenabled": False})
    off = (await got(reader, f"/sources/{site}/popular?refresh=true"))["meta"]
    assert (off["stale"], off["error"]) == (True, "Sample is switched off.")
    assert (await got(reader, "/sources"))["data"][0]["health"]["status"] == "disabled"
    assert (await reader.get(f"/sources/{site}/latest")).status == 503
    await admin.ask("PATCH", f"/admin/crawler/sources/{site}/enable", {"isenabled": True})
    await admin.post("/admin/crawler/pause", {"reason": "moving"})
    paused = (await got(reader, f"/sources/{site}/popular?refresh=true"))["meta"]
    assert (paused["stale"], paused["error"]) == (True, "All sources are paused by the operator: “moving”.")
    assert (await got(reader, "/sources"))["data"][0]["health"]["status"] == "paused"
    assert len(sample.asked) == asked


async def test_every_query_of_a_list_is_cached_by_itself(tmp_path, database_url):
    """R60: by kind, page, text and filters; the order is the source's."""
    async with (
        a_sample(Plan(series=PER_LIST + 5, chapters=40)) as sample,
        a_browsing_app(tmp_path, database_url, sample) as app,
    ):
        site, reader = await a_site(app, sample), await a_reader(app)
        first = await got(reader, f"/sources/{site}/popular")
        second = await got(reader, f"/sources/{site}/popular?page=2")
        latest = await got(reader, f"/sources/{site}/latest")
        assert (first["meta"]["has_next"], second["meta"]["has_next"]) == (True, False)
        titles = [[manga["title"] for manga in page["data"]] for page in (first, second)]
        assert titles == [[sample.title(i) for i in range(PER_LIST)], [sample.title(i) for i in range(PER_LIST, 35)]]
        assert [manga["title"] for manga in latest["data"]][:2] == ["The Tale of 034", "The Tale of 033"]
        ended = as_query([{"name": "Status", "state": 2}])
        asked = len(sample.asked)
        narrowed = await got(reader, f"/sources/{site}/search?q=tale&filters={ended}")
        assert len(narrowed["data"]) == 12
        assert {manga["title"] for manga in narrowed["data"]} == {sample.title(i) for i in range(0, 35, 3)}
        both = [{"name": "Status", "state": 2}, {"name": "Author", "state": "Author 3"}]
        one = await got(reader, f"/sources/{site}/search?filters={as_query(both)}")
        turned = await got(reader, f"/sources/{site}/search?q=%20&filters={as_query(both[::-1])}")
        assert (
            [manga["title"] for manga in one["data"]]
            == ["The Tale of 003"]
            == [manga["title"] for manga in turned["data"]]
        )
        assert turned["meta"]["from_cache"] is True
        long = [{"name": "Author", "state": "日" * 400}]
        assert (await got(reader, f"/sources/{site}/search?q={quote('本' * 200)}&filters={as_query(long)}"))[
            "data"
        ] == []
        assert len(sample.asked) == asked + 3
        assert (await counted(app))["series"] == 35


async def test_a_sparse_list_never_blanks_what_details_said(app, sample):
    """R61, R62: the title, the cover and all the rest stay; the list's freshness is not the details'."""
    site, reader = await a_site(app, sample), await a_reader(app)
    manga = (await got(reader, f"/sources/{site}/popular"))["data"][0]["id"]
    before = await got(reader, f"/manga/{manga}")
    sample.is_sparse = True
    app.time.pass_(MINUTE)
    listed = (await got(reader, f"/sources/{site}/popular?refresh=true"))["data"]
    assert listed[0]["title"] == "The Tale of 000"
    assert listed[1]["title"] == "The T"
    assert listed[1]["cover_url"] is not None
    after = await got(reader, f"/manga/{manga}")
    assert after["data"] == before["data"]
    assert after["meta"]["fetched_at"] == before["meta"]["fetched_at"]


async def test_a_page_list_is_cached_whole_and_can_shrink(app, sample):
    """R63."""
    site, reader = await a_site(app, sample), await a_reader(app)
    manga = (await got(reader, f"/sources/{site}/popular"))["data"][0]["id"]
    chapter = (await got(reader, f"/manga/{manga}/chapters"))["data"][0]["id"]
    sample.pages = 0
    empty = await reader.get(f"/chapters/{chapter}/pages")
    assert empty.status == 503
    assert (await counted(app))["pages"] == 0
    sample.pages = 5
    assert len((await got(reader, f"/chapters/{chapter}/pages"))["data"]) == 5
    sample.pages = 4
    assert len((await got(reader, f"/chapters/{chapter}/pages"))["data"]) == 5
    assert len((await got(reader, f"/chapters/{chapter}/pages?refresh=true"))["data"]) == 4
    assert (await counted(app))["pages"] == 4
    assert (await got(reader, f"/manga/{manga}/chapters"))["data"][0]["page_count"] == 4


async def test_image_addresses_that_expire_are_never_stored(tmp_path, database_url):
    """R66: asked for again, though not for every image of a chapter."""
    async with (
        a_sample(SMALL, expires=True) as sample,
        a_browsing_app(tmp_path, database_url, sample) as app,
    ):
        site, reader = await a_site(app, sample), await a_reader(app)
        manga = (await got(reader, f"/sources/{site}/popular"))["data"][0]["id"]
        chapter = (await got(reader, f"/manga/{manga}/chapters"))["data"][0]["id"]
        pages = [await got(reader, f"/chapters/{chapter}/pages") for _ in range(3)]
        assert [len(one["data"]) for one in pages] == [3, 3, 3]
        assert (await counted(app))["pages"] == 0
        assert sum(path.endswith("pages.json") for path in sample.asked) == 1
        app.time.pass_(5 * MINUTE)
        await got(reader, f"/chapters/{chapter}/pages")
        assert sum(path.endswith("pages.json") for path in sample.asked) == 2


async def test_what_cannot_be_is_refused_with_a_sentence(tmp_path, database_url):
    async with (
        a_sample(Plan(series=3, chapters=9, is_other=True), "other") as sample,
        a_browsing_app(tmp_path, database_url, sample) as app,
    ):
        site, reader = await a_site(app, sample), await a_reader(app)

        async def refused(path: str) -> tuple[int, str]:
            answered = await reader.get(path)
            return answered.status, answered.json()["error"]

        assert await refused("/sources/99/popular") == (404, "Source not found")
        assert await refused("/manga/99") == (404, "There is no such series.")
        assert await refused("/manga/99/chapters") == (404, "There is no such series.")
        assert await refused("/chapters/99/pages") == (404, "There is no such chapter.")
        assert await refused(f"/sources/{site}/latest") == (
            400,
            "Other cannot list the latest series. It has: popular, search.",
        )
        assert await refused(f"/sources/{site}/popular?page=0") == (400, "page must be at least 1.")
        assert (await refused(f"/sources/{site}/popular?page=x"))[0] == 400
        assert await refused(f"/sources/{site}/popular?q=x") == (400, "q is unknown.")
        assert await refused(f"/sources/{site}/search?q={'x' * 201}") == (400, "q must have at most 200 characters.")
        assert (await refused(f"/sources/{site}/search?filters=Status"))[1].startswith("filters must be a JSON list")
        assert (await refused(f"/sources/{site}/search?q=%00"))[0] == 400
        nul = as_query([{"name": "Author", "state": "\x00"}])
        assert (await refused(f"/sources/{site}/search?filters={nul}"))[0] == 400
        unknown = as_query([{"name": "Colour", "state": 1}])
        assert await refused(f"/sources/{site}/search?filters={unknown}") == (
            400,
            "filters.Colour: This source has no such filter.",
        )
        wrong = as_query([{"name": "Status", "state": 7}])
        assert (await refused(f"/sources/{site}/search?filters={wrong}"))[1] == (
            "filters.Status: Expected a number from 0 to 2."
        )
        twice = as_query([{"name": "Status", "state": 1}] * 2)
        assert (await refused(f"/sources/{site}/search?filters={twice}"))[1] == "filters must set each filter once."
        assert sample.asked == []


async def test_filters_sources_and_notes_are_shown(app, sample):
    site, reader, admin = await a_site(app, sample), await a_reader(app), await the_admin(app)
    filters = (await got(reader, f"/sources/{site}/filters"))["data"]
    assert filters == [
        {"type": "select", "name": "Status", "state": 0, "values": ["Any", "Ongoing", "Ended"]},
        {"type": "text", "name": "Author", "state": ""},
    ]
    shown = (await got(reader, "/sources"))["data"][0]
    assert (shown["id"], shown["name"], shown["lang"], shown["supports_latest"]) == (site, "Sample", "all", True)
    assert isinstance(shown["uid"], str)
    assert (shown["is_nsfw"], shown["health"]["status"]) == (False, "ok")
    path = f"/sources/{site}/meta"
    assert (await got(reader, path))["data"] == {}
    assert (await reader.ask("PUT", path, {"key": "theme", "value": "dark"})).status == 403
    await admin.ask("PUT", path, {"key": "theme", "value": "dark"})
    noted = await admin.ask("PUT", path, {"key": "api_token", "value": "s3cret"})
    assert noted.json()["data"] == {"api_token": "***", "theme": "dark"}
    await admin.ask("PUT", path, {"key": "theme", "value": None})
    assert (await got(reader, path))["data"] == {"api_token": "***"}
