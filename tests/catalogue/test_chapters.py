"""What a refresh of a chapter list finds goes the way of every installment; and what a shelf has of it is its own."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.api.people import RunningApp
from tests.catalogue.builders import a_browsing_app, a_shelf, a_site, counted, got, read_chapter
from tests.catalogue.sample import Plan, Sample, a_sample
from tests.crawler.builders import made, the_admin
from tests.ingest.builders import q, work_off
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.chapters import SeriesChapters
from tsuzuki.ingest.service import Ingest
from tsuzuki.model.errors import Conflict
from tsuzuki.model.ids import ShelfId, WatchId, read_id
from tsuzuki.model.times import MINUTE, Millis
from tsuzuki.polling.policy import ClaimedWatch
from tsuzuki.shelves.types import FollowRequest
from tsuzuki.sources.comics import NOBODY_FOLLOWS

_q = parse_queries(
    "tests",
    """
-- name: rests
select coalesce(suspended_reason, '') from watch where series_source_id = :id;
-- name: watch_of
select id from watch where series_source_id = :id;
""",
)


async def follow(app: RunningApp, shelf: ShelfId, series: str) -> None:
    public_id = read_id(series)
    assert public_id is not None
    await app.reading.follows.add(shelf, FollowRequest(series=public_id))


async def polled(app: RunningApp, manga_id: int) -> int:
    """How many releases a poll of it hands to ingest."""
    watch_id = await app.db.read(lambda tx: tx.one(WatchId, _q.watch_of, id=manga_id))
    watch = await app.pipeline.poller.lease(watch_id)
    assert isinstance(watch, ClaimedWatch)
    found = await app.pipeline.poller.crawl(watch, app.pipeline.fetching.driver)
    assert found is not None
    return len(found)


async def test_followers_get_refreshed_chapters_but_no_back_catalogue(app, sample):
    """R8: the first list is what there was; R1, I2: what is new afterwards is told once."""
    site, (reader, shelf) = await a_site(app, sample), await a_shelf(app)
    manga = (await got(reader, f"/sources/{site}/popular"))["data"][0]
    await follow(app, shelf, manga["series_id"])
    shown = (await got(reader, f"/manga/{manga['id']}"))["data"]
    assert shown["in_library"] is True
    await got(reader, f"/manga/{manga['id']}/chapters")
    assert (await got(reader, "/inbox"))["data"] == []
    sample.release(0, "900")
    await got(reader, f"/manga/{manga['id']}/chapters?refresh=true")
    chapters = (await got(reader, f"/manga/{manga['id']}/chapters?refresh=true"))["data"]
    assert chapters[0]["number"] == "900"
    inbox = (await got(reader, "/inbox"))["data"]
    assert [entry["chapter"]["number"] for entry in inbox] == ["900"]
    assert inbox[0]["chapter"]["id"] == chapters[0]["chapter_id"]
    assert await polled(app, manga["id"]) == 0


async def test_unstorable_chapters_of_a_refresh_dead_letter_alone(app, sample):
    """As after a poll: the rest of its list is stored by ingest, and one dead letter holds what was refused (R42)."""
    site, (reader, _) = await a_site(app, sample), await a_shelf(app)
    manga = (await got(reader, f"/sources/{site}/popular"))["data"][0]["id"]
    path = f"/manga/{manga}/chapters"
    before = (await got(reader, path))["data"]
    await app.db.with_tx(lambda tx: tx.run(q.refuse_poisonous_chapters))
    sample.release(0, "900")
    sample.release(0, "901")
    sample.extra[0][0] = msgspec.structs.replace(sample.extra[0][0], title="Poison")
    assert (await got(reader, f"{path}?refresh=true"))["data"] == before
    now = Millis(app.time())
    ingest = Ingest(app.db, SeriesChapters(), clock=lambda: now, after_commit=lambda *_: None)
    [given_up] = await work_off(app.db, ingest, now=now)
    assert given_up.startswith("ingest-")
    assert [one["number"] for one in (await got(reader, path))["data"]] == ["901", *(one["number"] for one in before)]
    assert [letter.key for letter in await app.pipeline.tasks.letters()] == [given_up]


async def test_a_viewed_series_is_not_polled_until_followed(app, sample):
    """I5: browsing a catalogue of thousands makes no thousands of polls."""
    site, (reader, shelf) = await a_site(app, sample), await a_shelf(app)
    manga = (await got(reader, f"/sources/{site}/popular"))["data"][0]
    await got(reader, f"/manga/{manga['id']}/chapters")
    assert await app.db.read(lambda tx: tx.one(str, _q.rests, id=manga["id"])) == NOBODY_FOLLOWS
    assert await app.pipeline.poller.claim(10, {}) == []
    await follow(app, shelf, manga["series_id"])
    assert [watch.series_source_id for watch in await app.pipeline.poller.claim(10, {})] == [manga["id"]]


async def test_a_poll_makes_a_chapter_list_fresh_too(app, sample):
    """What it found is stored by ingest; nobody is asked again for it."""
    site, (reader, _) = await a_site(app, sample), await a_shelf(app)
    manga = (await got(reader, f"/sources/{site}/popular"))["data"][0]["id"]
    await got(reader, f"/manga/{manga}/chapters")
    app.time.pass_(11 * MINUTE)
    await polled(app, manga)
    asked = len(sample.asked)
    assert (await got(reader, f"/manga/{manga}/chapters"))["meta"]["from_cache"] is True
    assert len(sample.asked) == asked


async def test_what_one_shelf_has_read_is_not_what_another_has(app, sample):
    """I8; the fields of a chapter that are a reader's own."""
    site, (reader, shelf) = await a_site(app, sample), await a_shelf(app)
    other, _ = await a_shelf(app, tenant_id=app.other_tenant)
    manga = (await got(reader, f"/sources/{site}/popular"))["data"][0]["id"]
    chapter = (await got(reader, f"/manga/{manga}/chapters"))["data"][4]
    assert (chapter["is_read"], chapter["is_bookmarked"], chapter["last_page_read"]) == (False, False, 0)
    assert (chapter["last_read_at"], chapter["is_downloaded"]) == (None, False)
    await read_chapter(app, shelf, chapter["chapter_id"], page=2)
    for path in (f"/manga/{manga}/chapters", f"/manga/{manga}/chapters?refresh=true"):  # one flight for both
        mine, theirs = [one["data"][4] for one in await asyncio.gather(got(reader, path), got(other, path))]
        assert (mine["is_read"], mine["is_bookmarked"], mine["last_page_read"]) == (True, True, 2)
        assert mine["last_read_at"] is not None
        assert (theirs["is_read"], theirs["is_bookmarked"], theirs["last_page_read"]) == (False, False, 0)


