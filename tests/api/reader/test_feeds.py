"""Feeds: how they are added, found, listed and refreshed."""

from tests.api.reader.contract import FEED, FETCH_STATE, MISSING, REMOVED, is_time
from tests.net.builders import answer
from tests.waiting import eventually
from tsuzuki.model.times import HOUR, MINUTE


async def test_a_new_feed_is_polled_at_once(library, me):
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


async def test_a_known_link_conflicts_and_a_private_one_is_refused(library, me):
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


async def test_feeds_are_listed_by_name_as_people_count(library, me):
    for name in ("Feed 27", "feed 3", "Alpha", "Feed 100"):
        body = {"link": f"{library.press.url}/{name.replace(' ', '-')}", "name": name, "suspended": True}
        await me.post("/feeds", body)
    assert [feed["name"] for feed in await me.get("/feeds")] == ["Alpha", "feed 3", "Feed 27", "Feed 100"]


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


async def test_a_known_feed_brings_its_newest_fifty_at_once(library, me):
    """R8, R70: and no second request."""
    link = library.press.publish("/a", *(str(number) for number in range(70)))
    await me.follow(link, 70)
    other = await library.reader()
    feed = await other.post("/feeds", {"link": link})
    assert (feed["item_count"], feed["unread_count"]) == (50, 50)
    assert library.press.asked["/a"] == 1


async def test_a_refresh_polls_out_of_turn_also_what_is_suspended(library, me):
    feed = await me.follow(library.press.publish("/a", "1"), 1)
    asleep = await me.post("/feeds", {"link": library.press.publish("/b", "1"), "suspended": True})
    library.press.publish("/a", "2", "1")
    library.app.time.pass_(2 * MINUTE)
    assert await me.post("/feeds/refresh", expect=202) == {"queued": 1}
    await me.until(f"/feeds/{feed['id']}", lambda found: found["item_count"] == 2)
    assert library.press.asked["/b"] == 0
    library.press.publish("/a", "3", "2", "1")
    library.app.time.pass_(2 * MINUTE)
    await me.post(f"/feeds/{feed['id']}/refresh", expect=202)
    await me.until(f"/feeds/{feed['id']}", lambda found: found["item_count"] == 3)
    await me.post(f"/feeds/{asleep['id']}/refresh", expect=202)
    woken = await me.until(f"/feeds/{asleep['id']}", lambda found: found["item_count"] == 1)
    assert woken["suspended"]
    assert woken["fetch_state"]["last_http_status"] == 200
    await me.post(f"/feeds/{MISSING}/refresh", expect=404)


async def test_r96_a_repeat_within_a_minute_makes_no_call(library, me):
    feed = await me.follow(library.press.publish("/a", "1"), 1)
    for path in (f"/feeds/{feed['id']}/refresh", "/feeds/refresh"):
        assert await me.post(path, expect=202) == {"queued": 0}
    library.app.time.pass_(MINUTE)
    assert await me.post(f"/feeds/{feed['id']}/refresh", expect=202) == {"queued": 1}
    for _ in range(3):  # the one that is under way answers them too
        await me.post(f"/feeds/{feed['id']}/refresh", expect=202)
    checked = feed["fetch_state"]["last_checked_at"]
    await me.until(f"/feeds/{feed['id']}", lambda found: found["fetch_state"]["last_checked_at"] != checked)
    assert (await me.get(f"/feeds/{feed['id']}"))["fetch_state"]["refresh_asked_at"] is None
    assert library.press.asked["/a"] == 2


async def test_r96_no_refresh_comes_before_a_retry_after_is_over(library, me):
    library.press.pages["/a"] = answer(429, b"", retry_after="7200")
    feed = await me.post("/feeds", {"link": library.press.url + "/a"})
    held = await me.until(f"/feeds/{feed['id']}", lambda found: found["fetch_state"]["retry_after_until"])
    until = held["fetch_state"]["retry_after_until"]
    library.app.time.pass_(HOUR)
    for path in (f"/feeds/{feed['id']}/refresh", "/feeds/refresh"):
        assert await me.post(path, expect=202) == {"queued": 0, "not_before": until}
    await me.patch(f"/feeds/{feed['id']}", {"suspended": True})
    answered = await me.post(f"/feeds/{feed['id']}/refresh", expect=202)
    assert answered == {"queued": 0, "not_before": until}
    assert library.press.asked["/a"] == 1


async def test_r96_previewing_and_following_fetch_an_address_once(library, me):
    """By itself, or found on a page."""
    page = b'<html><head><link rel="alternate" type="application/rss+xml" href="/b"></head><body></body></html>'
    library.press.pages["/page"] = answer(200, page, content_type="text/html")
    for path, looked_at in (("/a", "/a"), ("/b", "/page")):
        link = library.press.publish(path, "2", "1")
        found = await me.post("/feeds/validate", {"url": library.press.url + looked_at}, expect=200)
        assert [feed["link"] for feed in found["feeds"]] == [link]
        await me.follow(link, 2)
        assert library.press.asked[path] == 1
    library.app.time.pass_(2 * MINUTE)
    await me.post("/feeds/refresh", expect=202)
    await eventually(lambda: was_asked(library, "/a", 2))


async def test_what_was_looked_at_is_kept_for_minutes_only(library, me):
    link = library.press.publish("/a", "1")
    await me.post("/feeds/validate", {"url": link}, expect=200)
    library.press.publish("/a", "2", "1")
    library.app.time.pass_(11 * MINUTE)
    await me.follow(link, 2)
    assert library.press.asked["/a"] == 2


async def was_asked(library, path, times):
    return library.press.asked[path] == times


async def test_a_refresh_of_all_shows_how_far_it_has_come(library, me):
    await library.app.worker_loops.stop()
    for path in ("/a", "/b", "/c"):
        await me.post("/feeds", {"link": library.press.publish(path, "1")})
    await me.post("/feeds", {"link": library.press.publish("/asleep", "1"), "suspended": True})
    assert await me.get("/feeds/refresh") == {"waiting": 0, "checking": 0}
    assert await me.post("/feeds/refresh", expect=202) == {"queued": 3}
    assert await me.get("/feeds/refresh") == {"waiting": 3, "checking": 0}
    other = await library.reader()
    assert await other.get("/feeds/refresh") == {"waiting": 0, "checking": 0}
    claimed = await library.app.pipeline.poller.claim(1, {})
    assert len(claimed) == 1
    assert await me.get("/feeds/refresh") == {"waiting": 2, "checking": 1}
    await library.app.pipeline.poller.poll(claimed[0])
    assert await me.get("/feeds/refresh") == {"waiting": 2, "checking": 0}
