"""What somebody with a device password, or without one, tries against the paths of apps."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from tests.api.people import PASSWORD, RunningApp, a_running_app
from tests.app import in_settings
from tests.protocols.komga import KomgaReader, a_komga_reader
from tests.protocols.people import an_app_reader
from tests.protocols.reader_client import READING_LIST, ReaderClient
from tsuzuki.http.errors import LONGEST_SENTENCE, failure_of
from tsuzuki.inbox.feeds_out.types import FOLDER
from tsuzuki.inbox.sync import SyncFilter
from tsuzuki.model.errors import Invalid
from tsuzuki.protocols.google_reader.names import StreamName, read_stream


@pytest.fixture
async def app(tmp_path):
    async with a_running_app(tmp_path) as app:
        yield app


async def sign_in_status(app: RunningApp) -> int:
    said = {"username": "admin", "password": PASSWORD}
    return (await app.anyone.post("/sessions", said)).status


async def test_wrong_app_passwords_keep_nobody_from_signing_in(app):
    """A picture on any page makes a browser send them."""
    for number in range(40):
        await app.client.get(f"/fever/?api&api_key={number:032x}", headers={"sec-fetch-site": "cross-site"})
    for _ in range(15):
        await app.client.get("/accounts/ClientLogin?Email=admin&Passwd=x", headers={"sec-fetch-site": "cross-site"})
    assert await sign_in_status(app) in {200, 201}


def test_any_number_of_prefixes_costs_nothing():
    assert read_stream("feed/" * 200_000 + "7") == StreamName("feed", "7")


async def test_a_request_names_no_more_streams_than_an_app_needs(app):
    ann = await an_app_reader(app, "greader")
    reader = await ReaderClient(ann).sign_in()
    for call, name in (("edit-tag", "a"), ("subscription/edit", "s"), ("disable-tag", "s"), ("edit-tag", "r")):
        answer = await reader.post(call, *[(name, f"user/-/label/g{number}") for number in range(51)])
        assert answer.status == 400, call
    for name in ("xt", "it"):
        answer = await reader.ask("GET", "stream/items/ids", [(name, f"feed/{number}") for number in range(51)])
        assert answer.status == 400, name
    assert [group.name for group in await app.reading.groups.list(ann.shelf)] == ["Default"]


async def test_what_is_left_out_is_passed_over_in_large_steps(app):
    ann = await an_app_reader(app, "greader")
    await ann.add_feed("Kept", items=1)
    loud = await ann.add_feed("Loud", items=1)
    for number in range(5):
        await ann.release(loud, 200, prefix=f"{number}-")
    reader = await ReaderClient(ann).sign_in()
    kept, left_out = sorted(feed.number for feed in await app.sync.feeds(ann.shelf, None))
    found = await reader.ids(READING_LIST, ("n", 1), ("xt", f"feed/{left_out}"))
    [entry] = await app.sync.refs(ann.shelf, SyncFilter(feed=kept), most=5)
    assert found == [entry.id]


async def test_the_hub_looks_up_no_names_for_strangers(app):
    """An invented topic is refused before the callback is looked at: it says nothing about private names."""
    topic = f"{app.client.base}{FOLDER}{'a' * 32}.rss"
    for callback in ("http://127.0.0.1/x", "http://localhost/x", "http://example.org/x"):
        form = {"hub.mode": "subscribe", "hub.topic": topic, "hub.callback": callback}
        assert (await app.client.ask("POST", "/websub", data=form)).status == 404, callback


async def test_sec_17_no_script_goes_out_as_the_site_of_a_feed(app):
    ann = await an_app_reader(app, "fever", "greader", "miniflux")
    evil = "javascript:alert(1)"
    listed = f'<opml version="2.0"><body><outline xmlUrl="https://example.org/f" htmlUrl="{evil}"/></body></opml>'
    key = {"x-auth-token": ann.key}
    made = await app.client.ask("POST", "/miniflux/v1/import", data=listed, headers=key)
    assert made.status == 201, made.text
    reader = await ReaderClient(ann).sign_in()
    for text in (
        (await app.client.get("/miniflux/v1/feeds", headers=key)).text,
        str(await ann.fever("api&feeds")),
        str(await reader.get("subscription/list")),
    ):
        assert "example.org" in text
        assert "javascript:" not in text
    [feed] = await app.sync.feeds(ann.shelf, None)
    answer = await app.client.ask("PUT", f"/miniflux/v1/feeds/{feed.number}", json={"site_url": evil}, headers=key)
    assert answer.status == 400


async def test_a_date_beyond_all_time_is_no_date(app):
    user = await app.admin()
    visitor = await app.signed_in(user)
    made = (await visitor.post("/feeds-out", {"name": "All"})).json()["data"]
    path = made["paths"]["rss"]
    for date in ("Mon, 01 Jan 99999999999 00:00:00 GMT", "never", "Mon, 99 Foo 1 99:99:99 GMT"):
        assert (await app.client.get(path, headers={"if-modified-since": date})).status == 200, date


async def test_many_long_texts_are_sent_in_portions(app):
    ann = await an_app_reader(app, "greader")
    feed = await ann.add_feed("Long")
    await ann.release(feed, 60, content="<p>" + "word " * 20_000 + "</p>")
    reader = await ReaderClient(ann).sign_in()
    ids = await reader.ids(READING_LIST, ("n", 100))
    answer = await reader.post("stream/items/contents", *[("i", number) for number in ids])
    assert "content-length" not in answer.headers
    assert len(answer.json()["items"]) == 60
    assert answer.json()["id"] == READING_LIST
    nothing = (await reader.post("stream/items/contents", ("i", 10**9))).json()
    assert nothing["items"] == []


FOREIGN = (
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"origin": "https://evil.example"},
    {"origin": "null"},
)


async def test_sec_42_forms_of_other_sites_change_nothing_by_basic(tmp_path):
    """A browser that knows name and password sends them with a form of any site."""
    async with a_running_app(tmp_path, cors_allowed_origins="https://reader.example") as app:
        reader = await an_app_reader(app, "miniflux", "komga")
        ann = KomgaReader(app, reader.user, reader.shelf, reader.issued)
        series = await ann.add("The Lighthouse Cat", 1)
        marking, making = f"/komga/api/v1/series/{series}/read-progress", "/miniflux/v1/categories"
        form = '{"title":"Theirs"}'
        for foreign in FOREIGN:
            sent = ann.basic | {"content-type": "text/plain"} | foreign
            for path in (marking, making):
                assert (await app.client.ask("POST", path, data=form, headers=sent)).status == 403, (path, foreign)
        assert [group.name for group in await app.reading.groups.list(ann.shelf)] == ["Default"]
        assert (await ann.get(f"/api/v1/series/{series}"))["booksReadCount"] == 0
        token = {"x-auth-token": ann.key, "sec-fetch-site": "cross-site"}
        assert (await app.client.ask("POST", making, data=form, headers=token)).status == 201
        allowed = {"origin": "https://reader.example", "sec-fetch-site": "cross-site"}
        own: tuple[dict[str, str], ...] = ({}, {"sec-fetch-site": "same-origin"}, allowed)
        for headers in own:
            assert (await app.client.ask("POST", marking, headers=ann.basic | headers)).status == 204, headers


async def test_searches_of_very_many_conditions_take_no_long_time(app):
    ann = await a_komga_reader(app)
    each = [{"genre": {"operator": "is", "value": f"g{number}"}} for number in range(9_000)]
    names = {f"x{number}": {"operator": "is", "value": "y"} for number in range(20_000)}
    mixed = [{"allOf": [{"genre": {"operator": "isNot", "value": "a"}}, one]} for one in each[:4_000]]
    began = time.process_time()
    for condition in ({"allOf": [{"anyOf": each}, {"anyOf": each}]}, names):
        assert (await ann.call("POST", "/api/v1/series/list", {"condition": condition})).status == 200
    await ann.refused(400, "POST", "/api/v1/series/list", {"condition": {"anyOf": mixed}})
    assert time.process_time() - began < 4


async def test_a_person_has_few_files_looked_at_at_once(app):
    """Each is held in memory while it is sent, and some never end."""
    visitor = await app.signed_in(await app.add())
    finish = asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await finish.wait()

    async def send() -> int:
        body = slow()
        status: int = (await app.client.ask("POST", "/api/v1/imports", headers=visitor.headers, data=body)).status
        return status

    sending = [asyncio.create_task(send()) for _ in range(4)]
    done, waiting = await asyncio.wait(sending, return_when=asyncio.FIRST_COMPLETED)
    while len(done) < 2:
        more, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        done |= more
    assert ({task.result() for task in done}, len(waiting)) == ({429}, 2)
    other = await app.signed_in(await app.add())
    assert (await app.client.ask("POST", "/api/v1/imports", headers=other.headers, data=b"?")).status == 400
    finish.set()
    assert [task.result() for task in (await asyncio.wait(waiting))[0]] == [400, 400]
    assert (await app.client.ask("POST", "/api/v1/imports", headers=visitor.headers, data=b"?")).status == 400


def test_what_others_sent_is_told_briefly_and_in_one_line():
    said = failure_of(Invalid("It says \x1b[2J\nSet-Cookie: x\u202e" + "a" * 100_000), "").body.error
    assert said.startswith("It says  [2J Set-Cookie: x a")
    assert len(said) == LONGEST_SENTENCE


async def test_long_searches_and_odd_ids_are_answered_soon(tmp_path, empty_database_url):
    """Never 500, whatever a number or a word is."""
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        ann = await a_komga_reader(app)
        words = "cat " * 12_000
        began = time.process_time()
        long = {"fullTextSearch": words * 10}
        for path in ("/api/v1/series/list", "/api/v1/books/list"):
            assert (await ann.call("POST", path, long)).status in {200, 400}
        assert (await ann.call("GET", f"/api/v1/series?search={words.replace(' ', '%20')[:40_000]}")).status in {
            200,
            400,
        }
        reader = await an_app_reader(app)
        basic = KomgaReader(app, reader.user, reader.shelf, reader.issued).basic
        token = {"x-auth-token": reader.key}
        for odd in ("9223372036854775808", "4294967296", "-1", "%D9%A3", "0", "x" * 5_000, "1e9"):
            for path in (f"/api/v1/books/{odd}", f"/api/v1/series/{odd}", f"/api/v1/books/{odd}/pages/1"):
                assert (await ann.call("GET", path)).status in {400, 404}, path
            for path in (f"/opds/v1.2/chapters/{odd}", f"/opds/v1.2/releases/{odd}/pages/0", f"/opds/v2/series/{odd}"):
                assert (await app.client.get(path, headers=basic)).status in {400, 404}, path
            for path in (f"/miniflux/v1/feeds/{odd}", f"/miniflux/v1/entries/{odd}", f"/miniflux/v1/icons/{odd}"):
                assert (await app.client.get(path, headers=token)).status in {400, 404}, path
            assert (await app.client.get(f"/miniflux/v1/entries?after_entry_id={odd}", headers=token)).status in {
                200,
                400,
            }
            fever = await reader.fever(f"api&items&with_ids={odd}&since_id={odd}")
            assert fever["items"] == []
        assert time.process_time() - began < 20


async def test_sec_39_no_mistyped_address_puts_a_secret_into_the_log(app):
    visitor = await app.signed_in(await app.admin())
    made = (await visitor.post("/feeds-out", {"name": "All"})).json()["data"]
    path = made["paths"]["rss"]
    secret = path.removeprefix(FOLDER).removesuffix(".rss")
    with capture_logs() as logs:
        for wrong in (f"{path}/", f"{path}/index.html", f"/x{path}", path.removesuffix(".rss"), path):
            await app.client.get(wrong)
    told = [str(line["path"]) for line in logs if line["event"] == "request"]
    assert len(told) == 5
    assert not [line for line in told if secret in line]
