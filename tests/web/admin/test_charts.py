"""The dashboard's charts in a real browser, and what they say where nothing draws them."""

import pytest
from playwright.async_api import Browser, Page

from tests.web.admin.builders import Desk, a_desk
from tests.web.browser import browsing
from tsuzuki.model.times import MINUTE

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def open_dashboard(desk: Desk, page: Page) -> None:
    await page.goto(f"{desk.town.client.base}/admin", wait_until="load")


async def test_charts_are_drawn_and_say_the_same_in_a_table(browser: Browser, tmp_path):
    async with a_desk(tmp_path) as desk:
        for _ in range(3):
            await desk.town.figures.take()
            desk.town.time.pass_(MINUTE)
        admin = await desk.town.admin()
        async with browsing(browser, desk.town, admin) as page:
            await open_dashboard(desk, page)
            await page.locator(".u-wrap canvas").nth(1).wait_for()
            await page.get_by_text("Show as table").click()
            assert await page.locator(".numbers tbody tr").count() >= 1
            assert (await page.locator(".numbers tbody td").last.inner_text()) == "0 ms"  # nothing has waited
        async with browsing(browser, desk.town, admin, java_script_enabled=False) as page:
            await open_dashboard(desk, page)
            assert not await page.locator("[data-chart]").first.is_visible()
            assert await page.get_by_text("Show as table").is_visible()
