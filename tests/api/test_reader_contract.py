"""The reader's API, row by row, on both engines: every path, field and error that clients were promised."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from tests.api.library import Library, Reader, a_library
from tests.builders import NOON, a_new_chapter, stored_series
from tests.delivery.builders import follow, release
from tests.net.builders import answer
from tsuzuki.api.build import ENDPOINTS
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.store import index_series_tx, upsert_chapters_tx
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.times import DAY

GROUP = {"id", "name", "is_default", "created_at", "updated_at"}
FEED = {
    *("id", "group_id", "name", "link", "site_url", "suspended", "proxy", "unread_count", "item_count", "created_at"),
    *("updated_at", "fetch_state"),
}
REMOVED = {"last_build", "last_failure_at", "failure", "failures"}
FETCH_STATE = {
    *("etag", "last_modified", "cache_control", "expires_at", "retry_after_until", "last_checked_at", "next_check_at"),
    *("last_http_status", "last_success_at", "last_error_at", "last_error", "consecutive_failures"),
}
ITEM = {
    *("id", "feed_id", "guid", "title", "link", "author", "pub_date", "unread", "saved", "created_at", "updated_at"),
}
BOOKMARK = {"id", "item_id", "link", "title", "content", "pub_date", "feed_name", "created_at"}
q = parse_queries("tests", "-- name: shelf_with_entries\nselect shelf_id from entry limit 1;")
MISSING = "01952ff9-0000-7000-8000-000000000000"


ROWS = {
    "POST /sessions": 200,
    "DELETE /sessions": 204,
    "GET /me": 200,
    "GET /oidc/enabled": 200,
    "GET /oidc/login": 200,
    "GET /oidc/callback": None,
    "GET /groups": 200,
    "POST /groups": 201,
    "GET /groups/{}": 200,
    "PATCH /groups/{}": 200,
    "DELETE /groups/{}": 204,
    "GET /feeds": 200,
    "POST /feeds": 201,
    "POST /feeds/batch": 200,
    "POST /feeds/validate": 200,
    "POST /feeds/refresh": 202,
    "GET /feeds/{}": 200,
    "PATCH /feeds/{}": 200,
    "DELETE /feeds/{}": 204,
    "POST /feeds/{}/refresh": 202,
    "GET /items": 200,
    "GET /items/{}": 200,
    "PATCH /items/-/read": 200,
    "PATCH /items/-/unread": 200,
    "GET /search": 200,
    "GET /bookmarks": 200,
    "POST /bookmarks": 201,
    "GET /bookmarks/{}": 200,
    "DELETE /bookmarks/{}": 204,
    "POST /opml": 200,
    "GET /opml": 200,
    "GET /inbox": 200,
    "GET /events": 200,
}
"""Every row that clients were promised, and what it answers; None for a redirect."""


def test_every_row_is_an_endpoint_with_the_promised_status():
    """Sessions, the provider's sign-in, lists of feeds and streams have their own tests; the other rows follow here."""
    offered = {f"{each.method} {re.sub(r'{[a-z_]+}', '{}', each.path)}": each.status for each in ENDPOINTS}
    assert ROWS.keys() <= offered.keys()
    assert {row for row, status in ROWS.items() if status not in (None, 204, offered[row])} == set()


@pytest.fixture
async def library(database_url, tmp_path) -> AsyncIterator[Library]:
    async with a_library(tmp_path, database_url) as library:
        yield library


@pytest.fixture
async def me(library: Library) -> Reader:
    return await library.reader()


def is_time(text: str) -> bool:
    return datetime.fromisoformat(text).tzinfo == UTC and text.endswith("Z")


# -- groups


