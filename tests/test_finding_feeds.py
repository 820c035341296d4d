"""The page, the API and the command find the same feeds, on real local sites."""

import html
import re
from collections import defaultdict
from collections.abc import AsyncIterator

import msgspec
import pytest

from tests.api.people import Town, a_town
from tests.net.builders import a_server, answer, by_path
from tests.polling.builders import a_feed
from tests.test_cli_trying import run  # noqa: F401  a fixture
from tests.web.guests import a_guest, error_of

HTML = {"content_type": "text/html"}
LINK = '<link rel="alternate" type="application/rss+xml" title="Main" href="/feed">'
DEEP = b"<div>" * 100_000

SITES: dict[str, tuple[dict[str, bytes], list[str]]] = {
    "feed:/feed": ({"/feed": answer(200, a_feed("1"))}, ["/feed"]),
    "/tags": ({"/tags": answer(200, LINK.encode(), **HTML)}, ["/feed"]),
    "/far": ({"/far": answer(200, b"<!--" + b"x" * 2_000_000 + b"-->" + LINK.encode(), **HTML)}, ["/feed"]),
    "/blog/": ({"/blog/": answer(200, b"<p>Hi", **HTML), "/blog/feed": answer(200, a_feed("1"))}, ["/blog/feed"]),
    "feed:/refuses": ({"/refuses": answer(403, b"no"), "/feed": answer(200, a_feed("1"))}, ["/feed"]),
    "/@refuses": ({"/@refuses": answer(403, b"no"), "/@refuses.rss": answer(200, a_feed("1"))}, ["/@refuses.rss"]),
    "/@ada": (
        {"/@ada": answer(200, LINK.encode(), **HTML), "/@ada.rss": answer(200, a_feed("1"))},
        ["/@ada.rss", "/feed"],
    ),
    "/anchor": ({"/anchor": answer(200, b'<a href="/x">RSS</a>', **HTML), "/x": answer(200, a_feed("1"))}, ["/x"]),
    "/nothing": ({"/nothing": answer(200, b"<p>Hi", **HTML)}, []),
    "/deep": ({"/deep": answer(200, LINK.encode() + DEEP, **HTML)}, []),
}


@pytest.fixture
async def town(tmp_path) -> AsyncIterator[Town]:
    async with a_town(tmp_path / "town", allow_private_networks="127.0.0.0/8") as town:
        yield town


@pytest.mark.parametrize("address", SITES)
async def test_page_api_and_command_find_the_same_feeds(town, run, address):  # noqa: F811
    pages, expected = SITES[address]
    user = await town.add()
    guest, visitor = await a_guest(town, user), await town.signed_in(user)
    async with a_server(by_path(defaultdict(lambda: answer(404, b""), pages))) as server:
        url, wanted = address.replace("/", f"{server.url}/", 1), [server.url + one for one in expected]
        seen = await guest.send("/feeds/find", {"url": url})
        told = (await visitor.post("/feeds/validate", {"url": url})).json()["data"]
        status, out, _ = await run("poll", url, "--json")
    offered = re.findall(r'name="link" value="([^"]+)"', seen.text)
    assert [html.unescape(one) for one in offered] == wanted
    assert [one["link"] for one in told["feeds"]] == wanted
    said = msgspec.json.decode(out)
    if not wanted:
        assert (status, error_of(seen, "url") is not None) == (1, True)
    elif said["kind"] == "feed":
        assert said["found"]
    else:
        assert [one["url"] for one in said["found"]] == wanted


async def test_a_page_made_to_be_slow_is_an_error_at_once(town):
    visitor = await town.signed_in(await town.add())
    async with a_server(by_path({"/": answer(200, DEEP, **HTML)})) as server:
        told = (await visitor.post("/feeds/validate", {"url": f"{server.url}/"})).json()["data"]
    assert told == {"feeds": [], "error": "The page nests too many elements to be read."}


async def test_a_feed_address_of_the_feed_scheme_is_followed(town):
    visitor = await town.signed_in(await town.add())
    async with a_server(by_path({"/feed": answer(200, a_feed("1"))})) as server:
        made = (await visitor.post("/feeds", {"link": f"feed:{server.url}/feed"})).json()["data"]
        assert made["link"] == f"{server.url}/feed"
