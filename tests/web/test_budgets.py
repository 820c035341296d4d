"""How much a browser has to fetch: all scripts there are, and each page at the first visit, packed."""

import gzip
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.api.people import RunningApp, a_running_app
from tests.web.browser import browsing
from tests.web.guests import Guest, a_guest
from tests.web.looks.pages import STOPS
from tests.web.looks.sample_server import a_sample_server
from tests.web.sample_shelf import fill_shelf
from tsuzuki.web.renderer import Pages

MOST_SCRIPTS = 80_000
MOST_PAGE = 150_000
MOST_ROW = 620
MOST_INBOX = 40 * 1024
FETCHED = re.compile(r'(?:href|src)="(/static/[^"#]+\.(?:css|js|svg))')


@pytest_asyncio.fixture
async def app(tmp_path) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path, billing="on") as app:
        await fill_shelf(app, await app.admin(), articles=60)
        yield app


def test_all_scripts_together_are_under_80_kilobytes():
    """Those that only some pages load as well, and what we bring from others."""
    assets = Pages("0").assets
    sizes = {name: len(gzip.compress(assets.get(name).content, 9)) for name in assets.names() if name.endswith(".js")}
    assert "vendor/htmx/htmx.js" in sizes
    assert sum(sizes.values()) < MOST_SCRIPTS, sizes


async def test_every_page_is_under_150_kilobytes_at_the_first_visit(tmp_path):
    """With everything that its head names, and without pictures; nothing in it is of another server."""
    sizes: dict[str, int] = {}
    known: dict[str, int] = {}
    async with a_sample_server(tmp_path, articles=60) as server:
        for who, stops in STOPS.items():
            user = server.people[who]
            guest = Guest(server.app.client) if user is None else await a_guest(server.app, user)
            for stop in stops:
                sizes[f"{who} {stop}"] = await _weight(guest, server.path(who, stop), known)
    assert {stop: size for stop, size in sizes.items() if size >= MOST_PAGE} == {}
    assert sizes["admin /"] > 20_000  # the scripts and the style sheets are counted


async def _weight(guest: Guest, path: str, known: dict[str, int]) -> int:
    answer = await guest.see(path)
    assert answer.status == 200, path
    assert not re.search(r'<(?:script|link|img|source|iframe)[^>]*(?:src|href)="(?:https?:)?//', answer.text), path
    for name in set(FETCHED.findall(answer.text)) - set(known):
        known[name] = len(gzip.compress((await guest.see(name)).body, 9))
    return len(gzip.compress(answer.body, 1)) + sum(known[name] for name in set(FETCHED.findall(answer.text)))


async def test_a_row_of_the_inbox_is_under_620_bytes(app):
    """Its words, names and addresses included, as they are before they are packed."""
    rows = (await (await a_guest(app, await app.admin())).see("/?part=rows&kind=item")).text.split("</article>")[:-1]
    assert len(rows) == 50
    assert sum(len(row.encode()) for row in rows) / len(rows) < MOST_ROW


def test_indentation_is_not_sent_but_whatever_sets_words_apart_is():
    """Jinja drops the line break behind a tag: there the indentation of the next line is all that is left."""
    source = (
        "<ul>\n  {% for n in (1, 2) %}\n  <li{% if n == 1 %} a{% endif %}\n    b>\n    {{ n }}\n  {% endfor %}\n</ul>"
    )
    shown = Pages("1")._templates.from_string(source).render()
    assert shown == "<ul>\n <li a b>\n1\n <li b>\n2\n</ul>"


async def test_the_inbox_of_fifty_entries_is_under_40_kilobytes(app):
    """Its frame included, before it is packed."""
    page = await (await a_guest(app, await app.admin())).see("/")
    assert page.text.count("<article ") == 50
    assert len(page.body) < MOST_INBOX


@pytest.mark.parametrize("path", ["/", "/feeds", "/library"])
async def test_a_page_is_packed_on_its_way(app, path):
    answer = await (await a_guest(app, await app.admin())).see(path, accept_encoding="gzip")
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < len(answer.body) / 3


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_the_first_page_loads_few_bytes(browser: Browser, tmp_path):
    """As it counts itself what comes over the wire, with whatever scripts ask for by themselves."""
    async with a_running_app(tmp_path, billing="on") as app:
        await fill_shelf(app, await app.admin(), articles=60)
        sizes = await _fetched(browser, app)
    scripts = sum(size for url, size in sizes.items() if url.endswith(".js"))
    assert 15_000 < scripts < MOST_SCRIPTS, sizes
    assert 15_000 < sum(sizes.values()) < MOST_PAGE, sizes


async def _fetched(browser: Browser, app: RunningApp) -> dict[str, int]:
    """What each address of the first page was on the wire; the stream of news never ends, and is left out."""
    sizes: dict[str, int] = {}
    urls: dict[str, str] = {}

    def keep(event: Any) -> None:
        sizes[urls.get(event["requestId"], "?")] = int(event["encodedDataLength"])

    async with browsing(browser, app, await app.admin()) as page:
        session = await page.context.new_cdp_session(page)
        await session.send("Network.enable")
        session.on("Network.responseReceived", lambda one: urls.update({one["requestId"]: one["response"]["url"]}))
        session.on("Network.loadingFinished", keep)
        await page.goto(f"{app.client.base}/", wait_until="load")
        await page.wait_for_selector("#live[data-heard]", state="attached")
    return {url: size for url, size in sizes.items() if "/events" not in url}


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("address", ["https://example.org/pixel.gif", "//example.org/x.js"])
async def test_a_page_that_calls_another_server_fails_tests(browser: Browser, tmp_path, address):
    """All tests in a browser open their pages like this: so no page does."""
    async with a_running_app(tmp_path) as app:
        with pytest.raises(AssertionError, match=re.escape(address)):
            await _ask_elsewhere(browser, app, address)


async def _ask_elsewhere(browser: Browser, app: RunningApp, address: str) -> None:
    async with browsing(browser, app, None, bypass_csp=True) as page:
        await page.route("**/example.org/**", lambda route: route.abort())
        await page.goto(f"{app.client.base}/sign-in")
        await page.evaluate("address => fetch(address, {mode: 'no-cors'}).catch(() => null)", address)
