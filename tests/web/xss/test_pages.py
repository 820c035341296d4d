"""I7, SEC-12..17: 400 texts that try to run, on every page that the router has, with our policy and without any."""

import re
from collections.abc import AsyncIterator
from itertools import cycle
from urllib.parse import quote, urlencode

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.api.people import API
from tests.authorisation.policy import is_page, routes
from tests.net.builders import answer
from tests.scale import scaled
from tests.web.looks.pages import PARTS
from tests.web.sample_shelf import an_item, release_items
from tests.web.xss.corpus import ELSEWHERE, OWN, addresses, corpus
from tests.web.xss.detector import casting
from tests.web.xss.hostile_server import HostileServer, a_hostile_app, add_lines, poison
from tsuzuki.http.middleware import CONTENT_SECURITY_POLICY

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

# What an address may say besides its path; wherever a page reads one of these, it gets such a text.
SAID = ("q", "next", "url", "again", "done", "fail", "reason", "code", "day", "before", "text", "sort", "name", "back")
# Pages of nobody in particular: they show nothing that somebody else wrote.
PLAIN = {
    *(
        "/setup",
        "/account/billing/new",
        "/sign-in",
        "/invite",
        "/offline",
        "/settings",
        "/apps",
        "/styleguide",
        "/feeds/import",
        "/groups/new",
        "/admin/sources/add",
    ),
    *("/history/clear", "/admin", "/admin/feeds", "/admin/retention", "/admin/settings", f"{API}/docs"),
}
NOTHING_ON = (
    "nothing hostile was on these pages: tests/web/xss/hostile_server.py must put some there, or they belong into PLAIN"
)
# Where somebody who is signed in is led elsewhere.
LED_ON = {"/sign-in", "/setup"}
# What a page needs to be told to be shown at all.
WITH = {"/account/billing/shelves/{rented_id}/plan": "&plan=growth"}

