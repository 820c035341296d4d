"""Reading in a real browser: every mode by keys alone, kept on reload and elsewhere; images that do not come."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.api.people import RunningApp, a_running_app
from tests.web.browser import PHONE, browsing
from tests.web.gallery import PAGES, Gallery, a_visitor
from tsuzuki.model.ids import read_id
from tsuzuki.shelves.types import ChapterProgress, Mode

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

HARBOUR, TOWER = "The Harbour", "The Tower"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def app(tmp_path_factory) -> AsyncIterator[RunningApp]:
    """One for all tests of this module; each has a reader and a source of its own."""
    async with a_running_app(tmp_path_factory.mktemp("reader")) as app:
        yield app


async def progress_of(gallery: Gallery, series: str, number: str) -> ChapterProgress:
    public_id = read_id(series)
    assert public_id is not None
    chapter = await gallery.chapter(HARBOUR, number)
    return await gallery.app.reading.progress.get(gallery.shelf, public_id, chapter)


async def open_chapter(page: Page, gallery: Gallery, series: str, number: str, title: str = HARBOUR) -> None:
    chapter = await gallery.chapter(title, number)
    await page.goto(f"{gallery.app.client.base}/series/{series}/chapters/{chapter}")
    await page.wait_for_selector("[data-reader][data-at]")


def at(page: Page, number: int):
    return page.locator(f'[data-reader][data-at="{number}"]')


def heading(page: Page, name: str):
    return page.get_by_role("heading", name=name, level=1)


async def told(page: Page, key: str) -> None:
    """Press, and wait until the server knows the page."""
    async with page.expect_response(lambda response: response.url.endswith("/progress") and response.ok):
        await page.keyboard.press(key)


# -- from finding to reading


async def test_a_comic_is_discovered_followed_and_read_by_keys(browser: Browser, app):
    user, gallery = await a_visitor(app)
    async with browsing(browser, app, user) as page:
        await page.goto(f"{app.client.base}/discover")
        await page.get_by_role("link", name=gallery.name, exact=True).click()
        await page.get_by_role("link", name=HARBOUR).click()
        await expect(page.get_by_role("heading", name="4 chapters")).to_be_visible()
        await page.get_by_role("button", name="Follow").click()
        await expect(page.get_by_text("Followed.")).to_be_visible()
        await page.goto(f"{app.client.base}/")
        await page.wait_for_selector("#live[data-heard]", state="attached")
        gallery.draw(HARBOUR, "Chapter 7")
        await gallery.look_again(HARBOUR)
        await expect(page.get_by_role("link", name="Chapter 7", exact=True)).to_be_visible()
        await page.keyboard.press("j")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("[data-reader][data-at='0']")
        for number in range(1, PAGES):
            await page.keyboard.press("ArrowRight")
            await expect(at(page, number)).to_be_attached()
        await told(page, "ArrowRight")
        await expect(page.get_by_role("heading", name="End of Chapter 7")).to_be_visible()
        await expect(page.get_by_text("You have read this chapter.")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("heading", name=HARBOUR)).to_be_visible()
        await expect(page.locator("#side [data-count=unread]")).to_have_text("")


NEXT = {"ltr": "ArrowRight", "rtl": "ArrowLeft", "double": "ArrowRight", "vertical": "ArrowRight", "webtoon": "Space"}
SEEN: dict[Mode, list[int]] = {
    "ltr": [0, 1, 2, 3, 4],
    "rtl": [0, 1, 2, 3, 4],
    "double": [0, 1, 3, 4],
    "vertical": [0, 1, 2, 3, 4],
}


@pytest.mark.parametrize("mode", ["ltr", "rtl", "double", "vertical", "webtoon"])
async def test_chapters_are_read_through_by_keys_in_every_mode(browser: Browser, app, mode):
    user, gallery = await a_visitor(app)
    async with browsing(browser, app, user) as page:
        series = await gallery.follow(HARBOUR)
        await open_chapter(page, gallery, series, "1")
        await page.get_by_label("Display settings").click()
        async with page.expect_response(lambda response: response.url.endswith("/reading")):
            await page.get_by_label("Layout", exact=True).select_option(mode)
        await page.reload()
        await page.wait_for_selector(f"[data-reader][data-at='0'].mode-{mode}")
        if mode == "webtoon":
            await _space_to_the_end(page)
        else:
            for number in SEEN[mode][1:]:
                await page.keyboard.press(NEXT[mode])
                await expect(at(page, number)).to_be_attached()
        await expect(page.get_by_role("heading", name="End of Chapter 1")).to_be_in_viewport()
        await expect(page.get_by_text("You have read this chapter.")).to_be_visible()
        assert (await progress_of(gallery, series, "1")).is_read
        await page.keyboard.press("n")
        await expect(heading(page, "Chapter 2")).to_be_visible()
        await page.wait_for_selector("[data-reader][data-at]")  # a key before the scripts are there is nobody's
        await page.keyboard.press("p")
        await expect(heading(page, "Chapter 1")).to_be_visible()


async def _space_to_the_end(page: Page) -> None:
    """Space goes on by a part of the window at a time."""
    for _ in range(30):
        if await at(page, PAGES).count():
            return
        await page.keyboard.press("Space")
        await page.wait_for_timeout(60)


# -- how far one came


async def test_the_page_survives_a_reload_and_other_browsers_offer_it(browser: Browser, app):
    user, gallery = await a_visitor(app)
    async with (
        browsing(browser, app, user) as one,
        browsing(browser, app, user, viewport=PHONE) as other,
    ):
        series = await gallery.follow(HARBOUR)
        await open_chapter(one, gallery, series, "2")
        for _ in range(2):  # one after the other, so that each waits for its own answer
            await told(one, "ArrowRight")
        await one.reload()
        await expect(at(one, 2)).to_be_attached()
        await told(one, "Home")
        await open_chapter(other, gallery, series, "2")
        await expect(at(other, 0)).to_be_attached()
        await expect(other.get_by_text("You were already on page 3.")).to_be_visible()
        await other.get_by_role("button", name="Go there").click()
        await expect(at(other, 2)).to_be_attached()
        await expect(other.get_by_role("combobox", name="Page", exact=True)).to_have_value("2")


async def test_offline_reading_is_reported_when_online(browser: Browser, app):
    user, gallery = await a_visitor(app)
    async with browsing(browser, app, user) as page:
        series = await gallery.follow(HARBOUR)
        await open_chapter(page, gallery, series, "1")
        await expect(page.locator(".sheet.came")).to_have_count(PAGES)
        await page.context.set_offline(True)
        await page.keyboard.press("ArrowRight")
        await page.keyboard.press("ArrowRight")
        await page.wait_for_function("() => JSON.parse(localStorage.getItem('progress'))?.[0].page === 2")
        assert (await progress_of(gallery, series, "1")).page == 0
        await page.close()  # what is sent at the very end leaves after the browser has forgotten that it is offline
        await page.context.set_offline(False)
        other = await page.context.new_page()
        async with other.expect_response("**/api/v1/progress/batch"):
            await open_chapter(other, gallery, series, "2")
        assert (await progress_of(gallery, series, "1")).page == 2
        await other.wait_for_function("() => localStorage.getItem('progress') === null")


async def test_taps_turn_pages_and_the_middle_hides_controls(browser: Browser, app):
    options = {"viewport": PHONE, "has_touch": True}
    user, gallery = await a_visitor(app)
    async with browsing(browser, app, user, **options) as page:
        series = await gallery.follow(HARBOUR)
        await open_chapter(page, gallery, series, "1")
        await page.touchscreen.tap(PHONE["width"] - 20, 300)
        await expect(at(page, 1)).to_be_attached()
        await page.touchscreen.tap(20, 300)
        await expect(at(page, 0)).to_be_attached()
        await page.touchscreen.tap(PHONE["width"] / 2, 300)
        await expect(page.locator(".reader-bar")).to_be_hidden()
        await page.touchscreen.tap(PHONE["width"] / 2, 300)
        await expect(page.locator(".reader-bar")).to_be_visible()


async def test_tall_strips_are_a_webtoon_by_default(browser: Browser, app):
    user, gallery = await a_visitor(app)
    async with browsing(browser, app, user) as page:
        series = await gallery.follow(TOWER)
        await open_chapter(page, gallery, series, "1", TOWER)
        await page.wait_for_selector("[data-reader].mode-webtoon")
        await page.get_by_label("Display settings").click()
        async with page.expect_response(lambda response: response.url.endswith("/reading")):
            await page.get_by_label("Layout", exact=True).select_option("rtl")
        await page.reload()
        await page.wait_for_selector("[data-reader].mode-rtl .sheet.came")


async def test_what_is_not_followed_remembers_its_mode_in_this_browser(browser: Browser, app):
    user, gallery = await a_visitor(app)
    async with browsing(browser, app, user) as page:
        await page.goto(f"{app.client.base}/discover/series/{(await gallery.manga(HARBOUR)).id}")
        await page.get_by_role("link", name="Chapter 1").click()
        await page.get_by_label("Display settings").click()
        await page.get_by_label("Layout", exact=True).select_option("vertical")
        await page.reload()
        await page.wait_for_selector("[data-reader].mode-vertical")


# -- when something is missing


async def test_a_failed_image_can_be_retried(browser: Browser, app):
    user, gallery = await a_visitor(app)
    async with browsing(browser, app, user) as page:
        series = await gallery.follow(HARBOUR)
        await page.route("**/pages/0/image", lambda route: route.abort())
        await open_chapter(page, gallery, series, "1")
        await expect(page.get_by_text("Page 1 of 4: This page could not be loaded.")).to_be_visible()
        await page.unroute("**/pages/0/image")
        await page.get_by_role("button", name="Retry this page").click()
        await expect(page.get_by_role("img", name="Page 1 of 4")).to_be_visible()
        await expect(page.get_by_text("could not be loaded")).to_have_count(0)


async def test_without_scripts_a_chapter_is_readable_and_markable(browser: Browser, app):
    options = {"java_script_enabled": False, "viewport": PHONE}
    user, gallery = await a_visitor(app)
    async with browsing(browser, app, user, **options) as page:
        series = await gallery.follow(HARBOUR)
        chapter = await gallery.chapter(HARBOUR, "1")
        await page.goto(f"{app.client.base}/series/{series}/chapters/{chapter}")
        await expect(page.get_by_role("img", name="Page 1 of 4")).to_be_visible()
        await page.get_by_role("img", name="Page 4 of 4").scroll_into_view_if_needed()
        await page.get_by_role("button", name="Mark read").click()
        await expect(page.get_by_text("1 chapter marked read.")).to_be_visible()
        await page.get_by_role("button", name="Undo").click()
        await page.goto(f"{app.client.base}/series/{series}/chapters/{chapter}")
        await page.get_by_role("link", name="Next: Chapter 2").click()
        await expect(heading(page, "Chapter 2")).to_be_visible()


# -- the pages around it


async def test_an_open_library_and_series_stay_current(browser: Browser, app):
    user, gallery = await a_visitor(app)
    async with (
        browsing(browser, app, user) as library,
        browsing(browser, app, user) as page,
    ):
        series = await gallery.follow(HARBOUR)
        for each, path in ((library, "/library"), (page, f"/series/{series}")):
            await each.goto(app.client.base + path)
            await each.wait_for_selector("#live[data-heard]", state="attached")
        gallery.draw(HARBOUR, "Chapter 7")
        await gallery.look_again(HARBOUR)
        await expect(library.locator(".badge")).to_have_text("55 unread")
        await expect(page.get_by_role("link", name="Chapter 7", exact=True)).to_be_visible()
        await page.get_by_role("button", name="Mark all read").click()
        await expect(page.locator(".chapter.is-read")).to_have_count(5)
        await expect(library.locator(".badge")).to_have_count(0)
        await page.get_by_role("button", name="Undo").click()
        await expect(page.locator(".chapter.is-read")).to_have_count(0)
