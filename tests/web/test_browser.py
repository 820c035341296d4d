"""The pages in a real browser: under the policy, in light and dark, as narrow as a phone."""

import os
import shutil
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, ConsoleMessage, async_playwright

from tests.app import running_app, settings_for

pytestmark = pytest.mark.browser

PHONE = {"width": 360, "height": 740}
DESK = {"width": 1280, "height": 900}


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    assert found is not None, "there is no Chromium; `make test` installs one"
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=found, args=arguments)
        yield browser
        await browser.close()


async def test_i7_every_page_looks_right_without_any_exception_from_the_policy(browser, tmp_path):
    backgrounds: dict[str, str] = {}
    async with running_app(settings_for(tmp_path)) as client:
        for scheme in ("light", "dark"):
            for viewport in (PHONE, DESK):
                said: list[str] = []
                page = await browser.new_page(color_scheme=scheme, viewport=viewport)
                page.on("console", lambda message, said=said: said.append(_text(message)))
                for path, status in (("/", 200), ("/api/v1/docs", 200), ("/nope", 404)):
                    response = await page.goto(client.base + path)
                    assert response.status == status
                    assert await page.locator("h1").is_visible()
                    wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                    assert await page.evaluate(wider) == 0, (path, viewport)
                    backgrounds[scheme] = await page.evaluate("getComputedStyle(document.body).backgroundColor")
                assert [text for text in said if "404" not in text] == []
                await page.close()
    assert backgrounds == {"light": "rgb(251, 249, 246)", "dark": "rgb(22, 21, 26)"}


def _text(message: ConsoleMessage) -> str:
    return message.text
