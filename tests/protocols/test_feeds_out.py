"""Feeds out, as feed readers fetch them."""

from typing import Any

import feedparser  # type: ignore[import-untyped]  # it ships no types
import pytest
from lxml import etree
from structlog.testing import capture_logs

from tests.api.people import RunningApp, a_running_app
from tests.app import Answer, in_settings
from tests.builders import NOON
from tests.protocols.people import AppReader, an_app_reader
from tests.web.sample_shelf import an_item, release_items
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.connectors.feed.parser import parse_fast
from tsuzuki.inbox.entries import EntryFilter
from tsuzuki.inbox.feeds_out.policy import answerable
from tsuzuki.inbox.feeds_out.service import FeedsOut
from tsuzuki.inbox.feeds_out.types import CONTENT_TYPES, FORMATS, FeedOut, NewFeedOut
from tsuzuki.inbox.sync import SyncFilter
from tsuzuki.model.errors import Invalid, LimitExceeded, NotFound
from tsuzuki.model.harvest import Enclosure, FeedHarvest
from tsuzuki.model.ids import PublicId, show_id
from tsuzuki.model.pages import FROM_THE_TOP
from tsuzuki.model.times import HOUR, MINUTE, SECOND, Millis

HOSTILE = "]]></title><script>alert(1)</script> & \x00\x0b\ufffe\ud800 \U0001f600 &amp; \"quoted' <b>"


async def published(app: RunningApp, ann: AppReader, **over: Any) -> FeedOut:
    """A feed of Ann's."""
    return await app.feeds_out.add(ann.shelf, ann.user.id, NewFeedOut(**{"name": "Out"} | over))


async def fetch(app: RunningApp, feed: FeedOut, form: Any = "rss", query: str = "", **headers: Any) -> Answer:
    said = {name.replace("_", "-"): value for name, value in headers.items()}
    return await app.client.ask("GET", f"{feed.path(form)}{query}", headers=said)


async def series_of(app: RunningApp, ann: AppReader) -> PublicId:
    """The only series of the shelf."""
    page = await app.inbox.page(ann.shelf, EntryFilter(kind="chapter"), after=FROM_THE_TOP, most=1)
    found = page.rows[0].series_public_id
    assert found is not None
    return found


def read_back(answer: Answer) -> FeedHarvest:
    """By our own reader of feeds."""
    harvest = parse_fast(answer.body, "https://tsuzuki.example/feed")
    assert harvest is not None, answer.text
    return harvest


async def titles(app: RunningApp, feed: FeedOut, query: str = "") -> list[str]:
    return [item.title for item in read_back(await fetch(app, feed, query=query)).items]


@pytest.fixture
async def app(tmp_path, empty_database_url):
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as running:
        yield running


async def test_every_format_says_the_same(app):
    ann = await an_app_reader(app)
    await ann.add_feed("The Gull Letters", items=2)
    await ann.add_series("The Lighthouse Cat")
    feed, seen = await published(app, ann, name="All & more"), set()
    for form in FORMATS:
        answer = await fetch(app, feed, form)
        assert (answer.status, answer.headers["content-type"]) == (200, CONTENT_TYPES[form])
        assert answer.headers["cache-control"] == "private, max-age=60"
        address = f"{app.client.base}{feed.path(form)}"
        assert answer.headers["link"] == f'<{app.client.base}/websub>; rel="hub", <{address}>; rel="self"'
        harvest = read_back(answer)
        assert harvest.title == "All & more"
        seen.add(tuple((item.key, item.title, item.link, item.content) for item in harvest.items))
    [items] = seen
    chapters = [item for item in items if "Lighthouse" in item[1]]
    assert chapters[0][1] == "The Lighthouse Cat: Chapter 42"
    assert f"{app.client.base}/series/" in str(chapters[0][2])


async def test_other_readers_take_it_too(app):
    ann = await an_app_reader(app)
    await ann.add_feed("The Gull Letters", items=3)
    feed = await published(app, ann)
    for form in ("rss", "atom"):
        body = (await fetch(app, feed, form)).body
        etree.fromstring(body)
        found = feedparser.parse(body)
        assert (found.bozo, found.version) == (False, {"rss": "rss20", "atom": "atom10"}[form])
        assert [link.href for link in found.feed.links if link.rel == "hub"] == [f"{app.client.base}/websub"]
        assert [link.href for link in found.feed.links if link.rel == "self"] == [f"{app.client.base}{feed.path(form)}"]
        assert len({entry.id for entry in found.entries}) == 3
        assert found.entries[0].content[0].value.startswith("<p>The ink was still wet")


