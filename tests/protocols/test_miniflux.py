"""Miniflux REST v1, as its apps speak it."""

import base64
import json
from collections.abc import AsyncIterator
from io import BytesIO
from urllib.parse import urlencode

import pytest

from tests.api.people import RunningApp, a_running_app
from tests.app import in_settings
from tests.images.builders import a_picture
from tests.images.test_icons import IconSite
from tests.net.builders import a_server, always, answer
from tests.protocols.miniflux import BASE, MinifluxReader, a_miniflux_reader
from tests.protocols.people import an_app_reader
from tests.web.sample_shelf import q as sample_queries
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.tokens import TokenRequest
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.db.queries import parse_queries
from tsuzuki.inbox.sync import LARGEST
from tsuzuki.model.harvest import Enclosure
from tsuzuki.model.times import HOUR, SECOND

q = parse_queries(
    "tests",
    """
-- name: age
update entry set created_at = created_at - :age where shelf_id = :shelf_id;
-- name: set_icon
update feed set icon_url = :icon_url where id = :id;
-- name: events
select count(*) from event where shelf_id = :shelf_id;
-- name: hold_back
update watch set retry_after_until = :until where feed_id = :feed_id;
""",
)
FEED = b"""<rss version="2.0"><channel><title>New here</title><link>https://example.org/</link>
<item><guid>1</guid><title>One</title><link>https://example.org/1</link></item></channel></rss>"""
HUGE = ("0", "-1", "9223372036854775807", "9223372036854775808", "1e3", "99999999999999999999999", "%00", "x")


@pytest.fixture
async def app(empty_database_url, tmp_path) -> AsyncIterator[RunningApp]:
    settings = {"allow_private_networks": "127.0.0.0/8", "cors_allowed_origins": "https://reader.example"}
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url), **settings) as app:
        yield app


@pytest.fixture
async def ann(app) -> MinifluxReader:
    return await a_miniflux_reader(app)


# -- who may come in


async def test_a_token_opens_and_so_does_basic(app, ann):
    assert (await ann.get("/me"))["username"] == ann.user.username
    pair = base64.b64encode(f"{ann.user.username}:{ann.key}".encode()).decode()
    for beside in ({}, {"x-auth-token": ""}):  # as Miniflux, which takes an empty token for none
        basic = await app.client.get(f"{BASE}/v1/me", headers={"authorization": f"Basic {pair}"} | beside)
        assert basic.json() == await ann.get("/me")
        assert basic.json()["is_admin"] is False


async def test_whoever_is_unknown_is_asked_for_a_password(app, ann):
    fever = await an_app_reader(app, "fever")
    for headers in ({}, {"x-auth-token": "x"}, {"x-auth-token": ""}, {"x-auth-token": fever.key}):
        answer = await app.client.get(f"{BASE}/v1/feeds", headers=headers)
        assert answer.status == 401
        assert answer.json() == {"error_message": "access unauthorized"}
        assert answer.headers["www-authenticate"] == 'Basic realm="Restricted"'
    await app.accounts.tokens.revoke(
        (await app.accounts.devices.sign_in(ann.request, ann.user.username, ann.key)).caller, ann.issued.token.public_id
    )
    assert (await ann.call("GET", "/me")).status == 401


async def test_a_page_of_an_allowed_site_may_ask(app, ann):
    asked = {
        "origin": "https://reader.example",
        "access-control-request-method": "PUT",
        "access-control-request-headers": "x-auth-token, content-type",
    }
    answer = await app.client.ask("OPTIONS", f"{BASE}/v1/entries", headers=asked)
    assert answer.status == 204
    assert answer.headers["access-control-allow-origin"] == "https://reader.example"
    assert "x-auth-token" in answer.headers["access-control-allow-headers"].lower()
    other = await app.client.ask("OPTIONS", f"{BASE}/v1/entries", headers=asked | {"origin": "https://evil.example"})
    assert "access-control-allow-origin" not in other.headers
    shown = await ann.call("GET", "/me", headers={"origin": "https://reader.example"})
    assert shown.headers["access-control-allow-origin"] == "https://reader.example"


