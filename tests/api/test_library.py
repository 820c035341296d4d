"""The library's API: follow, look, read on two devices, leave, come back."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.api.library import Library, Reader, a_library
from tests.shelves.library_builders import Published, a_published_series, chapter_of, release
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import iso

MISSING = "01952ff9-0000-7000-8000-000000000000"


@pytest.fixture
async def library(database_url, tmp_path) -> AsyncIterator[Library]:
    async with a_library(tmp_path, database_url, is_working=False) as library:
        yield library


@pytest.fixture
async def me(library: Library) -> Reader:
    return await library.reader()


@pytest.fixture
async def series(library: Library) -> Published:
    return await a_published_series(library.app.db, [1, 2, 4, 5], sources=2)


async def put(reader: Reader, path: str, body: Any, *, expect: int = 200) -> Any:
    found = await reader.ask("PUT", path, body, expect=expect)
    return found["data"] if expect < 300 else found


async def test_a_series_is_followed_changed_left_and_followed_again(library, me, series):
    """R8, I9."""
    shown = show_id(series.public_id)
    followed = await me.post("/library", {"series_id": shown})
    assert (followed["available"], followed["restored"]) == (4, 0)
    follow = followed["follow"]
    assert (follow["title"], follow["unread"], follow["new"], follow["has_gaps"]) == ("One", 4, 0, True)
    assert (await me.post("/library", {"series_id": shown}, expect=409))["code"] == "CONFLICT"
    preferences = {"sources": [100001], "groups": ["A"], "languages": ["en", "de"], "mode": "rtl", "fit": None}
    path = f"/library/{follow['id']}"
    changed = await me.patch(path, {"status": "plan", "notify": False, "preferences": preferences})
    assert (changed["status"], changed["notify"], changed["preferences"]) == ("plan", False, preferences)
    assert await me.get(path) == changed
    assert (await me.patch(path, {"group_id": MISSING}, expect=404))["code"] == "NOT_FOUND"
    assert (await me.patch(path, {"status": "paused"}, expect=400))["details"][0]["field"] == "status"
    await release(library.app.db, series, [6])
    assert (await me.get("/counts"))["series"] == {shown: 1}
    await me.delete(path)
    assert (await me.get("/counts"))["unread"] == 0
    assert await me.get("/library") == []
    back = await me.post("/library", {"series_id": shown})
    assert (back["available"], back["restored"], back["follow"]["status"]) == (4, 1, "plan")
    assert (await me.get("/counts"))["series"] == {shown: 1}


async def test_the_library_is_paged_and_empty_pages_say_so(library, me):
    nothing = await me.ask("GET", "/library")
    assert nothing == {"data": [], "meta": {"total": 0, "page": 1, "limit": 50, "pages": 1}}
    for title in ("b", "a", "c"):
        one = await a_published_series(library.app.db, title=title)
        await me.post("/library", {"series_id": show_id(one.public_id)})
    page = await me.ask("GET", "/library?limit=2&page=2")
    assert ([one["title"] for one in page["data"]], page["meta"]["pages"]) == (["c"], 2)
    assert [one["title"] for one in await me.get("/library?sort=added&unread=false")] == ["c", "a", "b"]
    assert (await me.get("/library?sort=size", expect=400))["details"][0]["field"] == "sort"


async def test_a_series_shows_sources_gaps_and_preferred_releases(library, me, series):
    db, shown = library.app.db, show_id(series.public_id)
    await release(db, series, [6], mapping=series.sources[1], group_name="B", language="de")
    found = await me.get(f"/series/{shown}?limit=2")
    assert (found["title"], found["latest_chapter"], found["unread"], found["follow"]) == ("One", "6", 5, None)
    assert [(source["health"], source["releases"]) for source in found["sources"]] == [("new", 4), ("new", 5)]
    assert found["gaps"] == {"of": "chapters", "missing": 1, "ranges": [{"first": 3, "last": 3}], "is_cut": False}
    assert [chapter["number"] for chapter in found["chapters"]] == ["6", "5"]
    assert found["chapters_meta"] == {"total": 5, "page": 1, "limit": 2, "pages": 3}
    preferences = {"sources": [series.source_ids[0]]}
    await me.post("/library", {"series_id": shown, "preferences": preferences})
    chapter = (await me.get(f"/series/{shown}/chapters?page=2&limit=1"))[0]
    assert chapter["number"] == "5"
    chosen = next(one for one in chapter["releases"] if one["id"] == chapter["preferred_id"])
    assert (chosen["source_id"], len(chapter["releases"])) == (series.source_ids[0], 2)
    assert await me.get(f"/series/{shown}/chapters/{chapter['id']}") == chapter
    assert (await me.get(f"/series/{MISSING}", expect=404))["code"] == "NOT_FOUND"
    assert (await me.get(f"/series/{shown}/chapters/0", expect=404))["code"] == "NOT_FOUND"


async def test_two_devices_read_on_where_the_other_was(library, me, series):
    """The newest position wins, the furthest is offered, and the end of a chapter is its end in the inbox."""
    db, shown = library.app.db, show_id(series.public_id)
    await me.post("/library", {"series_id": shown})
    await release(db, series, [6], page_count=10)
    chapter = await chapter_of(db, series.id, 6)
    path = f"/series/{shown}/chapters/{chapter}/progress"
    assert (await me.get(path))["updated_at"] is None
    now = library.app.time()
    early, late = iso(now - 60_000), iso(now - 1_000)
    await put(me, path, {"page": 4, "at": late, "device": "phone"})
    found = await put(me, path, {"page": 8, "at": early, "device": "tablet"})
    assert (found["page"], found["furthest_page"], found["device"], found["updated_at"]) == (4, 8, "phone", late)
    assert (await me.get("/library/continue"))[0]["page"] == 4
    assert (await put(me, path, {"page": 9}))["is_read"]
    assert (await me.get("/counts"))["unread"] == 0
    assert [one["unread"] for one in await me.get("/inbox?kind=chapter")] == [False]
    assert (await put(me, path, {"page": -1}, expect=400))["details"][0]["field"] == "page"
    changed = await me.patch(path.removesuffix("/progress"), {"is_read": False, "is_bookmarked": True})
    assert (changed["is_read"], changed["is_bookmarked"]) == (False, True)
    [entry] = await me.get("/inbox?kind=chapter")
    assert (entry["unread"], entry["saved"]) == (True, True)
    await me.patch("/inbox/-/read", {"ids": [entry["id"]]})
    assert (await me.get(path))["is_read"]


async def test_many_chapters_are_marked_at_once_and_that_is_undone(me, series):
    shown = show_id(series.public_id)
    marked = await me.post(f"/series/{shown}/read", {"up_to": "4.0"}, expect=200)
    assert marked["changed"] == 3
    assert (await me.get(f"/series/{shown}"))["unread"] == 1
    assert (await me.patch("/items/-/undo", {"undo": marked["undo"]}))["changed"] == 3
    assert (await me.get(f"/series/{shown}"))["unread"] == 4
    assert (await me.post(f"/series/{shown}/read", {}, expect=400))["code"] == "VALIDATION_ERROR"
    assert (await me.post(f"/series/{shown}/read", {"up_to": "x"}, expect=400))["details"][0]["field"] == "up_to"
    assert (await me.post(f"/series/{shown}/read", {"all": True}, expect=200))["changed"] == 4
    assert (await me.post(f"/series/{shown}/unread", {"all": True}, expect=200)) == {"changed": 4, "undo": None}


async def test_a_device_that_was_away_tells_everything_at_once(library, me, series):
    shown = show_id(series.public_id)
    chapter = str(await chapter_of(library.app.db, series.id, 1))
    told = [
        {"series_id": shown, "chapter_id": chapter, "page": 3, "device": "phone"},
        {"series_id": shown, "number": "2", "is_read": True},
        {"series_id": "nonsense", "chapter_id": chapter, "page": 3},
        {"series_id": shown, "chapter_id": "x", "page": 3},
    ]
    answered = await me.post("/progress/batch", {"progress": told}, expect=200)
    assert (answered["taken"], answered["failed"]) == (2, 2)
    first, second, *bad = answered["results"]
    assert (first["progress"]["page"], second["progress"]["is_read"]) == (3, True)
    assert [one["code"] for one in bad] == ["NOT_FOUND", "NOT_FOUND"]
    refused = await me.post("/progress/batch", {"progress": [{"series_id": shown, "page": 3}]}, expect=400)
    assert refused["code"] == "VALIDATION_ERROR"


async def test_the_history_is_read_and_forgotten(library, me, series):
    shown = show_id(series.public_id)
    chapters = [await chapter_of(library.app.db, series.id, number) for number in (1, 2)]
    for chapter in chapters:
        await put(me, f"/series/{shown}/chapters/{chapter}/progress", {"page": 1})
    page = await me.ask("GET", "/history?limit=1")
    assert ([one["number"] for one in page["data"]], page["meta"]["total"]) == (["2"], 2)
    rest = await me.get(f"/history?limit=1&before={page['meta']['next_cursor']}")
    assert [one["number"] for one in rest] == ["1"]
    await me.delete(f"/history/{chapters[0]}")
    await me.delete(f"/history/{chapters[0]}", expect=404)
    assert (await me.ask("DELETE", "/history"))["data"] == {"forgotten": 1}
    assert await me.get("/history") == []
    assert (await me.get(f"/series/{shown}/chapters/{chapters[0]}/progress"))["page"] == 1


async def test_what_another_tenant_reads_is_its_own(library, me, series):
    """I8."""
    other, shown = await library.reader(), show_id(series.public_id)
    follow = (await me.post("/library", {"series_id": shown}))["follow"]
    await me.post(f"/series/{shown}/read", {"all": True}, expect=200)
    await other.get(f"/library/{follow['id']}", expect=404)
    await other.delete(f"/library/{follow['id']}", expect=404)
    found = await other.get(f"/series/{shown}")
    assert (found["unread"], found["follow"]) == (4, None)
    assert await other.get("/library") == []