async def test_rel_16_reader_state_survives_fetching_a_series_anew(app, sample):
    """Under other addresses, and by another title."""
    site, (reader, shelf) = await a_site(app, sample), await a_shelf(app)
    manga = (await got(reader, f"/sources/{site}/popular"))["data"][0]
    path = f"/manga/{manga['id']}/chapters"
    first = (await got(reader, path))["data"]
    await follow(app, shelf, manga["series_id"])
    await read_chapter(app, shelf, first[4]["chapter_id"], page=2)
    before, [kept] = (await got(reader, path))["data"], (await got(reader, "/library"))["data"]
    sample.era = 2
    sample.title = lambda index: f"Another Tale of {index}"
    await got(reader, f"/sources/{site}/popular?refresh=true")
    await got(reader, f"/manga/{manga['id']}?refresh=true")
    after = (await got(reader, f"{path}?refresh=true"))["data"]
    own = ("id", "chapter_id", "is_read", "is_bookmarked", "last_page_read", "last_read_at")
    assert [[one[name] for name in own] for one in after] == [[one[name] for name in own] for one in before]
    assert after[4]["url"] != before[4]["url"]
    [series] = (await got(reader, "/library"))["data"]
    assert series | {"author": kept["author"], "cover_url": kept["cover_url"]} == kept
    assert (await got(reader, "/inbox"))["data"] == []


async def test_a_list_that_is_suddenly_empty_deletes_nothing(app, sample):
    """R28: it is a failure of the source, and what is known stays."""
    site, (reader, _) = await a_site(app, sample), await a_shelf(app)
    manga = (await got(reader, f"/sources/{site}/popular"))["data"][0]["id"]
    before = await got(reader, f"/manga/{manga}/chapters")
    sample.plan = Plan(series=12, chapters=0)
    sample.counts = lambda: [0] * 12
    after = await got(reader, f"/manga/{manga}/chapters?refresh=true")
    assert after["data"] == before["data"]
    assert after["meta"]["stale"] is True
    assert "lists no chapters" in after["meta"]["error"]