@pytest.mark.parametrize("base", [f"{BASE}//v1", f"/{BASE}/v1", f"/{BASE}//v1"])
async def test_an_address_typed_with_a_slash_at_its_end_works(app, ann, base):
    headers = {"x-auth-token": ann.key}
    answer = await app.client.ask("GET", f"{base}/me", headers=headers)
    assert answer.json()["username"] == ann.user.username
    assert (await app.client.ask("GET", f"{base}/me")).status == 401
    assert (await app.client.ask("GET", "//inbox", headers=headers)).status == 404


async def test_anybody_sees_that_the_server_runs(app):
    paths = ("healthcheck", "readiness", "version")
    healthy, ready, version = [await app.client.get(f"{BASE}/{path}") for path in paths]
    assert (healthy.status, healthy.text) == (ready.status, ready.text) == (200, "OK")
    assert version.text == "2.2.8"


# -- what is shown


@pytest.mark.both_engines
async def test_the_exchange_that_its_libraries_read(ann):
    feed = await ann.add_feed("The Gull Letters", group="Comics")
    await ann.release(feed, 1, title="A letter from the pier", author="Mara Quill", categories=("Sea", "Wind"))
    found = await ann.get("/entries?status=unread&limit=10")
    [entry] = found["entries"]
    assert found["total"] == 1
    for name in ("title", "url", "hash", "content", "published_at", "created_at", "changed_at"):
        assert entry[name], name
    assert (entry["author"], entry["tags"], entry["enclosures"]) == ("Mara Quill", ["Sea", "Wind"], None)
    assert (entry["status"], entry["starred"], entry["share_code"]) == ("unread", False, "")
    assert entry["reading_time"] == 1
    [shown] = await ann.get("/feeds")
    assert entry["feed"] == shown
    assert entry["feed_id"] == shown["id"]
    assert (shown["title"], shown["category"]["title"]) == ("The Gull Letters", "Comics")
    assert all(shown[name] is not None for name in shown if name != "icon")
    user = await ann.get("/me")
    assert user["id"] == entry["user_id"] == shown["user_id"] == shown["category"]["user_id"]
    await ann.done("PUT", "/entries", {"entry_ids": [entry["id"]], "status": "read"})
    assert await ann.get("/feeds/counters") == {"reads": {str(shown["id"]): 1}, "unreads": {}}
    for path in (f"/entries/{entry['id']}", f"/feeds/{shown['id']}/entries/{entry['id']}"):
        assert (await ann.get(path))["status"] == "read"
    assert await ann.refused(404, "GET", "/nope") == "resource not found"


async def test_a_series_is_a_feed_and_a_chapter_an_entry(ann):
    await ann.add_series("The Lighthouse Cat", group="Comics")
    [feed] = await ann.get("/feeds")
    entries = (await ann.get(f"/feeds/{feed['id']}/entries"))["entries"]
    assert feed["title"] == "The Lighthouse Cat"
    assert all("Chapter 4" in entry["title"] and entry["content"] for entry in entries)
    assert len(entries) == 3


@pytest.mark.parametrize(("kinds", "title"), [("item", "The Gull Letters"), ("chapter", "The Lighthouse Cat")])
async def test_a_device_password_shows_its_kind_alone(app, kinds, title):
    ann = await a_miniflux_reader(app, kinds=kinds)
    await ann.add_feed("The Gull Letters", items=2)
    await ann.add_series("The Lighthouse Cat")
    assert [feed["title"] for feed in await ann.get("/feeds")] == [title]
    assert {entry["feed"]["title"] for entry in (await ann.get("/entries"))["entries"]} == {title}
    assert sum(category["feed_count"] for category in await ann.get("/categories?counts=true")) == 1
    await ann.done("PUT", f"/users/{(await ann.get('/me'))['id']}/mark-all-as-read")
    assert await ann.ids("status=unread") == []
    counts = await app.inbox.count(ann.shelf)
    assert (counts.items, counts.chapters) == ((0, 3) if kinds == "item" else (2, 0))


async def test_a_password_for_series_adds_no_feeds(app):
    ann = await a_miniflux_reader(app, kinds="chapter")
    for method, path in (("POST", "/feeds"), ("POST", "/discover"), ("GET", "/export"), ("POST", "/import")):
        assert "series" in await ann.refused(403, method, path)


