"""Items: listed, paged, found by words, marked."""

from tests.api.reader.contract import ITEM, MISSING
from tests.net.builders import answer
from tsuzuki.inbox import service
from tsuzuki.model.times import DAY

EVERY_LIST = (
    *("", "&order_by=created_at", "&unread=true", "&saved=false", "&feed_id={feed}", "&group_id={group}"),
    *("&since=2001-01-01T00:00:00Z", "&since=2001-01-01T00:00:00Z&order_by=created_at", "&search=item"),
    *("&content=true", "&content=true&search=item&order_by=created_at"),
    *("&search=item&order_by=created_at", "&search=words&feed_id={feed}&unread=true&since=2001-01-01T00:00:00Z"),
)


async def test_items(library, me):
    group = await me.post("/groups", {"name": "News"})
    first = await me.follow(library.press.publish("/a", "3", "2", "1"), 3, group_id=group["id"])
    second = await me.follow(library.press.publish("/b", "x"), 1)
    listed = await me.ask("GET", "/items")
    assert listed["meta"] == {"total": 4, "next_cursor": None}
    for item in listed["data"]:
        assert item.keys() >= ITEM
        assert "content" not in item
    assert all("content" in item for item in await me.get("/items?content=true"))
    assert {item["feed_id"] for item in await me.get(f"/items?feed_id={first['id']}")} == {first["id"]}
    assert len(await me.get(f"/items?group_id={group['id']}")) == 3
    assert len(await me.get(f"/items?group_id={group['id']}&order_by=created_at")) == 3
    [only] = await me.get(f"/items?feed_id={second['id']}")
    opened = await me.get(f"/items/{only['id']}")
    assert (opened["guid"], opened["title"], opened["content"]) == ("x", "Item x", "Words of x")
    for bad in ("limit=0", "limit=101", "before=nonsense", "order_by=nope", "unread=maybe", "what=1"):
        await me.get(f"/items?{bad}", expect=400)
    await me.get(f"/items?feed_id={MISSING}", expect=404)
    for missing in ("999999", "nonsense", MISSING):
        assert (await me.get(f"/items/{missing}", expect=404))["code"] == "NOT_FOUND"


async def test_pages_are_exact_at_their_ends(library, me):
    """Every item of the same moment, none twice, none left out, and the last page says that it is the last."""
    feed = await me.follow(library.press.publish("/a", *(str(number) for number in range(12))), 12)
    for query in EVERY_LIST:
        path = "/items?limit=4" + query.format(feed=feed["id"], group=feed["group_id"])
        seen: list[str] = []
        cursor = None
        for _ in range(3):
            page = await me.ask("GET", path + (f"&before={cursor}" if cursor else ""))
            assert (page["meta"]["total"], len(page["data"])) == (12, 4), query
            seen += [item["id"] for item in page["data"]]
            cursor = page["meta"]["next_cursor"]
        assert cursor is None, query
        assert len(set(seen)) == 12, query


async def test_long_texts_shorten_a_page_without_losing_items(library, me, monkeypatch):
    """A page of a hundred articles of two megabytes each held up everybody while it was sent."""
    monkeypatch.setattr(service, "MOST_CONTENT", 25)  # "Words of 1" are ten characters
    await me.follow(library.press.publish("/a", *(str(number) for number in range(7))), 7)
    sizes, seen = [], []
    cursor: str | None = ""
    while cursor is not None:
        page = await me.ask("GET", "/items?limit=5&content=true" + (f"&before={cursor}" if cursor else ""))
        sizes.append(len(page["data"]))
        seen += [item["id"] for item in page["data"]]
        cursor = page["meta"]["next_cursor"]
    assert (sizes, len(set(seen))) == ([2, 2, 2, 1], 7)


async def test_items_are_listed_by_time_or_words_with_exact_totals(library, me):
    group = await me.post("/groups", {"name": "News"})
    await me.follow(library.press.publish("/a", "fish", "cat", title="Pets"), 2, group_id=group["id"])
    await me.follow(library.press.publish("/b", "fish"), 1)
    fish = await me.get("/items?search=fish")
    assert {item["guid"] for item in fish} == {"fish"}
    await me.patch("/items/-/read", {"ids": [fish[0]["id"]]})
    await me.post("/bookmarks", {"item_id": fish[0]["id"]})

    async def total(query: str) -> int:
        page = await me.ask("GET", f"/items?{query}")
        assert page["meta"] == {"total": len(page["data"]), "next_cursor": None}
        return len(page["data"])

    of_group = await total(f"group_id={group['id']}&search=fish")
    assert (await total("search=fish"), of_group) == (2, 1)
    assert (await total("search=fish&unread=true"), await total("search=fish&saved=true")) == (1, 1)
    assert (await total("search=-fish"), await total("search=item+-fish"), await total('search="of+cat"')) == (0, 1, 1)
    assert (await total("search=()"), await total("search=is:unread")) == (0, 0)
    assert (await total("saved=true"), await total("saved=true&unread=true")) == (1, 0)
    assert (await total("saved=false"), await total("saved=false&unread=true")) == (2, 2)
    assert (await total("unread=false"), await total("unread=true")) == (1, 2)
    for order in ("pub_date", "created_at"):
        assert await total(f"since=2001-01-01T00:00:00Z&order_by={order}") == 3
        assert await total(f"since=1901-01-01T00:00:00Z&order_by={order}") == 3
        assert await total(f"since=2101-01-01T00:00:00Z&order_by={order}") == 0
        assert await total(f"since=2001-01-01T00:00:00Z&unread=true&order_by={order}") == 2
    for bad in ("since=yesterday", "since=2026-01-01T00:00:00", "search=", "since="):
        await me.get(f"/items?{bad}", expect=400)


