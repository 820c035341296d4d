"""Habits of apps that speak the Google Reader API at which others would fail; `transcripts` has all their calls."""

import re
from collections.abc import AsyncIterator

import pytest

from tests.api.people import RunningApp, a_running_app
from tests.protocols.people import AppReader, an_app_reader
from tests.protocols.reader_client import LONG, PHP, READ, READING_LIST, ReaderClient, token_in

API = "/reader/api/0"
UNTYPED = {"content-type": ""}


LOGIN = "/accounts/ClientLogin"


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
