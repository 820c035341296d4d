"""A server that runs is asked: this program itself, which speaks as Komga and Miniflux do."""

from tests.api.people import a_running_app
from tests.net.builders import a_client
from tests.protocols.komga import a_komga_reader
from tests.protocols.miniflux import a_miniflux_reader
from tests.transfer.imports.builders import an_importer
from tests.transfer.imports.test_servers import imported
from tsuzuki.transfer.servers.kinds import ServerLogin


async def test_a_running_komga_gives_its_series(db, tmp_path):
    """More of them than stand on one page."""
    async with a_running_app(tmp_path / "theirs") as app, a_client() as client:
        ann = await a_komga_reader(app)
        series = [await ann.add(f"Series {number:02}", 1, 2.5, "Extra") for number in range(25)]
        read = next(one["id"] for one in await ann.books(series[0]) if one["metadata"]["numberSort"] == 1)
        await ann.done("PATCH", f"/api/v1/books/{read}/read-progress", {"completed": True})
        importer = await an_importer(db, tmp_path, client=client)
        login = ServerLogin(kind="komga", url=f"{app.client.base}/komga", username=ann.user.username, password=ann.key)
        done = await imported(importer, login)
    assert (done.status, done.preview.counts) == ("done", {"series": 25, "follows": 25, "chapters": 75})
    shelf = await importer.shelf()
    assert sorted(one["title"] for one in shelf["series.jsonl"]) == [f"Series {number:02}" for number in range(25)]
    marks = [(one["key"], one["progress"]["is_read"]) for one in shelf["chapters.jsonl"] if "progress" in one]
    assert marks == [("1", True)]


async def test_a_running_miniflux_gives_its_feeds(db, tmp_path):
    async with a_running_app(tmp_path / "theirs") as app, a_client() as client:
        ann = await a_miniflux_reader(app)
        await ann.add_feed("The Gull Letters", items=3, group="Comics")
        [feed] = await ann.get("/feeds")
        first, second, _ = (await ann.get("/entries?order=id"))["entries"]
        await ann.done("PUT", f"/entries/{first['id']}/bookmark")
        await ann.done("PUT", "/entries", {"entry_ids": [first["id"], second["id"]], "status": "read"})
        importer = await an_importer(db, tmp_path, client=client)
        done = await imported(
            importer, ServerLogin(kind="miniflux", url=f"{app.client.base}/miniflux", password=ann.key)
        )
    assert (done.status, done.preview.counts) == ("done", {"groups": 1, "feeds": 1, "bookmarks": 1})
    assert [(left.what, left.count) for left in done.preview.left_out] == [("items", 2)]
    shelf = await importer.shelf()
    assert [(one["link"], one["group"]) for one in shelf["feeds.jsonl"]] == [(feed["feed_url"], "Comics")]
    assert [mark["title"] for mark in shelf["bookmarks.jsonl"]] == [first["title"]]