async def test_groups(me):
    [default] = await me.get("/groups")
    assert default.keys() >= GROUP
    assert (default["name"], default["is_default"]) == ("Default", True)
    assert is_time(default["created_at"])
    news = await me.post("/groups", {"name": " News "})
    assert (news["name"], news["is_default"]) == ("News", False)
    assert (await me.post("/groups", {"name": "News"}, expect=409))["code"] == "CONFLICT"
    assert (await me.post("/groups", {"name": "  "}, expect=400))["code"] == "VALIDATION_ERROR"
    assert (await me.get(f"/groups/{news['id']}"))["name"] == "News"
    renamed = await me.patch(f"/groups/{news['id']}", {"name": "Papers"})
    assert (renamed["id"], renamed["name"]) == (news["id"], "Papers")
    await me.patch(f"/groups/{news['id']}", {"name": "Default"}, expect=409)
    second = await me.post("/groups", {"name": "Second"})
    await me.patch(f"/groups/{second['id']}", {"position": 0})
    assert [one["name"] for one in await me.get("/groups")] == ["Default", "Second", "Papers"]
    assert (await me.delete(f"/groups/{default['id']}", expect=409))["code"] == "CONFLICT"
    await me.delete(f"/groups/{news['id']}")
    assert (await me.get(f"/groups/{news['id']}", expect=404))["code"] == "NOT_FOUND"
    await me.get("/groups/nonsense", expect=404)


async def test_deleting_a_group_moves_its_feeds_to_the_default_one(library, me):
    [default] = await me.get("/groups")
    group = await me.post("/groups", {"name": "News"})
    feed = await me.post("/feeds", {"link": library.press.publish("/a", "1"), "group_id": group["id"]})
    assert feed["group_id"] == group["id"]
    await me.delete(f"/groups/{group['id']}")
    assert (await me.get(f"/feeds/{feed['id']}"))["group_id"] == default["id"]


# -- feeds


async def test_a_new_feed_is_polled_at_once_and_says_all_that_was_promised(library, me):
    feed = await me.post("/feeds", {"link": library.press.publish("/a", "2", "1", title="The Daily")})
    assert feed.keys() >= FEED
    assert not feed.keys() & REMOVED
    assert feed["fetch_state"].keys() >= FETCH_STATE
    assert (feed["proxy"], feed["suspended"]) == ("", False)
    feed = await me.until(f"/feeds/{feed['id']}", lambda found: found["item_count"] == 2)
    assert (feed["unread_count"], feed["name"]) == (2, "The Daily")
    state = feed["fetch_state"]
    assert (state["last_http_status"], state["consecutive_failures"], state["last_error"]) == (200, 0, None)
    assert is_time(state["last_success_at"])
    assert state["next_check_at"] > state["last_checked_at"]
    assert state["next_check_why"] == "the pull interval"
    assert await me.get("/feeds") == [feed]


async def test_a_link_that_the_shelf_has_is_a_conflict_and_one_that_may_not_be_called_is_refused(library, me):
    link = library.press.publish("/a", "1")
    await me.post("/feeds", {"link": link})
    assert (await me.post("/feeds", {"link": link}, expect=409))["code"] == "CONFLICT"
    spelled = link.replace("http://", "HTTP://")
    await me.post("/feeds", {"link": f" {spelled} "}, expect=409)
    for bad in (
        "nope",
        "ftp://example.org/",
        "http://10.0.0.1/",
        "http://[::1",
        "javascript:alert(1)",
        "http://nas.lan/",
    ):
        assert (await me.post("/feeds", {"link": bad}, expect=400))["code"] == "VALIDATION_ERROR", bad
    await me.post("/feeds", {"link": link + "2", "proxy": "http://10.0.0.1:3128"}, expect=400)
    await me.post("/feeds", {}, expect=400)
    await me.post("/feeds", {"link": link + "2", "group_id": MISSING}, expect=404)
    assert len(await me.get("/feeds")) == 1