async def test_a_failing_feed_has_its_error_and_suspended_is_disabled(app, ann):
    feed = await ann.add_feed("The Gull Letters")
    await app.db.with_tx(lambda tx: tx.run(sample_queries.break_watch, id=feed, error="It is gone.", now=app.time()))
    [shown] = await ann.get("/feeds")
    assert (shown["parsing_error_message"], shown["parsing_error_count"]) == ("It is gone.", 3)
    assert shown["disabled"] is False
    changed = await ann.call("PUT", f"/feeds/{shown['id']}", {"disabled": True})
    assert (changed.status, changed.json()["disabled"]) == (201, True)


async def test_files_of_an_entry_have_numbers_that_stay(ann):
    feed = await ann.add_feed("The Gull Letters")
    files = (Enclosure("https://gull.example/a.mp3", "audio/mpeg", 5), Enclosure("https://gull.example/b"))
    await ann.release(feed, 1, enclosures=files)
    [entry] = (await ann.get("/entries"))["entries"]
    first, second = entry["enclosures"]
    assert (first["mime_type"], first["size"], first["entry_id"]) == ("audio/mpeg", 5, entry["id"])
    assert await ann.get(f"/enclosures/{first['id']}") == first
    assert await ann.get(f"/enclosures/{second['id']}") == second
    await ann.refused(404, "GET", f"/enclosures/{second['id'] + 1}")
    await ann.done("PUT", f"/enclosures/{second['id']}", {"media_progression": 61})
    await ann.done("PUT", f"/enclosures/{second['id']}", {"media_progression": 62})
    [entry] = (await ann.get("/entries"))["entries"]
    assert entry["enclosures"] == [first, second | {"media_progression": 62}]
    assert await ann.get(f"/enclosures/{second['id']}") == second | {"media_progression": 62}
    for wrong in (-1, 10**9, "1", None):
        await ann.refused(400, "PUT", f"/enclosures/{first['id']}", {"media_progression": wrong})
    await ann.refused(404, "PUT", f"/enclosures/{second['id'] + 1}", {"media_progression": 1})


# -- marks


async def test_what_was_starred_a_second_ago_has_changed(app, ann):
    await ann.add_feed("The Gull Letters", items=3)
    await app.db.with_tx(lambda tx: tx.run(q.age, shelf_id=ann.shelf, age=HOUR))
    since = app.time() // SECOND - 60
    assert await ann.ids(f"changed_after={since}") == []
    first, second, _ = await ann.ids("order=id")
    await ann.done("PUT", f"/entries/{first}/bookmark")
    assert await ann.ids(f"changed_after={since}") == [first]
    await ann.done("PUT", "/entries", {"entry_ids": [second], "status": "read"})
    assert await ann.ids(f"changed_after={since}&order=changed_at") == [first, second]
    assert await ann.ids(f"changed_before={since}&starred=true") == []


async def test_a_bookmark_is_turned_over_and_entries_are_set(app, ann):
    bob = await a_miniflux_reader(app)
    await ann.add_feed("The Gull Letters", items=1_000)
    await ann.add_series("The Lighthouse Cat")
    await bob.add_feed("The Gull Letters", items=1)
    ids, theirs = (await ann.get("/entries/ids"))["entry_ids"], await bob.ids()
    assert len(ids) == 1_003
    for path, starred in (("bookmark", True), ("star", False), ("bookmark", True)):
        await ann.done("PUT", f"/entries/{ids[0]}/{path}")
        assert (await ann.get(f"/entries/{ids[0]}"))["starred"] is starred
    for _ in range(2):
        await ann.done("PUT", "/entries", {"entry_ids": [*ids, *theirs, 10**15], "status": "read"})
        await ann.done("PUT", "/entries", {"entry_ids": [*ids[:20], *theirs], "starred": True})
    assert sorted(await ann.ids("starred=1")) == sorted(ids[:20])
    assert (await ann.get("/entries/ids?status=unread"))["total"] == 0
    assert await bob.ids("status=unread&starred=false") == theirs
    await ann.done("PUT", "/entries", {"entry_ids": ids[:2], "status": "unread", "starred": False})
    assert sorted(await ann.ids("status=unread")) == sorted(ids[:2])


