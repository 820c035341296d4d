"""Feeds that are suspended, changed, moved and left."""

from tests.api.reader.contract import FETCH_STATE, MISSING
from tsuzuki.model.times import MINUTE


async def test_what_a_suspended_feed_missed_comes_when_it_is_resumed(library, me):
    other = await library.reader()
    link = library.press.publish("/a", "1")
    mine, theirs = await me.follow(link, 1), await other.follow(link, 1)
    await me.patch(f"/feeds/{mine['id']}", {"suspended": True})
    library.press.publish("/a", "2", "1")
    library.app.time.pass_(MINUTE)  # R96
    await other.post(f"/feeds/{theirs['id']}/refresh", expect=202)
    await other.until(f"/feeds/{theirs['id']}", lambda found: found["item_count"] == 2)
    assert (await me.get(f"/feeds/{mine['id']}"))["item_count"] == 1
    assert (await me.patch(f"/feeds/{mine['id']}", {"suspended": False}))["item_count"] == 2


async def test_a_feed_suspended_by_all_is_polled_again_when_resumed(library, me):
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


async def test_another_link_resets_the_fetch_state_only(library, me):
    feed = await me.follow(library.press.publish("/a", "2", "1"), 2)
    [item, _] = await me.get(f"/items?feed_id={feed['id']}")
    await me.patch("/items/-/read", {"ids": [item["id"]]})
    await library.app.worker_loops.stop()
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