async def test_feeds_are_listed_by_group_and_status(library, me):
    group = await me.post("/groups", {"name": "News"})
    good = await me.follow(library.press.publish("/good", "1"), 1, group_id=group["id"])
    bad = await me.post("/feeds", {"link": library.press.url + "/missing"})
    asleep = await me.post("/feeds", {"link": library.press.url + "/asleep", "suspended": True})
    await me.until(f"/feeds/{bad['id']}", lambda found: found["fetch_state"]["consecutive_failures"] > 0)

    async def ids(query: str) -> set[str]:
        return {feed["id"] for feed in await me.get(f"/feeds?{query}")}

    assert await ids(f"group_id={group['id']}") == {good["id"]}
    assert await ids("status=ok") == {good["id"]}
    assert await ids("status=error") == {bad["id"]}
    assert await ids("status=suspended") == {asleep["id"]}
    assert await ids("") == {good["id"], bad["id"], asleep["id"]}
    await me.get("/feeds?status=nope", expect=400)
    await me.get(f"/feeds?group_id={MISSING}", expect=404)
    failed = (await me.get(f"/feeds/{bad['id']}"))["fetch_state"]
    assert (failed["last_http_status"], failed["last_error_code"]) == (404, "http_status")
    assert failed["next_check_why"] == "failure 1 in a row"


async def test_many_feeds_at_once_each_say_what_became_of_them(library, me):
    link = library.press.publish("/a", "1")
    await me.post("/feeds", {"link": link})
    other = library.press.publish("/b", "1")
    entries = [{"link": link}, {"link": other, "name": "B"}, {"link": "http://10.0.0.1/"}, {"link": other}]
    done = await me.post("/feeds/batch", {"feeds": entries}, expect=200)
    assert (done["created"], done["failed"]) == (1, 3)
    assert [result.get("code") for result in done["results"]] == ["CONFLICT", None, "VALIDATION_ERROR", "CONFLICT"]
    assert (await me.get(f"/feeds/{done['results'][1]['id']}"))["name"] == "B"
    assert all(result["error"] for result in done["results"] if "id" not in result)
    await me.post("/feeds/batch", {"feeds": []}, expect=400)


async def test_a_pages_feeds_are_found(library, me):
    feed = library.press.publish("/a", "1", title="The Daily")
    page = b"<html><head><link rel=alternate type='application/rss+xml' href='/a' title='Daily'></head></html>"
    library.press.pages["/"] = answer(200, page, **{"Content-Type": "text/html"})
    library.press.pages["/plain"] = answer(200, b"<html>nothing</html>", **{"Content-Type": "text/html"})
    found = await me.post("/feeds/validate", {"url": feed}, expect=200)
    assert found["feeds"] == [{"title": "The Daily", "link": feed}]
    found = await me.post("/feeds/validate", {"url": library.press.url + "/"}, expect=200)
    assert found["feeds"] == [{"title": "Daily", "link": feed}]
    library.press.pages.pop("/a")
    found = await me.post("/feeds/validate", {"url": library.press.url + "/plain"}, expect=200)
    assert found["feeds"] == []
    assert (await me.post("/feeds/validate", {"url": library.press.url + "/gone"}, expect=200))["feeds"] == []
    assert (await me.post("/feeds/validate", {"url": "http://10.0.0.1/"}, expect=400))["code"] == "VALIDATION_ERROR"
    assert await me.get("/feeds") == []


async def test_a_refresh_polls_out_of_turn_also_what_is_suspended(library, me):
    feed = await me.follow(library.press.publish("/a", "1"), 1)
    asleep = await me.post("/feeds", {"link": library.press.publish("/b", "1"), "suspended": True})
    library.press.publish("/a", "2", "1")
    assert await me.post("/feeds/refresh", expect=202) == {"queued": 1}
    await me.until(f"/feeds/{feed['id']}", lambda found: found["item_count"] == 2)
    assert library.press.asked["/b"] == 0
    library.press.publish("/a", "3", "2", "1")
    await me.post(f"/feeds/{feed['id']}/refresh", expect=202)
    await me.until(f"/feeds/{feed['id']}", lambda found: found["item_count"] == 3)
    await me.post(f"/feeds/{asleep['id']}/refresh", expect=202)
    woken = await me.until(f"/feeds/{asleep['id']}", lambda found: found["item_count"] == 1)
    assert woken["suspended"]
    assert woken["fetch_state"]["last_http_status"] == 200
    await me.post(f"/feeds/{MISSING}/refresh", expect=404)


