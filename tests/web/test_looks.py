"""Every page of the app in a real browser: axe finds nothing, nothing is cut off, the policy needs no exception."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.api.people import Town, a_town
from tests.scale import scaled
from tests.web.browsing import DESK, PHONE, WIDER, browsing
from tests.web.gallery import exhibit
from tests.web.stage import Stage, furnish
from tsuzuki.model.ids import ItemId, show_id

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

AXE = Path(__file__).parent.parent / "vendor" / "axe" / "axe.js"
RUN_AXE = """async () => {
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const found = await axe.run(document, { runOnly: { type: "tag", values: tags } });
    return found.violations.map(one => one.id + ": " + one.nodes.map(node => node.html.slice(0, 150)).join(" | "));
}"""

# Every page that somebody who is signed in can open. What stands in braces is an id of the stage.
PAGES = (
    "/",
    "/?kind=chapter",
    "/?show=all",
    "/?show=saved",
    "/?group={group}",
    "/?marked=3&undo=1",
    "/items/{item}",
    "/feeds",
    "/feeds?done=unfollowed&again=https://example.org/feed",
    "/feeds/add",
    "/feeds/import",
    "/feeds/{feed}",
    "/feeds/{feed}/delete",
    "/groups/new",
    "/groups/{group}",
    "/library",
    "/library?status=dropped",
    "/history",
    "/history/clear",
    "/series/{series}",
    "/series/{series}?marked=3&undo=1",
    "/series/{series}/unfollow",
    "/series/{series}/chapters/{chapter}",
    "/discover",
    "/discover/sources/{site}",
    "/discover/sources/{site}?list=search",
    "/discover/series/{manga}",
    "/search",
    "/search?q=ink",
    "/search?q=nothingthatthereis",
    "/bookmarks",
    "/bookmarks/{bookmark}",
    "/notifications",
    "/settings",
    "/account",
    "/account/billing",
    "/account/billing/new",
    "/account/billing/statement",
    "/admin",
    "/admin?span=week&done=crawler_paused",
    "/admin/settings",
    "/styleguide",
    "/offline",
    "/nothing-here",
)


class Theatre:
    """A town with a furnished shelf, kept for all tests of this module: they only look."""

    def __init__(self, town: Town, stage: Stage, ids: dict[str, str]) -> None:
        self.town = town
        self.stage = stage
        self.ids = ids


async def ids_of(town: Town, stage: Stage) -> dict[str, str]:
    """What `PAGES` names; a bookmark is made for it."""
    bookmark = await town.reading.bookmarks.add_item(stage.shelf, ItemId(stage.items[0]), "Read again.")
    feeds = await town.reading.subscriptions.list(stage.shelf)
    return {
        "item": str(stage.items[1]),
        "feed": show_id(feeds[-1].public_id),
        "group": show_id((await town.reading.groups.list(stage.shelf))[1].public_id),
        "bookmark": show_id(bookmark.public_id),
        **await exhibit(town, stage.shelf),
    }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def theatre(tmp_path_factory) -> AsyncIterator[Theatre]:
    async with a_town(tmp_path_factory.mktemp("looks"), billing="on") as town:
        stage = await furnish(town, await town.admin(), articles=12)
        ids = await ids_of(town, stage)
        yield Theatre(town, stage, ids)


WAYS = [(scheme, viewport) for scheme in ("light", "dark") for viewport in (PHONE, DESK)]


@pytest.mark.soak
@pytest.mark.parametrize("number", range(len(WAYS)))
async def test_i7_every_page_is_accessible_and_whole_under_the_policy(browser: Browser, theatre, number):
    """With `--soak` every page in every theme and width; else each in one, another for the one after."""
    scheme, viewport = WAYS[number]
    wrong: dict[str, object] = {}
    options = {"color_scheme": scheme, "viewport": viewport, "reduced_motion": "reduce"}
    async with browsing(browser, theatre.town, await theatre.town.admin(), **options) as page:
        for path in PAGES[scaled(number, 0) :: scaled(len(WAYS), 1)]:
            await _open(page, theatre, path)
            if await page.evaluate(WIDER):
                wrong[f"{path} is wider than the screen"] = await page.evaluate(WIDER)
            await page.evaluate(AXE.read_text("utf-8"))
            if found := await page.evaluate(RUN_AXE):
                wrong[path] = found
    assert not wrong, wrong


async def _open(page: Page, theatre: Theatre, path: str) -> None:
    await page.goto(theatre.town.client.base + path.format(**theatre.ids), wait_until="load")
    assert await page.locator("h1").first.is_visible(), path


@pytest.mark.parametrize(("which", "scheme"), [("palette", "light"), ("help", "dark"), ("drawer", "dark")])
async def test_what_opens_above_a_page_is_accessible_too(browser: Browser, theatre, which, scheme):
    admin = await theatre.town.admin()
    viewport = PHONE if which == "drawer" else DESK
    async with browsing(browser, theatre.town, admin, color_scheme=scheme, viewport=viewport) as page:
        await _open(page, theatre, "/")
        if which == "drawer":
            await page.get_by_role("button", name="Menu").click()
            await page.get_by_role("navigation", name="Places").wait_for()
        else:
            await page.wait_for_selector("html.scripted")
            await page.keyboard.press("Control+k" if which == "palette" else "?")
            await page.locator(f"#{which}[open]").wait_for()
        await page.evaluate(AXE.read_text("utf-8"))
        assert await page.evaluate(RUN_AXE) == []


# -- how much it is


async def test_the_first_page_is_small_and_so_are_all_scripts_together(browser: Browser, theatre):
    sizes: dict[str, int] = {}
    async with browsing(browser, theatre.town, await theatre.town.admin()) as page:
        session = await page.context.new_cdp_session(page)
        await session.send("Network.enable")
        urls: dict[str, str] = {}
        session.on(
            "Network.responseReceived", lambda event: urls.update({event["requestId"]: event["response"]["url"]})
        )
        session.on(
            "Network.loadingFinished",
            lambda event: sizes.update({urls.get(event["requestId"], "?"): int(event["encodedDataLength"])}),
        )
        await page.goto(theatre.town.client.base + "/", wait_until="load")
        await page.wait_for_selector("html.scripted")
    scripts = sum(size for url, size in sizes.items() if url.endswith(".js"))
    whole = sum(size for url, size in sizes.items() if "/events" not in url)
    assert 15_000 < scripts < 80_000, sizes
    assert whole < 150_000, sizes