async def test_hostile_titles_and_files_stay_what_they_are(app):
    ann = await an_app_reader(app)
    feed_id = await ann.add_feed("Gulls & <Cats>")
    file = Enclosure("https://example.org/a.mp3?x=1&y=%3C2%3E", 'audio/mpeg" x="', 12, "A & B", 60)
    title = HOSTILE.replace("\0", "").replace("\ud800", "")  # neither engine stores them
    odd = an_item("odd", at=app.time(), title=title, enclosures=(file,), categories=("a<b", "c&d"), author="<Ann>")
    await release_items(app, feed_id, [odd])
    feed = await published(app, ann, name=f"Out {title}")
    for form in FORMATS:
        answer = await fetch(app, feed, form)
        if form != "json":
            etree.fromstring(answer.body)
        [item] = read_back(answer).items
        assert "<script>alert(1)</script>" in item.title, form
        assert [(one.url, one.media_type) for one in item.enclosures] == [(file.url, file.media_type)], form
        assert (item.author, set(item.categories)) == ("<Ann>", {"a<b", "c&d"}), form


async def test_what_a_reader_has_is_not_sent_again(app):
    ann = await an_app_reader(app)
    feed_id = await ann.add_feed("The Gull Letters", items=2)
    feed = await published(app, ann)
    app.time.pass_(3 * SECOND)
    first = await fetch(app, feed)
    etag, modified = first.headers["etag"], first.headers["last-modified"]
    await app.sync.mark_read(ann.shelf, SyncFilter())
    for headers in ({"if_none_match": f'"other", W/{etag}'}, {"if_modified_since": modified}, {"if_none_match": "*"}):
        again = await fetch(app, feed, **headers)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", etag), headers
    assert (await fetch(app, feed, if_none_match='"x"', if_modified_since=modified)).status == 200
    assert (await fetch(app, feed, if_modified_since="yesterday")).status == 200
    app.time.pass_(MINUTE)
    await ann.release(feed_id, 1, prefix="new")
    app.time.pass_(3 * SECOND)
    dated, newer = await fetch(app, feed, if_modified_since=modified), await fetch(app, feed, if_none_match=etag)
    assert [len(read_back(one).items) for one in (dated, newer)] == [3, 3]
    changed = an_item("new0", at=app.time(), content="<p>Corrected.</p>")
    await release_items(app, feed_id, [changed])
    latest = await fetch(app, feed, if_none_match=newer.headers["etag"])
    assert "Corrected." in latest.text
    head = await app.client.ask("HEAD", feed.path("rss"))
    assert (head.status, head.body, head.headers["etag"]) == (200, b"", latest.headers["etag"])


def test_within_a_running_second_there_is_no_last_modified():
    """Something more may come in it; nor where marks decide what is listed."""
    told = [
        answerable([], "x", since=NOON, by_marks=by_marks, now=Millis(NOON + later)).modified
        for by_marks, later in ((False, 999), (False, 1000), (True, 5000))
    ]
    assert told == [None, NOON, None]


