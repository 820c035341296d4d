"""The Google Reader API, as its apps rely on it."""

import base64
import signal
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from starlette.responses import Response

from tests.api.people import RunningApp, a_running_app
from tests.app import in_settings
from tests.net.builders import a_server, answer, by_path
from tests.polling.builders import a_feed
from tests.protocols.people import AppReader, an_app_reader
from tests.protocols.reader_client import (
    FORM,
    KEPT_UNREAD,
    LONG,
    PHP,
    READ,
    READING_LIST,
    STARRED,
    STATE,
    UNREAD,
    ReaderClient,
    escaped,
    token_in,
)
from tests.test_serve import line_of, serve
from tests.web.sample_shelf import an_item, release_items
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.tokens import TokenRequest
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.db.queries import parse_queries
from tsuzuki.http.errors import BodyTooLarge
from tsuzuki.model.errors import (
    Conflict,
    Forbidden,
    Invalid,
    LimitExceeded,
    NotFound,
    RefusedAddress,
    TooManyRequests,
    Unavailable,
    Unreachable,
)
from tsuzuki.model.times import DAY, MINUTE, Millis
from tsuzuki.protocols.google_reader.requests import REFUSAL, shaped

q = parse_queries(
    "tests",
    """
-- name: arrive
update entry set created_at = :at where id = :id;
-- name: read_chapters
select count(*) from progress where shelf_id = :shelf_id and is_read;
-- name: bookmarked_chapters
select count(*) from progress where shelf_id = :shelf_id and is_bookmarked;
-- name: events
select count(*) from event where shelf_id = :shelf_id;
""",
)
BASES = ("", "/", PHP, f"{PHP}/", f"/{PHP}//")


@pytest.fixture
async def app(empty_database_url, tmp_path) -> AsyncIterator[RunningApp]:
    url = in_settings(empty_database_url)
    async with a_running_app(tmp_path, database_url=url, allow_private_networks="127.0.0.0/8") as app:
        yield app


@pytest.fixture
async def ann(app) -> AppReader:
    return await an_app_reader(app)


@pytest.fixture
async def reader(ann) -> ReaderClient:
    return await ReaderClient(ann).sign_in()


async def arrive(app: RunningApp, entry: int, at: int) -> None:
    await app.db.with_tx(lambda tx: tx.run(q.arrive, id=entry, at=at))


def strings_and_numbers(said: Any) -> None:
    """No null anywhere, and every field of the type that the strictest app decodes."""
    if isinstance(said, list):
        for each in said:
            strings_and_numbers(each)
    if not isinstance(said, dict):
        assert said is not None
        return
    for name, value in said.items():
        if name in {"crawlTimeMsec", "timestampUsec", "continuation", "userId", "newestItemTimestampUsec"}:
            assert isinstance(value, str), name
        if name in {"published", "updated", "count"}:
            assert isinstance(value, int), name
        strings_and_numbers(value)


# -- signing in


@pytest.mark.parametrize("base", BASES)
async def test_people_sign_in_by_form_multipart_and_query(app, ann, base):
    pair = {"Email": ann.user.username, "Passwd": ann.key, "client": "x", "accountType": "HOSTED_OR_GOOGLE"}
    path = f"{base}/accounts/ClientLogin"
    parts = "".join(
        f'--b\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in pair.items()
    )
    ways: list[tuple[str, dict[str, Any]]] = [
        ("", {"data": pair}),
        ("?" + "&".join(f"{name}={value}" for name, value in pair.items()), {}),
        ("", {"data": f"{parts}--b--\r\n", "headers": {"content-type": "multipart/form-data; boundary=b"}}),
    ]
    tokens = set()
    for query, options in ways:
        said = await app.client.ask("POST", path + query, **options)
        assert (said.status, said.headers["content-type"]) == (200, "text/plain; charset=utf-8")
        assert said.text.endswith("\n")
        tokens.add(token_in(said))
    said = await app.client.ask("POST", path + "?output=json", data=pair)
    tokens |= set(said.json().values())
    [token] = tokens  # the same each time: apps keep it for months
    assert not set(token) - set("abcdefghijklmnopqrstuvwxyz0123456789/._~-")
    reader = ReaderClient(ann, base)
    reader.use(token)
    assert (await reader.get("user-info"))["userName"] == ann.user.username


async def test_a_name_with_other_characters_makes_a_valid_token(app):
    user = await app.add(username="ann+b@example.org")
    request = TokenRequest(name="App", protocols=("greader",))
    issued = await app.accounts.tokens.make_for(SYSTEM, user, request)
    pair = {"Email": " Ann+B@Example.org ", "Passwd": issued.key}
    said = await app.client.ask("POST", f"{PHP}/accounts/ClientLogin", data=pair)
    assert token_in(said).startswith("ann-b-example.org/")


async def test_wrong_passwords_are_refused_and_counted(app, ann):
    other = await an_app_reader(app, "fever")
    token = token_in(await login(app, ann.user.username, ann.key)).rpartition("/")[2]
    pairs = [
        (ann.user.username, "wrong"),
        (ann.user.username, ""),
        (ann.user.username, token),  # a token signs nobody in
        (ann.user.username, f"{ann.key} "),
        ("", ann.key),
        ("somebody", ann.key),
        (other.user.username, other.key),  # for Fever only
        (ann.user.username, other.key),
    ]
    for username, password in pairs:
        said = await login(app, username, password)
        assert (said.status, said.headers["content-type"]) == (401, "text/plain; charset=utf-8"), (username, password)
        assert "Auth=" not in said.text
        assert "Unauthorized" in said.text
        assert "Error=BadAuthentication" in said.text
    statuses = {(await login(app, "victim", "wrong")).status: None for _ in range(30)}
    assert list(statuses) == [401, 429]
    blocked = await login(app, "victim", "wrong")
    assert int(blocked.headers["retry-after"]) > 0


async def login(app: RunningApp, username: str, password: str) -> Any:
    return await app.client.ask("POST", f"{PHP}/accounts/ClientLogin", data={"Email": username, "Passwd": password})


async def test_a_token_dies_with_its_password_at_once(app, ann, reader):
    second = await app.accounts.tokens.make_for(SYSTEM, ann.user, TokenRequest(name="B", protocols=("greader",)))
    kept = ReaderClient(ann)
    kept.use(token_in(await login(app, ann.user.username, second.key)))
    await reader.get("user-info")
    session = await app.signed_in(ann.user)
    [row] = [one for one in (await session.get("/me/tokens")).json()["data"] if one["name"] == "App"]
    assert (await session.ask("DELETE", f"/me/tokens/{row['id']}")).status in {200, 204}
    assert (await reader.ask("GET", "user-info")).status == 401
    assert (await login(app, ann.user.username, ann.key)).status == 401
    await kept.get("user-info")


