"""The dashboard's charts in a real browser, and what they say where nothing draws them."""

import pytest
from playwright.async_api import Browser, Page

from tests.web.admin.builders import AdminSite, an_admin_site
from tests.web.browser import browsing
from tsuzuki.model.times import MINUTE

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def open_dashboard(admin_site: AdminSite, page: Page) -> None:
    await page.goto(f"{admin_site.app.client.base}/admin", wait_until="load")


async def test_charts_are_drawn_and_say_the_same_in_a_table(browser: Browser, tmp_path):
    async with an_admin_site(tmp_path) as admin_site:
        for _ in range(3):
            await admin_site.app.figures.record_minute()
            admin_site.app.time.pass_(MINUTE)
        admin = await admin_site.app.admin()
        async with browsing(browser, admin_site.app, admin) as page:
            await open_dashboard(admin_site, page)
            await page.locator(".u-wrap canvas").nth(1).wait_for()
            await page.get_by_text("Show as table").click()
            assert await page.locator(".numbers tbody tr").count() >= 1
            assert (await page.locator(".numbers tbody td").last.inner_text()) == "0 ms"  # nothing has waited
        async with browsing(browser, admin_site.app, admin, java_script_enabled=False) as page:
            await open_dashboard(admin_site, page)
            assert not await page.locator("[data-chart]").first.is_visible()
            assert await page.get_by_text("Show as table").is_visible()
