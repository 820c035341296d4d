"""Every page in a real browser, in both themes, at a desk and on a phone: axe finds nothing, and nothing is cut off."""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.api.people import RunningApp, a_running_app
from tests.authorisation.policy import is_page, routes
from tests.scale import scaled
from tests.web.browser import browsing
from tests.web.guests import Guest, a_guest
from tests.web.looks.axe import DESK_WAYS, EACH_ONCE, PHONE_WAYS, Wrongs, wrongs_everywhere
from tests.web.looks.pages import NEWCOMER, PARTS, REFUSED, SETUP, STOPS, routes_of
from tests.web.looks.sample_server import SampleServer, a_sample_server, visit
from tsuzuki.db.queries import parse_queries
from tsuzuki.http.middleware import HEADERS

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

q = parse_queries("tests", "-- name: lose_bookmarks\nalter table bookmark rename to lost;")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory) -> AsyncIterator[SampleServer]:
    async with a_sample_server(tmp_path_factory.mktemp("looks")) as server:
        yield server


def pages_of(app: RunningApp) -> set[str]:
    """The paths of all pages that the router has."""
    asked = (name.removeprefix("GET ") for name in routes(app.app) if name.startswith("GET "))
    return {path for path in asked if is_page(path)} - PARTS


async def test_every_page_that_the_router_has_is_among_the_stops(server):
    """By its row in `POLICY`; it is looked at, and its picture is taken, from then on."""
    known = {SETUP}.union(*map(routes_of, STOPS.values()))
    named = {re.sub(r"\{\w+\}", "{}", path) for path in known}
    assert {path for path in pages_of(server.app) if re.sub(r"\{\w+\}", "{}", path) not in named} == set()


@pytest.mark.parametrize("who", STOPS)
async def test_sec_15_every_filled_page_has_the_policy_and_is_uncached(server, who):
    """`tests/web/test_rules.py` holds the same for what is not there; these are there."""
    user = server.people[who]
    guest = Guest(server.app.client) if user is None else await a_guest(server.app, user)
    for stop in STOPS[who]:
        answer = await guest.see(server.path(who, stop))
        assert answer.status == 200, stop
        assert answer.headers["content-security-policy"].startswith(HEADERS["content-security-policy"]), stop
        assert not re.search(r"<(style|iframe|base)\b|<[^>]*\s(style|on\w+)=", answer.text), stop
        assert user is None or answer.headers["cache-control"] == "no-store", stop


UGLY = """<!doctype html><html lang="en"><head><title>x</title>
<style>
  :root { color-scheme: light dark } body { background: light-dark(#fff, #111) } p { color: light-dark(#aaa, #555) }
</style></head>
<body><main><h1>x</h1><p>Pale words</p><button></button><div style="width: 1400px">wide</div></main></body></html>"""


async def test_problems_of_a_page_are_found_in_every_layout(browser: Browser, server):
    """So the tests below can fail."""
    page = await browser.new_page()
    await page.set_content(UGLY)
    found = await wrongs_everywhere(page, "ugly")
    await page.close()
    kinds = {
        where: sorted(one.partition(":")[0] for one in said) for where, said in found.items() if isinstance(said, list)
    }
    assert kinds == {
        "ugly (light, 1280)": ["button-name", "color-contrast"],
        "ugly (dark, 1280)": ["color-contrast"],
        "ugly (dark, 360)": ["button-name", "color-contrast"],
        "ugly (light, 360)": ["color-contrast"],
    }
    assert len(found) == 2 * len(kinds)


# The page about the API has as many parts as there are operations and types, all made alike: each so many is looked at.
THIN_OUT = """step => {
    for (const kind of [".toc li", ".operation", "section[id^=model-]"])
        for (const [at, one] of document.querySelectorAll(kind).entries()) if (at % step) one.remove();
}"""
SHARES = [("admin", number) for number in range(6)] + [("payer", 0), ("visitor", 0)]


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("who", "number"), SHARES)
async def test_i7_every_page_is_accessible_and_whole_under_the_policy(browser: Browser, server, who, number):
    """At a desk or on a phone, in both themes; with `--soak` on both, and opened anew in each."""
    wrong: Wrongs = {}
    async with browsing(browser, server.app, server.people[who]) as page:
        for stop in STOPS[who][number :: sum(one == who for one, _ in SHARES)]:
            await server.open(page, who, stop)
            await page.evaluate(THIN_OUT, scaled(20, 1))
            ways = [*DESK_WAYS, *PHONE_WAYS]
            wrong |= await wrongs_everywhere(page, stop, ways=ways, anew=scaled(0, 1) == 1)
    assert wrong == {}


async def test_what_is_refused_or_not_there_is_accessible_too(browser: Browser, server):
    wrong: Wrongs = {}
    for who, stop in REFUSED:
        async with browsing(browser, server.app, server.people[who]) as page:
            await server.open(page, who, stop)
            wrong |= await wrongs_everywhere(page, stop)
    assert wrong == {}


@pytest.mark.soak
async def test_an_empty_server_is_accessible_on_all_pages(browser, tmp_path):
    """And so is what it says when it breaks."""
    wrong: Wrongs = {}
    async with a_running_app(tmp_path, password="", billing="on") as app:
        base = app.client.base
        async with browsing(browser, app, None) as page:
            await visit(page, base + SETUP)
            wrong |= await wrongs_everywhere(page, SETUP)
        async with browsing(browser, app, await app.add(role="admin")) as page:
            for stop in NEWCOMER:
                await visit(page, base + stop)
                wrong |= await wrongs_everywhere(page, stop, ways=EACH_ONCE)
            await app.db.with_tx(lambda tx: tx.run(q.lose_bookmarks))
            await visit(page, f"{base}/bookmarks", 500)
            wrong |= await wrongs_everywhere(page, "broken")
    assert wrong == {}