async def test_whoever_is_unknown_is_told_so_as_apps_expect(app, ann, reader):
    good = reader.headers["authorization"]
    token = good.partition("=")[2]
    session = await app.signed_in(ann.user)
    basic = base64.b64encode(f"{ann.user.username}:{ann.key}".encode()).decode()
    wrong = ["", "GoogleLogin", "GoogleLogin auth=", f"GoogleLogin auth={token}0", f"Bearer {token}", f"Basic {basic}"]
    for header in [*wrong, f"GoogleLogin token={token}"]:
        headers = session.headers | {"authorization": header}
        for method in ("GET", "POST"):
            said = await app.client.ask(method, f"{PHP}/reader/api/0/user-info", headers=headers)
            assert (said.status, said.text) == (401, "Unauthorized"), header
            assert said.headers["x-reader-google-bad-token"] == said.headers["google-bad-token"] == "true"
    for header in (good, f"GoogleLogin  auth= {token} ", f"googlelogin auth={token}", f"GoogleLogin auth={token}\t"):
        said = await app.client.ask("GET", f"{PHP}/reader/api/0/user-info", headers={"authorization": header})
        assert said.status == 200, header


async def test_any_edit_token_is_good_and_none_is_enough(ann, reader):
    await ann.add_feed("The Gull Letters", items=1)
    [entry] = await reader.unread()
    token = (await reader.ask("GET", "token")).text
    assert (len(token), token.strip()) == (57, token)
    for place, sent in enumerate((None, "", "x", f"{token}\n", "of-yesterday")):
        form = [("i", str(entry)), ("a" if place % 2 else "r", READ)]
        await reader.do("edit-tag", *form, *([] if sent is None else [("T", sent)]))
        assert await reader.unread() == ([] if place % 2 else [entry])
    nobody = ReaderClient(ann)
    assert (await nobody.post("edit-tag", ("i", entry), ("a", READ), ("T", token))).status == 401


async def test_a_password_in_an_address_is_in_no_log(tmp_path):
    """FeedFlow signs in so. A process of its own: pytest listens to loggers that are silent otherwise."""
    async with a_running_app(tmp_path) as app:
        ann = await an_app_reader(app)
    query = f"?Email={ann.user.username}&Passwd={ann.key}"
    async with serve(tmp_path, "--port", "0", log_level="debug") as child, aiohttp.ClientSession() as session:
        base = (await line_of(child)).split()[3]
        for ending, status in (("", 200), ("x", 401)):
            async with session.post(f"{base}{PHP}/accounts/ClientLogin{query}{ending}") as said:
                assert said.status == status
        child.send_signal(signal.SIGTERM)
        _, log = await child.communicate()
    assert log.decode().count(f'"path":"{PHP}/accounts/ClientLogin"') == 2
    assert ann.key.encode() not in log
    assert b"Passwd" not in log


# -- addresses


@pytest.mark.parametrize("base", BASES)
async def test_every_base_answers_the_same(app, ann, base):
    feed = await ann.add_feed("The Gull Letters", items=2, group="Tech/Go")
    assert feed
    reader = await ReaderClient(ann, base).sign_in()
    number = (await reader.feeds())["The Gull Letters"]["id"]
    label = "user/-/label/Tech／Go"
    ways = ["stream/contents", "stream/contents/", "stream/contents/reading-list"]
    ways += [f"stream/contents/{form(name)}" for name in (number, READING_LIST) for form in (str, escaped)]
    ways += [f"stream/contents/{escaped(label)}", "stream/contents/user/1/label/Tech%EF%BC%8FGo"]
    for call in ways:
        found = await reader.get(call, ("output", "json"))
        assert len(found["items"]) == 2, call
        assert "self" not in found  # NewsFlash takes no list of links for it, others nothing else


async def test_the_base_alone_says_that_it_is_one(app):
    for path, text in ((PHP, "OK"), (f"{PHP}/", "OK"), (f"{PHP}/check/compatibility", "PASS")):
        said = await app.client.get(path)
        assert (said.status, said.text) == (200, text)
        assert (await app.client.ask("HEAD", path)).status == 200
    page = await app.client.get("/", headers={"accept": "text/html"})
    assert page.text != "OK"
    assert (await app.client.get("/reader/api/1/token")).status == 404


async def test_other_origins_may_call_where_the_operator_allows(tmp_path):
    """Only those that the setting names, and without a cookie."""
    async with a_running_app(tmp_path, cors_allowed_origins="https://app.example") as app:
        ann = await an_app_reader(app, "greader")
        path = f"{PHP}/reader/api/0/tag/list"
        wanted = {"access-control-request-method": "GET", "access-control-request-headers": "authorization"}
        for origin, is_allowed in (("https://app.example", True), ("https://other.example", False)):
            asked = await app.client.ask("OPTIONS", path, headers={"origin": origin} | wanted)
            assert (asked.headers.get("access-control-allow-origin") == origin) == is_allowed
        signed_in = await ReaderClient(ann).sign_in()
        said = await app.client.ask("GET", path, headers=signed_in.headers | {"origin": "https://app.example"})
        assert said.headers["access-control-allow-origin"] == "https://app.example"
        assert "access-control-allow-credentials" not in said.headers
        assert "date" in said.headers
        assert "etag" not in said.headers


async def test_what_nobody_knows_any_more_is_an_empty_list(reader):
    assert await reader.get("preference/list") == {"prefs": []}
    assert await reader.get("preference/stream/list") == {"streamprefs": {}}
    assert await reader.get("friend/list") == {"friends": []}
    assert await reader.get("status") == {"status": "up"}
    for call in ("related/list", "a/b/c/d/e", "stream/items/count", "1"):
        assert await reader.get(call) == []
        assert (await reader.post(call, ("s", "x"))).text == "[]"


async def test_nothing_is_written_by_looking(ann, reader):
    await ann.add_feed("The Gull Letters", items=1)
    [entry] = await reader.unread()
    for call in ("edit-tag", "mark-all-as-read", "subscription/edit", "subscription/import", "disable-tag"):
        for method in ("GET", "HEAD"):
            said = await reader.ask(method, call, (("i", entry), ("a", READ), ("s", READING_LIST)))
            assert said.status == 405
    assert await reader.unread() == [entry]


# -- what there is


async def test_every_category_is_a_tag_byte_for_byte(app, ann, reader):
    names = ["A&B", "Tech/Go", "日本", 'a "b"', "100%", "a+b", "read"]
    for name in names:
        await ann.add_feed(f"In {name}", items=1, group=name)
    await ann.add_feed("Alone")
    await ann.add_series("The Lighthouse Cat", group="A&B")
    await app.reading.groups.add(ann.shelf, "Empty")
    tags = [tag for tag in (await reader.get("tag/list"))["tags"] if "label" in tag]
    shown = [name.replace("/", "／") for name in names]
    assert [tag["label"] for tag in tags] == ["Default", *shown, "Empty"]
    assert {tag["type"] for tag in tags} == {"folder"}
    feeds = await reader.feeds()
    ids = {tag["id"] for tag in tags}
    for feed in feeds.values():
        assert set(feed) == {"id", "title", "categories", "url", "htmlUrl", "iconUrl"}
        [category] = feed["categories"]
        assert category["id"] in ids
        assert category["id"] == f"user/-/label/{category['label']}"
    for name, label in zip(names, shown, strict=True):
        found = await reader.ids(f"user/-/label/{label}")
        assert len(found) == (4 if name == "A&B" else 1), name
        unescaped = f"user/{ann.user.username}/label/{name}"
        assert await reader.ids(unescaped) == found
    [item] = (await reader.get("stream/contents", ("s", "user/-/label/read")))["items"]
    assert not [one for one in item["categories"] if one.endswith("/read")]  # some apps would take it for read