async def test_a_feed_or_category_or_all_is_marked_read(ann):
    for title, group in (("One", None), ("Two", "Comics"), ("Three", "Comics"), ("Four", None)):
        await ann.add_feed(title, items=2, group=group)
    await ann.add_series("The Lighthouse Cat", group="Comics")
    feeds = {feed["title"]: feed for feed in await ann.get("/feeds")}
    await ann.done("PUT", f"/feeds/{feeds['One']['id']}/mark-all-as-read")
    await ann.done("PUT", f"/categories/{feeds['Two']['category']['id']}/mark-all-as-read")
    assert (await ann.get("/feeds/counters"))["unreads"] == {str(feeds["Four"]["id"]): 2}
    me = (await ann.get("/me"))["id"]
    await ann.refused(404, "PUT", f"/users/{me + 1}/mark-all-as-read")
    await ann.done("PUT", f"/users/{me}/mark-all-as-read")
    assert await ann.ids("status=unread") == []


# -- feeds and categories


async def test_categories_are_groups(ann):
    [default] = await ann.get("/categories")
    made = await ann.call("POST", "/categories", {"title": "Comics"})
    comics = made.json()
    assert (made.status, comics["title"]) == (201, "Comics")
    assert "exists" in await ann.refused(400, "POST", "/categories", {"title": "Comics"})
    assert "name" in await ann.refused(400, "POST", "/categories", {"title": " "})
    await ann.add_feed("The Gull Letters", items=2, group="Comics")
    counts = {each["id"]: each for each in await ann.get("/categories?counts=true")}
    assert (counts[comics["id"]]["feed_count"], counts[comics["id"]]["total_unread"]) == (1, 2)
    assert (counts[default["id"]]["feed_count"], counts[default["id"]]["total_unread"]) == (0, 0)
    assert [feed["title"] for feed in await ann.get(f"/categories/{comics['id']}/feeds")] == ["The Gull Letters"]
    renamed = await ann.call("PUT", f"/categories/{comics['id']}", {"title": "Strips"})
    assert (renamed.status, renamed.json()) == (201, comics | {"title": "Strips"})
    [entry, _] = (await ann.get(f"/categories/{comics['id']}/entries"))["entries"]
    assert (await ann.get(f"/categories/{comics['id']}/entries/{entry['id']}"))["id"] == entry["id"]
    await ann.refused(404, "GET", f"/categories/{default['id']}/entries/{entry['id']}")
    assert "default" in await ann.refused(400, "DELETE", f"/categories/{default['id']}")
    await ann.done("DELETE", f"/categories/{comics['id']}")
    assert [feed["category"]["id"] for feed in await ann.get("/feeds")] == [default["id"]]


async def test_a_feed_is_found_followed_changed_and_left(app, ann):
    async with a_server(always(answer(200, FEED, content_type="application/rss+xml"))) as site:
        url = f"http://127.0.0.1:{site.port}/feed.xml"
        comics = (await ann.call("POST", "/categories", {"title": "Comics"})).json()
        found = await ann.call("POST", "/discover", {"url": url})
        assert found.json() == [{"url": url, "title": "New here", "type": "rss"}]
        refused = {"feed_url": url, "username": "ann", "password": "secret"}
        assert "password" in await ann.refused(400, "POST", "/feeds", refused)
        made = await ann.call("POST", "/feeds", {"feed_url": url, "category_id": comics["id"], "crawler": True})
        number = made.json()["feed_id"]
        assert made.status == 201
        assert "exists" in await ann.refused(400, "POST", "/feeds", {"feed_url": url})
        resting = await ann.call("POST", "/feeds", {"feed_url": f"{url}?2", "disabled": True, "crawler": False})
        assert (await ann.get(f"/feeds/{resting.json()['feed_id']}"))["disabled"] is True
        await ann.done("DELETE", f"/feeds/{resting.json()['feed_id']}")
        feed = await ann.get(f"/feeds/{number}")
        assert (feed["feed_url"], feed["category"], feed["crawler"]) == (url, comics, True)
        events = await app.db.read(lambda tx: tx.one(int, q.events, shelf_id=ann.shelf))
        same = await ann.call("PUT", f"/feeds/{number}", feed)
        assert (same.status, same.json()) == (201, feed)
        assert await app.db.read(lambda tx: tx.one(int, q.events, shelf_id=ann.shelf)) == events
        default = next(each["id"] for each in await ann.get("/categories") if each != comics)
        changed = await ann.call("PUT", f"/feeds/{number}", {"title": "Gulls", "category_id": default})
        assert (changed.json()["title"], changed.json()["category"]["id"]) == ("Gulls", default)
        assert "category" in await ann.refused(400, "PUT", f"/feeds/{number}", {"category_id": 10**9})
        assert "user_agent" in await ann.refused(400, "PUT", f"/feeds/{number}", {"user_agent": "x"})
        await ann.refused(400, "PUT", f"/feeds/{number}", {"title": 5})
        await ann.done("DELETE", f"/feeds/{number}")
        await ann.refused(404, "GET", f"/feeds/{number}")
    assert (await ann.call("POST", "/discover", {"url": url})).status == 400


