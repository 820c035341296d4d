"""What each app that speaks the Google Reader API sends, with its habits, and what it must be answered."""

import re
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from tests.api.people import RunningApp, a_running_app
from tests.app import Answer
from tests.net.builders import a_server, answer, by_path
from tests.polling.builders import a_feed
from tests.protocols.people import AppReader, an_app_reader, errors_of
from tests.protocols.reader_client import FORM, LONG, PHP, READ, READING_LIST, STARRED, ReaderClient, token_in

API = "/reader/api/0"
MULTIPART = {"content-type": "multipart/form-data; boundary=b"}
UNTYPED = {"content-type": ""}
Check = Callable[[Any], bool]


class Step(msgspec.Struct, frozen=True):
    """One request, as it is sent: in braces what is known by then. The check sees JSON, or the text of what is none."""

    method: str
    target: str
    body: str | None
    headers: dict[str, str]
    check: Check


def get(target: str, check: Check = bool) -> Step:
    return Step("GET", target, None, {}, check)


def post(target: str, body: str | None = "", check: Check = lambda said: said == "OK", **headers: str) -> Step:
    return Step("POST", target, body, headers or FORM, check)


def refs(count: int) -> Check:
    return lambda said: len(said["itemRefs"]) == count


def items(count: int) -> Check:
    return lambda said: len(said["items"]) == count


LOGIN = "/accounts/ClientLogin"
FORM_LOGIN = post(LOGIN, "Email={name}&Passwd={key}", lambda said: "Auth=" in said)
IDS = f"{API}/stream/items/ids?output=json"
EVERY = f"s={READING_LIST}"
TWO_OF_EACH = "i={one}&i={other}"