async def test_counts_are_exact_for_feeds_labels_and_all(ann, reader):
    await ann.add_feed("The Gull Letters", items=3)
    await ann.add_series("The Lighthouse Cat", group="Comics")
    feeds = {name: feed["id"] for name, feed in (await reader.feeds()).items()}
    said = await reader.get("unread-count")
    counts = {one["id"]: one["count"] for one in said["unreadcounts"]}
    assert counts == {
        feeds["The Gull Letters"]: 3,
        feeds["The Lighthouse Cat"]: 3,
        "user/-/label/Default": 3,
        "user/-/label/Comics": 3,
        READING_LIST: 6,
    }
    strings_and_numbers(said)


async def test_every_field_has_the_type_that_apps_decode(app, ann, reader):
    feed = await ann.add_feed("The Gull Letters")
    old = an_item("old", at=Millis(1262304000000), title="", author=None, link=None, content="")
    await release_items(
        app, feed, [old, an_item("new", at=app.time(), title="Fish & <b>Chips</b>", author="Ines Brook")]
    )
    await ann.add_series("The Lighthouse Cat")
    said = await reader.get("stream/contents", ("n", 50))
    strings_and_numbers(said)
    for call in ("tag/list", "subscription/list", "unread-count", "user-info", "stream/items/ids"):
        strings_and_numbers(await reader.get(call))
    assert (said["id"], isinstance(said["updated"], int)) == (READING_LIST, True)
    assert len(said["items"]) == 5
    for item in said["items"]:
        assert item["id"].startswith(LONG)
        assert len(item["id"]) == len(LONG) + 16
        assert item["title"]
        assert item["canonical"][0]["href"].startswith("http")
        assert item["alternate"][0]["href"].startswith("http")
        assert isinstance(item["summary"]["content"], str)
        assert READING_LIST in item["categories"]
        assert item["origin"]["streamId"].startswith("feed/")
        assert item["origin"]["title"]
        assert item["origin"]["htmlUrl"].startswith("http")
    published = {item["title"]: item["published"] for item in said["items"]}
    assert published["Fish & <b>Chips</b>"] > 1262304000
    assert 1262304000 in published.values()


# -- streams


async def test_pages_meet_without_gap_or_repeat_while_entries_are_marked(ann, reader):
    await ann.add_feed("The Gull Letters", items=10)
    await ann.add_feed("Ink & Iron", items=10)
    every = await reader.unread()
    assert every == sorted(every, reverse=True)
    for order, expected in (("d", every), ("o", every[::-1])):
        seen: list[int] = []
        continuation: list[tuple[str, str]] = []
        while True:
            query = [("s", READING_LIST), ("xt", READ), ("n", 7), ("r", order), *continuation]
            page = await reader.get("stream/items/ids", *query)
            found = [int(ref["id"]) for ref in page["itemRefs"]]
            assert found
            seen += found
            await reader.do("edit-tag", ("a", READ), *(("i", one) for one in found))
            if "continuation" not in page:
                break
            continuation = [("c", page["continuation"])]
        assert seen == expected
        await reader.do("edit-tag", ("r", READ), *(("i", one) for one in every))


async def test_contents_continue_too_and_end_without_an_empty_page(ann, reader):
    await ann.add_feed("The Gull Letters", items=6)
    every = await reader.unread()
    first = await reader.get("stream/contents", ("n", 3))
    second = await reader.get("stream/contents", ("n", 3), ("c", first["continuation"]))
    assert "continuation" not in second
    assert [number_of(item) for item in first["items"] + second["items"]] == every
    assert await reader.ids(READING_LIST, ("c", "whatever"), ("n", 50)) == every  # not ours
    assert (await reader.get("stream/items/ids", ("c", every[-1]))) == {"itemRefs": []}


def number_of(item: dict[str, Any]) -> int:
    return int(item["id"].removeprefix(LONG), 16)


async def test_streams_are_narrowed_in_every_way(ann, reader):
    await ann.add_feed("The Gull Letters", items=4)
    await ann.add_feed("Ink & Iron", items=2, group="Craft")
    feeds = {name: feed["id"] for name, feed in (await reader.feeds()).items()}
    gulls, ink = [await reader.ids(feeds[name], ("r", "o")) for name in ("The Gull Letters", "Ink & Iron")]
    await reader.do("edit-tag", ("a", READ), ("i", gulls[0]), ("i", gulls[1]))
    await reader.do("edit-tag", ("a", STARRED), ("i", gulls[1]), ("i", gulls[2]), ("i", ink[0]))
    everything = {*gulls, *ink}
    cases: list[tuple[str, list[tuple[str, str]], set[int]]] = [
        (READING_LIST, [], everything),
        ("", [], everything),
        (READ, [], {gulls[0], gulls[1]}),
        (STARRED, [], {gulls[1], gulls[2], ink[0]}),
        (UNREAD, [], everything - {gulls[0], gulls[1]}),
        (READING_LIST, [("xt", READ)], everything - {gulls[0], gulls[1]}),
        (READING_LIST, [("xt", READ), ("xt", STARRED)], {gulls[3], ink[1]}),
        (READING_LIST, [("xt", UNREAD)], {gulls[0], gulls[1]}),
        (READING_LIST, [("xt", READ), ("xt", UNREAD)], set()),
        (READING_LIST, [("xt", "user/-/label/Craft")], set(gulls)),
        (READING_LIST, [("xt", feeds["The Gull Letters"]), ("xt", STARRED)], {ink[1]}),
        (READING_LIST, [("it", READ)], {gulls[0], gulls[1]}),
        (feeds["The Gull Letters"], [("it", STARRED)], {gulls[1], gulls[2]}),
        (STARRED, [("it", "user/-/label/Craft")], {ink[0]}),
        (STARRED, [("xt", STARRED)], set()),
        ("user/-/label/Craft", [], set(ink)),
        ("user/-/label/Craft", [("it", feeds["The Gull Letters"])], set()),
        (feeds["The Gull Letters"], [("it", feeds["Ink & Iron"])], set()),
        ("user/-/label/unknown", [], set()),
        ("feed/999999", [], set()),
        ("feed/https://unknown.example/", [], set()),
        ("feed/feed/" + feeds["Ink & Iron"].removeprefix("feed/"), [], set(ink)),
        (f"{STATE}like", [], set()),
        ("nonsense", [], set()),
    ]
    for stream, query, expected in cases:
        assert set(await reader.ids(stream, *query)) == expected, (stream, query)
        found = await reader.get("stream/contents", ("s", stream), *query)
        assert {number_of(item) for item in found["items"]} == expected, (stream, query)