async def test_what_the_library_for_go_leaves_empty_is_not_said(ann):
    """It writes every field: no category is 0, no status is empty, and what is not to change is null."""
    unset = {"user_agent": "", "cookie": "", "username": "", "password": "", "crawler": False, "hide_globally": False}
    async with a_server(always(answer(200, FEED, content_type="application/rss+xml"))) as site:
        sent = {"feed_url": f"http://127.0.0.1:{site.port}/feed.xml", "category_id": 0} | unset
        made = await ann.call("POST", "/feeds", sent)
    [default] = await ann.get("/categories")
    feed = await ann.get(f"/feeds/{made.json()['feed_id']}")
    assert (made.status, feed["category"]) == (201, default)
    kept = await ann.call("PUT", f"/categories/{default['id']}", {"title": None, "hide_globally": False})
    assert (kept.status, kept.json()) == (201, default)
    await ann.add_feed("The Gull Letters", items=1)
    [entry] = await ann.ids()
    await ann.done("PUT", "/entries", {"entry_ids": [entry], "status": "", "starred": True})
    found = await ann.get(f"/entries/{entry}")
    assert (found["status"], found["starred"]) == ("unread", True)
    await ann.refused(400, "PUT", "/entries", {"entry_ids": [entry], "status": ""})


async def test_a_feeds_icon_is_shown_to_its_followers(app, ann):
    site = IconSite()
    async with a_server(site.handle) as site.server:
        site.put("/red.png", a_picture("PNG", (40, 40), color="red"))
        feed = await ann.add_feed("The Gull Letters")
        await ann.add_feed("Another")
        await ann.add_series("The Lighthouse Cat")
        await app.db.with_tx(lambda tx: tx.run(q.set_icon, id=feed, icon_url=f"{site.url}/red.png"))
        await app.pictures.icons.work()
    with_icon, *without = await ann.get("/feeds")
    assert [each["icon"] for each in without] == [None, None]
    shown = await ann.get(f"/feeds/{with_icon['id']}/icon")
    number = with_icon["icon"]["icon_id"]
    assert (shown["id"], shown["mime_type"], with_icon["icon"]["feed_id"]) == (number, "image/png", with_icon["id"])
    kind, _, data = shown["data"].partition(",")
    assert (kind, base64.b64decode(data)[:4]) == ("image/png;base64", b"\x89PNG")
    assert await ann.get(f"/icons/{number}") == shown
    for each in without:
        await ann.refused(404, "GET", f"/feeds/{each['id']}/icon")
    bob = await a_miniflux_reader(app)
    for path in (f"/icons/{number}", f"/feeds/{with_icon['id']}/icon", f"/icons/{number + 1}"):
        await bob.refused(404, "GET", path)


async def test_a_page_without_feeds_is_told_apart(ann):
    async with a_server(always(answer(200, b"<html><p>Nothing</p>", content_type="text/html"))) as site:
        url = f"http://127.0.0.1:{site.port}/"
        await ann.refused(404, "POST", "/discover", {"url": url})
        await ann.refused(400, "POST", "/feeds", {"feed_url": url})


async def test_a_series_moves_and_keeps_its_name(ann):
    await ann.add_series("The Lighthouse Cat")
    [feed] = await ann.get("/feeds")
    comics = (await ann.call("POST", "/categories", {"title": "Comics"})).json()
    assert (await ann.call("PUT", f"/feeds/{feed['id']}", {"category_id": comics["id"]})).json()["category"] == comics
    assert "category" in await ann.refused(400, "PUT", f"/feeds/{feed['id']}", {"title": "Cat"})
    await ann.done("PUT", f"/feeds/{feed['id']}/refresh")
    await ann.done("DELETE", f"/feeds/{feed['id']}")
    assert await ann.get("/feeds") == []