CLIENTS: dict[str, tuple[str, list[Step]]] = {
    "NetNewsWire": (
        PHP,
        [
            FORM_LOGIN,
            get(f"{API}/token", lambda said: len(said) == 57),
            get(f"{API}/tag/list?output=json", lambda said: said["tags"][1]["type"] == "folder"),
            get(f"{API}/subscription/list?output=json", lambda said: said["subscriptions"][0]["iconUrl"] == ""),
            get(f"{IDS}&n=1000&{EVERY}&ot=Wed,%2031%20Dec%202025%2023:00:00%20GMT", refs(4)),
            get(f"{IDS}&n=1000&{EVERY}&xt={READ}", refs(4)),
            get(f"{IDS}&n=1000&s={STARRED}", refs(0)),
            post(f"{API}/stream/items/contents?output=json", f"T=x&i={LONG}{{hex}}&i={LONG}{{short_hex}}", items(1)),
            post(f"{API}/edit-tag", f"T=x&{TWO_OF_EACH}&a={READ}"),
            post(f"{API}/edit-tag", f"T=x&i={{one}}&r={STARRED}"),
        ],
    ),
    "ReadYou": (
        PHP,
        [
            post(f"{LOGIN}?output=json", "Email={name}&Passwd={key}&client=ReadYou", lambda said: "Auth" in said),
            get(f"{API}/token"),
            get(f"{API}/subscription/list?output=json"),
            get(f"{IDS}&{EVERY}&xt={READ}&n=10000", refs(4)),
            get(f"{IDS}&s={STARRED}&n=10000", refs(0)),
            get(f"{IDS}&{EVERY}&it={READ}&ot=1&n=10000", refs(0)),
            post(f"{API}/stream/items/contents?output=json", "T=x&" + TWO_OF_EACH, items(2)),
            post(f"{API}/edit-tag", f"T=x&i=000000000000{{hex4}}&a={READ}"),
            post(f"{API}/subscription/edit", "ac=edit&a=user/-/label/New folder&T=x"),
            post(
                f"{API}/subscription/quickadd?quickadd={{address}}&output=json", "T=x", lambda s: s["numResults"] == 1
            ),
        ],
    ),
    "Capy Reader": (
        PHP,
        [
            FORM_LOGIN,
            get(f"{API}/tag/list?output=json", lambda said: {t.get("type") for t in said["tags"]} == {None, "folder"}),
            get(
                f"{API}/subscription/list?output=json", lambda said: all(s["categories"] for s in said["subscriptions"])
            ),
            get(f"{IDS}&{EVERY}&n=10000&xt={READ}", refs(4)),
            get(f"{IDS}&s=user/-/label/Craft&n=10000", refs(2)),
            post(f"{API}/stream/items/contents?output=json", "T={token}%0A&" + TWO_OF_EACH, items(2)),
            post(f"{API}/edit-tag", f"T={{token}}%0A&{TWO_OF_EACH}&a={STARRED}"),
            post(f"{API}/subscription/quickadd", "quickadd={address}", lambda said: said["streamName"] != ""),
        ],
    ),
    "NewsFlash": (
        PHP,
        [
            FORM_LOGIN,
            get(f"{API}/stream/contents/{READING_LIST}?n=1000&xt={READ}&output=json", items(4)),
            get(f"{API}/stream/contents/{STARRED}?n=1000&output=json", items(0)),
            get(f"{API}/stream/contents/{READING_LIST}?n=1000&ot=1767225600&output=json", items(4)),
            post(f"{API}/mark-all-as-read", "T=x&s={feed}&ts=1767225600000000"),
            post(f"{API}/subscription/edit", "T=x&ac=edit&s=feed/{feed_address}&t=Renamed&a=user/-/label/Craft"),
            get(f"{API}/subscription/export", lambda said: "<opml" in said),
        ],
    ),
    "Readrops": (
        "",
        [
            post(LOGIN, "Email={name}&Passwd={key}", lambda said: "Auth=" in said, **MULTIPART),
            get(f"{API}/user-info", lambda said: said["userName"] != ""),
            get(f"{API}/stream/contents/{READING_LIST}?n=2500&xt={READ}&xt={STARRED}", items(4)),
            get(f"{IDS}&{EVERY}&xt=user/-/state/com.google/unread", refs(0)),
            post(f"{API}/edit-tag", f"T={{token}}%0A&{TWO_OF_EACH}&a={READ}"),
            post(f"{API}/subscription/edit", "T=x&ac=unsubscribe&s=feed/{feed_address}"),
        ],
    ),
    "FeedFlow": (
        f"{PHP}/",
        [
            post(f"{LOGIN}?Email={{name}}&Passwd={{key}}", None, lambda said: "Auth=" in said, **UNTYPED),
            get(f"{IDS}&{EVERY}&n=15000&xt={READ}&xt={STARRED}", refs(4)),
            post(f"{API}/stream/items/contents", TWO_OF_EACH, items(2)),
            post(f"{API}/edit-tag", f"T=x%0A&{TWO_OF_EACH}&a={READ}"),
            post(f"{API}/edit-tag", "T=x&s=user/-/label/Craft"),
        ],
    ),
    "Twine": (
        PHP,
        [
            FORM_LOGIN,
            get(f"{IDS}&{EVERY}&n=50000", refs(4)),
            get(f"{API}/stream/contents/{READING_LIST}?n=1000", items(4)),
            post(f"{API}/subscription/edit?ac=edit&s=&a=user/-/label/Made", ""),
            post(
                f"{API}/subscription/quickadd?quickadd=feed/{{address}}",
                None,
                lambda s: s["numResults"] == 1,
                **UNTYPED,
            ),
        ],
    ),
    "RSS Guard": (
        "",
        [
            FORM_LOGIN,
            get(f"{IDS}&s=user%2F-%2Fstate%2Fcom.google%2Freading-list&n=200000", refs(4)),
            get(f"{API}/stream/contents/{{feed_escaped}}?n=20", items(2)),
            post(f"{API}/stream/items/contents", TWO_OF_EACH, items(2)),
            post(f"{API}/edit-tag", f"{TWO_OF_EACH}&a={READ}"),
        ],
    ),
    "Fluent Reader": (
        "",
        [
            FORM_LOGIN,
            get(f"{API}/user-info", lambda said: isinstance(said["userId"], str)),
            get(f"{API}/stream/items/ids?output=json&xt={READ}&n=1000", refs(4)),
            get(f"{API}/stream/contents?output=json&n=50&ot=1767225600", items(4)),
            post(f"{API}/edit-tag", f"{TWO_OF_EACH}&a={READ}"),
            post(f"{API}/mark-all-as-read", "s={feed}"),
        ],
    ),
    "Newsboat": (
        PHP,
        [
            FORM_LOGIN,
            get(f"{API}/subscription/list?output=json"),
            get(f"{API}/stream/contents/{{feed_escaped}}?n=20", items(2)),
            post(f"{API}/edit-tag", f"T=x\n&i={{one}}&a={READ}&r=user/-/state/com.google/kept-unread&ac=edit"),
            post(f"{API}/mark-all-as-read", "s={feed}&T=x\n"),
        ],
    ),
    "Vienna": (
        "",
        [
            FORM_LOGIN,
            get(f"{API}/unread-count?output=json", lambda said: said["unreadcounts"][-1]["count"] == 4),
            get(f"{IDS}&s={{feed}}&it={STARRED}", refs(0)),
            get(f"{API}/stream/contents/{{feed_escaped}}?comments=false&likes=false&client=Vienna", items(2)),
        ],
    ),
    "FeedMe": ("", [FORM_LOGIN, get(f"{API}/stream/contents?n=20", items(4)), post(f"{API}/edit-tag", "i={one}&T=")]),
    "Reeder": (
        PHP,
        [
            FORM_LOGIN,
            get(f"{IDS}&s=feed/{{feed}}&n=100", refs(2)),
            post(f"{API}/stream/items/contents", "i=000000000000{hex4}&T=x", items(1)),
            post(f"{API}/edit-tag", f"T=x&i=000000000000{{hex4}}&a={STARRED}"),
        ],
    ),
    "EasyRSS": ("", [FORM_LOGIN, get(f"{API}/stream/contents?ck=1&client=EasyRSS", items(4))]),
}


