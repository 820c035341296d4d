"""Tables of the admin pages with names that nobody thought of, in a real browser."""

import pytest
from playwright.async_api import Browser

from tests.web.admin.builders import an_admin_site
from tests.web.browser import DESK, PHONE, WIDER, browsing
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.sources.types import SourceChange

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

NAMES = ("Long " * 20, "x" * 100)


@pytest.mark.parametrize("viewport", [DESK, PHONE])
@pytest.mark.parametrize("name", [name.strip() for name in NAMES])
async def test_a_long_source_name_wraps_in_its_cell(browser: Browser, tmp_path, name, viewport):
    async with an_admin_site(tmp_path) as admin_site:
        number = int(admin_site.source.rpartition("/")[2])
        await admin_site.app.crawling.sources.change(SYSTEM, number, SourceChange(name=name))
        async with browsing(browser, admin_site.app, await admin_site.app.admin(), viewport=viewport) as page:
            await page.goto(f"{admin_site.app.client.base}/admin/sources", wait_until="load")
            table = page.locator(".scroll").first
            cell = await page.locator("tbody th").first.bounding_box()
            assert cell is not None
            assert cell["width"] <= 380
            assert await page.evaluate(WIDER) <= 0
            if viewport == DESK:
                assert await table.evaluate("one => one.scrollWidth - one.clientWidth") <= 0