async def test_a_refresh_of_all_shows_how_far_it_has_come(library, me):
    await library.town.crew.stop()
    for path in ("/a", "/b", "/c"):
        await me.post("/feeds", {"link": library.press.publish(path, "1")})
    await me.post("/feeds", {"link": library.press.publish("/asleep", "1"), "suspended": True})
    assert await me.get("/feeds/refresh") == {"waiting": 0, "checking": 0}
    assert await me.post("/feeds/refresh", expect=202) == {"queued": 3}
    assert await me.get("/feeds/refresh") == {"waiting": 3, "checking": 0}
    other = await library.reader()
    assert await other.get("/feeds/refresh") == {"waiting": 0, "checking": 0}
    claimed = await library.town.way.poller.claim(1, {})
    assert len(claimed) == 1
    assert await me.get("/feeds/refresh") == {"waiting": 2, "checking": 1}
    await library.town.way.poller.poll(claimed[0])
    assert await me.get("/feeds/refresh") == {"waiting": 2, "checking": 0}


async def test_what_a_suspended_feed_missed_comes_when_it_is_resumed(library, me):
    other = await library.reader()
    link = library.press.publish("/a", "1")
    mine, theirs = await me.follow(link, 1), await other.follow(link, 1)
    await me.patch(f"/feeds/{mine['id']}", {"suspended": True})
    library.press.publish("/a", "2", "1")
    await other.post(f"/feeds/{theirs['id']}/refresh", expect=202)
    await other.until(f"/feeds/{theirs['id']}", lambda found: found["item_count"] == 2)
    assert (await me.get(f"/feeds/{mine['id']}"))["item_count"] == 1
    assert (await me.patch(f"/feeds/{mine['id']}", {"suspended": False}))["item_count"] == 2


async def test_a_feed_that_everyone_suspended_is_not_called_and_one_that_is_resumed_is_at_once(library, me):
    feed = await me.post("/feeds", {"link": library.press.publish("/a", "1"), "suspended": True})
    assert feed["suspended_reason"] == "everyone who follows it has suspended it"
    other = await me.follow(library.press.publish("/b", "1"), 1)
    assert other["item_count"] == 1
    assert library.press.asked["/a"] == 0
    await me.patch(f"/feeds/{feed['id']}", {"suspended": False})
    woken = await me.until(f"/feeds/{feed['id']}", lambda found: found["item_count"] == 1)
    assert (woken["suspended"], woken["suspended_reason"]) == (False, None)


async def test_a_feed_is_changed(library, me):
    group = await me.post("/groups", {"name": "News"})
    feed = await me.follow(library.press.publish("/a", "1"), 1)
    path = f"/feeds/{feed['id']}"
    changed = await me.patch(
        path,
        {
            "name": "Mine",
            "group_id": group["id"],
            "site_url": "https://example.org/",
            "suspended": True,
            "interval": 3600,
            "retention": 30,
            "full_text": True,
            "notify": False,
        },
    )
    assert (changed["name"], changed["group_id"], changed["suspended"]) == ("Mine", group["id"], True)
    assert (changed["interval"], changed["retention"], changed["full_text"]) == (3600, 30, True)
    assert (changed["site_url"], changed["notify"]) == ("https://example.org/", False)
    assert (await me.patch(path, {"name": ""}))["name"] == "A feed"
    assert not (await me.patch(path, {"suspended": False}))["suspended"]
    assert (await me.patch(path, {"interval": None}))["interval"] is None
    await me.patch(path, {"interval": 1}, expect=400)
    await me.patch(path, {"link": "http://10.0.0.1/"}, expect=400)
    await me.patch(path, {"unread_count": 0}, expect=400)
    other = await me.post("/feeds", {"link": library.press.publish("/b", "1")})
    await me.patch(path, {"link": other["link"]}, expect=409)
    await me.patch(f"/feeds/{MISSING}", {"name": "x"}, expect=404)


