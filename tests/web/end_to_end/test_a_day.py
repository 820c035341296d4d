"""A day of reading, in each theme at a desk and on a phone, with a second browser that differs in both."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.api.people import RunningApp, a_running_app
from tests.net.builders import answer
from tests.polling.builders import Publisher, a_feed, a_publisher
from tests.web.browser import browsing, count, settled
from tests.web.end_to_end.screens import OTHER, WAYS, must_fit_in_each_theme
from tests.web.gallery import PAGES, Gallery, a_visitor
from tsuzuki.model.times import MINUTE

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


class Day:
    """Two browsers of one person, what they may follow, and where that comes from."""

    def __init__(self, page: Page, other: Page, gallery: Gallery, publisher: Publisher) -> None:
        self.page = page
        self.other = other
        self.gallery = gallery
        self.publisher = publisher
        self.base = gallery.app.client.base
        self.press = page.keyboard.press
        self.publish("one", "two")

    def publish(self, *keys: str) -> None:
        """What the feed has from now on, the newest first."""
        text = a_feed(*keys, title="A Feed of Two")
        self.publisher.response = answer(200, text, content_type="text/xml")

    async def key(self, key: str) -> None:
        """Press it once the page listens to keys."""
        await self.page.wait_for_selector("html.scripted")
        await self.press(key)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def app(tmp_path_factory) -> AsyncIterator[RunningApp]:
    """One for all ways, with its workers; each has a tenant of its own."""
    async with a_running_app(tmp_path_factory.mktemp("day"), allow_private_networks="127.0.0.0/8") as app:
        app.worker_loops.start()
        yield app
        await app.worker_loops.stop()


@asynccontextmanager
async def a_day(browser: Browser, app: RunningApp, way: str) -> AsyncIterator[Day]:
    user, gallery = await a_visitor(app)
    async with (
        a_publisher() as publisher,
        browsing(browser, app, user, **WAYS[way]) as page,
        browsing(browser, app, user, **WAYS[OTHER[way]]) as other,
    ):
        yield Day(page, other, gallery, publisher)


@pytest.mark.soak
@pytest.mark.parametrize("way", WAYS)
async def test_a_followed_series_arrives_live_in_both_browsers(browser: Browser, app, way):
    async with a_day(browser, app, way) as day:
        await follow_a_feed(day)
        await follow_a_comic(day)
        await see_news_arrive(day)
        await must_fit_in_each_theme(day.page)
        await save_and_undo(day)
        await read_an_article(day)
        await read_a_chapter(day)
        await find_it_again(day)
        await mark_everything(day)


async def follow_a_feed(day: Day) -> None:
    """From the address on by keys: what is to be done next has the cursor."""
    await day.page.goto(f"{day.base}/feeds/add")
    await day.page.wait_for_selector("input:focus")
    await day.page.keyboard.type(day.publisher.url)
    await day.press("Enter")
    await expect(day.page.get_by_role("heading", name="A Feed of Two")).to_be_visible()
    await day.page.wait_for_selector("button:focus")
    await day.press("Enter")
    await day.page.wait_for_url("**/feeds?*")


async def follow_a_comic(day: Day) -> None:
    page = day.page
    await page.goto(f"{day.base}/discover/sources/{day.gallery.site}")
    await page.get_by_role("link", name="The Harbour").click()
    await page.get_by_role("button", name="Follow").click()
    await expect(page.get_by_text("Followed.")).to_be_visible()


async def see_news_arrive(day: Day) -> None:
    """In both, without a reload: an article that a poll brings, and a chapter."""
    for page in (day.page, day.other):
        await settled(page, f"{day.base}/")
        await expect(page.get_by_role("link", name="Item two", exact=True)).to_be_visible()
        await page.evaluate("window.isTheSame = true")
    day.publish("three", "one", "two")
    day.gallery.app.time.pass_(MINUTE)
    asked = await day.other.context.request.post(f"{day.base}/feeds/refresh", headers={"origin": day.base})
    assert asked.ok
    day.gallery.draw("The Harbour", "Chapter 7")
    await day.gallery.look_again("The Harbour")
    for page in (day.page, day.other):
        await expect(page.get_by_role("link", name="Item three", exact=True)).to_be_visible()
        await expect(page.get_by_role("link", name="Chapter 7", exact=True)).to_be_visible()
        await expect(count(page)).to_have_text("4")
        assert await page.evaluate("window.isTheSame")


async def walk_to(day: Day, name: str) -> None:
    """By `j`, to the entry of this name."""
    rows = day.page.get_by_role("article")
    for number in range(await rows.count()):
        await day.key("j")
        await expect(rows.nth(number)).to_contain_class("current")
        if await rows.nth(number).get_by_role("link", name=name, exact=True).count():
            return
    raise AssertionError(f"{name} is not in the list")


async def save_and_undo(day: Day) -> None:
    await walk_to(day, "Item three")
    saved = day.other.locator(".entry.saved")
    await day.press("s")
    await expect(saved).to_have_count(1)
    await expect(day.page.get_by_text("Saved.", exact=True)).to_be_visible()  # before that there is nothing to undo
    await day.press("z")
    await expect(saved).to_have_count(0)
    await day.press("s")
    await expect(saved).to_have_count(1)


async def read_an_article(day: Day) -> None:
    await day.press("o")
    await expect(day.page.get_by_role("heading", name="Item three")).to_be_visible()
    await expect(count(day.other)).to_have_text("3")
    await day.key("u")
    await day.page.wait_for_url(f"{day.base}/")


async def read_a_chapter(day: Day) -> None:
    await settled(day.page, f"{day.base}/")
    await walk_to(day, "Chapter 7")
    await day.press("Enter")
    await day.page.wait_for_selector("[data-reader][data-at='0']")
    for number in range(1, PAGES + 1):
        await day.press("ArrowRight")
        await expect(day.page.locator(f'[data-reader][data-at="{number}"]')).to_be_attached()
    await expect(day.page.get_by_text("You have read this chapter.")).to_be_visible()
    await expect(count(day.other)).to_have_text("2")
    await expect(count(day.other, "chapters")).to_have_text("")


async def find_it_again(day: Day) -> None:
    """By the palette, which is one key away everywhere."""
    await settled(day.page, f"{day.base}/library")
    await day.press("/")
    await day.page.keyboard.type("item three")
    await expect(day.page.get_by_role("option", name="Item three")).to_be_visible()
    await day.press("Enter")
    await day.page.wait_for_url("**/search?q=item%20three")
    await expect(day.page.get_by_role("main").get_by_role("link", name="Item three")).to_be_visible()


async def mark_everything(day: Day) -> None:
    await settled(day.page, f"{day.base}/")
    await day.press("Shift+A")
    await expect(count(day.other)).to_have_text("")
    await day.key("z")
    await expect(count(day.other)).to_have_text("2")
    await expect(day.other.locator(".entry.unread")).to_have_count(2)
