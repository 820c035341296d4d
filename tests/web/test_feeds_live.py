"""The feeds page in a real browser: a check that is asked for is followed to its end without a reload."""

import pytest
from playwright.async_api import Browser, expect

from tests.api.people import a_running_app
from tests.net.builders import answer
from tests.polling.builders import a_feed, a_publisher
from tests.web.browser import browsing
from tsuzuki.model.times import MINUTE
from tsuzuki.shelves.types import NewSubscription

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_one_feed_is_refreshed_by_key_with_its_result(browser: Browser, tmp_path):
    loopback = {"allow_private_networks": "127.0.0.0/8"}
    async with a_publisher() as publisher, a_running_app(tmp_path, **loopback) as app:
        publisher.response = answer(200, a_feed("one", title="Harbour Log"), content_type="text/xml")
        user = await app.add()
        shelf = await app.accounts.current_user.shelf_of(user)
        await app.reading.subscriptions.add(shelf.id, NewSubscription(link=publisher.url))
        app.worker_loops.start()
        async with browsing(browser, app, user) as page:
            await page.goto(f"{app.client.base}/feeds")
            await page.wait_for_selector("#live[data-heard]", state="attached")
            check = page.get_by_role("button", name="Check Harbour Log now")  # its first look gives it its name
            await expect(check).to_be_visible()
            await expect(page.locator(".feed .count")).to_have_text("1")  # all of that look has come to the page
            await page.evaluate("window.stayed = true")
            await check.focus()
            await page.keyboard.press("Enter")
            await expect(page.get_by_text("It was checked a moment ago.")).to_be_visible()  # R96
            app.time.pass_(MINUTE)
            await page.keyboard.press("Enter")
            await expect(page.get_by_text("Harbour Log was checked.")).to_be_visible()
            await expect(check).to_be_focused()
            publisher.response = answer(503, b"")
            app.time.pass_(MINUTE)
            await page.keyboard.press("Enter")
            await expect(page.get_by_text("Harbour Log could not be checked.")).to_be_visible()
            await expect(page.locator(".feed-error")).to_contain_text("503")
            publisher.response = answer(200, a_feed("one", "two", title="Harbour Log"), content_type="text/xml")
            app.time.pass_(MINUTE)
            await page.keyboard.press("Shift+R")
            await expect(page.get_by_text("All feeds were checked.")).to_be_visible()
            await expect(page.locator(".feed-error")).to_have_count(0)
            await expect(page.locator(".feed .count")).to_have_text("2")
            assert await page.evaluate("window.stayed")
        await app.worker_loops.stop()
