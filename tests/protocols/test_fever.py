"""Fever, as its apps speak it: every form of a request, what they page by, what they mark, and what is not theirs."""

import asyncio
import gc
import io
import json
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest
import structlog
from freshrss_api import FreshRSSAPI  # type: ignore[import-untyped]  # it has no types

from tests.api.people import PASSWORD, RunningApp, a_running_app
from tests.app import in_settings
from tests.builders import store_items_tx
from tests.protocols.people import AppReader, an_app_reader
from tests.scale import scaled
from tests.web.sample_shelf import an_item, release_items
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.tokens import TokenRequest
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.db.queries import parse_queries
from tsuzuki.inbox.sync import LARGEST, SyncFilter
from tsuzuki.log import set_up_logging
from tsuzuki.model.ids import FeedId, ShelfId
from tsuzuki.model.times import DAY, HOUR, SECOND, Millis
from tsuzuki.protocols.fever import digest

REFUSAL = {"api_version": 3, "auth": 0}
_INSERT = "insert into entry (shelf_id, feed_id, item_id, sort_at, created_at) values ($1, $2, $3, 0, 0) returning id"
PATHS = (
    *("/fever", "/fever/", "/fever/fever", "/fever/fever/", "/fever//fever/", "//fever/"),
    *("/api/fever.php", "/api/fever.php/", "/api/fever.php/fever", "/api/fever.php/fever/", "/api/fever.php//fever/"),
)
FORM = "application/x-www-form-urlencoded"

q = parse_queries(
    "tests",
    """
-- name: untitle
update feed set title = '' where id = :id;
-- name: polled
update watch set last_checked_at = :at;
-- name: event_kinds
select kind from event where shelf_id = :shelf_id order by id;
-- name: read_chapters
select chapter_id from progress where shelf_id = :shelf_id and is_read;
-- name: guards
select count(*) from sign_in_guard where key like :part;
-- name: fill_items
insert into item (feed_id, key, title, content_hash, sort_at, created_at, updated_at)
with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < :count)
select :feed_id, 'many' || cast(n as text), 'Many', :hash, n, n, n from numbers;
-- name: fill_entries
insert into entry (shelf_id, feed_id, item_id, sort_at, created_at)
select :shelf_id, feed_id, id, sort_at, created_at from item where feed_id = :feed_id order by id;
""",
)


@pytest.fixture
async def app(tmp_path) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path) as running:
        yield running


@asynccontextmanager
async def on_engine(url: str, folder: Any) -> AsyncIterator[RunningApp]:
    """For what writes: on both."""
    async with a_running_app(folder, database_url=in_settings(url)) as running:
        yield running


def multipart(**fields: str) -> dict[str, Any]:
    """A form in parts, as apps write it."""
    part = '--x1y2\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
    body = "".join(part.format(*field) for field in fields.items()) + "--x1y2--\r\n"
    return {"data": body.encode(), "headers": {"content-type": "multipart/form-data; boundary=x1y2"}}


async def ask(reader: AppReader, query: str, path: str = "/fever/", **form: str) -> dict[str, Any]:
    """By a form in parts, the key in it, as half of the apps do."""
    sent = multipart(api_key=reader.fever_key, **form)
    answer = await reader.app.client.ask("POST", f"{path}?{query}", **sent)
    assert answer.status == 200
    found: dict[str, Any] = answer.json()
    assert found["auth"] == 1
    return found


async def ids_of(reader: AppReader) -> list[int]:
    """Every item, the oldest first."""
    refs = await reader.app.sync.refs(reader.shelf, SyncFilter(), most=LARGEST)
    return [ref.id for ref in refs]


async def unread_of(reader: AppReader) -> list[int]:
    text = (await ask(reader, "unread_item_ids"))["unread_item_ids"]
    return [int(number) for number in text.split(",") if number]


def ids_in(found: dict[str, Any]) -> list[int]:
    return [item["id"] for item in found["items"]]


# -- the key


async def test_the_key_is_taken_from_wherever_apps_put_it(app):
    ann = await an_app_reader(app, "fever")
    for key in (ann.fever_key, ann.fever_key.upper()):
        text = f"api_key={key}"
        for method, path, sent in (
            ("POST", "/fever/?api", {"data": text, "headers": {"content-type": FORM}}),
            ("POST", "/fever/?api", {"data": f"api=&{text}", "headers": {"content-type": FORM + "; charset=UTF-8"}}),
            ("POST", "/fever/?api", multipart(api_key=key)),
            ("POST", f"/fever/?api&{text}", {}),
            ("POST", f"/fever/?{text}", {"skip_auto_headers": ["content-type"]}),
            ("GET", f"/fever/?api&{text}", {}),
        ):
            answer = await app.client.ask(method, path, **sent)
            assert answer.headers["content-type"] == "application/json; charset=utf-8"
            body = answer.json()
            assert (body["api_version"], body["auth"]) == (3, 1), (method, path, sent)
            assert isinstance(body["last_refreshed_on_time"], int)


