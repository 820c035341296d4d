"""The frame in a real browser: what does not fit can be reached and is hinted at, and help names each key once."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.api.people import RunningApp, a_running_app
from tests.builders import stored_feed, stored_watch
from tests.web.browser import PHONE, browsing
from tsuzuki.db.queries import parse_queries

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

q = parse_queries(
    "tests",
    """
-- name: fail
update watch set consecutive_failures = 4, last_error = 'example.org answered 503 (service unavailable), as often.';
""",
)
SHADOWS = "getComputedStyle(document.querySelector('{}')).backgroundAttachment"
CAN_SCROLL = "(({scrollWidth, clientWidth}) => scrollWidth > clientWidth)(document.querySelector('.scroll'))"


@asynccontextmanager
async def a_failing_app(folder: Path) -> AsyncIterator[RunningApp]:
    async with a_running_app(folder) as app:
        await stored_watch(app.db, await stored_feed(app.db, "https://example.org/feed"))
        await app.db.with_tx(lambda tx: tx.run(q.fail))
        yield app


async def test_a_low_windows_sidebar_scrolls_with_a_shadow(browser, tmp_path):
    low = {"width": 900, "height": 600}
    async with a_failing_app(tmp_path) as app, browsing(browser, app, await app.admin(), viewport=low) as page:
        await page.goto(f"{app.client.base}/admin")
        last = page.get_by_role("button", name="Sign out")
        await last.scroll_into_view_if_needed()
        box = await last.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 600
        assert await page.evaluate(SHADOWS.format("#side")) == "local, scroll, scroll"


async def test_the_sidebar_of_a_low_window_shows_where_one_is(browser, tmp_path):
    low = {"width": 1280, "height": 600}
    async with a_running_app(tmp_path) as app, browsing(browser, app, await app.admin(), viewport=low) as page:
        await page.goto(f"{app.client.base}/admin/settings")
        await expect(page.locator("#side [aria-current]")).to_be_in_viewport(ratio=1)
        assert await page.evaluate("scrollY") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_wide_table_on_a_phone_has_a_shadow(browser, tmp_path, scheme):
    looks = {"viewport": PHONE, "color_scheme": scheme}
    async with a_failing_app(tmp_path) as app, browsing(browser, app, await app.admin(), **looks) as page:
        await page.goto(f"{app.client.base}/admin/feeds")
        assert await page.evaluate(CAN_SCROLL)
        assert await page.evaluate(SHADOWS.format(".scroll")) == "local, local, scroll, scroll"


async def test_help_names_each_key_once(browser, tmp_path):
    async with a_failing_app(tmp_path) as app, browsing(browser, app, await app.admin()) as page:
        await page.goto(f"{app.client.base}/feeds")
        await page.wait_for_selector("html.scripted")
        await page.keyboard.press("?")
        keys = [key.strip() for key in await page.locator("#help .help-keys dd").all_text_contents()]
        assert "Ctrl k" in keys
        assert sorted(keys) == sorted(set(keys))