async def test_another_link_resets_the_fetch_state_and_keeps_what_was_read(library, me):
    feed = await me.follow(library.press.publish("/a", "2", "1"), 2)
    [item, _] = await me.get(f"/items?feed_id={feed['id']}")
    await me.patch("/items/-/read", {"ids": [item["id"]]})
    await library.town.crew.stop()
    moved = await me.patch(f"/feeds/{feed['id']}", {"link": library.press.publish("/b", "3", "2", "1")})
    assert moved["id"] == feed["id"]
    assert moved["link"].endswith("/b")
    state = moved["fetch_state"]
    assert {state[name] for name in FETCH_STATE - {"next_check_at", "consecutive_failures"}} == {None}
    assert moved["unread_count"] == 1


async def test_another_link_of_a_shared_feed_leaves_the_others_alone(library, me):
    other = await library.reader()
    first = library.press.publish("/a", "2", "1")
    mine, theirs = await me.follow(first, 2), await other.follow(first, 2)
    await me.patch("/items/-/read", {"ids": [(await me.get("/items"))[0]["id"]]})
    third = await library.reader()
    await third.follow(library.press.publish("/b", "2", "1"), 2)
    moved = await me.patch(f"/feeds/{mine['id']}", {"link": library.press.url + "/b"})
    assert (moved["item_count"], moved["unread_count"]) == (2, 1)
    assert (await other.get(f"/feeds/{theirs['id']}"))["link"] == first


async def test_a_proxys_password_is_never_shown_and_stars_keep_it(library, me):
    """R47."""
    proxy = "http://me:secret@127.0.0.1:9/"
    feed = await me.post("/feeds", {"link": library.press.publish("/a", "1"), "proxy": proxy})
    assert "secret" not in str(feed)
    assert "***" in feed["proxy"]
    again = await me.patch(f"/feeds/{feed['id']}", {"proxy": feed["proxy"], "name": "x"})
    assert again["proxy"] == feed["proxy"]
    assert (await me.patch(f"/feeds/{feed['id']}", {"proxy": ""}))["proxy"] == ""


async def test_deleting_a_feed_keeps_bookmarks_and_what_others_follow(library, me):
    other = await library.reader()
    link = library.press.publish("/a", "1")
    mine, theirs = await me.follow(link, 1), await other.follow(link, 1)
    [item] = await me.get("/items")
    kept = await me.post("/bookmarks", {"item_id": item["id"]})
    await me.delete(f"/feeds/{mine['id']}")
    await me.get(f"/feeds/{mine['id']}", expect=404)
    assert await me.get("/items") == []
    await me.get(f"/items/{item['id']}", expect=404)
    snapshot = await me.get(f"/bookmarks/{kept['id']}")
    assert (snapshot["item_id"], snapshot["content"], snapshot["feed_name"]) == (None, kept["content"], "A feed")
    assert (await other.get(f"/feeds/{theirs['id']}"))["item_count"] == 1
    await other.delete(f"/feeds/{theirs['id']}")
    again = await me.follow(link, 1)  # I9: within a month all is as it was, though nobody followed it meanwhile
    assert (again["id"], again["unread_count"]) == (mine["id"], 1)
    assert [one["id"] for one in await me.get("/items")] == [item["id"]]
    assert (await me.get(f"/bookmarks/{kept['id']}"))["item_id"] == item["id"]