async def test_each_view_has_its_own_entries(app):
    ann = await an_app_reader(app)
    gulls = await ann.add_feed("Gulls")
    await release_items(app, gulls, [an_item("a", at=app.time(), title="A rare heron")])
    cats = await ann.add_feed("Cats", group="Animals")
    await release_items(app, cats, [an_item("b", at=app.time(), title="A common cat")])
    await ann.add_series("The Lighthouse Cat", group="Comics")
    group = next(one for one in await app.reading.groups.list(ann.shelf) if one.name == "Animals")
    own = {one.shown_name: one for one in await app.reading.subscriptions.list(ann.shelf)}
    series = await series_of(app, ann)
    chapters = ["Chapter 42", "Chapter 41: The letter that was not sent", "Chapter 40"]
    assert await titles(app, await published(app, ann, kind="item")) == ["A common cat", "A rare heron"]
    assert await titles(app, await published(app, ann, of_group=group.public_id)) == ["A common cat"]
    assert await titles(app, await published(app, ann, of_feed=own["Gulls"].public_id)) == ["A rare heron"]
    assert await titles(app, await published(app, ann, of_series=series)) == chapters
    assert await titles(app, await published(app, ann, search="heron -cat")) == ["A rare heron"]
    saved, unread = await published(app, ann, state="saved"), await published(app, ann, state="unread", kind="item")
    assert await titles(app, saved) == []
    sync = app.sync
    [heron] = [ref.id for ref in await sync.refs(ann.shelf, SyncFilter(search="heron"), most=1)]
    await sync.mark(ann.shelf, [heron], None, saved=True)
    await sync.mark(ann.shelf, [heron], None, unread=False)
    assert (await titles(app, saved), await titles(app, unread)) == (["A rare heron"], ["A common cat"])
    assert "last-modified" not in (await fetch(app, saved)).headers  # a mark is no date


async def test_a_tags_feed_has_its_entries_old_and_new(app):
    ann, bob = await an_app_reader(app), await an_app_reader(app)
    gulls = await ann.add_feed("Gulls")
    await release_items(app, gulls, [an_item(name, at=app.time(), title=name) for name in ("A heron", "A tern")])
    refs = {
        title: (await app.sync.refs(ann.shelf, SyncFilter(search=title), most=1))[0].id for title in ("heron", "tern")
    }
    await app.reading.tags.tag_entries(ann.shelf, [refs["heron"]], add=["Rare"])
    [tag] = await app.reading.tags.list(ann.shelf)
    visitor = await app.signed_in(ann.user)
    made = (await visitor.post("/feeds-out", {"name": "Rare", "tag_id": show_id(tag.public_id)})).json()["data"]
    assert made["tag_id"] == show_id(tag.public_id)
    [feed] = await app.feeds_out.list(ann.shelf, ann.user.id)
    app.time.pass_(3 * SECOND)
    first = await fetch(app, feed)
    assert ([one.title for one in read_back(first).items], "last-modified" in first.headers) == (["A heron"], False)
    await app.reading.tags.tag_entries(ann.shelf, [refs["tern"]], add=["rare"])
    again = await fetch(app, feed, if_none_match=first.headers["etag"])
    assert sorted(one.title for one in read_back(again).items) == ["A heron", "A tern"]
    assert await titles(app, await published(app, ann, of_tag=tag.public_id, search="tern")) == ["A tern"]
    with pytest.raises(NotFound):
        await published(app, bob, of_tag=tag.public_id)
    with pytest.raises(Invalid):
        await published(app, ann, of_tag=tag.public_id, of_feed=tag.public_id)
    await app.reading.tags.delete(ann.shelf, tag.public_id)
    assert (await fetch(app, feed)).status == 404


async def test_a_feed_out_has_a_size_and_optional_summaries(app):
    ann = await an_app_reader(app)
    await ann.add_feed("The Gull Letters", items=60)
    feed = await published(app, ann, is_full=False)
    counts = {query: len(await titles(app, feed, query)) for query in ("", "?n=3", "?n=1000", "?n=0", "?n=x")}
    assert counts == {"": 50, "?n=3": 3, "?n=1000": 60, "?n=0": 1, "?n=x": 50}
    item = (await fetch(app, feed, "json", "?n=1")).json()["items"][0]
    assert ("content_html" in item, len(item["content_text"]) <= 500) == (False, True)
    assert "<content" not in (await fetch(app, feed, "atom", "?n=1")).text


