"""The reader in a real browser: the next chapter fetched ahead, what was chosen handed over, and a phone."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.api.people import RunningApp, a_running_app
from tests.web.browser import PHONE, WIDER, browsing
from tests.web.gallery import PAGES, Gallery, a_visitor
from tsuzuki.model.ids import read_id, show_id
from tsuzuki.shelves.types import FollowRequest

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

HARBOUR = "The Harbour"
SPARING = "Object.defineProperty(navigator, 'connection', { value: { saveData: true } })"
COVERED = """() => [...document.querySelectorAll(".reader-bar *, .reader-foot *")]
    .filter(node => node.matches(".tool, button, select") && node.checkVisibility() && !node.closest(".reader-box"))
    .map(node => [node.getAttribute("aria-label") ?? node.className, node.getBoundingClientRect()])
    .filter(([, box]) => box.left < 0 || box.right > innerWidth || box.width < 30 || box.height < 30)
    .map(([name]) => name)"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def app(tmp_path_factory) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path_factory.mktemp("ahead")) as app:
        yield app


async def opened(page: Page, gallery: Gallery, number: str) -> str:
    """The series, with this chapter of it open and all its pages in."""
    manga = await gallery.manga(HARBOUR)
    series = show_id(manga.series_public_id)
    chapter = await gallery.chapter(HARBOUR, number)
    await page.goto(f"{gallery.app.client.base}/series/{series}/chapters/{chapter}")
    await expect(page.locator(".sheet.came")).to_have_count(PAGES)
    return series


def images_asked(page: Page) -> list[str]:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/image") else None)
    return asked


async def test_the_next_chapters_first_pages_are_prefetched_once(browser, app):
    user, gallery = await a_visitor(app)
    async with browsing(browser, app, user) as page:
        asked = images_asked(page)
        await opened(page, gallery, "1")
        assert len(asked) == PAGES
        async with page.expect_response(lambda response: response.url.endswith("/pages/1/image")):
            await page.keyboard.press("ArrowRight")  # three pages before the end
        await page.wait_for_timeout(300)
        ahead = asked[PAGES:]
        assert [url.split("/pages/")[1] for url in ahead] == ["0/image", "1/image"]
        await page.keyboard.press("n")
        await expect(page.get_by_role("heading", name="Chapter 2", level=1)).to_be_visible()
        await expect(page.locator(".sheet.came")).to_have_count(PAGES)
        fetched = await page.evaluate(
            "urls => performance.getEntriesByType('resource')"
            ".filter(one => urls.includes(one.name) && one.transferSize > 0).length",
            ahead,
        )
        assert fetched == 0, "the browser had them already"


async def test_prefetching_stops_at_the_newest_or_on_metered_connections(browser, app):
    user, gallery = await a_visitor(app)
    async with browsing(browser, app, user) as page:
        asked = images_asked(page)
        await opened(page, gallery, "6")
        await page.keyboard.press("End")
        await page.wait_for_timeout(300)
        assert len(asked) == PAGES
        await page.context.add_init_script(SPARING)
        asked.clear()
        series = show_id((await gallery.manga(HARBOUR)).series_public_id)
        await page.goto(f"{app.client.base}/series/{series}/chapters/{await gallery.chapter(HARBOUR, '2')}")
        for number in range(1, PAGES):
            await page.keyboard.press("ArrowRight")
            await expect(page.locator(f'[data-reader][data-at="{number}"]')).to_be_attached()
        await expect(page.locator(".sheet.came")).to_have_count(PAGES)
        await page.wait_for_timeout(300)
        assert len({url.split("/pages/")[0] for url in asked}) == 1


async def test_choices_before_following_are_kept_after_it(browser: Browser, app):
    user, gallery = await a_visitor(app)
    async with browsing(browser, app, user) as page:
        series = await opened(page, gallery, "1")
        await page.get_by_label("Display settings").click()
        await expect(page.get_by_text("Saved in this browser.")).to_be_visible()
        await page.get_by_label("Layout", exact=True).select_option("vertical")
        public_id = read_id(series)
        assert public_id is not None
        await app.reading.follows.add(gallery.shelf, FollowRequest(series=public_id))
        async with page.expect_response(lambda response: response.url.endswith("/reading") and response.ok):
            await page.reload()
        await page.wait_for_selector("[data-reader].mode-vertical")
        assert await page.evaluate("Object.keys(localStorage).filter(name => name.startsWith('reader:'))") == []
        follow = (await app.reading.series.get(gallery.shelf, public_id)).follow
        assert follow is not None
        assert follow.preferences.mode == "vertical"
        await page.get_by_label("Display settings").click()
        await expect(page.get_by_text("Saved in this browser.")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_on_a_phone_controls_fit_and_chapters_are_selectable(browser, app, scheme):
    user, gallery = await a_visitor(app)
    async with browsing(browser, app, user, viewport=PHONE, color_scheme=scheme) as page:
        await opened(page, gallery, "2")
        assert await page.evaluate(WIDER) == 0
        assert await page.evaluate(COVERED) == []
        chapters = page.get_by_role("combobox", name="Chapter", exact=True)
        box = await chapters.bounding_box()
        assert box is not None
        assert box["width"] > PHONE["width"] * 0.4
        await page.get_by_label("Display settings").click()
        settings = await page.locator(".reader-box").bounding_box()
        assert settings is not None
        assert settings["x"] >= 0
        assert settings["x"] + settings["width"] <= PHONE["width"]
        await page.keyboard.press("Escape")
        await chapters.select_option(label="Chapter 3")
        await expect(page.get_by_role("heading", name="Chapter 3", level=1)).to_be_visible()
        await page.set_viewport_size({"width": 1280, "height": 900})
        await expect(page.locator(".reader-tools .chapter-steps")).to_be_visible()
