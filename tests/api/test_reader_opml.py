"""Lists of feeds over HTTP: in, out, and in again."""

import asyncio
import io
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest
from lxml import etree

from tests.api.library import Library, a_library
from tests.api.people import API, Visitor
from tsuzuki.connectors.opml import read_opml, write_opml
from tsuzuki.parsing.pool import ParsePool

BODY = """<opml version="1.0"><body>
<outline text="News">
  <outline text="Daily" xmlUrl="{0}/daily"/>
  <outline text="Local"><outline text="Town" xmlUrl="{0}/town"/></outline>
</outline>
<outline text="Inside" xmlUrl="http://10.0.0.1/feed"/>
<outline text="Daily again" xmlUrl="{0}/daily"/>
</body></opml>"""


@pytest.fixture
async def library(database_url, tmp_path) -> AsyncIterator[Library]:
    async with a_library(tmp_path, database_url) as library:
        yield library


async def send(me: Visitor, body: object, content_type: str | None = "text/xml"):
    headers = me.headers | ({} if content_type is None else {"content-type": content_type})
    return await me.client.ask("POST", f"{API}/opml", data=body, headers=headers)


async def test_an_imported_list_reports_every_line_once(library):
    """REL-39c: bringing it in again makes nothing twice."""
    me = await library.reader()
    body = BODY.format(library.press.url)
    done = (await send(me.visitor, body)).json()["data"]
    assert (done["created"], done["existing"], done["failed"]) == (2, 1, 1)
    assert [(line["line"], line["outcome"]) for line in done["results"]] == [
        (3, "created"),
        (4, "created"),
        (6, "failed"),
        (7, "existing"),
    ]
    assert done["results"][2]["code"] == "VALIDATION_ERROR"
    again = (await send(me.visitor, body)).json()["data"]
    assert (again["created"], again["existing"], again["failed"]) == (0, 3, 1)
    feeds, groups = await me.get("/feeds"), {one["id"]: one["name"] for one in await me.get("/groups")}
    assert {feed["name"]: groups[feed["group_id"]] for feed in feeds} == {"Daily": "News", "Town": "News / Local"}


@pytest.mark.parametrize("content_type", ["text/x-opml", "application/octet-stream"])
async def test_a_list_comes_as_body_or_as_uploaded_file(library, content_type):
    me = await library.reader()
    body = BODY.format(library.press.url)
    form = aiohttp.FormData()
    form.add_field("comment", "mine")
    form.add_field("file", body.encode(), filename="list.opml", content_type=content_type)
    assert (await send(me.visitor, form, None)).json()["data"]["created"] == 2
    assert (await send(me.visitor, body, content_type)).json()["data"]["existing"] == 3
    empty = aiohttp.FormData()
    empty.add_field("comment", "mine", content_type="text/plain")
    assert (await send(me.visitor, empty, None)).status == 400


async def test_what_is_no_list_is_refused_and_follows_nothing(library):
    me = await library.reader()
    for body in (b"", b"hello", b"<rss/>", b"\x00\xff", b"<opml><body>"):
        assert (await send(me.visitor, body)).json()["code"] == "VALIDATION_ERROR"
    assert (await send(me.visitor, io.BytesIO(b" " * (11 * 1024 * 1024)))).status == 413
    assert await me.get("/feeds") == []


async def test_a_list_of_ampersands_is_refused_and_holds_nobody_up(library):
    """SEC-20: it is read in a parser process, within its bounds of computing."""
    me = await library.reader()
    sending = asyncio.create_task(send(me.visitor, io.BytesIO(b"<opml>" + b"&" * 10_000_000 + b"</opml>")))
    longest = await longest_pause(sending)
    refused = (await sending).json()
    assert (refused["code"], refused["error"]) == ("VALIDATION_ERROR", "This is not OPML: its XML is damaged.")
    assert longest < 0.5


async def longest_pause(task: asyncio.Task[Any]) -> float:
    """How long this loop, which is also the server's, computed in one go; what else the machine does is not counted."""
    longest, last = 0.0, time.thread_time()
    while not task.done():
        await asyncio.sleep(0.005)
        longest, last = max(longest, time.thread_time() - last), time.thread_time()
    return longest


async def test_lists_are_read_and_written_by_the_parsers(library, monkeypatch):
    """Foreign text is never parsed where it would stop everybody else."""
    me, asked = await library.reader(), []
    run = ParsePool.run

    async def recorded(pool: ParsePool, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        asked.append(function)
        return await run(pool, function, arguments)

    monkeypatch.setattr(ParsePool, "run", recorded)
    await send(me.visitor, BODY.format(library.press.url))
    await me.visitor.get("/opml")
    assert asked == [read_opml, write_opml]


async def test_a_page_that_freshrss_scrapes_is_not_followed(library):
    me = await library.reader()
    body = BODY.format(library.press.url).replace('text="Town"', 'type="HTML+XPath"')
    done = (await send(me.visitor, body)).json()["data"]
    assert [(line["line"], line["outcome"]) for line in done["results"]][1] == (4, "failed")
    assert "FreshRSS makes one of that page" in done["results"][1]["error"]


async def test_a_list_goes_out_as_it_came_in(library):
    me, other = await library.reader(), await library.reader()
    await send(me.visitor, BODY.format(library.press.url))
    answer = await me.visitor.get("/opml")
    assert answer.headers["content-type"].startswith("text/x-opml")
    assert etree.fromstring(answer.body).get("version") == "2.0"
    await send(other.visitor, answer.body)
    taken = await other.visitor.get("/opml")
    assert taken.body == answer.body
    assert b"proxy" not in taken.body