async def test_what_opens_nothing_is_told_in_two_fields(app):
    ann = await an_app_reader(app, "fever")
    gone = await an_app_reader(app, "fever", expires_at=Millis(app.time() + HOUR))
    revoked, disabled = await an_app_reader(app, "fever"), await an_app_reader(app, "fever")
    for reader in (revoked, disabled, gone):
        await ask(reader, "api")
    caller = (await app.accounts.devices.sign_in(revoked.request, None, revoked.fever_key)).caller
    await app.accounts.tokens.revoke(caller, revoked.issued.token.public_id)
    await app.accounts.users.disable(SYSTEM, disabled.user.public_id)
    app.time.pass_(2 * HOUR)
    token = await app.with_token(ann.user, "read", "write")
    bearer = token.headers["authorization"].partition(" ")[2]
    wrong = {
        "wrong": "0" * 32,
        "none": "",
        "long": "a" * 100_000,
        "a token's": digest(ann.user.username, bearer),
        "revoked": revoked.fever_key,
        "expired": gone.fever_key,
        "disabled": disabled.fever_key,
    }
    for name, key in wrong.items():
        answer = await app.client.ask("POST", "/fever/?api&items", data={"api_key": key})
        assert (answer.status, answer.json()) == (200, REFUSAL), name
    assert (await app.client.ask("POST", "/fever/?api&items")).json() == REFUSAL


async def test_wrong_keys_are_slowed_by_address_and_lock_nobody_out(tmp_path):
    async with a_running_app(tmp_path, trusted_proxies="127.0.0.1") as app:
        ann = await an_app_reader(app, "fever")
        statuses = []
        there = {"x-forwarded-for": "203.0.113.9"}
        for number in range(2_000):
            answer = await app.client.get(f"/fever/?api&api_key={number:032x}", headers=there)
            assert answer.json() == REFUSAL
            statuses.append(answer.status)
            assert ("retry-after" in answer.headers) == (answer.status == 429)
        assert statuses == [200] * 30 + [429] * 1970
        answer = await app.client.get(f"/fever/?api&api_key={ann.fever_key}", headers=there)
        assert answer.json()["auth"] == 1  # the right key is taken even there
        guards = await app.db.read(lambda tx: tx.one(int, q.guards, part="%"))
        assert guards == await app.db.read(lambda tx: tx.one(int, q.guards, part="apps address:%")) == 1
        said = {"username": "admin", "password": PASSWORD}
        elsewhere = {"x-forwarded-for": "198.51.100.1"}
        for headers in (there, elsewhere):
            assert (await app.client.post("/api/v1/sessions", said, headers=headers)).status == 200
        answer = await app.client.get(f"/fever/?api&api_key={0:032x}", headers=elsewhere)
        assert (answer.status, answer.json()) == (200, REFUSAL)


async def test_the_key_is_in_no_log(app):
    root, out = logging.getLogger(), io.StringIO()
    handlers, level = root.handlers[:], root.level
    set_up_logging(level="debug", style="json", stream=out)
    try:
        ann = await an_app_reader(app, "fever")
        for path in (f"/fever/?api&items&api_key={ann.fever_key}", f"/fever/?api&api_key={'d' * 32}"):
            await app.client.ask("POST", path)
            await app.client.ask("GET", path)
            await app.client.ask("PUT", path)
        await app.client.ask("POST", "/fever/?api", **multipart(api_key=ann.fever_key))
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        structlog.reset_defaults()
    assert "/fever/" in out.getvalue()
    assert ann.fever_key not in out.getvalue()
    assert "d" * 32 not in out.getvalue()
    assert ann.key not in out.getvalue()


# -- the request


async def test_every_path_answers_by_itself(app):
    ann = await an_app_reader(app, "fever")
    for path in PATHS:
        assert (await ask(ann, "api", path))["auth"] == 1
        head = await app.client.ask("HEAD", path)
        assert (head.status, head.body) == (200, b"")


async def test_selectors_may_be_many_and_need_no_api(app):
    ann = await an_app_reader(app, "fever")
    for query in ("feeds", "api=&feeds=", "api=&&feeds", "api&feeds=1", "feeds&"):
        assert set(await ask(ann, query)) == {*BASE, "feeds", "feeds_groups"}
    assert set(await ask(ann, "api&groups&feeds&favicons")) == {*BASE, "groups", "feeds", "favicons", "feeds_groups"}
    found = await ask(ann, "api=xml&links&unread_item_ids&saved_item_ids&items")
    assert found["links"] == []
    assert set(found) == {*BASE, "links", "unread_item_ids", "saved_item_ids", "items", "total_items"}


