"""From a server that nobody has used to reading, at a desk and on a phone, in both themes."""

import re
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from structlog.testing import capture_logs

from tests.api.people import PASSWORD, a_running_app
from tests.net.builders import answer
from tests.polling.builders import a_feed, a_publisher
from tests.web.end_to_end.screens import WAYS, must_fit_in_each_theme

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


class Steps:
    """What a person does, counted: a field that is filled, or something that is pressed."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.count = 0

    async def fill(self, label: str, text: str, *, enter: bool = False) -> None:
        self.count += 1
        field = self.page.get_by_label(label, exact=True)
        await field.fill(text)
        if enter:
            await field.press("Enter")

    async def press(self, role: Any, name: str, **options: Any) -> None:
        self.count += 1
        named = re.compile(rf"{name}\b(?: *\d+)?$")  # a count may stand beside it by now
        await self.page.get_by_role(role, name=named).first.click(**options)


@pytest.mark.soak
@pytest.mark.parametrize("way", WAYS)
async def test_from_first_start_to_first_article_in_few_steps(browser: Browser, tmp_path, way):
    """With the code that a new server prints; the last step is the article itself."""
    with capture_logs() as lines:
        async with (
            a_publisher() as publisher,
            a_running_app(tmp_path, password="", allow_private_networks="127.0.0.0/8") as app,
        ):
            publisher.response = answer(200, a_feed("one", "two", title="A Feed of Two"), content_type="text/xml")
            [code] = [line["setup_code"] for line in lines if line["event"] == "nobody_can_sign_in_yet"]
            app.worker_loops.start()
            context = await browser.new_context(**WAYS[way])
            page = await context.new_page()
            await page.goto(f"{app.client.base}/setup")
            steps = Steps(page)
            await steps.fill("Setup code", code)
            await steps.fill("Password", PASSWORD)
            await steps.fill("Repeat password", PASSWORD, enter=True)
            await steps.press("link", "Add a feed")
            await steps.fill("Address", publisher.url, enter=True)
            await steps.press("button", "Follow")
            await steps.press("link", "Inbox")
            await steps.press("link", "Item one", timeout=20_000)
            await expect(page.get_by_role("heading", name="Item one")).to_be_visible()
            await must_fit_in_each_theme(page)
            assert steps.count < 10
            await context.close()
            await app.worker_loops.stop()
