"""What a shelf has besides: search, bookmarks, the inbox; and that it is nobody else's."""

from tests.api.reader.contract import BOOKMARK, FEED
from tests.builders import NOON, a_new_chapter, stored_series, stored_series_source, stored_source
from tests.delivery.builders import follow, release
from tests.web.sample_shelf import an_item, release_items
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.chapters import index_series_tx, upsert_chapters_tx
from tsuzuki.model.ids import FeedId, ShelfId
from tsuzuki.model.times import Millis

q = parse_queries(
    "tests",
    """
-- name: shelf_with_entries
select shelf_id from entry limit 1;
-- name: any_feed
select id from feed limit 1;
""",
)


async def test_search(library, me):
    other = await library.reader()
    daily = await me.follow(library.press.publish("/a", "fish", "cat", title="Fish Daily"), 2)
    await me.follow(library.press.publish("/b", "fish", title="Other"), 1)
    found = await me.get("/search?q=fish")
    assert [feed["id"] for feed in found["feeds"]] == [daily["id"]]
    assert len(found["items"]) == 2
    assert found["items"][0].keys() >= {"id", "feed_id", "title", "pub_date", "snippet"}
    assert found["items"][0]["snippet"] == "Words of <mark>fish</mark>"
    assert found["feeds"][0]["snippet"] == "<mark>Fish</mark> Daily"
    assert found["feeds"][0].keys() >= FEED
    assert (found["series"], found["chapters"]) == ([], [])
    assert len((await me.get("/search?q=fish+feed:daily"))["items"]) == 1
    assert len((await me.get("/search?q=fish+feed:nope"))["items"]) == 0
    assert len((await me.get("/search?q=item+-cat"))["items"]) == 2
    assert len((await me.get('/search?q="words+of+cat"'))["items"]) == 1
    assert len((await me.get("/search?q=item&limit=1"))["items"]) == 1
    await me.patch("/items/-/read", {"feed_id": daily["id"]})
    assert len((await me.get("/search?q=item+is:unread"))["items"]) == 1
    assert len((await me.get("/search?q=item+before:2001"))["items"]) == 0
    assert len((await me.get("/search?q=is:unread"))["items"]) == 1
    assert len((await me.get("/search?q=feed:daily+is:read&limit=1"))["items"]) == 1
    assert len((await me.get("/search?q=feed:nope"))["items"]) == 0
    assert len((await me.get("/search?q=before:2001"))["items"]) == 0
    await me.get("/search", expect=400)
    await me.get("/search?q=", expect=400)
    assert await other.get("/search?q=fish") == {"feeds": [], "items": [], "series": [], "chapters": []}


async def test_search_finds_series_and_chapters_in_the_same_answer(library, me):
    await me.follow(library.press.publish("/a", "elf", title="Elf News"), 1)
    db = library.app.db
    shelf = await db.read(lambda tx: tx.one(ShelfId, q.shelf_with_entries))
    series = await stored_series(db, "Frieren")
    await stored_series_source(db, series, await stored_source(db))
    await db.with_tx(lambda tx: index_series_tx(tx, series, titles=["Frieren"], description="An elf walks on."))
    await db.with_tx(lambda tx: upsert_chapters_tx(tx, series, [a_new_chapter(7, title="The elf's village")], NOON))
    found = await me.get("/search?q=elf")
    assert [len(found[kind]) for kind in ("feeds", "items", "series", "chapters")] == [1, 1, 1, 0]
    assert found["series"][0].keys() >= {"id", "title", "author", "cover_url", "snippet"}
    await follow(db, shelf, series)
    [chapter] = (await me.get("/search?q=elf"))["chapters"]
    assert (chapter["series_title"], chapter["number"], chapter["title"]) == ("Frieren", "7", "The elf's village")
    assert chapter["series_id"] == found["series"][0]["id"]
    assert chapter["snippet"] == "Frieren · 7 · The <mark>elf</mark>&#x27;s village"
    assert [one["id"] for one in (await me.get("/search?q=frieren+7"))["chapters"]] == [chapter["id"]]


async def test_bookmarks(library, me):
    feed = await me.follow(library.press.publish("/a", "1", "2"), 2)
    [item, second] = await me.get("/items")
    kept = await me.post("/bookmarks", {"item_id": item["id"], "note": "later"})
    assert kept.keys() >= BOOKMARK
    assert (kept["item_id"], kept["link"], kept["feed_name"]) == (item["id"], item["link"], "A feed")
    assert (await me.get(f"/items/{item['id']}"))["saved"]
    assert [one["id"] for one in await me.get("/items?saved=true")] == [item["id"]]
    assert (await me.post("/bookmarks", {"item_id": item["id"]}, expect=409))["code"] == "CONFLICT"
    await me.post("/bookmarks", {"link": item["link"], "title": "Again"}, expect=409)
    free = {
        "link": "https://example.org/free",
        "title": "Free",
        "feed_name": "Elsewhere",
        "content": "<p onclick='x()'>Text<script>x()</script></p>",
        "pub_date": "2026-02-22T12:00:00Z",
    }
    made = await me.post("/bookmarks", free)
    assert (made["item_id"], made["content"], made["pub_date"]) == (None, "<p>Text</p>", "2026-02-22T12:00:00.000Z")
    listed = await me.ask("GET", "/bookmarks?limit=1")
    assert ([one["id"] for one in listed["data"]], listed["meta"]["total"]) == ([made["id"]], 2)
    rest = await me.ask("GET", f"/bookmarks?limit=1&before={listed['meta']['next_cursor']}")
    assert ([one["id"] for one in rest["data"]], rest["meta"]["next_cursor"]) == ([kept["id"]], None)
    assert [one["id"] for one in await me.get(f"/bookmarks?feed_id={feed['id']}")] == [kept["id"]]
    assert [one["id"] for one in await me.get(f"/bookmarks?group_id={feed['group_id']}")] == [kept["id"]]
    assert (await me.patch(f"/bookmarks/{kept['id']}", {"note": "soon"}))["note"] == "soon"
    bad = [{}, {"link": "https://example.org/x"}, {"link": "javascript:x", "title": "x"}, {"title": "x"}]
    for body in (*bad, {"item_id": second["id"], "link": "https://example.org/", "title": "x"}):
        await me.post("/bookmarks", body, expect=400)
    await me.post("/bookmarks", {"item_id": "999999"}, expect=404)
    await me.delete(f"/bookmarks/{kept['id']}")
    await me.get(f"/bookmarks/{kept['id']}", expect=404)
    assert not (await me.get(f"/items/{item['id']}"))["saved"]