async def test_a_feed_that_is_known_brings_its_newest_fifty_at_once(library, me):
    """R8, R70: and no second request."""
    link = library.press.publish("/a", *(str(number) for number in range(70)))
    await me.follow(link, 70)
    other = await library.reader()
    feed = await other.post("/feeds", {"link": link})
    assert (feed["item_count"], feed["unread_count"]) == (50, 50)
    assert library.press.asked["/a"] == 1


# -- items


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


EVERY_LIST = (
    *("", "&order_by=created_at", "&unread=true", "&saved=false", "&feed_id={feed}", "&group_id={group}"),
    *("&since=2001-01-01T00:00:00Z", "&since=2001-01-01T00:00:00Z&order_by=created_at", "&search=item"),
    *("&search=item&order_by=created_at", "&search=words&feed_id={feed}&unread=true&since=2001-01-01T00:00:00Z"),
)


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


async def test_items_are_listed_by_time_and_by_words_and_counted_exactly(library, me):
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

    ids = [item["id"] for item in await me.get("/items")]
    assert (await me.patch("/items/-/read", {"ids": ids[:2]}))["changed"] == 2
    assert (await me.patch("/items/-/read", {"ids": [*ids[:2], "999999", "nonsense"]}))["changed"] == 0
    assert await unread() == 2
    assert (await me.patch("/items/-/unread", {"ids": ids[:1]}))["changed"] == 1
    assert (await me.patch("/items/-/read", {"feed_id": second["id"]}))["changed"] <= 1
    assert (await me.patch("/items/-/unread", {"all": True}))["changed"] >= 1
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


# -- search


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
    db = library.town.db
    shelf = await db.read(lambda tx: tx.one(ShelfId, q.shelf_with_entries))
    series = await stored_series(db, "Frieren")
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


# -- bookmarks


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
    assert (made["item_id"], made["content"], made["pub_date"]) == (None, "<p>Text</p>", "2026-02-22T12:00:00Z")
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


# -- inbox


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


async def test_the_inbox_is_marked_items_and_chapters_alike(library, me):
    await me.follow(library.press.publish("/a", "1", "2"), 2)
    shelf = await library.town.db.read(lambda tx: tx.one(ShelfId, q.shelf_with_entries))
    series = await stored_series(library.town.db)
    await follow(library.town.db, shelf, series)
    await release(library.town.db, series, [7])
    [first, *_] = await me.get("/inbox")
    assert len(await me.get("/inbox?unread=true")) == 3
    assert (await me.patch("/inbox/-/read", {"ids": [first["id"], "999999", "nonsense"]}))["changed"] == 1
    assert (await me.patch("/items/-/read", {"all": True}))["changed"] + len(await me.get("/inbox?unread=true")) == 2
    await me.patch("/inbox/-/unread", {"all": True})
    marked = await me.patch("/inbox/-/read", {"all": True})
    assert marked["changed"] == 3
    assert await me.get("/inbox?unread=true") == []
    assert (await me.patch("/items/-/undo", {"undo": marked["undo"]}))["changed"] == 3
    for bad in ({}, {"all": True, "ids": ["1"]}, {"ids": ["1"], "before": "2026-01-01T00:00:00Z"}):
        await me.patch("/inbox/-/read", bad, expect=400)


async def test_what_is_older_than_the_reader_keeps_leaves_the_shelf_unless_unread_or_saved(library, me):
    feed = await me.follow(library.press.publish("/a", "1", "2", "3"), 3)
    await me.patch(f"/feeds/{feed['id']}", {"retention": 1})
    [unread, saved, read] = await me.get("/items")
    await me.patch("/items/-/read", {"ids": [saved["id"], read["id"]]})
    await me.post("/bookmarks", {"item_id": saved["id"]})
    subscriptions = library.town.reading.subscriptions
    assert await subscriptions.prune() == 0
    library.town.time.pass_(2 * DAY)
    assert await subscriptions.prune() == 1
    assert {item["id"] for item in await me.get("/items")} == {unread["id"], saved["id"]}


# -- whose it is


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
