"""What a page becomes when somebody does something: dialogs, the reader's modes, answers of forms, no network."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.net.builders import answer
from tests.polling.builders import a_feed, a_publisher
from tests.web.browser import PHONE, browsing
from tests.web.looks.axe import EACH_ONCE, PHONE_WAYS, Wrongs, wrongs_everywhere
from tests.web.looks.sample_server import SampleServer, a_sample_server

pytestmark = [pytest.mark.soak, pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory) -> AsyncIterator[SampleServer]:
    async with a_sample_server(tmp_path_factory.mktemp("states")) as server:
        yield server


async def start(page: Page, server: SampleServer, stop: str) -> None:
    """Open it, and wait for its scripts."""
    await server.open(page, "admin", stop)
    await page.wait_for_selector("html.scripted")


async def press(page: Page, name: str) -> None:
    await page.get_by_role("main").get_by_role("button", name=name, exact=True).first.click()


# -- above a page


async def test_what_opens_above_a_page_is_accessible(browser: Browser, server):
    wrong: Wrongs = {}
    async with browsing(browser, server.app, server.people["admin"]) as page:
        await start(page, server, "/")
        await page.keyboard.press("?")
        await page.locator("#help[open]").wait_for()
        wrong |= await wrongs_everywhere(page, "help", ways=EACH_ONCE)
        await page.keyboard.press("Escape")
        await page.keyboard.press("Control+k")
        await page.keyboard.type("ink")
        await expect(page.locator("#palette-list").get_by_text("Ink & Iron").first).to_be_visible()
        wrong |= await wrongs_everywhere(page, "palette", ways=EACH_ONCE)
        await page.keyboard.press("Escape")
        await page.set_viewport_size(PHONE)
        await page.get_by_role("button", name="Menu").click()
        await page.get_by_role("navigation", name="Navigation").wait_for()
        wrong |= await wrongs_everywhere(page, "drawer", ways=PHONE_WAYS)
        await start(page, server, "/items/{playing_id}")
        await page.get_by_role("img", name="A press").click()
        await page.locator("dialog.zoom[open]").wait_for()
        wrong |= await wrongs_everywhere(page, "zoom", ways=EACH_ONCE)
    assert wrong == {}


async def test_undo_messages_and_the_offline_line_are_accessible(browser: Browser, server):
    wrong: Wrongs = {}
    async with browsing(browser, server.app, server.people["admin"]) as page:
        await start(page, server, "/")
        await page.keyboard.press("Shift+A")
        undo = page.locator(".toast").get_by_role("button", name="Undo")
        await undo.focus()  # it stays while somebody is at it
        wrong |= await wrongs_everywhere(page, "toast", ways=EACH_ONCE)
        await undo.click()
        await expect(page.locator(".entry.unread").first).to_be_visible()
        await page.context.set_offline(True)
        await page.get_by_role("button", name="Mark read").first.click()
        await expect(page.get_by_text("1 change waits to be sent.")).to_be_visible()
        wrong |= await wrongs_everywhere(page, "offline", ways=EACH_ONCE)
        await page.context.set_offline(False)
        await expect(page.get_by_text("Your offline changes were sent.")).to_be_visible()
    assert wrong == {}


# -- a chapter


async def test_the_reader_is_accessible_in_every_mode(browser: Browser, server):
    wrong: Wrongs = {}
    async with browsing(browser, server.app, server.people["admin"]) as page:
        await start(page, server, "/series/{series_id}/chapters/{chapter_id}")
        await page.wait_for_selector("[data-reader][data-at]")
        await page.get_by_label("Display settings").click()
        for mode in ("ltr", "rtl", "double", "vertical", "webtoon"):
            async with page.expect_response(lambda response: response.url.endswith("/reading")):
                await page.get_by_label("Layout", exact=True).select_option(mode)
            await page.wait_for_selector(f"[data-reader].mode-{mode}")
            wrong |= await wrongs_everywhere(page, mode, ways=EACH_ONCE)
        await page.get_by_label("Display settings").click()
        await page.keyboard.press("End")
        await page.get_by_role("heading", name="End of Chapter 2").scroll_into_view_if_needed()
        wrong |= await wrongs_everywhere(page, "end", ways=EACH_ONCE)
    assert wrong == {}


# -- answers of forms


async def test_what_forms_of_readers_answer_is_accessible(browser: Browser, server):
    """A preview and each page that is shown once, and what is wrong with a form beside its field."""
    wrong: Wrongs = {}
    async with a_publisher() as publisher, browsing(browser, server.app, server.people["admin"]) as page:
        publisher.response = answer(200, a_feed("one", "two", title="A Feed of Two"), content_type="text/xml")
        for url, seen in (("http://[", "#url-error"), (publisher.url, "section.found")):
            await start(page, server, "/feeds/add")
            await page.get_by_label("Address").fill(url)
            await press(page, "Find")
            await page.locator(seen).wait_for()
            wrong |= await wrongs_everywhere(page, f"looked at {url}", ways=EACH_ONCE)
        await start(page, server, "/feeds/import")
        feeds = '<outline xmlUrl="https://example.org/x"/><outline text="None" xmlUrl="ftp://example.org"/>'
        opml = f'<opml version="2.0"><body>{feeds}</body></opml>'
        file = {"name": "x.opml", "mimeType": "text/x-opml", "buffer": opml.encode()}
        await page.locator("input[type=file]").set_input_files(file)  # type: ignore[arg-type]  # a TypedDict
        await page.locator("main form button").last.click()
        await page.locator("main li .error").wait_for()
        wrong |= await wrongs_everywhere(page, "imported", ways=EACH_ONCE)
        await start(page, server, "/notifications")
        await page.locator("summary#webhook").click()
        await page.locator("#webhook-name").fill("Bell")
        await page.locator("#webhook-url").fill(publisher.url)
        await page.locator("form:has(#webhook-url) button").click()
        await page.locator("output.secret").wait_for()
        wrong |= await wrongs_everywhere(page, "a channel", ways=EACH_ONCE)
        await start(page, server, "/notifications")
        wrong |= await wrongs_everywhere(page, "channels", ways=EACH_ONCE)
        for scope, seen in (("read", "output.secret"), ("", ".field.wrong, .error")):
            await start(page, server, "/account")
            await page.get_by_label("Token name").fill("backup")
            await page.get_by_label("read", exact=True).set_checked(scope == "read")
            await press(page, "Create token")
            await page.locator(seen).first.wait_for()
            wrong |= await wrongs_everywhere(page, f"token {scope}", ways=EACH_ONCE)
    assert wrong == {}


async def test_what_admin_forms_answer_is_accessible(browser: Browser, server):
    wrong: Wrongs = {}
    async with browsing(browser, server.app, server.people["admin"]) as page:
        await start(page, server, "/admin/sources/{source_id}")
        await press(page, "Test")
        await page.get_by_text("It works").first.wait_for()
        wrong |= await wrongs_everywhere(page, "tried", ways=EACH_ONCE)
        await start(page, server, "/admin/sources/{source_id}/edit")
        await page.get_by_label("ratelimit").fill("fast")
        await press(page, "Save")
        await page.get_by_text("Enter a number.").wait_for()
        wrong |= await wrongs_everywhere(page, "a wrong config", ways=EACH_ONCE)
        await start(page, server, "/admin/users")
        await press(page, "Create invitation")
        await page.get_by_text("it will not be shown again").wait_for()
        wrong |= await wrongs_everywhere(page, "invited", ways=EACH_ONCE)
        await start(page, server, "/admin")
        await page.get_by_text("Show as table").first.click()
        wrong |= await wrongs_everywhere(page, "figures", ways=EACH_ONCE)
    assert wrong == {}


async def test_what_is_wrong_with_a_sign_in_is_told_accessibly(browser: Browser, server):
    wrong: Wrongs = {}
    async with browsing(browser, server.app, None) as page:
        await server.open(page, "visitor", "/sign-in")
        await page.get_by_label("Username").fill("admin")
        await page.get_by_label("Password").fill("guess")
        await page.get_by_role("button", name="Sign in", exact=True).click()
        await page.get_by_text("Wrong username or password").wait_for()
        wrong |= await wrongs_everywhere(page, "a wrong password", ways=EACH_ONCE)
        await server.open(page, "visitor", "/invite")
        await page.get_by_label("Invitation code").fill("nonsense")
        await page.get_by_label("Username").fill("a" * 64)
        await page.get_by_label("Password", exact=True).fill("short")
        await page.get_by_label("Repeat password").fill("short")
        await page.get_by_role("button", name="Create account").click()
        await page.locator(".error").first.wait_for()
        wrong |= await wrongs_everywhere(page, "a wrong invitation", ways=EACH_ONCE)
    assert wrong == {}