PUT_IN = """async (paths) => {
  let seen = 0;
  const box = document.body.appendChild(document.createElement("div"));
  for (const path of paths) {
    const answer = await fetch(path, { headers: { accept: "text/html" } });
    const tree = new DOMParser().parseFromString(await answer.text(), "text/html");
    const part = document.createElement("div");
    part.innerHTML = tree.querySelector("main").innerHTML;
    box.append(part);
    seen += part.innerHTML.includes("pwned") ? 1 : 0;
  }
  await new Promise(done => setTimeout(done, 200));
  return seen;
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def hostile(tmp_path_factory) -> AsyncIterator[HostileServer]:
    async with a_hostile_app(tmp_path_factory.mktemp("xss")) as hostile:
        yield hostile


def pages_of(hostile: HostileServer) -> dict[str, str]:
    """Every page that the router has, with an address of it; a new one joins by itself."""
    found = {}
    for name in routes(hostile.app.app):
        method, path = name.split()
        if method != "GET" or not is_page(path) or path in PARTS:
            continue
        parameters = re.findall(r"\{(\w+)\}", path)
        missing = set(parameters) - set(hostile.ids)
        assert not missing, f"{path}: tests/web/xss/hostile_server.py has no hostile {missing}"
        found[path] = path.format(**{one: hostile.ids[one] for one in parameters})
    return found


async def cast(browser: Browser, hostile: HostileServer, *, policy: bool):
    session = await hostile.app.session(hostile.user)
    return casting(browser, hostile.app.client.base, session, policy=policy)


def said(number: int, texts: tuple[str, ...]) -> str:
    """What an address says besides; a search finds what has such texts in it."""
    spread = {name: texts[(number * 7 + place) % len(texts)] for place, name in enumerate(SAID)}
    return urlencode(spread | {"q": "pwned"})


async def test_there_are_enough_texts_and_each_is_another():
    assert len(set(corpus())) == len(corpus()) >= 300
    assert len(OWN) >= 100
    assert len(set(addresses())) >= 50


async def test_the_net_catches_what_is_not_sanitised(browser: Browser, hostile):
    """The same texts as they are, under our policy and under none: so the tests below can fail."""
    base = hostile.app.client.base
    frames = "".join(f'<iframe srcdoc="{_attribute(text)}"></iframe>' for text in hostile.texts[::6])
    for policy, least in ((True, 0), (False, 12)):
        async with await cast(browser, hostile, policy=policy) as detector:

            async def raw(route):
                headers = {"content-type": "text/html", "content-security-policy": CONTENT_SECURITY_POLICY}
                await route.fulfill(body=f"<!doctype html><body>{frames}", headers=headers)

            await detector.page.route(f"{base}/raw", raw)
            await detector.page.route(f"{ELSEWHERE}/**", lambda route: route.abort())
            await detector.page.goto(f"{base}/raw")
            await detector.page.wait_for_timeout(500)
            ran = {one for one in detector.caught if one.startswith("ran: ")}
            assert len(ran) >= least, len(ran)
            assert bool(ran) is not policy, ran
            assert bool(detector.policy) is policy


PLACES = ("<main>{}</main>", '<p title="{}">', "<p title='{}'>", "<title>{}</title>", "<textarea>{}</textarea>")


@pytest.mark.parametrize("place", PLACES)
async def test_the_check_catches_every_unescaped_text(browser: Browser, hostile, place):
    """One of them gets out of any place, and those before it do not hide that."""
    async with await cast(browser, hostile, policy=False) as detector:
        body = "<!doctype html><body>" + place.format("\n".join(hostile.texts))
        await detector.page.route(
            f"{detector.base}/raw", lambda route: route.fulfill(body=body, content_type="text/html")
        )
        await detector.page.route(f"{ELSEWHERE}/**", lambda route: route.abort())
        await detector.page.goto(f"{detector.base}/raw", wait_until="commit")
        await detector.page.wait_for_timeout(400)  # it may lead elsewhere meanwhile, which is caught too
    assert {one.partition(":")[0] for one in detector.caught} & {"ran", "asked"}, detector.caught


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;")


async def says_pwned(page: Page) -> bool:
    return bool(await page.locator("main").evaluate("main => main.innerHTML.includes('pwned')"))


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("policy", [True, False], ids=["with the policy", "without a policy"])
async def test_i7_no_page_runs_or_asks_for_anything_of_somebody_elses(browser: Browser, hostile, policy):
    """All texts at once stand in each place of each page."""
    shown, statuses, looked = set(), {}, pages_of(hostile)
    async with await cast(browser, hostile, policy=policy) as detector:
        for number, (route, path) in enumerate(looked.items()):
            if route in LED_ON:
                continue
            status = await detector.open(f"{path}?{said(number, hostile.texts)}{WITH.get(route, '')}")
            if status != 200:
                statuses[route] = status
            if not await says_pwned(detector.page):  # a filter may have found nothing
                await detector.open(f"{path}?q=pwned{WITH.get(route, '')}")
            if await says_pwned(detector.page):
                shown.add(route)
    assert detector.caught == []
    assert detector.policy == []
    assert statuses == {}
    assert looked.keys() - shown - PLAIN - LED_ON == set(), NOTHING_ON


@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_sec_14_hostile_texts_in_articles_searches_and_errors_never_run(browser: Browser, hostile):
    """All of them put into one page by a browser that enforces no policy; a share of them in an ordinary run."""
    share = scaled(16, 1)
    texts = hostile.texts[::share]
    paths = {
        "articles": [f"/items/{item}" for item in hostile.items[:: scaled(3, 1)]],
        "searches": [f"/search?q={quote(text)}" for text in texts],
        "missing": [f"/{quote(text, safe='')}" for text in texts],
        "filters": [f"/?show=all&day={quote(text)}&before={quote(text)}" for text in texts[::4]],
        "adding": [f"/feeds/add?url={quote(text)}" for text in texts],
    }
    async with await cast(browser, hostile, policy=False) as detector:
        for kind, listed in paths.items():
            await detector.open("/settings")
            seen = await detector.page.evaluate(PUT_IN, listed)
            await detector.look()
            assert detector.caught == [], kind
            assert seen > len(listed) / 2 or kind in ("missing", "filters"), kind


SHARES = scaled(1, 4)
"""Twenty minutes of one worker, shared by all."""


@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_sec_14_every_article_by_itself_runs_nothing(browser: Browser, hostile):
    """Opened like any other, one after the other; a few in an ordinary run."""
    async with await cast(browser, hostile, policy=False) as detector:
        for item in hostile.items[:: scaled(60, 1)]:
            assert await detector.open(f"/items/{item}") == 200
    assert detector.caught == []


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(SHARES))
async def test_sec_14_every_text_by_itself_on_every_page_runs_nothing(browser: Browser, hostile, part):
    """One after the other in all places, the pages put into one that enforces no policy; one in an ordinary run."""
    paths = [path for route, path in pages_of(hostile).items() if route not in PLAIN | LED_ON | WITH.keys()]
    try:
        async with await cast(browser, hostile, policy=False) as detector:
            for text in hostile.texts[part :: scaled(len(hostile.texts), SHARES)]:
                await poison(hostile.app, [text])
                await detector.open("/settings")
                seen = await detector.page.evaluate(PUT_IN, paths)
                await detector.look()
                assert detector.caught == [], text
                assert seen > len(paths) / 2 or "pwned" not in text
    finally:
        await poison(hostile.app, hostile.texts)


LINKING = (
    *("/feeds", "/feeds/{feed_id}", "/series/{series_id}", "/discover", "/discover/series/{manga_id}", "/bookmarks"),
    *("/bookmarks/{bookmark_id}", "/admin/sources", "/admin/sources/{source_id}", "/?show=all", "/items/{item_id}"),
)


@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_sec_17_hostile_addresses_never_run_on_linking_pages(browser: Browser, hostile):
    """Each in all places at once; a share of them in an ordinary run."""
    paths = [path.format(**hostile.ids) for path in LINKING]
    async with await cast(browser, hostile, policy=False) as detector:
        for link in addresses()[:: scaled(12, 1)]:
            await poison(hostile.app, hostile.texts[:1], [link])
            await detector.open("/settings")
            await detector.page.evaluate(PUT_IN, paths)
            await detector.look()
            assert detector.caught == [], link
    await poison(hostile.app, hostile.texts)


BAD = (
    "javascript:pwned(1)",
    "http://127.0.0.1:1/<img src=x onerror=pwned(2)>",
    "http://[<script>pwned(3)</script>",
    '"><svg onload=pwned(4)>',
)


async def test_sec_13_what_is_wrong_with_a_form_repeats_nothing_that_runs(browser: Browser, hostile):
    async with await cast(browser, hostile, policy=False) as detector:
        for text in BAD:
            await detector.open("/feeds/add")
            await detector.page.get_by_label("Address").fill(text)
            await detector.page.get_by_role("button", name="Find").click()
            await expect(detector.page.locator("#url-error")).to_be_visible()
            await detector.look()
            await detector.open("/groups/new")
            await detector.page.locator("main input[name=name]").fill(text)
            await detector.page.locator("main button.button").first.click()
            await detector.page.wait_for_load_state()
            await detector.look()
    assert detector.caught == []


async def test_sec_14_a_list_of_feeds_with_hostile_names_runs_nothing(browser: Browser, hostile):
    outlines = "".join(
        f'<outline type="rss" text="{_xml(text)}" title="{_xml(text)}" xmlUrl="{_xml(link)}" htmlUrl="{_xml(link)}"/>'
        for text, link in zip(hostile.texts, cycle(addresses()), strict=False)
    )
    body = f'<opml version="2.0"><body><outline text="{_xml(hostile.texts[0])}">{outlines}</outline></body></opml>'
    async with await cast(browser, hostile, policy=False) as detector:
        await detector.open("/feeds/import")
        file = {"name": "<img src=x onerror=pwned(1)>.opml", "mimeType": "text/x-opml", "buffer": body.encode()}
        await detector.page.locator("input[type=file]").set_input_files(file)
        await detector.page.locator("main form button").last.click()
        await detector.page.wait_for_load_state()
        await detector.look()
        assert "pwned" in await detector.page.locator("main").inner_html()
        for path in ("/feeds", "/"):
            await detector.open(path)
    assert detector.caught == []


def _xml(text: str) -> str:
    clean = re.sub("[^\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", text)
    return _attribute(clean).replace("<", "&lt;")


async def _release(hostile: HostileServer, title: str) -> None:
    shelf = (await hostile.app.accounts.current_user.shelf_of(hostile.user)).id
    [feed, *_] = await hostile.app.reading.subscriptions.list(shelf)
    now = hostile.app.time()
    await release_items(hostile.app, feed.feed_id, [an_item(title, at=now, title=title, author=title)])


async def test_i7_the_palette_and_what_arrives_live_run_nothing(browser: Browser, hostile):
    """News with every text in its title, and what a search finds of all of them."""
    async with await cast(browser, hostile, policy=False) as detector:
        await detector.open("/")
        await detector.page.wait_for_selector("#live[data-heard]", state="attached")
        await _release(hostile, "\n".join((*hostile.texts, "pwned(77777)")))
        await expect(detector.page.get_by_role("article").filter(has_text="pwned(77777)").first).to_be_visible()
        await detector.look()
        await detector.page.keyboard.press("Control+k")
        async with detector.page.expect_response("**/api/v1/search?*q=pwned"):
            await detector.page.keyboard.type("pwned")
        await expect(detector.page.locator("#palette-list [role=option]").nth(3)).to_be_visible()
        assert "pwned" in await detector.page.locator("#palette-list").inner_text()
        await detector.look()
    assert detector.caught == []


async def test_i7_a_message_that_repeats_what_the_server_said_runs_nothing(browser: Browser, hostile):
    async with await cast(browser, hostile, policy=False) as detector:
        await detector.open("/?show=all")
        await detector.page.wait_for_selector("html.scripted")
        said_all = {"error": "\n".join(hostile.texts), "code": "CONFLICT"}
        await detector.page.route("**/inbox/mark", lambda route: route.fulfill(status=409, json=said_all))
        await detector.page.keyboard.press("j")
        await detector.page.keyboard.press("m")
        await expect(detector.page.locator(".toast").first).to_contain_text("pwned")
        await detector.look()
    assert detector.caught == []


async def test_i7_hostile_log_lines_never_run_live(browser: Browser, hostile):
    async with await cast(browser, hostile, policy=False) as detector:
        await detector.open(f"/admin/jobs/{hostile.ids['job_id']}")
        await detector.page.wait_for_selector("#lines[data-tail]")
        await add_lines(hostile.app, ["\n".join((*hostile.texts, "pwned(88888)"))])
        await expect(detector.page.locator("#lines")).to_contain_text("pwned(88888)")
        await detector.look()
    assert detector.caught == []


async def test_i7_what_is_looked_at_before_it_is_followed_runs_nothing(browser: Browser, hostile):
    """The preview of a feed; an address of a page that has hostile feeds to choose from; both ways to ask."""
    feeds = "".join(
        f'<link rel="alternate" type="application/rss+xml" title="{_attribute(text)}" href="{_attribute(link)}">'
        for text, link in zip(hostile.texts, cycle(addresses()), strict=False)
    )
    page = answer(200, f"<html><head>{feeds}</head><body>x</body></html>".encode(), content_type="text/html")
    before = hostile.publisher.response
    async with await cast(browser, hostile, policy=False) as detector:
        for response in (before, page):
            hostile.publisher.response = response
            for path in ("/feeds/add", "/discover"):
                await detector.open(path)
                await detector.page.get_by_role("textbox", name="Address").fill(hostile.publisher.url)
                await detector.page.get_by_role("button", name="Find").first.click()
                await detector.page.wait_for_selector("section.found, .error, .note.bad")
                await detector.look()
                assert "pwned" in await detector.page.locator("main").inner_html()
    hostile.publisher.response = before
    assert detector.caught == []


@pytest.mark.parametrize("path", ["/feeds", "/items?limit=50", "/search?q=pwned", "/library"])
async def test_i7_answers_for_machines_are_no_pages_for_people(browser: Browser, hostile, path):
    async with await cast(browser, hostile, policy=False) as detector:
        told = await detector.page.goto(f"{detector.base}{API}{path}")
        assert told is not None
        assert told.headers["content-type"].startswith("application/json")
        assert "pwned" in await told.text()
        await detector.page.wait_for_timeout(100)
    assert detector.caught == []