async def test_r96_a_refresh_is_asked_for_or_put_off(app, ann):
    kept, held = await ann.add_feed("One"), await ann.add_feed("Two", group="Comics")
    feeds = {feed["title"]: feed for feed in await ann.get("/feeds")}
    until = app.time() + HOUR
    await app.db.with_tx(lambda tx: tx.run(q.hold_back, feed_id=held, until=until))
    put_off = await ann.call("PUT", f"/feeds/{feeds['Two']['id']}/refresh")
    assert put_off.status == 429
    assert put_off.json()["error_message"]
    assert 3_500 < int(put_off.headers["retry-after"]) <= 3_600
    for path in ("/feeds/refresh", f"/feeds/{feeds['One']['id']}/refresh"):
        await ann.done("PUT", path)
    await ann.done("PUT", f"/categories/{feeds['Two']['category']['id']}/refresh")
    await app.db.with_tx(lambda tx: tx.run(q.hold_back, feed_id=kept, until=until))
    everything = await ann.call("PUT", "/feeds/refresh")
    assert everything.status == 204


async def test_lists_of_feeds_go_out_and_come_in(app, ann):
    await ann.add_feed("The Gull Letters", group="Comics")
    exported = await ann.call("GET", "/export")
    assert exported.headers["content-type"] == "text/xml; charset=utf-8"
    bob = await a_miniflux_reader(app)
    opml = b'<opml><body><outline text="Sea"><outline xmlUrl="http://127.0.0.1/a"/></outline></body></opml>'
    answered = await bob.call("POST", "/import", data=opml)
    assert (answered.status, list(answered.json())) == (201, ["message"])
    assert [feed["category"]["title"] for feed in await bob.get("/feeds")] == ["Sea"]
    assert (await bob.call("POST", "/import", data=opml)).status == 201
    await bob.refused(400, "POST", "/import", data=b"<html")
    await bob.refused(400, "POST", "/import", data=b"")


async def test_the_whole_text_comes_from_the_articles_page(ann):
    page = b"<html><body><article>" + b"<p>Wind from the west, and more of it than yesterday.</p>" * 20 + b"</article>"
    async with a_server(always(answer(200, page, content_type="text/html"))) as site:
        feed = await ann.add_feed("The Gull Letters")
        await ann.release(feed, 1, link=f"http://127.0.0.1:{site.port}/1", content="<p>Short</p>")
        await ann.add_series("The Lighthouse Cat")
        chapter, *_, article = await ann.ids("order=id&direction=desc")
        whole = await ann.get(f"/entries/{article}/fetch-content?update_content=true")
        assert "more of it than yesterday" in whole["content"]
        assert whole["reading_time"] == 1
        sent = {"content": whole["content"]}  # Miniflutt sends it back, and shows an error if that is refused
        edited = await ann.call("PUT", f"/entries/{article}", sent)
        assert (edited.status, edited.json()["content"]) == (201, whole["content"])
        await ann.refused(400, "PUT", f"/entries/{article}", {"content": whole["content"] + "<p>Mine</p>"})
        assert "Read " in (await ann.get(f"/entries/{chapter}/fetch-content"))["content"]
        await ann.release(feed, 1, prefix="gone", link="http://10.0.0.1/")
        await ann.refused(400, "GET", f"/entries/{max(await ann.ids())}/fetch-content")


# -- what is refused