async def test_excluded_feeds_do_not_shorten_a_page(ann, reader):
    await ann.add_feed("Quiet", items=2)
    await ann.add_feed("Loud", items=30)
    feeds = await reader.feeds()
    quiet = await reader.ids(feeds["Quiet"]["id"])
    assert await reader.ids(READING_LIST, ("xt", feeds["Loud"]["id"]), ("n", 2)) == quiet
    page = await reader.get("stream/items/ids", ("xt", feeds["Loud"]["id"]), ("n", 1))
    assert page["continuation"] == str(quiet[0])


async def test_since_means_arrival_and_brings_what_came_late_again(app, ann, reader):
    """What was stored before the app looked may be seen only after it, so two minutes before count too."""
    feed = await ann.add_feed("The Gull Letters")
    await release_items(app, feed, [an_item("old", at=Millis(1262304000000)), an_item("b", at=Millis(1262304000000))])
    first, second = await reader.ids(READING_LIST, ("r", "o"))
    await arrive(app, first, 1767225600999)
    await arrive(app, second, 1767225601000)
    for since, expected in (
        ("1767225720", [second, first]),
        ("1767225721", [second]),
        ("1767225722", []),
        ("Thu, 01 Jan 2026 00:02:01 GMT", [second]),
        ("0", [second, first]),
    ):
        assert await reader.ids(READING_LIST, ("ot", since)) == expected, since
    assert await reader.ids(READING_LIST, ("nt", "1767225600")) == [first]
    assert await reader.ids(READING_LIST, ("nt", "1767225601")) == [second, first]
    assert (await reader.ask("GET", "stream/items/ids", (("ot", "yesterday"),))).status == 400


async def test_items_are_found_by_every_form_of_their_ids(app, ann, reader):
    await ann.add_feed("The Gull Letters", items=6)
    a, b, c, d, e, f = await reader.ids(READING_LIST, ("r", "o"))
    stranger = await an_app_reader(app)
    await stranger.add_feed("Theirs", items=1)
    [theirs] = await (await ReaderClient(stranger).sign_in()).unread()
    sent = [a, f"{LONG}{b:016x}", f"{LONG}{c:x}", f"{d:016x}", f"{LONG}{e:016X}", f]
    hostile = [theirs, -5, 2**63, 2**64, "zz", "", "0", f"{LONG}zz", "9" * 500, "' or 1=1 --", a]
    for method in ("GET", "POST"):
        found = await reader.ask(method, "stream/items/contents", [("i", one) for one in [*sent, *hostile]])
        assert [number_of(item) for item in found.json()["items"]] == [f, e, d, c, b, a]
    upwards = await reader.get("stream/items/contents", ("i", b), ("i", a), ("r", "o"))
    assert [number_of(item) for item in upwards["items"]] == [a, b]
    assert (await reader.get("stream/items/contents"))["items"] == []


# -- marks


async def test_marks_are_set_and_repeats_change_nothing(ann, reader):
    await ann.add_feed("The Gull Letters", items=2)
    one, other = await reader.unread()
    unread, read, saved = [one, other], [other], [one]
    steps: list[tuple[list[tuple[str, str]], list[int], list[int]]] = [
        ([("a", READ), ("r", KEPT_UNREAD), ("ac", "edit")], read, []),
        ([("a", READ)], read, []),
        ([("r", READ), ("a", KEPT_UNREAD)], unread, []),
        ([("r", KEPT_UNREAD)], read, []),
        ([("a", f"{STATE}tracking-kept-unread")], unread, []),
        ([("a", STARRED), ("a", READ), ("async", "true"), ("s", "feed/7")], read, saved),
        ([("a", STARRED)], read, saved),
        ([("a", f"{STATE}like"), ("r", f"{STATE}broadcast")], read, saved),
        ([("a", "user/1/state/com.google/kept-unread")], unread, saved),
        ([("r", STARRED)], unread, []),
    ]
    for form, left, starred in steps:
        await reader.do("edit-tag", ("i", one), *form)
        assert await reader.unread() == left, form
        assert await reader.ids(STARRED) == starred, form
    for form in ([("a", READ), ("r", READ)], [("a", STARRED), ("r", STARRED)], [("a", READ), ("a", KEPT_UNREAD)]):
        refused = await reader.post("edit-tag", ("i", one), *form)
        assert refused.status == 400
    assert await reader.unread() == unread


async def labels_of(reader: ReaderClient, stream: str = READING_LIST) -> dict[int, list[str]]:
    """The labels of each entry of a stream, by its number."""
    items = (await reader.get("stream/contents", ("s", stream), ("n", 100)))["items"]
    return {
        int(item["id"].removeprefix(LONG), 16): [
            name.removeprefix("user/-/label/") for name in item["categories"] if "/label/" in name
        ]
        for item in items
    }


async def test_labels_on_entries_are_tags(ann, reader):
    await ann.add_feed("The Gull Letters", items=2)
    one, other = await reader.unread()
    await reader.do("edit-tag", ("i", one), ("i", other), ("a", "user/-/label/Sea"), ("a", "user/-/label/Tech／Go"))
    await reader.do("edit-tag", ("i", one), ("r", "user/ann/label/SEA"), ("a", READ))
    assert await labels_of(reader) == {one: ["Default", "Tech／Go"], other: ["Default", "Sea", "Tech／Go"]}
    assert [tag["name"] for tag in await tags_of(ann)] == ["Sea", "Tech/Go"]
    listed = [tag for tag in (await reader.get("tag/list"))["tags"] if tag.get("type") == "tag"]
    assert listed == [
        {"id": "user/-/label/Sea", "label": "Sea", "type": "tag", "unread_count": 1},
        {"id": "user/-/label/Tech／Go", "label": "Tech／Go", "type": "tag", "unread_count": 1},
    ]
    assert await reader.ids("user/-/label/Sea") == [other]
    assert await reader.ids("user/-/label/Tech／Go") == [one, other]
    assert await reader.ids("user/-/label/Tech／Go", ("xt", READ)) == [other]
    assert await reader.ids(READING_LIST, ("xt", "user/-/label/Sea")) == [one]
    counts = {each["id"]: each["count"] for each in (await reader.get("unread-count"))["unreadcounts"]}
    assert (counts["user/-/label/Sea"], counts["user/-/label/Default"]) == (1, 1)
    await reader.do("mark-all-as-read", ("s", "user/-/label/Sea"))
    assert await reader.unread() == []
    assert (await reader.post("edit-tag", ("i", one), ("a", "user/-/label/" + "x" * 101))).status == 400


async def tags_of(ann: AppReader) -> list[dict[str, Any]]:
    return [{"name": tag.name, "unread": tag.unread} for tag in await ann.app.reading.tags.list(ann.shelf)]


