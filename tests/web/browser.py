"""Pages in a real browser, with somebody signed in, and nothing that may complain."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Browser, Locator, Page, ViewportSize, expect

from tests.api.people import RunningApp
from tsuzuki.accounts.types import User

PHONE: ViewportSize = {"width": 360, "height": 740}
DESK: ViewportSize = {"width": 1280, "height": 900}

EXPECTED = ("Failed to load resource", "Service Worker registration blocked", "blob:", "data:")

# A page is waited for as long as a selector is (30 s): other tests share the machine, and no time is measured here.
expect.set_options(timeout=30_000)

WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@asynccontextmanager
async def browsing(browser: Browser, app: RunningApp, user: User | None, **options: Any) -> AsyncIterator[Page]:
    """A page of a browser that this person uses, or nobody in particular.

    Whatever the console says, and every request to elsewhere, fails.
    """
    wanted: dict[str, Any] = {"viewport": DESK, "service_workers": "block"} | options
    context = await browser.new_context(**wanted)
    if user is not None:
        session = {"name": "tsuzuki", "value": await app.session(user), "url": app.client.base}
        await context.add_cookies([session])  # type: ignore[list-item]  # a TypedDict, told by a variable
    said: list[str] = []
    page = await context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith(app.client.base) else said.append(request.url))
    yield page
    await context.close()
    wrong = [text for text in said if not text.startswith(EXPECTED)]
    assert not wrong, wrong


async def settled(page: Page, path: str) -> None:
    """The page is open, its scripts run, and it hears of news."""
    await page.goto(path)
    await page.wait_for_selector("html.scripted")
    await page.wait_for_selector("#live[data-heard]", state="attached")


def count(page: Page, which: str = "unread") -> Locator:
    """Where the frame shows how much is unread of this."""
    return page.locator(f"#side [data-count={which}]")