async def test_a_shelf_that_is_only_read_is_not_changed(app, ann):
    feed = await ann.add_feed("The Gull Letters", items=1)
    bob = await app.add()
    shelf = await app.accounts.current_user.shelf_of(ann.user)
    await app.accounts.sharing.share(shelf_user(ann.user), shelf.public_id, bob.username, "reader")
    request = TokenRequest(name="App", protocols=("miniflux",), shelf=shelf.public_id)
    reader = MinifluxReader(app, bob, shelf.id, await app.accounts.tokens.make_for(SYSTEM, bob, request))
    [entry] = (await reader.get("/entries"))["entries"]
    me, feed = (await reader.get("/me"))["id"], entry["feed_id"]
    category = entry["feed"]["category"]["id"]
    for method, path, body in (
        ("PUT", "/entries", {"entry_ids": [entry["id"]], "status": "read"}),
        ("PUT", f"/entries/{entry['id']}", {"title": "x"}),
        ("PUT", f"/entries/{entry['id']}/bookmark", None),
        ("POST", f"/entries/{entry['id']}/save", None),
        ("PUT", f"/feeds/{feed}/mark-all-as-read", None),
        ("PUT", f"/categories/{category}/mark-all-as-read", None),
        ("PUT", f"/users/{me}/mark-all-as-read", None),
        ("POST", "/categories", {"title": "x"}),
        ("PUT", f"/categories/{category}", {"title": "x"}),
        ("DELETE", f"/categories/{category}", None),
        ("PUT", f"/categories/{category}/refresh", None),
        ("POST", "/feeds", {"feed_url": "https://example.org/"}),
        ("PUT", f"/feeds/{feed}", {"title": "x"}),
        ("DELETE", f"/feeds/{feed}", None),
        ("PUT", f"/feeds/{feed}/refresh", None),
        ("PUT", "/feeds/refresh", None),
        ("POST", "/discover", {"url": "https://example.org/"}),
        ("POST", "/import", None),
        ("PUT", "/flush-history", None),
        ("PUT", "/enclosures/100", {"media_progression": 1}),
    ):
        assert await reader.refused(403, method, path, body) == "You can only read this shelf."
    assert (await ann.get(f"/entries/{entry['id']}")) == entry | {
        "user_id": ann.user.id,
        "feed": await ann.get(f"/feeds/{feed}"),
    }


async def test_what_is_another_persons_is_not_there(app, ann):
    bob = await a_miniflux_reader(app)
    await ann.add_feed("The Gull Letters", group="Comics", items=1)
    [entry] = (await ann.get("/entries"))["entries"]
    number, feed, category = entry["id"], entry["feed_id"], entry["feed"]["category"]["id"]
    for method, path, body in (
        ("GET", f"/entries/{number}", None),
        ("PUT", f"/entries/{number}/bookmark", None),
        ("POST", f"/entries/{number}/save", None),
        ("GET", f"/entries/{number}/fetch-content", None),
        ("GET", f"/enclosures/{number}00", None),
        ("GET", f"/feeds/{feed}", None),
        ("GET", f"/feeds/{feed}/entries", None),
        ("GET", f"/entries?feed_id={feed}", None),
        ("GET", f"/entries?category_id={category}", None),
        ("GET", f"/categories/{category}/feeds", None),
        ("PUT", f"/feeds/{feed}", {"title": "x"}),
        ("DELETE", f"/feeds/{feed}", None),
        ("PUT", f"/feeds/{feed}/refresh", None),
        ("PUT", f"/feeds/{feed}/mark-all-as-read", None),
        ("PUT", f"/categories/{category}", {"title": "x"}),
        ("DELETE", f"/categories/{category}", None),
        ("PUT", f"/categories/{category}/mark-all-as-read", None),
    ):
        await bob.refused(404, method, path, body)
    assert await ann.get(f"/entries/{number}") == entry


async def test_numbers_that_are_none_are_not_there(ann):
    await ann.add_feed("The Gull Letters", items=1)
    before = await ann.get("/entries")
    for number in HUGE:
        for path in ("/entries/{}", "/feeds/{}", "/feeds/{}/entries", "/categories/{}/feeds", "/enclosures/{}"):
            await ann.refused(404, "GET", path.format(number))
        for path in ("/entries/{}/bookmark", "/feeds/{}/refresh", "/users/{}/mark-all-as-read"):
            await ann.refused(404, "PUT", path.format(number))
    await ann.done("PUT", "/entries", {"entry_ids": [0, -1, 10**18, LARGEST, LARGEST + 1, 10**30], "status": "read"})
    assert await ann.get("/entries") == before


async def test_a_list_that_cannot_be_is_refused(ann):
    for query in (
        *("order=nope", "direction=up", "status=removed", "status=read&status=nope", "starred=maybe"),
        *("limit=1001", "limit=-1", "limit=x", "limit=1e3", "offset=-1", "offset=9223372036854775808", "offset=x"),
        *("after=x", "before_entry_id=1.5", "feed_id=x", "category_id=x", "changed_after=%F0%9F%98%80"),
    ):
        await ann.refused(400, "GET", f"/entries?{query}")