async def test_a_label_of_a_group_and_a_tag_is_both(ann, reader):
    await ann.add_feed("The Gull Letters", items=1, group="Sea")
    await ann.add_feed("Ink", items=2)
    [gull], [one, other] = [
        await reader.ids((await reader.feeds())[name]["id"]) for name in ("The Gull Letters", "Ink")
    ]
    await reader.do("edit-tag", ("i", one), ("a", "user/-/label/Sea"))
    await reader.do("edit-tag", ("i", gull), ("a", "user/-/label/Sea"))
    listed = [tag for tag in (await reader.get("tag/list"))["tags"] if tag["id"] == "user/-/label/Sea"]
    assert [tag["type"] for tag in listed] == ["folder"]
    assert sorted(await reader.ids("user/-/label/Sea")) == sorted([gull, one])
    assert await reader.ids(READING_LIST, ("xt", "user/-/label/Sea")) == [other]
    assert (await labels_of(reader, "user/-/label/Sea"))[gull] == ["Sea"], "named once"
    counts = {each["id"]: each["count"] for each in (await reader.get("unread-count"))["unreadcounts"]}
    assert counts["user/-/label/Sea"] == 2, "what is in both counts once"
    await reader.do("rename-tag", ("s", "user/-/label/Sea"), ("dest", "user/-/label/Ocean"))
    assert await reader.labels() == ["Default", "Ocean"]
    assert sorted(await reader.ids("user/-/label/Ocean")) == sorted([gull, one])
    await reader.do("disable-tag", ("s", "user/-/label/Ocean"))
    assert await reader.labels() == ["Default"]
    assert await reader.ids("user/-/label/Ocean") == []


async def test_tags_of_feeds_are_labels_of_their_entries(ann, reader):
    await ann.add_feed("The Gull Letters", items=2)
    [feed] = await ann.app.reading.subscriptions.list(ann.shelf)
    await ann.app.reading.tags.set_feed(ann.shelf, feed.public_id, ["Birds"])
    await ann.app.reading.tags.set_feed(ann.shelf, feed.public_id, ["Sea birds", "read"])
    assert set(map(tuple, (await labels_of(reader)).values())) == {("Default", "Sea birds")}
    assert len(await reader.ids("user/-/label/Sea birds")) == 2
    await reader.do("rename-tag", ("s", "user/-/label/Birds"), ("dest", "user/-/label/sea birds"))
    assert await reader.labels() == ["Default", "read", "Sea birds"]
    await reader.do("disable-tag", ("s", "user/-/label/Sea birds"), ("s", "user/-/label/read"))
    assert await reader.labels() == ["Default"]
    assert (await reader.post("disable-tag", ("s", "user/-/label/Sea birds"))).status == 400


async def test_marks_are_seen_everywhere_at_once(app, ann, reader):
    await ann.add_series("The Lighthouse Cat")
    await ann.add_feed("The Gull Letters", items=1)
    entries = await reader.unread()
    session = await app.signed_in(ann.user)
    await reader.do("edit-tag", *(("i", one) for one in entries), ("a", READ), ("a", STARRED))
    assert (await ann.fever("api&unread_item_ids"))["unread_item_ids"] == ""
    assert (await session.get("/counts")).json()["data"]["unread"] == 0
    assert await app.db.read(lambda tx: tx.one(int, q.read_chapters, shelf_id=ann.shelf)) == 3
    await ann.fever("api", mark="item", **{"as": "unread"}, id=str(entries[0]))
    assert await reader.unread() == [entries[0]]
    await reader.do("edit-tag", *(("i", one) for one in entries), ("r", READ))
    assert await app.db.read(lambda tx: tx.one(int, q.read_chapters, shelf_id=ann.shelf)) == 0


async def test_one_request_is_one_change(app, ann, reader):
    """Marks and stars of articles and chapters come in one transaction, which tells open pages once."""

    async def counted() -> tuple[int, int, int]:
        names = (q.events, q.read_chapters, q.bookmarked_chapters)
        return tuple([await app.db.read(lambda tx, name=name: tx.one(int, name, shelf_id=ann.shelf)) for name in names])

    await ann.add_series("The Lighthouse Cat")
    await ann.add_feed("The Gull Letters", items=2)
    entries = await reader.unread()
    events, _, _ = await counted()
    every = [("i", one) for one in entries]
    await reader.do("edit-tag", *every, ("a", READ), ("a", STARRED), ("r", KEPT_UNREAD), ("r", f"{STATE}fresh"))
    assert await counted() == (events + 1, 3, 3)
    assert await reader.ids(STARRED) == entries
    assert await reader.unread() == []
    await reader.do("edit-tag", *every, ("a", READ), ("a", STARRED))
    assert await counted() == (events + 1, 3, 3)
    await reader.do("edit-tag", *every, ("r", READ), ("r", STARRED))
    assert await counted() == (events + 2, 0, 0)
    feeds = {name: feed["id"] for name, feed in (await reader.feeds()).items()}
    await reader.do("mark-all-as-read", *(("s", feeds[name]) for name in ("The Lighthouse Cat", "The Gull Letters")))
    assert await reader.unread() == []
    assert await counted() == (events + 3, 3, 0)


async def test_a_thousand_parts_mark_a_thousand_entries(ann, reader):
    """Readrops sends every write in parts."""
    await ann.add_feed("The Gull Letters", items=1000)
    entries = await reader.unread()
    parts = [("a", READ), *(("i", one) for one in entries)]
    answer = await reader.ask("POST", "edit-tag", **in_parts(parts))
    assert (answer.status, answer.text) == (200, "OK")
    assert await reader.unread() == []
    for sent in (in_parts([("i", 1)] * 20_001), {"data": "i=1&" * 20_001, "headers": FORM}):
        refused = await reader.ask("POST", "edit-tag", **sent)
        assert (refused.status, refused.text) == (400, "A request can have at most 20,000 parameters.")


def in_parts(fields: list[tuple[str, object]]) -> dict[str, Any]:
    part = '--b\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
    body = "".join(part.format(*field) for field in fields) + "--b--\r\n"
    return {"data": body.encode(), "headers": {"content-type": "multipart/form-data; boundary=b"}}


async def test_a_write_is_read_in_any_form(ann, reader):
    await ann.add_feed("The Gull Letters", items=5)
    entries = await reader.unread()
    forms: list[dict[str, Any]] = [
        {"query": [("i", entries[0]), ("a", READ)]},
        {"data": f"i={entries[1]}&a={READ}", "headers": {"content-type": "application/octet-stream"}},
        {"data": f"i={entries[2]}&a={READ}".encode(), "skip_auto_headers": ["content-type"]},
        {"json": {"i": [str(entries[3])], "a": READ, "T": None}},
        {"json": {"i": entries[4]}, "query": [("a", READ)]},
    ]
    for count, form in enumerate(forms, 1):
        answer = await reader.ask("POST", "edit-tag", **form)
        assert (answer.status, answer.text) == (200, "OK")
        assert await reader.unread() == entries[count:]
    for broken in (b"{", b"[]", b'{"i": {"a": 1}}', b'{"i": "\\u0000"}'):
        answer = await reader.ask("POST", "edit-tag", data=broken, headers={"content-type": "application/json"})
        assert answer.status == 400


