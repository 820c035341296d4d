"""An operator merges two series and splits them again over the API; readers see it as it should be."""

from collections.abc import AsyncIterator

import pytest

from tests.api.library import Library, a_library
from tests.shelves.library_builders import a_published_series, chapter_of, release
from tsuzuki.model.ids import show_id


@pytest.fixture
async def library(database_url, tmp_path) -> AsyncIterator[Library]:
    async with a_library(tmp_path, database_url, is_working=False) as library:
        yield library


async def test_series_are_previewed_merged_and_split_again(library):
    """I9: progress of both is kept, and the old address leads on."""
    me, admin, db = await library.reader(), await library.reader(role="admin"), library.app.db
    one, other = await a_published_series(db, [1, 2], title="One"), await a_published_series(db, [2, 3], title="Ichi")
    kept, gone = show_id(one.public_id), show_id(other.public_id)
    await me.post("/library", {"series_id": gone})
    await release(db, other, [4])
    for key in (2, 3):
        chapter = await chapter_of(db, other.id, key)
        await me.ask("PUT", f"/series/{gone}/chapters/{chapter}/progress", {"page": key})
    merge = f"/admin/series/{gone}/merge"
    preview = await admin.post(merge, {"into": kept, "preview": True}, expect=200)
    assert (preview["is_preview"], preview["chapters_moved"], preview["chapters_shared"]) == (True, 2, 1)
    assert (await me.get(f"/series/{gone}"))["id"] == gone
    done = await admin.post(merge, {"into": kept}, expect=200)
    assert done == preview | {"is_preview": False}
    found = await me.get(f"/series/{gone}")
    assert (found["id"], found["latest_chapter"], len(found["sources"]), found["unread"]) == (kept, "4", 2, 4)
    pages = {chapter["number"]: chapter["progress"]["page"] for chapter in found["chapters"]}
    assert pages == {"4": 0, "3": 3, "2": 2, "1": 0}
    assert (await me.get("/counts"))["series"] == {kept: 1}
    assert [row["title"] for row in await me.get("/library")] == ["One"]
    assert (await admin.post(merge, {"into": kept}, expect=409))["code"] == "CONFLICT"
    split = await admin.post(f"/admin/series/{kept}/split", {"sources": [other.sources[0]]}, expect=200)
    assert (split["other_id"], split["title"]) == (gone, "Ichi")
    again = await me.get(f"/series/{gone}")
    assert (again["id"], [chapter["number"] for chapter in again["chapters"]]) == (gone, ["4", "3", "2"])
    assert [row["title"] for row in await me.get("/library")] == ["Ichi", "One"]
    refused = await admin.post(f"/admin/series/{kept}/split", {"sources": [1]}, expect=400)
    assert refused["details"][0]["field"] == "sources.0"
    logged = await admin.get("/admin/auditlog?limit=5")
    assert {"series.merge", "series.split"} <= {row["action"] for row in logged}


async def test_readers_do_not_merge(library):
    me = await library.reader()
    one = show_id((await a_published_series(library.app.db)).public_id)
    assert (await me.post(f"/admin/series/{one}/merge", {"into": one}, expect=403))["code"] == "FORBIDDEN"
