"""The page, the API and the command find the same feeds, on real local sites."""

import html
import re
from collections import defaultdict
from collections.abc import AsyncIterator

import msgspec
import pytest

from tests.api.people import RunningApp, a_running_app
from tests.net.builders import a_server, answer, by_path
from tests.polling.builders import a_feed
from tests.test_cli_trials import run  # noqa: F401  a fixture
from tests.web.guests import a_guest, error_of
from tsuzuki.connectors.page_feeds import typed_address

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
async def app(tmp_path) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path / "town", allow_private_networks="127.0.0.0/8") as app:
        yield app


@pytest.mark.parametrize("address", SITES)
async def test_page_api_and_command_find_the_same_feeds(app, run, address):  # noqa: F811
    pages, expected = SITES[address]
    user = await app.add()
    guest, visitor = await a_guest(app, user), await app.signed_in(user)
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


async def test_a_page_made_to_be_slow_fails_at_once(app):
    visitor = await app.signed_in(await app.add())
    async with a_server(by_path({"/": answer(200, DEEP, **HTML)})) as server:
        told = (await visitor.post("/feeds/validate", {"url": f"{server.url}/"})).json()["data"]
    assert told == {"feeds": [], "error": "The page is nested too deeply."}


async def test_a_feed_address_of_the_feed_scheme_is_followed(app):
    visitor = await app.signed_in(await app.add())
    async with a_server(by_path({"/feed": answer(200, a_feed("1"))})) as server:
        made = (await visitor.post("/feeds", {"link": f"feed:{server.url}/feed"})).json()["data"]
        assert made["link"] == f"{server.url}/feed"


async def test_an_address_that_answers_404_is_told_everywhere(app, run):  # noqa: F811
    user = await app.add()
    guest, visitor = await a_guest(app, user), await app.signed_in(user)
    async with a_server(by_path(defaultdict(lambda: answer(404, b""), {"/feed": answer(200, a_feed("1"))}))) as server:
        url = f"{server.url}/old.xml"
        seen = await guest.send("/feeds/find", {"url": url})
        told = (await visitor.post("/feeds/validate", {"url": url})).json()["data"]
        _, out, _ = await run("poll", url)
    wanted = f"{url} answered 404 (not found)."
    assert wanted in seen.text
    assert "This site has these feeds:" in seen.text
    assert told["error"] == wanted
    assert f"{wanted} This site has these feeds:" in out


async def test_a_followed_feed_says_so_before_following(app):
    user = await app.add()
    guest, visitor = await a_guest(app, user), await app.signed_in(user)
    page = LINK + LINK.replace("/feed", "/other")
    async with a_server(
        by_path({"/feed": answer(200, a_feed("1")), "/": answer(200, page.encode(), **HTML)})
    ) as server:
        assert "You already follow this." not in (await guest.send("/feeds/find", {"url": f"{server.url}/feed"})).text
        made = (await visitor.post("/feeds", {"link": f"{server.url}/feed"})).json()["data"]
        itself = await guest.send("/feeds/find", {"url": f"{server.url}/feed"})
        listed = await guest.send("/feeds/find", {"url": f"{server.url}/"})
    for seen in (itself, listed):
        assert "You already follow this." in seen.text
        assert f'href="/feeds/{made["id"]}"' in seen.text
    assert 'action="/feeds/add"' in listed.text
    assert re.findall(r'name="link" value="([^"]+)" checked', listed.text) == [f"{server.url}/other"]
    assert ">Follow<" not in itself.text.replace("</svg> ", ">")


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("localhost:8080/feed", "http://localhost:8080/feed"),
        ("feed:localhost:8080/feed", "http://localhost:8080/feed"),
        ("feed://localhost:8080/feed", "http://localhost:8080/feed"),
        ("feed:example.org/feed", "https://example.org/feed"),
        ("example.org:443/feed", "https://example.org:443/feed"),
        ("127.0.0.1:81", "http://127.0.0.1:81"),
        ("[::1]:81/x", "http://[::1]:81/x"),
        ("example.org/a:1/b", "https://example.org/a:1/b"),
        ("example.org", "https://example.org"),
        ("HTTP://example.org", "HTTP://example.org"),
    ],
)
def test_an_address_without_a_scheme_is_read_as_browsers_do(typed, address):
    assert typed_address(typed) == address


@pytest.mark.parametrize("typed", ["javascript:alert(1)", "mailto:a@b.example", "ftp://x.example/", "file:///etc/x"])
async def test_an_address_of_another_scheme_is_refused_in_plain_words(app, typed):
    guest = await a_guest(app, await app.add())
    for path in ("/feeds/find", "/discover/find"):
        seen = await guest.send(path, {"url": typed})
        assert (error_of(seen, "url") or "").startswith("Enter the full address, beginning with http:// or https://.")