async def test_the_inbox_shows_items_as_entries(library, me):
    await me.follow(library.press.publish("/a", "1", "2"), 2)
    listed = await me.ask("GET", "/inbox?limit=1&kind=item")
    [entry] = listed["data"]
    assert entry.keys() == {"id", "kind", "unread", "saved", "created_at", "item"}
    assert listed["meta"]["total"] == 2
    assert len(await me.get(f"/inbox?before={listed['meta']['next_cursor']}")) == 1
    assert await me.get("/inbox?kind=chapter") == []
    await me.patch("/items/-/read", {"ids": [entry["item"]["id"]]})
    assert len(await me.get("/inbox?unread=true")) == 1


async def test_r92_the_inbox_is_listed_by_arrival_or_by_date(library, me):
    """Read page by page both ways; a word that is no order is refused."""
    await me.follow(library.press.publish("/a", "1", "2"), 2)
    app = library.app
    feed_id = await app.db.read(lambda tx: tx.one(FeedId, q.any_feed))
    await release_items(app, feed_id, [an_item("late", at=Millis(1_550_000_000_000), title="Found in an attic")])
    for query, expected in (("", 0), ("order_by=created_at", 0), ("order_by=pub_date", 2)):
        listed = await me.ask("GET", f"/inbox?limit=1&{query}")
        found = listed["data"]
        while place := listed["meta"]["next_cursor"]:
            listed = await me.ask("GET", f"/inbox?limit=1&{query}&before={place}")
            found += listed["data"]
        assert [entry["item"]["title"] for entry in found].index("Found in an attic") == expected
        assert len(found) == 3
    assert (await me.get("/inbox"))[0]["item"]["pub_date"].startswith("2019-")
    await me.get("/inbox?order_by=title", expect=400)


async def test_the_inbox_is_marked_items_and_chapters_alike(library, me):
    await me.follow(library.press.publish("/a", "1", "2"), 2)
    shelf = await library.app.db.read(lambda tx: tx.one(ShelfId, q.shelf_with_entries))
    series = await stored_series(library.app.db)
    await follow(library.app.db, shelf, series)
    await release(library.app.db, series, [7])
    assert sorted(entry["kind"] for entry in await me.get("/inbox?unread=true")) == ["chapter", "item", "item"]
    [item, _] = await me.get("/inbox?kind=item")
    assert (await me.patch("/inbox/-/read", {"ids": [item["id"], "999999", "nonsense"]}))["changed"] == 1
    assert (await me.patch("/items/-/read", {"all": True}))["changed"] == 1
    assert [entry["kind"] for entry in await me.get("/inbox?unread=true")] == ["chapter"]
    assert (await me.patch("/inbox/-/unread", {"all": True}))["changed"] == 2
    marked = await me.patch("/inbox/-/read", {"all": True})
    assert marked["changed"] == 3
    assert await me.get("/inbox?unread=true") == []
    assert (await me.patch("/items/-/undo", {"undo": marked["undo"]}))["changed"] == 3
    for bad in ({}, {"all": True, "ids": ["1"]}, {"ids": ["1"], "before": "2026-01-01T00:00:00Z"}):
        await me.patch("/inbox/-/read", bad, expect=400)


async def test_what_is_on_another_shelf_is_not_there(library, me):
    """I8, SEC-31: own parent and foreign child, in paths, queries and bodies alike."""
    other = await library.reader()
    theirs = await other.follow(library.press.publish("/a", "1"), 1)
    [item] = await other.get("/items")
    group = await other.post("/groups", {"name": "Theirs"})
    mark = await other.post("/bookmarks", {"item_id": item["id"]})
    mine = await me.follow(library.press.publish("/b", "1"), 1)
    for path in (
        f"/feeds/{theirs['id']}",
        f"/groups/{group['id']}",
        f"/items/{item['id']}",
        f"/bookmarks/{mark['id']}",
    ):
        await me.get(path, expect=404)
    for path in ("/items", "/bookmarks", "/feeds"):
        await me.get(f"{path}?group_id={group['id']}", expect=404)
    for path in ("/items", "/bookmarks"):
        await me.get(f"{path}?feed_id={theirs['id']}", expect=404)
    await me.patch(f"/feeds/{mine['id']}", {"group_id": group["id"]}, expect=404)
    await me.post("/feeds", {"link": library.press.publish("/c", "1"), "group_id": group["id"]}, expect=404)
    await me.post("/bookmarks", {"item_id": item["id"]}, expect=404)
    assert (await me.patch("/items/-/read", {"ids": [item["id"]]}))["changed"] == 0
    await me.patch("/items/-/read", {"group_id": group["id"]}, expect=404)
    await me.patch("/items/-/read", {"all": True})
    assert (await other.get(f"/items/{item['id']}"))["unread"]
    shelf = (await other.get("/me"))["shelves"][0]["id"]
    await me.get(f"/items?shelf={shelf}", expect=404)
