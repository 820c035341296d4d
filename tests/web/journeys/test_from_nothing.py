"""From a server that nobody has used to reading, and two browsers in step, at a desk and on a phone, in both themes."""

import re
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from structlog.testing import capture_logs

from tests.api.people import PASSWORD, a_town
from tests.net.builders import answer
from tests.polling.builders import a_feed, a_publisher
from tests.web.browsing import DESK, PHONE, WIDER, browsing
from tests.web.gallery import hang
from tests.web.test_journeys import count, settled

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

WAYS: dict[str, dict[str, Any]] = {
    "desk, light": {"viewport": DESK, "color_scheme": "light"},
    "phone, dark": {"viewport": PHONE, "color_scheme": "dark", "has_touch": True, "is_mobile": True},
}


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


@pytest.mark.parametrize("way", WAYS)
async def test_from_the_first_start_to_the_first_article_in_under_ten_steps(browser: Browser, tmp_path, way):
    """With the code that a new server prints; the last step is the article itself."""
    with capture_logs() as lines:
        async with (
            a_publisher() as publisher,
            a_town(tmp_path, password="", allow_private_networks="127.0.0.0/8") as town,
        ):
            publisher.response = answer(200, a_feed("one", "two", title="A Feed of Two"), content_type="text/xml")
            [code] = [line["setup_code"] for line in lines if line["event"] == "nobody_can_sign_in_yet"]
            town.crew.start()
            context = await browser.new_context(**WAYS[way])
            page = await context.new_page()
            await page.goto(f"{town.client.base}/setup")
            steps = Steps(page)
            await steps.fill("Code", code)
            await steps.fill("Password", PASSWORD)
            await steps.fill("Password again", PASSWORD, enter=True)
            await steps.press("link", "Add a feed")
            await steps.fill("Address", publisher.url, enter=True)
            await steps.press("button", "Follow")
            await steps.press("link", "Inbox")
            await steps.press("link", "Item one", timeout=20_000)
            await expect(page.get_by_role("heading", name="Item one")).to_be_visible()
            assert not await page.evaluate(WIDER)
            assert steps.count < 10
            await context.close()
            await town.crew.stop()


async def test_a_chapter_that_is_read_in_one_browser_leaves_the_count_of_another(browser: Browser, tmp_path):
    """It arrives in both without a reload, on a phone in the dark and at a desk; it is read by keys."""
    async with a_town(tmp_path) as town:
        reader = await town.add()
        gallery = await hang(town, (await town.accounts.oneself.shelf_of(reader)).id)
        await gallery.follow("The Harbour")
        async with (
            browsing(browser, town, reader, **WAYS["desk, light"]) as desk,
            browsing(browser, town, reader, **WAYS["phone, dark"]) as phone,
        ):
            for page in (desk, phone):
                await settled(page, f"{town.client.base}/")
            gallery.draw("The Harbour", "Chapter 7")
            await gallery.look_again("The Harbour")
            for page in (desk, phone):
                await expect(page.get_by_role("link", name="Chapter 7", exact=True)).to_be_visible()
                await expect(count(page, "chapters")).to_have_text("1")
            await desk.keyboard.press("j")
            await desk.keyboard.press("Enter")
            await desk.wait_for_selector("[data-reader][data-at='0']")
            await desk.keyboard.press("End")
            await desk.keyboard.press("ArrowRight")
            await expect(count(phone, "chapters")).to_have_text("", timeout=10_000)
            await expect(phone.locator(".entry.unread")).to_have_count(0)