async def test_items_are_marked_by_ids_feed_group_and_all(library, me):
    group = await me.post("/groups", {"name": "News"})
    first = await me.follow(library.press.publish("/a", "3", "2", "1"), 3, group_id=group["id"])
    second = await me.follow(library.press.publish("/b", "x"), 1)

    async def unread() -> int:
        counted = (await me.ask("GET", "/items?unread=true"))["meta"]["total"]
        assert counted == sum(feed["unread_count"] for feed in await me.get("/feeds"))
        return int(counted)

    ids = [item["id"] for item in await me.get(f"/items?feed_id={first['id']}")]
    assert (await me.patch("/items/-/read", {"ids": ids[:2]}))["changed"] == 2
    assert (await me.patch("/items/-/read", {"ids": [*ids[:2], "999999", "nonsense"]}))["changed"] == 0
    assert await unread() == 2
    assert (await me.patch("/items/-/unread", {"ids": ids[:1]}))["changed"] == 1
    assert (await me.patch("/items/-/read", {"feed_id": second["id"]}))["changed"] == 1
    assert (await me.patch("/items/-/unread", {"all": True}))["changed"] == 2
    assert await unread() == 4
    assert (await me.patch("/items/-/read", {"group_id": group["id"]}))["changed"] == 3
    assert (await me.get(f"/feeds/{first['id']}"))["unread_count"] == 0
    assert (await me.patch("/items/-/read", {"all": True, "before": "2001-01-01T00:00:00Z"}))["changed"] == 0
    assert (await me.patch("/items/-/read", {"all": True, "before": "2101-01-01T00:00:00Z"}))["changed"] == 1
    assert await unread() == 0
    wrong: list[dict[str, object]] = [{}, {"ids": []}, {"all": False}, {"ids": ["1"] * 1001}]
    for bad in (*wrong, {"all": True, "feed_id": first["id"]}):
        await me.patch("/items/-/read", bad, expect=400)
    await me.patch("/items/-/read", {"feed_id": MISSING}, expect=404)


async def test_a_mass_mark_can_be_undone_and_undoes_nothing_else(library, me):
    await me.follow(library.press.publish("/a", "3", "2", "1"), 3)
    [item, *_] = await me.get("/items")
    await me.patch("/items/-/read", {"ids": [item["id"]]})
    marked = await me.patch("/items/-/read", {"all": True})
    assert marked["changed"] == 2
    assert (await me.patch("/items/-/undo", {"undo": marked["undo"]}))["changed"] == 2
    assert (await me.patch("/items/-/undo", {"undo": marked["undo"]}))["changed"] == 0
    assert not (await me.get(f"/items/{item['id']}"))["unread"]
    await me.patch("/items/-/undo", {"undo": "soon"}, expect=400)


async def test_old_items_leave_the_shelf_unless_unread_or_saved(library, me):
    feed = await me.follow(library.press.publish("/a", "1", "2", "3"), 3)
    await me.patch(f"/feeds/{feed['id']}", {"retention": 1})
    [unread, saved, read] = await me.get("/items")
    await me.patch("/items/-/read", {"ids": [saved["id"], read["id"]]})
    await me.post("/bookmarks", {"item_id": saved["id"]})
    assert await library.app.pruner.prune() == {}
    library.app.time.pass_(2 * DAY)
    assert await library.app.pruner.prune() == {"entries": 1}
    assert {item["id"] for item in await me.get("/items")} == {unread["id"], saved["id"]}


async def test_an_item_without_a_title_shows_its_words_or_day(library, me):
    """R103: every list says the same, and what is stored stays empty."""
    body = (
        "<rss><channel><title>Notes</title>"
        "<item><guid>a</guid><description>Just <b>fishing</b> words</description></item>"
        "<item><guid>b</guid><pubDate>Sun, 01 Feb 2026 10:00:00 GMT</pubDate></item>"
        "<item><guid>c</guid><description>&lt;img src='/i.png' alt='A boat'&gt;</description></item>"
        "</channel></rss>"
    )
    library.press.pages["/notes"] = answer(200, body.encode(), **{"Content-Type": "application/rss+xml"})
    await me.follow(f"{library.press.url}/notes", 3)
    wanted = {"a": "Just fishing words", "b": "2026-02-01", "c": "A boat"}
    listed = await me.get("/items")
    assert {item["guid"]: item["display_title"] for item in listed} == wanted
    assert {item["title"] for item in listed} == {""}
    inbox = await me.get("/inbox")
    assert {entry["item"]["display_title"] for entry in inbox} == set(wanted.values())
    assert [item["display_title"] for item in (await me.get("/search?q=fishing"))["items"]] == ["Just fishing words"]
    [one] = [item for item in listed if item["guid"] == "a"]
    assert (await me.get(f"/items/{one['id']}"))["display_title"] == "Just fishing words"
    kept = await me.post("/bookmarks", {"item_id": one["id"]})
    assert (kept["title"], kept["display_title"]) == ("", "Just fishing words")