async def test_an_address_ends_at_once(app):
    """I8: replaced, removed, its owner locked out or no longer on the shelf, its group deleted."""
    ann = await an_app_reader(app)
    await ann.add_feed("Gulls", group="Birds", items=1)
    feeds: FeedsOut = app.feeds_out
    old = await published(app, ann)
    new = await feeds.replace(ann.shelf, ann.user.id, old.public_id)
    assert [(await fetch(app, one)).status for one in (old, new)] == [404, 200]
    await feeds.remove(ann.shelf, ann.user.id, new.public_id)
    assert (await fetch(app, new)).status == 404
    group = next(one for one in await app.reading.groups.list(ann.shelf) if one.name == "Birds")
    of_group = await published(app, ann, of_group=group.public_id)
    assert (await fetch(app, of_group)).status == 200
    await app.reading.groups.delete(ann.shelf, group.public_id)
    assert (await fetch(app, of_group)).status == 404
    bob, everything = await app.add(), await published(app, ann)
    shelf = await app.accounts.current_user.shelf_of(ann.user)
    await app.accounts.sharing.share(shelf_user(ann.user), shelf.public_id, bob.username, "editor")
    bobs = await feeds.add(ann.shelf, bob.id, NewFeedOut(name="Bob's"))
    assert (await fetch(app, bobs)).status == 200
    await app.accounts.sharing.remove(shelf_user(ann.user), shelf.public_id, bob.username)
    assert (await fetch(app, bobs)).status == 404
    await app.accounts.users.disable(SYSTEM, ann.user.public_id)
    assert (await fetch(app, everything)).status == 404


async def test_nobody_publishes_or_sees_what_is_not_theirs(app):
    """I8: not on another's shelf, and on a shared one each has their own."""
    ann, bob = await an_app_reader(app), await an_app_reader(app)
    await ann.add_feed("Gulls", group="Birds")
    group = next(one for one in await app.reading.groups.list(ann.shelf) if one.name == "Birds")
    with pytest.raises(NotFound):
        await published(app, bob, of_group=group.public_id)
    with pytest.raises(NotFound):
        await app.feeds_out.add(ann.shelf, bob.user.id, NewFeedOut(name="Ann's"))
    feed = await published(app, ann)
    for act in (app.feeds_out.get, app.feeds_out.replace, app.feeds_out.remove):
        with pytest.raises(NotFound):
            await act(ann.shelf, bob.user.id, feed.public_id)
    assert await app.feeds_out.list(ann.shelf, bob.user.id) == []


async def test_what_is_no_feed_is_refused(app):
    ann = await an_app_reader(app)
    for over in ({"name": " "}, {"name": "x" * 201}, {"search": "-gull"}, {"search": "x" * 501}):
        with pytest.raises(Invalid):
            await published(app, ann, **over)
    for _ in range(50):
        await published(app, ann)
    with pytest.raises(LimitExceeded):
        await published(app, ann)
    for name in ("x", "x.rss", "x.html", "..rss", f"{'0' * 32}.rss", "%00.rss", "%C3%A9.rss"):
        assert (await app.client.ask("GET", f"/out/{name}")).status == 404, name


async def test_fetches_are_recorded_and_the_secret_is_not_logged(app):
    ann = await an_app_reader(app)
    feed = await published(app, ann)
    with capture_logs() as logs:
        assert (await fetch(app, feed)).status == 200
        await app.client.ask("GET", f"{feed.path('rss')}x")
    assert feed.secret not in str(logs)
    assert "/out/{secret}" in str(logs)
    [known] = await app.feeds_out.list(ann.shelf, ann.user.id)
    assert known.fetched_at is not None
    app.time.pass_(HOUR)
    assert (await fetch(app, feed)).status == 200


async def test_the_api_lists_adds_replaces_and_removes(app):
    ann = await an_app_reader(app)
    visitor = await app.signed_in(ann.user)
    made = await visitor.post("/feeds-out", {"name": "Mine", "kind": "item", "is_full": False})
    assert made.status == 201, made.text
    told = made.json()["data"]
    assert (told["kind"], told["state"], told["is_full"], told["fetched_at"]) == ("item", "all", False, None)
    assert (await app.client.ask("GET", told["paths"]["atom"])).status == 200
    replaced = (await visitor.post(f"/feeds-out/{told['id']}/replace")).json()["data"]
    assert replaced["paths"] != told["paths"]
    assert [one["id"] for one in (await visitor.get("/feeds-out")).json()["data"]] == [told["id"]]
    assert (await visitor.ask("DELETE", f"/feeds-out/{told['id']}")).status == 204
    assert (await visitor.get("/feeds-out")).json()["data"] == []
    wrong = await visitor.post("/feeds-out", {"name": "x", "group_id": "01952ff9-0000-7000-8000-000000000000"})
    assert wrong.status == 404