async def test_everything_is_marked_up_to_the_moment_of_looking(app, ann, reader):
    await ann.add_feed("The Gull Letters", items=1)
    await ann.add_feed("Ink & Iron", items=1, group="Craft")
    feeds = {name: feed["id"] for name, feed in (await reader.feeds()).items()}
    [gull], [ink] = [await reader.ids(feeds[name]) for name in ("The Gull Letters", "Ink & Iron")]
    at = app.time() - DAY
    at -= at % 1000
    for entry in (gull, ink):
        await arrive(app, entry, at)
    far = "9" * 19
    cases = [
        (READING_LIST, at // 1000, []),
        (READING_LIST, at // 1000 - 1, [ink, gull]),
        (READING_LIST, at, []),
        (READING_LIST, at - 1, [ink, gull]),
        (READING_LIST, at * 1000, []),
        (READING_LIST, at * 1000 - 1, [ink, gull]),
        (READING_LIST, at * 1_000_000, []),
        (READING_LIST, at * 1_000_000 - 1, [ink, gull]),
        (READING_LIST, "", []),
        (READING_LIST, "0", []),
        (READING_LIST, far, []),
        (feeds["Ink & Iron"], "", [gull]),
        ("user/-/label/Craft", "", [gull]),
        (STARRED, "", [ink, gull]),
        (READ, "", [ink, gull]),
    ]
    for stream, ts, left in cases:
        await reader.do("mark-all-as-read", ("s", stream), ("ts", ts), ("T", ""))
        assert await reader.unread() == left, (stream, ts)
        await reader.do("edit-tag", ("i", gull), ("i", ink), ("r", READ))
    await reader.do("mark-all-as-read", ("s", feeds["Ink & Iron"]))
    await ann.release(await ann.add_feed("Late"), 1)
    assert len(await reader.unread()) == 2


async def test_unknown_streams_cannot_be_marked(app, ann, reader):
    await ann.add_feed("The Gull Letters", items=1)
    stranger = await an_app_reader(app)
    await stranger.add_feed("Theirs", items=1)
    [theirs] = (await (await ReaderClient(stranger).sign_in()).feeds()).values()
    for stream in ("feed/999999", "user/-/label/unknown", "", "nonsense", theirs["id"], f"feed/{2**64}"):
        assert (await reader.post("mark-all-as-read", ("s", stream))).status == 400, stream
    for ts in ("yesterday", "1e9"):
        assert (await reader.post("mark-all-as-read", ("s", READING_LIST), ("ts", ts))).status == 400
    for ts in ("-1", "-1767225600000000", "1.5"):  # nothing had arrived by then
        assert (await reader.post("mark-all-as-read", ("s", READING_LIST), ("ts", ts))).status == 200
    assert len(await reader.unread()) == 1


# -- feeds and labels


PAGE = b'<link rel="alternate" type="application/rss+xml" title="Letters" href="/feed">'


async def test_quickadd_finds_the_feed_of_a_page(ann, reader):
    pages = {"/": answer(200, PAGE, content_type="text/html"), "/feed": answer(200, a_feed("1"))}
    async with a_server(by_path(defaultdict(lambda: answer(404, b""), pages))) as server:
        said = (await reader.post("subscription/quickadd", ("quickadd", f"{server.url}/"))).json()
        assert (said["numResults"], said["query"]) == (1, f"{server.url}/feed")
        [feed] = [one for one in (await reader.feeds()).values() if one["id"] == said["streamId"]]
        assert (feed["url"], feed["title"]) == (said["query"], said["streamName"])
        for again in (f"{server.url}/feed", f"feed/{server.url}/feed", f"{server.url}/"):
            assert (await reader.post("subscription/quickadd", ("quickadd", again))).json() == said
        assert len(await reader.feeds()) == 1


async def test_quickadd_says_why_not_with_a_sentence(ann, reader):
    async with a_server(by_path(defaultdict(lambda: answer(404, b"")))) as server:
        for address in ("http://10.0.0.1/feed", "http://169.254.169.254/", "ftp://a.example/", "", f"{server.url}/no"):
            answered = await reader.post("subscription/quickadd", ("quickadd", address))
            assert answered.status == 200
            said = answered.json()
            assert (said["numResults"], said["query"]) == (0, address)
            assert said["error"].endswith((".", "'")), said
    assert await reader.feeds() == {}


async def test_feeds_are_subscribed_edited_and_left_by_number_and_address(app, ann, reader):
    feeds = {f"/{name}": answer(200, a_feed("1", title=name)) for name in "abc"}
    async with a_server(by_path(defaultdict(lambda: answer(404, b""), feeds))) as server:
        edit = "subscription/edit"
        by_address = {name: f"feed/{server.url}/{name}" for name in "abc"}
        subscribe = [("ac", "subscribe"), ("s", by_address["a"]), ("t", "First"), ("a", "user/-/label/New")]
        for _ in range(2):
            await reader.do(edit, *subscribe)
        many = [("ac", "subscribe"), ("s", by_address["b"]), ("t", "Second"), ("s", by_address["c"]), ("t", "Third")]
        await reader.do(edit, *many)
        known = await reader.feeds()
        assert {name: one["categories"][0]["label"] for name, one in known.items()} == {
            "First": "New",
            "Second": "Default",
            "Third": "Default",
        }
        for stream in (by_address["a"], known["First"]["id"], f"feed/{known['First']['id']}"):
            await reader.do(edit, ("ac", "edit"), ("s", stream), ("t", "Renamed"), ("a", "user/-/label/Other"))
            feed = (await reader.feeds())["Renamed"]
            assert feed["categories"][0]["label"] == "Other"
            await reader.do(edit, ("ac", "edit"), ("s", stream), ("r", "user/-/label/Other"))
            assert (await reader.feeds())["Renamed"]["categories"][0]["label"] == "Default"
        both = [("a", "user/-/label/New"), ("r", "user/-/label/Default")]
        await reader.do(edit, ("ac", "edit"), ("s", by_address["a"]), *both)
        assert (await reader.feeds())["Renamed"]["categories"][0]["label"] == "New"
        await reader.do(edit, ("ac", "unsubscribe"), ("s", by_address["a"]), ("s", known["Second"]["id"]))
        assert list(await reader.feeds()) == ["Third"]
        for stream in (by_address["a"], known["Second"]["id"], "feed/999999"):
            for action in ("unsubscribe", "edit"):
                refused = await reader.post(edit, ("ac", action), ("s", stream), ("t", "x"))
                assert refused.status == 400
        refused = await reader.post(edit, ("ac", "unsubscribe"), ("s", known["Third"]["id"]), ("s", "feed/999999"))
        assert refused.status == 400  # all or nothing
        assert list(await reader.feeds()) == ["Third"]


@pytest.mark.parametrize(
    "form",
    [
        [("ac", "subscribe"), ("s", "feed/http://10.0.0.1/"), ("a", "user/-/label/New")],
        [("ac", "subscribe"), ("s", "user/-/label/X")],
        [("ac", "subscribe"), ("s", "feed/999999")],
        [("ac", "subscribe"), ("s", "feed/")],
        [("ac", "subscribe"), ("a", "user/-/label/New")],
        [("ac", "unsubscribe")],
        [("ac", "edit")],
        [("ac", "other"), ("s", "feed/1")],
        [],
    ],
)
async def test_edits_that_cannot_be_made_say_why_and_change_nothing(reader, form):
    refused = await reader.post("subscription/edit", *form)
    assert refused.status == 400
    assert refused.headers["content-type"] == "text/plain; charset=utf-8"
    assert refused.text.endswith(".")
    assert await reader.labels() == ["Default"]


async def test_a_series_moves_and_is_left_but_keeps_its_name(ann, reader):
    await ann.add_series("The Lighthouse Cat")
    [series] = (await reader.feeds()).values()
    by_address = f"feed/{series['url']}"
    same = [("ac", "edit"), ("s", series["id"]), ("t", "The Lighthouse Cat"), ("a", "user/-/label/Comics")]
    await reader.do("subscription/edit", *same)
    assert (await reader.feeds())["The Lighthouse Cat"]["categories"][0]["label"] == "Comics"
    refused = await reader.post("subscription/edit", ("ac", "edit"), ("s", by_address), ("t", "Mine"))
    assert (refused.status, "cannot be renamed" in refused.text) == (400, True)
    await reader.do("subscription/edit", ("ac", "subscribe"), ("s", by_address))
    await reader.do("subscription/edit", ("ac", "unsubscribe"), ("s", by_address))
    assert await reader.feeds() == {}


async def test_labels_are_renamed_and_disabled(ann, reader):
    await ann.add_feed("The Gull Letters", group="Birds")
    await ann.add_series("The Lighthouse Cat", group="Tech/Go")
    await reader.do("rename-tag", ("s", "user/-/label/Tech／Go"), ("dest", "user/-/label/Tech／Rust"))
    await reader.do("rename-tag", ("t", "Birds"), ("dest", "user/1/label/Sea birds"))
    assert await reader.labels() == ["Default", "Sea birds", "Tech／Rust"]
    assert [group.name for group in await ann.app.reading.groups.list(ann.shelf)][2] == "Tech/Rust"
    for label, into in (("unknown", "X"), ("Sea birds", "Tech／Rust"), ("Sea birds", ""), ("Sea birds", " ")):
        form = [("s", f"user/-/label/{label}"), ("dest", f"user/-/label/{into}")]
        assert (await reader.post("rename-tag", *form)).status == 400, (label, into)
    both = [("s", "user/-/label/Sea birds"), ("s", "user/-/label/Tech／Rust")]
    assert (await reader.post("disable-tag", *both, ("s", "user/-/label/Default"))).status == 400
    assert (await reader.post("disable-tag", *both, ("s", "user/-/label/unknown"))).status == 400
    assert (await reader.post("disable-tag")).status == 400
    await reader.do("disable-tag", *both)
    assert await reader.labels() == ["Default"]
    assert {feed["categories"][0]["label"] for feed in (await reader.feeds()).values()} == {"Default"}


async def test_lists_of_feeds_come_and_go(ann, reader):
    await ann.add_feed("The Gull Letters", group="Birds")
    exported = await reader.ask("GET", "subscription/export")
    assert exported.headers["content-type"] == "text/x-opml; charset=utf-8"
    assert "The Gull Letters" in exported.text
    [feed] = (await reader.feeds()).values()
    await reader.do("subscription/edit", ("ac", "unsubscribe"), ("s", feed["id"]))
    xml = {"content-type": "text/xml"}
    imported = await reader.ask("POST", "subscription/import", (("T", "x"),), data=exported.body, headers=xml)
    assert (imported.status, imported.text) == (200, "OK: 1")
    assert list(await reader.feeds()) == ["The Gull Letters"]
    refused = await reader.ask("POST", "subscription/import", data=b"<html>", headers=xml)
    assert refused.status == 400


# -- whose


async def test_another_shelfs_numbers_open_and_change_nothing(app, ann, reader):
    await ann.add_feed("The Gull Letters", items=1)
    [entry] = await reader.unread()
    [feed] = (await reader.feeds()).values()
    stranger = await ReaderClient(await an_app_reader(app)).sign_in()
    await stranger.do("edit-tag", ("i", entry), ("a", READ), ("a", STARRED))
    assert await stranger.ids(feed["id"]) == []
    assert (await stranger.get("stream/items/contents", ("i", entry)))["items"] == []
    for action in ("unsubscribe", "edit"):
        assert (await stranger.post("subscription/edit", ("ac", action), ("s", feed["id"]), ("t", "x"))).status == 400
    assert (await reader.unread(), await reader.ids(STARRED)) == ([entry], [])
    assert (await reader.feeds())["The Gull Letters"] == feed


async def test_a_shelf_that_is_only_read_refuses_every_change(app, ann):
    await ann.add_feed("The Gull Letters", items=1, group="Birds")
    guest = await an_app_reader(app)
    member = await app.accounts.current_user.shelf_of(ann.user)
    who = shelf_user(ann.user)
    await app.accounts.sharing.share(who, member.public_id, guest.user.username, "reader")
    request = TokenRequest(name="Shared", protocols=("greader",), shelf=member.public_id)
    issued = await app.accounts.tokens.make_for(SYSTEM, guest.user, request)
    reader = await ReaderClient(AppReader(app, guest.user, ann.shelf, issued)).sign_in()
    [entry] = await reader.unread()
    [feed] = (await reader.feeds()).values()
    writes: list[tuple[str, list[tuple[str, object]]]] = [
        ("edit-tag", [("i", entry), ("a", READ)]),
        ("edit-tag", [("i", entry), ("a", STARRED)]),
        ("edit-tag", [("i", entry), ("a", "user/-/label/New")]),
        ("edit-tag", [("i", entry), ("r", "user/-/label/New")]),
        ("edit-tag", [("a", "user/-/label/New")]),
        ("mark-all-as-read", [("s", READING_LIST)]),
        ("subscription/edit", [("ac", "unsubscribe"), ("s", feed["id"])]),
        ("subscription/edit", [("ac", "edit"), ("s", feed["id"]), ("t", "x")]),
        ("subscription/edit", [("ac", "edit"), ("a", "user/-/label/New")]),
        ("rename-tag", [("s", "user/-/label/Birds"), ("dest", "user/-/label/New")]),
        ("disable-tag", [("s", "user/-/label/Birds")]),
        ("subscription/import", []),
    ]
    for call, form in writes:
        refused = await reader.post(call, *form)
        assert (refused.status, refused.text) == (403, "You can only read this shelf."), call
    said = (await reader.post("subscription/quickadd", ("quickadd", "https://a.example/"))).json()
    assert said["error"] == "You can only read this shelf."
    assert (await reader.unread(), await reader.labels()) == ([entry], ["Default", "Birds"])


async def test_a_password_for_one_kind_shows_and_changes_only_that(app, ann):
    await ann.add_feed("The Gull Letters", items=1)
    await ann.add_series("The Lighthouse Cat")
    request = TokenRequest(name="Comics", protocols=("greader",), kinds="chapter")
    issued = await app.accounts.tokens.make_for(SYSTEM, ann.user, request)
    reader = await ReaderClient(AppReader(app, ann.user, ann.shelf, issued)).sign_in()
    every = await (await ReaderClient(ann).sign_in()).feeds()
    gulls = every["The Gull Letters"]
    assert list(await reader.feeds()) == ["The Lighthouse Cat"]
    assert (len(await reader.unread()), await reader.ids(gulls["id"])) == (3, [])
    for stream in (gulls["id"], f"feed/{gulls['url']}"):
        for call, form in (("mark-all-as-read", []), ("subscription/edit", [("ac", "unsubscribe")])):
            assert (await reader.post(call, ("s", stream), *form)).status == 400
    assert (await reader.ask("GET", "subscription/export")).status == 403
    whole = await ReaderClient(ann).sign_in()
    for entry in await whole.unread():
        await reader.do("edit-tag", ("i", entry), ("a", "user/-/label/Sea"))
    assert len(await whole.ids("user/-/label/Sea")) == 3
    for entry in await whole.unread():
        await whole.do("edit-tag", ("i", entry), ("a", "user/-/label/Sea"))
    [label] = [tag for tag in (await reader.get("tag/list"))["tags"] if tag.get("type") == "tag"]
    assert label["unread_count"] == 3
    await reader.do("mark-all-as-read", ("s", READING_LIST))
    assert len(await whole.unread()) == 1


# -- many


async def test_ten_thousand_ids_and_entries_at_once(app, ann, reader):
    """Not all of them are ours: apps ask for what they remember."""
    feed = await ann.add_feed("The Gull Letters")
    now = app.time()
    items = [an_item(f"n{n}", at=Millis(now - n * MINUTE), content=f"<p>{n}</p>") for n in range(3_001)]
    await release_items(app, feed, items)
    began = time.process_time()
    unread = await reader.ids(READING_LIST, ("xt", READ), ("n", 10_000))
    assert len(unread) == 3_001
    first = await reader.get("stream/items/ids", ("xt", READ), ("n", 3_000))
    second = await reader.get("stream/items/ids", ("xt", READ), ("n", 3_000), ("c", first["continuation"]))
    assert [int(ref["id"]) for ref in first["itemRefs"] + second["itemRefs"]] == unread
    assert "continuation" not in second
    ids = [*unread, *range(10**9, 10**9 + 10_000 - len(unread))]
    body = "&".join(f"i={escaped(f'{LONG}{one:016x}')}" for one in ids)
    assert 500_000 < len(body) < 1024 * 1024
    found = await reader.ask("POST", "stream/items/contents", data=body, headers=FORM)
    assert [number_of(item) for item in found.json()["items"]] == unread
    marked = "&".join(["a=" + escaped(READ), *(f"i={one}" for one in ids)])
    assert (await reader.ask("POST", "edit-tag", data=marked, headers=FORM)).text == "OK"
    assert await reader.unread() == []
    assert time.process_time() - began < 20  # both sides of it, and no more than a second for each thousand
    tags = "&".join(["a=" + escaped(STARRED), *(f"i={one}" for one in unread[:1_000])])
    assert (await reader.ask("POST", "edit-tag", data=tags, headers=FORM)).text == "OK"
    assert len(await reader.ids(STARRED, ("n", 2_000))) == 1_000


# -- what goes wrong

HOSTILE = (
    "\x00",
    "a\x00b",
    "user/-/label/\x00",
    "user/-/label/",
    "user/-/label/" + "x" * 5_000,
    "user/-/state/com.google/",
    "feed/",
    "feed/\x00",
    "feed/" + "9" * 400,
    "feed/http://[::1",
    "feed/javascript:alert(1)",
    "' or 1=1 --",
    "-1",
    "%",
    "\ud7ff\uffff",
    "../../etc/passwd",
)


@pytest.mark.parametrize("call", ["stream/items/ids", "stream/contents", "stream/items/contents"])
async def test_hostile_parameters_break_no_read(reader, call):
    for text in HOSTILE:
        for name in ("s", "n", "c", "r", "ot", "nt", "xt", "it", "i", "output"):
            said = await reader.ask("GET", call, ((name, text),))
            assert said.status in {200, 400}, (name, text, said.text)
        assert (await reader.ask("GET", f"{call}/{escaped(text)}")).status in {200, 404}, text


async def test_hostile_parameters_break_no_write(ann, reader):
    await ann.add_feed("The Gull Letters", items=1)
    [entry] = await reader.unread()
    [feed] = (await reader.feeds()).values()
    for text in HOSTILE:
        forms: list[tuple[str, list[tuple[str, object]]]] = [
            ("edit-tag", [("i", entry), ("a", text)]),
            ("edit-tag", [("i", text), ("a", READ)]),
            ("edit-tag", [("a", text)]),
            ("mark-all-as-read", [("s", text)]),
            ("mark-all-as-read", [("s", "feed/999999"), ("ts", text)]),
            ("subscription/edit", [("ac", text), ("s", feed["id"])]),
            ("subscription/edit", [("ac", "edit"), ("s", text), ("t", text)]),
            ("subscription/edit", [("ac", "edit"), ("s", feed["id"]), ("t", text), ("a", text), ("r", text)]),
            ("subscription/edit", [("ac", "unsubscribe"), ("s", text)]),
            ("subscription/quickadd", [("quickadd", "http://10.0.0.1/" + text)]),
            ("rename-tag", [("s", text), ("dest", text)]),
            ("rename-tag", [("s", "user/-/label/unknown"), ("dest", text)]),
            ("disable-tag", [("s", text)]),
        ]
        for call, form in forms:
            said = await reader.post(call, *form)
            assert said.status in {200, 400}, (call, form, said.text)
    assert await reader.unread() == [entry]
    assert len(await reader.feeds()) == 1


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (Invalid("No."), 400, "text/plain"),
        (NotFound("No."), 400, "text/plain"),
        (Conflict("No."), 400, "text/plain"),
        (Unreachable("No."), 400, "text/plain"),
        (RefusedAddress("No."), 400, "text/plain"),
        (Forbidden("No."), 403, "text/plain"),
        (TooManyRequests("No.", 7), 429, "text/plain"),
        (LimitExceeded("No."), 422, "application/json"),
        (BodyTooLarge(1), 413, "application/json"),
    ],
)
async def test_errors_are_told_where_apps_look_for_them(error, status, kind):
    async def fail() -> Response:
        raise error

    said = await shaped(fail(), REFUSAL)
    assert said.status_code == status
    assert said.headers["content-type"].startswith(kind)
    assert str(error) in bytes(said.body).decode()
    assert said.headers.get("retry-after") == ("7" if status == 429 else None)


async def test_a_database_that_is_gone_is_told_as_everywhere():
    async def fail() -> Response:
        raise Unavailable("No.")

    with pytest.raises(Unavailable):
        await shaped(fail(), REFUSAL)