BASE = ("api_version", "auth", "last_refreshed_on_time")


async def test_an_empty_shelf_has_texts_and_lists(app):
    ann = await an_app_reader(app, "fever")
    found = await ask(ann, "api&groups&feeds&favicons&items&links&unread_item_ids&saved_item_ids")
    assert [group["title"] for group in found["groups"]] == ["Default"]
    assert [found[name] for name in ("feeds_groups", "feeds", "favicons", "items", "links")] == [[]] * 5
    assert (found["unread_item_ids"], found["saved_item_ids"], found["total_items"]) == ("", "", 0)
    assert abs(found["last_refreshed_on_time"] - app.time() // SECOND) < 60


async def test_what_it_was_refreshed_is_when_a_feed_was_polled(app):
    ann = await an_app_reader(app, "fever")
    await ann.add_feed("The Gull Letters")
    await app.db.with_tx(lambda tx: tx.run(q.polled, at=1_767_225_600_999))
    assert (await ask(ann, "api"))["last_refreshed_on_time"] == 1_767_225_600


# -- feeds and groups


@pytest.mark.both_engines
async def test_the_golden_exchange(app):
    """Types, names and their order, as two apps' libraries read them without an error."""
    ann = await an_app_reader(app, "fever")
    await ann.add_feed("The Gull Letters")
    comics = await ann.add_feed("Harbour Strip", items=1, group="Comics")
    await ann.add_series("The Lighthouse Cat", group="Comics")
    answer = await app.client.ask("POST", "/fever/?api&groups&feeds", **multipart(api_key=ann.fever_key))
    found = json.loads(answer.body)
    assert list(found) == [*BASE, "groups", "feeds", "feeds_groups"]
    assert [list(group) for group in found["groups"]] == [["id", "title"]] * 2
    default, group = (each["id"] for each in found["groups"])
    gull, strip, cat = (each["id"] for each in found["feeds"])
    assert found["feeds_groups"] == [
        {"group_id": default, "feed_ids": f"{gull}"},
        {"group_id": group, "feed_ids": f"{strip},{cat}"},
    ]
    names = ["id", "favicon_id", "title", "url", "site_url", "is_spark", "last_updated_on_time"]
    assert [list(feed) for feed in found["feeds"]] == [names] * 3  # one app wants `id` before `favicon_id`
    kinds = [int, int, str, str, str, int, int]
    assert [[type(value) for value in feed.values()] for feed in found["feeds"]] == [kinds] * 3
    assert found["feeds"][2]["url"].startswith(app.client.base)
    items = (await ask(ann, f"api&items&since_id={(await ids_of(ann))[-1] - 1}"))["items"]
    names = ["id", "feed_id", "title", "author", "html", "url", "is_saved", "is_read", "created_on_time"]
    assert [list(item) for item in items] == [names]
    assert [type(value) for value in items[0].values()] == [int, int, str, str, str, str, int, int, int]
    assert (items[0]["feed_id"], items[0]["title"]) == (cat, "Chapter 42")
    assert comics
    assert (await ask(ann, "api", mark="item", id=str(items[0]["id"]), **{"as": "saved"})) | {BASE[2]: 0} == {
        "api_version": 3, "auth": 1, BASE[2]: 0, "saved_item_ids": str(items[0]["id"])
    }  # fmt: skip


async def test_every_feed_is_in_one_group(app):
    ann = await an_app_reader(app, "fever")
    for number in range(6):
        await ann.add_feed(f"Feed {number}", group=[None, "Letters", "Comics"][number % 3])
    await ann.add_series("The Lighthouse Cat")
    await app.reading.groups.add(ann.shelf, "Empty")
    found = await ask(ann, "groups&feeds")
    listed = [number for each in found["feeds_groups"] for number in each["feed_ids"].split(",")]
    assert sorted(map(int, listed)) == sorted(feed["id"] for feed in found["feeds"])
    assert {each["group_id"] for each in found["feeds_groups"]} < {group["id"] for group in found["groups"]}
    assert all(0 < number < 2**31 for number in [*map(int, listed), *(group["id"] for group in found["groups"])])


async def test_no_title_is_empty(app):
    ann = await an_app_reader(app, "fever")
    feed = await ann.add_feed("Soon without")
    await app.db.with_tx(lambda tx: tx.run(q.untitle, id=feed))
    await release_items(app, feed, [an_item("x", at=app.time(), title="", content="", link=None)])
    found = await ask(ann, "feeds&items")
    assert found["feeds"][0]["title"].startswith("https://")
    [item] = found["items"]
    assert item["title"]
    assert item["url"].startswith("http")
    assert (item["author"], item["html"]) == ("", "")


async def test_a_password_for_chapters_shows_no_articles(app):
    ann = await an_app_reader(app, "fever", kinds="chapter")
    await ann.add_feed("The Gull Letters", items=2)
    await ann.add_series("The Lighthouse Cat")
    found = await ask(ann, "feeds&items&favicons&unread_item_ids")
    assert [feed["title"] for feed in found["feeds"]] == ["The Lighthouse Cat"]
    assert (found["total_items"], len(found["items"]), found["favicons"]) == (3, 3, [])
    assert len(found["unread_item_ids"].split(",")) == 3
    hidden = set(await ids_of(ann)) - set(ids_in(found))
    await ask(ann, "api", mark="item", id=",".join(map(str, hidden)), **{"as": "read"})
    refs = await app.sync.refs(ann.shelf, SyncFilter(unread=True, kind="item"), most=LARGEST)
    assert len(refs) == 2


# -- which items


async def test_since_id_goes_up_fifty_at_a_time(app):
    ann = await an_app_reader(app, "fever")
    await ann.add_feed("The Gull Letters", items=51)
    every = await ids_of(ann)
    for first in ("", "0", "-1", "abc", "-9223372036854775809"):
        found = await ask(ann, f"items&since_id={first}")
        assert ids_in(found) == every[:50]
        assert found["total_items"] == 51
    assert ids_in(await ask(ann, f"items&since_id={every[49]}")) == every[50:]
    for last in (every[50], 2**31 - 1, 2**53 - 1, 2**63 - 1, 2**63, 10**19, 10**30):
        expected = every[:50] if last == 10**30 else []  # a text of thirty characters is no number
        assert ids_in(await ask(ann, f"items&since_id={last}")) == expected


async def test_max_id_goes_down_fifty_at_a_time(app):
    ann = await an_app_reader(app, "fever")
    await ann.add_feed("The Gull Letters", items=51)
    newest = (await ids_of(ann))[::-1]
    for query in ("items", "items&max_id=0", "items&max_id=", "items&max_id=-1", "items&max_id=abc"):
        assert ids_in(await ask(ann, query)) == newest[:50]
    for number in (2**31 - 1, 2**53 - 1, 2**63, 10**19):
        assert ids_in(await ask(ann, f"items&max_id={number}")) == newest[:50]
    assert ids_in(await ask(ann, f"items&max_id={newest[49]}")) == newest[50:]
    assert ids_in(await ask(ann, f"items&max_id={newest[50]}")) == []


async def test_with_ids_gives_those_that_there_are(app):
    ann, bob = await an_app_reader(app, "fever"), await an_app_reader(app, "fever")
    await ann.add_feed("The Gull Letters", items=60)
    await bob.add_feed("Not hers", items=1)
    every, [foreign] = await ids_of(ann), await ids_of(bob)
    assert set(ids_in(await ask(ann, "items&with_ids=" + ",".join(map(str, every))))) == set(every[:50])
    odd = f"{every[3]},+{foreign},abc,,-1,0,{2**53},{2**64},99999999,%20{every[1]}+"
    assert set(ids_in(await ask(ann, f"items&with_ids={odd}"))) == {every[3], every[1]}
    assert ids_in(await ask(ann, "items&with_ids=")) == []


# -- marks


async def test_marks_set_and_never_toggle(empty_database_url, tmp_path):
    async with on_engine(empty_database_url, tmp_path) as app:
        ann = await an_app_reader(app, "fever")
        await ann.add_feed("The Gull Letters", items=2)
        await ann.add_series("The Lighthouse Cat", group="Comics")
        every = await ids_of(ann)
        article, chapter = every[0], every[-1]
        for _ in range(2):
            for number, count in ((article, 1), (chapter, 2)):
                found = await ask(ann, f"mark=item&as=saved&id={number}")
                assert len(found["saved_item_ids"].split(",")) >= count
        assert (await ask(ann, "saved_item_ids"))["saved_item_ids"] == f"{article},{chapter}"
        for _ in range(2):
            assert (await ask(ann, "", mark="item", id=str(article), **{"as": "unsaved"}))["saved_item_ids"] == str(
                chapter
            )
        for _ in range(2):
            found = await ask(ann, f"mark=item&as=read&id={chapter}")
            assert found["unread_item_ids"] == ",".join(map(str, every[:-1]))
        for _ in range(2):
            found = await ask(ann, f"mark=item&as=unread&id={chapter}")
            assert found["unread_item_ids"] == ",".join(map(str, every))


async def test_a_mark_reaches_the_pages_and_the_progress(empty_database_url, tmp_path):
    async with on_engine(empty_database_url, tmp_path) as app:
        ann = await an_app_reader(app, "fever")
        await ann.add_feed("The Gull Letters", items=1)
        await ann.add_series("The Lighthouse Cat")
        article, *_, chapter = await ids_of(ann)
        pages = await app.signed_in(ann.user)
        before = await app.db.read(lambda tx: tx.many(str, q.event_kinds, shelf_id=ann.shelf))
        await ask(ann, f"mark=item&as=read&id={article}")
        await ask(ann, f"mark=item&as=read&id={chapter}")
        shown = (await pages.get("/inbox?limit=50")).json()["data"]
        assert {int(one["id"]) for one in shown if not one["unread"]} == {article, chapter}
        after = await app.db.read(lambda tx: tx.many(str, q.event_kinds, shelf_id=ann.shelf))
        assert len(after) >= len(before) + 2  # what open pages are told
        assert len(await app.db.read(lambda tx: tx.many(int, q.read_chapters, shelf_id=ann.shelf))) == 1
        await ask(ann, f"mark=item&as=unread&id={chapter}")
        assert await app.db.read(lambda tx: tx.many(int, q.read_chapters, shelf_id=ann.shelf)) == []


async def test_before_is_about_arrival(empty_database_url, tmp_path):
    """What was published long ago and arrived after the app looked stays unread."""
    async with on_engine(empty_database_url, tmp_path) as app:
        ann = await an_app_reader(app, "fever")
        feed = await ann.add_feed("The Gull Letters", items=2, group="Letters")
        looked = app.time() // SECOND
        app.time.pass_(HOUR)
        await release_items(app, feed, [an_item("old", at=Millis(app.time() - 400 * DAY))])
        *_, late = await ids_of(ann)
        found = await ask(ann, "groups&feeds")
        group = next(one["id"] for one in found["groups"] if one["title"] == "Letters")
        places = [("feed", found["feeds"][0]["id"]), ("group", group), ("group", 0)]
        for mark, number in places:
            await ask(ann, f"mark={mark}&as=read&id={number}&before={looked}")
            assert await unread_of(ann) == [late]
            await ask(ann, f"mark=item&as=unread&id={','.join(map(str, await ids_of(ann)))}")
            for before in ("", "0", "junk", f"{app.time() // SECOND + 1}", "9223372036854775", "9" * 19, "9" * 20):
                await ask(ann, "", mark=mark, id=str(number), before=before, **{"as": "read"})
                assert await unread_of(ann) == []
                await ask(ann, f"mark=item&as=unread&id={','.join(map(str, await ids_of(ann)))}")
        odd_ones = (
            *("group&as=read&id=-1", "group&as=read&id=", "group&as=unread&id=0", "group&as=read&id=99999999"),
            *("feed&as=read&id=0", f"feed&as=saved&id={places[0][1]}", "all&as=read&id=0", "&unread_recently_read=1"),
            *(f"item&as=odd&id={late}", "item&as=read&id=junk"),
        )
        for odd in (f"mark={each}" for each in odd_ones):
            assert set(await ask(ann, odd)) <= {*BASE, "unread_item_ids"}
            assert len(await unread_of(ann)) == 3


async def test_nothing_of_others_is_listed_or_changed(empty_database_url, tmp_path):
    async with on_engine(empty_database_url, tmp_path) as app:
        ann, bob = await an_app_reader(app, "fever"), await an_app_reader(app, "fever")
        await ann.add_feed("Hers", items=2, group="Letters")
        await ann.add_series("The Lighthouse Cat")
        theirs = await ask(ann, "groups&feeds")
        every = ",".join(map(str, await ids_of(ann)))
        for state in ("read", "saved", "unsaved", "unread"):
            assert set(await ask(bob, f"mark=item&as={state}&id={every}")) <= {
                *BASE,
                "unread_item_ids",
                "saved_item_ids",
            }
        for feed in theirs["feeds"]:
            await ask(bob, f"mark=feed&as=read&id={feed['id']}")
        for group in theirs["groups"]:
            await ask(bob, f"mark=group&as=read&id={group['id']}")
        await ask(bob, "mark=group&as=read&id=0")
        seen = await ask(bob, "feeds&items&feeds_groups&unread_item_ids&saved_item_ids")
        assert (seen["feeds"], seen["items"], seen["total_items"], seen["unread_item_ids"]) == ([], [], 0, "")
        assert len(await unread_of(ann)) == 5
        assert (await ask(ann, "saved_item_ids"))["saved_item_ids"] == ""


async def test_who_only_reads_a_shelf_is_told_how_it_is(app):
    ann = await an_app_reader(app, "fever")
    await ann.add_feed("Hers", items=2)
    owner = (await app.accounts.devices.sign_in(ann.request, None, ann.fever_key)).caller
    shelf = await app.accounts.current_user.shelf_of(owner)
    friend = await app.add()
    await app.accounts.sharing.share(shelf_user(owner), shelf.public_id, friend.username, "reader")
    bob = await reader_of(app, friend, shelf.public_id, shelf.id)
    first, second = await ids_of(ann)
    assert (await ask(bob, f"mark=item&as=read&id={first}"))["unread_item_ids"] == f"{first},{second}"
    assert set(await ask(bob, "mark=group&as=read&id=0")) == set(BASE)
    assert len(await unread_of(ann)) == 2


async def reader_of(app: RunningApp, user: Any, public_id: Any, shelf: ShelfId) -> AppReader:
    """Somebody's app on this shelf."""
    request = TokenRequest(name="App", protocols=("fever",), shelf=public_id)
    return AppReader(app, user, shelf, await app.accounts.tokens.make_for(SYSTEM, user, request))


# -- many


@pytest.mark.soak
async def test_a_hundred_thousand_unread_are_one_quick_text(empty_database_url, tmp_path):
    count = scaled(10_000, 100_000)
    async with on_engine(empty_database_url, tmp_path) as app:
        ann = await an_app_reader(app, "fever")
        feed = await ann.add_feed("Many")
        await fill(app, ann.shelf, feed, count)
        gc.collect()  # what earlier tests left: so many rows have all of it looked at again, and a server has none
        gc.freeze()
        begun = time.process_time()
        answer = await app.client.ask("POST", "/fever/?unread_item_ids", data={"api_key": ann.fever_key})
        spent = time.process_time() - begun
        assert len(answer.json()["unread_item_ids"].split(",")) == count
        assert spent < count / 100_000 + 0.2
        marked = await ask(ann, f"mark=item&as=read&id={(await ids_of(ann))[0]}")
        assert ("unread_item_ids" in marked) == (count <= 20_000)


async def fill(app: RunningApp, shelf: ShelfId, feed: FeedId, count: int) -> None:
    """So many articles on the shelf, without their texts."""
    await app.db.with_tx(lambda tx: tx.run(q.fill_items, feed_id=feed, count=count, hash=bytes(32)))
    await app.db.with_tx(lambda tx: tx.run(q.fill_entries, shelf_id=shelf, feed_id=feed))


@pytest.mark.parametrize("engine", ["postgres"])  # SQLite has one writer
async def test_an_app_misses_nothing_of_writers_at_once(engine, empty_database_url, tmp_path):
    async with on_engine(empty_database_url, tmp_path) as app:
        ann = await an_app_reader(app, "fever")
        feed = await ann.add_feed("The Gull Letters", items=1)
        other = await ann.add_feed("Another")
        last = (await ids_of(ann))[-1]
        late = an_item("late", at=app.time())
        [item] = await app.db.with_tx(lambda tx: store_items_tx(tx, other, [late], app.time()))
        writer = await asyncpg.connect(empty_database_url)
        try:
            async with writer.transaction():
                number = await writer.fetchval(_INSERT, ann.shelf, other, item.id)
                await ann.release(feed, 2, prefix="meanwhile")
                assert ids_in(await ask(ann, f"items&since_id={last}")) == []
            assert ids_in(await ask(ann, f"items&since_id={last}")) == [number, number + 1, number + 2]
        finally:
            await writer.close()


# -- apps, each as it synchronises


async def a_full_shelf(app: RunningApp) -> AppReader:
    ann = await an_app_reader(app, "fever")
    await ann.add_feed("The Gull Letters", items=120)
    await ann.add_feed("Harbour Strip", items=3, group="Comics")
    await ann.add_series("The Lighthouse Cat", group="Comics")
    await ask(ann, f"mark=item&as=saved&id={(await ids_of(ann))[5]}")
    return ann


async def test_news_flash_synchronises(app):
    """It asks for the latest, then by their ids, several at once, for all that is unread or saved."""
    ann = await a_full_shelf(app)
    assert (await app.client.ask("HEAD", "/fever/")).status == 200
    found = [await ask(ann, f"api&{name}") for name in ("groups", "feeds", "favicons", "items")]
    seen = set(ids_in(found[-1]))
    saved = (await ask(ann, "api&saved_item_ids"))["saved_item_ids"]
    wanted = (await ask(ann, "api&unread_item_ids"))["unread_item_ids"].split(",")
    chunks = [wanted[place : place + 50] for place in range(0, len(wanted), 50)]
    answers = await asyncio.gather(*(ask(ann, f"api&items&with_ids={','.join(chunk)}") for chunk in chunks))
    for answer in answers:
        seen |= set(ids_in(answer))
    assert seen == set(await ids_of(ann)) == set(map(int, wanted))
    marks = [ask(ann, f"api&&mark=item&as=read&id={number}") for number in wanted[:20]]
    await asyncio.gather(*marks)
    assert (await ask(ann, "api&unread_item_ids"))["unread_item_ids"] == ",".join(wanted[20:])
    assert saved == wanted[5]


async def test_read_you_synchronises(app):
    """It goes on from the last item of each answer, and fails on a feed without a group."""
    ann = await a_full_shelf(app)

    async def call(query: str) -> dict[str, Any]:
        sent = {"data": f"api_key={ann.fever_key}", "headers": {"content-type": FORM}}
        body: dict[str, Any] = (await app.client.ask("POST", f"/fever/?api=&{query}", **sent)).json()
        return body

    groups, feeds = await call("groups"), await call("feeds")
    group_of = {int(n): one["group_id"] for one in feeds["feeds_groups"] for n in one["feed_ids"].split(",")}
    assert {group_of[feed["id"]] for feed in feeds["feeds"]} == {group["id"] for group in groups["groups"]}
    assert (await call("favicons"))["favicons"] == []
    since, seen = "", list[int]()
    while True:
        page = ids_in(await call(f"items&since_id={since}"))
        seen += page
        if len(page) < 50:
            break
        since = str(page[-1])
    assert seen == await ids_of(ann)
    assert (await call("unread_item_ids"))["unread_item_ids"] == ",".join(map(str, seen))
    await call("mark=group&as=read&id=0&before=9223372036854775")
    assert (await call("unread_item_ids"))["unread_item_ids"] == ""
    await call(f"mark=item&as=unread&id={seen[0]}")
    assert (await call("unread_item_ids"))["unread_item_ids"] == str(seen[0])


async def test_readrops_synchronises(app):
    """It adds its own path, says `api` once, and reads groups that have two keys and no more."""
    ann = await a_full_shelf(app)
    path = "/api/fever.php/"
    assert (await ask(ann, "api", path))["auth"] == 1
    names = ("feeds", "groups", "favicons", "unread_item_ids", "saved_item_ids")
    feeds, groups, *_ = await asyncio.gather(*(ask(ann, name, path) for name in names))
    assert [list(group) for group in groups["groups"]] == [["id", "title"]] * 2
    assert all(list(feed)[:2] == ["id", "favicon_id"] and feed["title"] for feed in feeds["feeds"])
    assert all(each["feed_ids"] for each in groups["feeds_groups"])
    seen, top = list[int](), 0
    for _ in range(20):
        page = await ask(ann, f"items&max_id={top}", path)
        assert all(item["title"] for item in page["items"])
        if not page["items"]:
            break
        seen += ids_in(page)
        top = seen[-1]
    assert seen == (await ids_of(ann))[::-1]
    await ann.add_feed("New here", items=2)
    new = ids_in(await ask(ann, f"items&since_id={seen[0]}", path))
    assert len(new) == 2
    assert ids_in(await ask(ann, f"items&since_id={new[-1]}", path)) == []
    await ask(ann, f"mark=item&as=read&id={new[0]}", path)
    assert new[0] not in await unread_of(ann)


async def test_fluent_reader_synchronises(app):
    """It begins at the largest number that it knows, and writes in the form."""
    ann = await a_full_shelf(app)
    feeds = await ann.fever("api&feeds")
    assert len((await ann.fever("api&groups"))["groups"]) == 2
    seen, top = list[int](), 2**53 - 1
    while page := ids_in(await ann.fever(f"api&items&max_id={top}")):
        seen += page
        top = min(page)
    assert seen == (await ids_of(ann))[::-1]
    assert ids_in(await ann.fever(f"api&items&max_id={2**31 - 1}")) == seen[:50]
    ids = await ann.fever("api&unread_item_ids")
    assert isinstance(ids["unread_item_ids"], str)
    now = str(app.time() // SECOND + 1)
    await ann.fever("api", mark="feed", id=str(feeds["feeds"][1]["id"]), before=now, **{"as": "read"})
    await ann.fever("api", mark="item", id=str(seen[-1]), **{"as": "unsaved"})
    assert len(await unread_of(ann)) == 123
    await ann.fever("api", mark="group", id="0", before=now, **{"as": "read"})
    assert (await ann.fever("api&unread_item_ids"))["unread_item_ids"] == ""


async def test_elfeed_synchronises(app):
    """It fetches what is unread and saved by ids, and a window around its marks."""
    ann = await a_full_shelf(app)
    assert len((await ann.fever("api&feeds"))["feeds"]) == 3
    unread = (await ann.fever("api&unread_item_ids"))["unread_item_ids"].split(",")
    seen = set[int]()
    for place in range(0, len(unread), 50):
        seen |= set(ids_in(await ann.fever("api&items&with_ids=" + ",".join(unread[place : place + 50]))))
    assert seen == set(await ids_of(ann))
    window = range(int(unread[10]), int(unread[10]) + 50)
    assert len(ids_in(await ann.fever("api&items&with_ids=" + ",".join(map(str, window))))) == 50
    await ann.fever("api", mark="item", id=unread[0], **{"as": "read"})
    await ann.fever("api", mark="item", id=unread[0], **{"as": "saved"})
    assert (await ann.fever("api&saved_item_ids"))["saved_item_ids"] == f"{unread[0]},{unread[5]}"


async def test_a_library_of_fever_reads_and_marks(app):
    """`freshrss-api`, a program of others, calls as it does in its own house."""
    ann = await a_full_shelf(app)

    def use() -> None:
        client = FreshRSSAPI(host=app.client.base, username=ann.user.username, password=ann.key)
        assert [group["title"] for group in client.get_groups()["groups"]] == ["Default", "Comics"]
        assert len(client.get_feeds()["feeds"]) == 3
        unread, [saved] = client.get_unreads(), client.get_saved()
        assert len(unread) == 126
        assert saved.is_saved
        client.set_mark("read", unread[0].id)
        client.set_mark("saved", unread[0].id)
        client.set_mark("unsaved", saved.id)
        assert [item.id for item in client.get_saved()] == [unread[0].id]
        assert len(client.get_unreads()) == 125

    await asyncio.to_thread(use)


async def test_items_are_narrowed_to_feeds_and_groups(app):
    ann = await an_app_reader(app, "fever")
    await ann.add_feed("The Gull Letters", items=3)
    await ann.add_feed("Harbour Strip", items=60, group="Comics")
    await ann.add_feed("Another", items=2, group="Comics")
    gulls, harbour, another = [feed["id"] for feed in (await ann.fever("api&feeds"))["feeds"]]
    group = next(one["id"] for one in (await ann.fever("api&groups"))["groups"] if one["title"] == "Comics")

    async def feeds_of(query: str) -> list[int]:
        return [item["feed_id"] for item in (await ann.fever(f"api&items&{query}"))["items"]]

    assert await feeds_of(f"feed_ids={gulls}") == [gulls] * 3
    assert await feeds_of(f"since_id=0&feed_ids={gulls},{another},99") == [gulls] * 3 + [another] * 2
    assert await feeds_of(f"group_ids={group}") == [another] * 2 + [harbour] * 48
    assert await feeds_of("feed_ids=") == []


async def test_readrops_groups_have_two_names_and_numbered_feeds(app):
    """It reads for ever where a group has a third, and fails on an empty title and on an icon before a number."""
    ann = await an_app_reader(app, "fever")
    await ann.add_feed("In Craft", group="Craft")
    await ann.app.reading.groups.add(ann.shelf, "Empty")
    untitled = await ann.add_feed("")
    await app.db.with_tx(lambda tx: tx.run(q.untitle, id=untitled))
    groups = await ask(ann, "groups")
    assert {tuple(group) for group in groups["groups"]} == {("id", "title")}
    assert all(one["feed_ids"] for one in groups["feeds_groups"])
    feeds = (await ask(ann, "feeds"))["feeds"]
    assert {tuple(feed)[:2] for feed in feeds} == {("id", "favicon_id")}
    assert all(one["title"] for one in (*feeds, *groups["groups"]))


async def test_read_you_finds_a_feed_without_a_group_in_one(app):
    """Its whole sync ends at a feed that is in no group, and at one that is in two it takes either."""
    ann = await an_app_reader(app, "fever")
    await ann.add_feed("Of no group")
    await ann.add_feed("In Craft", group="Craft")
    await ann.add_series("A series", group="Comics")
    found = await ask(ann, "api=&groups&feeds")
    members = [int(number) for one in found["feeds_groups"] for number in one["feed_ids"].split(",")]
    assert sorted(members) == sorted(feed["id"] for feed in found["feeds"])
    assert {one["group_id"] for one in found["feeds_groups"]} <= {group["id"] for group in found["groups"]}