async def test_numbers_beyond_all_calendars_are_taken(ann):
    await ann.add_feed("The Gull Letters", items=1)
    [number] = await ann.ids()
    huge = "99999999999999999999"
    for name in ("before", "published_before", "changed_before", "before_entry_id"):
        assert await ann.ids(f"{name}={huge}") == [number]
        assert await ann.ids(f"{name}=-{huge[1:]}") == [number]
    for name in ("after", "published_after", "changed_after", "after_entry_id"):
        assert await ann.ids(f"{name}={huge}") == []
    assert (await ann.get(f"/entries?offset={LARGEST}"))["total"] == 1


async def test_bodies_that_cannot_be_read_are_refused(ann):
    for data in (
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"entry_ids": "1", "status": "read"}',
        b"[" * 100_000,
        b'{"entry_ids": []}',
    ):
        await ann.refused(400, "PUT", "/entries", data=data)
    for said in ({"entry_ids": [1]}, {"entry_ids": [1], "status": "removed"}, {"entry_ids": [1.5], "status": "read"}):
        await ann.refused(400, "PUT", "/entries", said)
    await ann.refused(400, "PUT", "/entries", {"entry_ids": list(range(10_001)), "status": "read"})
    await ann.refused(413, "PUT", "/entries", data=BytesIO(b" " * (1024 * 1024 + 1)))
    for body in ({}, {"feed_url": ""}, {"feed_url": 5}, {"feed_url": "x" * 10_000}, {"feed_url": "ftp://x"}):
        await ann.refused(400, "POST", "/feeds", body)


async def test_what_is_not_there_is_said_in_the_same_shape(ann):
    await ann.add_feed("The Gull Letters", items=1)
    [number] = await ann.ids()
    await ann.refused(405, "DELETE", "/entries")
    for method in ("GET", "POST", "PUT", "DELETE"):
        await ann.refused(404, method, "/users", headers={"accept": "text/html"})
    await ann.refused(404, "GET", "/api-keys")
    assert await ann.get("/integrations/status") == {"has_integrations": False}
    await ann.refused(400, "POST", f"/entries/{number}/save")
    for method in ("PUT", "DELETE"):
        flushed = await ann.call(method, "/flush-history")
        assert (flushed.status, flushed.body) == (202, b"")
    assert (await ann.ids()) == [number]
    entry = await ann.get(f"/entries/{number}")
    for body in ({}, {"title": entry["title"]}, {"title": None, "content": entry["content"]}):
        same = await ann.call("PUT", f"/entries/{number}", body)
        assert (same.status, same.json()) == (201, entry)
    for body in ({"title": "x"}, {"content": "x"}, {"title": entry["title"], "content": ""}):
        await ann.refused(400, "PUT", f"/entries/{number}", body)
    assert (await ann.get("/version"))["version"] == "2.2.8"


async def test_odd_texts_are_refused_or_kept_but_never_a_failure(ann):
    await ann.add_feed("The Gull Letters", items=1)
    [shown] = await ann.get("/feeds")
    for text in (
        "\x00",
        "a\x00b",
        "\\\x00",
        "\\u0000",
        "\u202egull",
        "<script>",
        "続き" * 300,
        "\ud800",
        "' or 1=1 --",
        "\\",
    ):
        raw = b'{"title": %s}' % json.dumps(text).encode()
        for method, path in (("POST", "/categories"), ("PUT", f"/feeds/{shown['id']}")):
            assert (await ann.call(method, path, data=raw)).status in {201, 400}, (path, text)
        for name in ("search", "tags", "status", "order"):
            query = urlencode({name: text.encode("utf-8", "replace")})
            assert (await ann.call("GET", f"/entries?{query}")).status in {200, 400}, (name, text)
    assert len(await ann.ids()) == 1
    await ann.refused(400, "GET", "/entries?" + "&".join(f"tags={n}" for n in range(21)))
    await ann.refused(400, "PUT", f"/feeds/{shown['id']}", {"category_id": True})
    same = await ann.call("PUT", f"/feeds/{shown['id']}", {"feed_url": "", "site_url": "", "title": ""})
    assert same.json() == shown