@pytest.fixture
async def app(tmp_path) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path, allow_private_networks="127.0.0.0/8") as app:
        yield app


@pytest.fixture
async def ann(app) -> AppReader:
    """Two feeds, each with two articles."""
    reader = await an_app_reader(app)
    await reader.add_feed("The Gull Letters", items=2)
    await reader.add_feed("Ink & Iron", items=2, group="Craft")
    return reader


@pytest.fixture
async def reader(ann) -> ReaderClient:
    return await ReaderClient(ann).sign_in()


async def known(ann: AppReader, address: str) -> dict[str, str]:
    """What a transcript may name."""
    reader = await ReaderClient(ann).sign_in()
    one, other, *_ = await reader.unread()
    feed = (await reader.feeds())["The Gull Letters"]
    return {
        "name": ann.user.username,
        "key": ann.key,
        "one": str(one),
        "other": str(other),
        "hex": f"{one:016x}",
        "hex4": f"{one:04x}",
        "short_hex": f"{one:x}",
        "feed": feed["id"],
        "feed_escaped": feed["id"].replace("/", "%2F"),
        "feed_address": feed["url"],
        "address": address,
        "token": "0123456789abcdef" * 3 + "012345678",
    }


def filled(text: str, values: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], text)


def in_parts(body: str) -> str:
    """The same form in another encoding."""
    pairs = [pair.split("=", 1) for pair in body.split("&")]
    parts = [f'--b\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in pairs]
    return "".join(parts) + "--b--\r\n"


def said_in(told: Answer) -> Any:
    return told.json() if told.headers["content-type"].startswith("application/json") else told.text


@pytest.mark.parametrize("name", CLIENTS)
async def test_every_app_is_answered_as_it_needs(app, ann, name):
    base, steps = CLIENTS[name]
    token = ""
    pages = defaultdict(lambda: answer(404, b""), {"/feed": answer(200, a_feed("1", title="New"))})
    async with a_server(by_path(pages)) as server:
        values = await known(ann, f"{server.url}/feed")
        for step in steps:
            body = None if step.body is None else filled(step.body, values)
            if step.headers == MULTIPART and body is not None:
                body = in_parts(body)
            headers = step.headers | ({"authorization": f"GoogleLogin auth={token}"} if token else {})
            target = base + filled(step.target, values).replace(" ", "%20")
            told = await app.client.ask(step.method, target, data=body, headers=headers)
            assert told.status == 200, (target, errors_of(told))
            assert step.check(said_in(told)), (target, told.text[:500])
            if LOGIN in target:
                token = told.json()["Auth"] if "output=json" in target else token_in(told)


# -- the fragile ones


async def test_netnewswires_folders_are_those_of_the_tags_byte_for_byte(ann, reader):
    """It stops assigning folders at the first category that is no tag, and names them itself when it makes one."""
    for name in ("Tech/Go", "A&B", "日本", 'a "b"', "é", "ｅ"):
        await ann.add_feed(f"In {name}", group=name)
    tags = re.findall(rb'"id":"(user/-/label/[^\n]*?)","label"', (await reader.ask("GET", "tag/list")).body)
    said = (await reader.ask("GET", "subscription/list")).body
    categories = re.findall(rb'"id":"(user/-/label/[^\n]*?)","label"', said)
    assert len(categories) == 8
    assert set(categories) <= set(tags)
    made = "user/-/label/Made by me"
    feed = (await reader.feeds())["The Gull Letters"]
    await reader.do("subscription/edit", ("ac", "edit"), ("s", feed["id"]), ("a", made), ("T", "x"))
    assert made.encode() in (await reader.ask("GET", "tag/list")).body
    assert (await reader.feeds())["The Gull Letters"]["categories"][0]["id"] == made


async def test_netnewswire_moves_a_folder_away_feed_by_feed(reader):
    """It leaves each feed of a folder before it disables the label."""
    craft = "user/-/label/Craft"
    feed = (await reader.feeds())["Ink & Iron"]
    await reader.do("subscription/edit", ("ac", "edit"), ("s", feed["id"]), ("r", craft))
    await reader.do("disable-tag", ("s", craft), ("T", "x"))
    assert await reader.labels() == ["Default"]
    assert len(await reader.feeds()) == 2


async def test_readrops_makes_a_folder_by_a_tag_on_nothing(reader):
    await reader.do("edit-tag", ("a", "user/-/label/Made／here"), ("T", "x"))
    await reader.do("edit-tag", ("a", "user/-/label/Made／here"))
    assert await reader.labels() == ["Default", "Craft", "Made／here"]


async def test_feedflow_signs_in_by_the_query_of_an_empty_post(app, ann, reader):
    query = f"?Email={ann.user.username}&Passwd={ann.key}"
    told = await app.client.ask("POST", f"{PHP}{LOGIN}{query}")
    reader.use(token_in(told))
    assert len(await reader.unread()) == 4
    await reader.do("edit-tag", ("s", "user/-/label/Craft"), ("T", "x"))  # as it disables a label, by mistake
    assert await reader.labels() == ["Default", "Craft"]


async def test_rss_guard_edits_by_query_with_an_untyped_body(ann, reader):
    feed = (await reader.feeds())["Ink & Iron"]
    query = [("ac", "edit"), ("s", feed["id"]), ("t", "Übrig"), ("a", "user/-/label/Neu")]
    told = await reader.ask("POST", "subscription/edit", query, data=b"T=x", headers=UNTYPED)
    assert (told.status, told.text) == (200, "OK")
    assert (await reader.feeds())["Übrig"]["categories"][0]["label"] == "Neu"


async def test_an_import_of_newsflash_says_how_many_there_are(reader):
    outline = "<opml version='2.0'><body><outline text='B' xmlUrl='https://b.example/feed'/></body></opml>"
    told = await reader.ask("POST", "subscription/import", data=outline, headers={"content-type": "text/xml"})
    assert re.fullmatch(r"OK: (\d+)", told.text)


async def test_a_whole_sync_of_one_app(reader):
    """Only numbers first, then contents by either form of id, then marks: each answer fits the one before."""
    first = await reader.get("stream/items/ids", ("s", READING_LIST), ("xt", READ), ("n", 1), ("output", "json"))
    [ref] = first["itemRefs"]
    assert set(ref) == {"id", "directStreamIds", "timestampUsec"}
    assert first["continuation"] == ref["id"]
    rest = await reader.get("stream/items/ids", ("s", READING_LIST), ("xt", READ), ("c", first["continuation"]))
    assert len(rest["itemRefs"]) == 3
    assert "continuation" not in rest
    other = rest["itemRefs"][0]["id"]
    form = [("i", other), ("i", f"{LONG}{int(ref['id']):016x}"), ("T", "0123")]
    found = (await reader.post("stream/items/contents", *form)).json()
    assert (found["direction"], found["id"]) == ("ltr", READING_LIST)
    assert [int(item["id"].removeprefix(LONG), 16) for item in found["items"]] == [int(ref["id"]), int(other)]
    item = found["items"][0]
    assert item["timestampUsec"] == ref["timestampUsec"]
    assert [item["origin"]["streamId"]] == ref["directStreamIds"]
    await reader.do("edit-tag", ("i", other), ("a", READ), ("r", "user/-/state/com.google/kept-unread"), ("T", "x"))
    await reader.do("mark-all-as-read", ("s", item["origin"]["streamId"]), ("ts", item["timestampUsec"]), ("T", ""))
    assert int(ref["id"]) not in await reader.unread()