async def test_a_source_joins_a_series_while_its_own_is_unused(tmp_path, database_url, sample):
    """By title and author, with its first details; one that somebody follows already stays what it is (I9)."""
    async with (
        a_sample(Plan(series=12, chapters=60, is_other=True), "other") as second,
        a_browsing_app(tmp_path, database_url, sample, second) as app,
    ):
        (reader, shelf), sites = await a_shelf(app), [await a_site(app, one) for one in (sample, second)]
        first, other = [(await got(reader, f"/sources/{site}/popular"))["data"] for site in sites]
        assert (await counted(app))["series"] == 24
        await got(reader, f"/manga/{first[0]['id']}")
        await got(reader, f"/manga/{first[1]['id']}")
        assert await app.db.read(lambda tx: tx.one(str, _q.rests, id=other[0]["id"])) == NOBODY_FOLLOWS
        await follow(app, shelf, first[0]["series_id"])
        joined = (await got(reader, f"/manga/{other[0]['id']}"))["data"]
        assert joined["series_id"] == first[0]["series_id"] != other[0]["series_id"]
        assert joined["in_library"] is True
        assert await app.db.read(lambda tx: tx.one(str, _q.rests, id=other[0]["id"])) == ""
        with pytest.raises(Conflict, match="already"):  # whoever knew it by its former id finds it all the same
            await follow(app, shelf, other[0]["series_id"])
        await follow(app, shelf, other[1]["series_id"])
        stayed = (await got(reader, f"/manga/{other[1]['id']}"))["data"]
        assert stayed["series_id"] == other[1]["series_id"] != first[1]["series_id"]
        assert (await counted(app))["series"] == 23


async def test_new_files_of_a_local_folder_appear_without_a_restart(tmp_path, database_url, sample):
    """By a refresh, by a poll, and by the time that lists are fresh."""
    library = tmp_path / "library"
    a_chapter(library, "Series", 1)
    async with a_browsing_app(tmp_path / "data", database_url, sample) as app:
        reader, shelf = await a_shelf(app)
        body: dict[str, Any] = {"name": "Mine", "slug": "mine", "baseurl": "local:", "extensionid": "tsuzuki.local"}
        body |= {"config": {"folder": str(library)}}
        site = (await made(await the_admin(app), "/admin/crawler/sources", body))["id"]
        manga = (await got(reader, f"/sources/{site}/popular"))["data"][0]
        await follow(app, shelf, manga["series_id"])
        chapters = f"/manga/{manga['id']}/chapters"
        assert [one["number"] for one in (await got(reader, chapters))["data"]] == ["1"]
        a_chapter(library, "Series", 2)
        a_chapter(library, "Another", 1)
        assert [one["number"] for one in (await got(reader, chapters))["data"]] == ["1"]
        assert [one["number"] for one in (await got(reader, f"{chapters}?refresh=true"))["data"]] == ["2", "1"]
        listed = (await got(reader, f"/sources/{site}/popular?refresh=true"))["data"]
        assert [one["title"] for one in listed] == ["Another", "Series"]
        assert [one["chapter"]["number"] for one in (await got(reader, "/inbox"))["data"]] == ["2"]
        a_chapter(library, "Series", 3)
        assert await polled(app, manga["id"]) == 1
        a_chapter(library, "Series", 4)
        app.time.pass_(11 * MINUTE)
        numbers = [one["number"] for one in (await got(reader, chapters))["data"]]
        assert numbers[0] == "4"
        pages = (await got(reader, f"/chapters/{(await got(reader, chapters))['data'][0]['id']}/pages"))["data"]
        assert len(pages) == 2


def a_chapter(library, series: str, number: int) -> None:
    folder = library / series / f"Chapter {number}"
    folder.mkdir(parents=True)
    for page in (1, 2):
        (folder / f"{page}.png").touch()


def test_the_sample_has_what_it_promises():
    plan = Plan()
    sample = Sample(plan)
    assert (len(sample.counts()), sum(sample.counts())) == (300, 20_000)
