"""What people do in a real browser, with scripts: live news, keys alone, undo, two browsers in step, and a phone."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, Route, expect
from structlog.testing import capture_logs

from tests.api.people import RunningApp, a_running_app
from tests.web.browser import DESK, PHONE, WIDER, browsing, count, settled
from tests.web.guests import a_guest
from tests.web.sample_shelf import SampleShelf, an_item, fill_shelf, release_chapters, release_items
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.types import User
from tsuzuki.model.ids import ItemId, show_id

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

WORDS = """tool => {
    const words = document.createRange();
    words.selectNodeContents(tool);
    const { left, right, top } = words.getBoundingClientRect();
    const { y, height } = tool.getBoundingClientRect();
    const icon = parseFloat(getComputedStyle(tool, "::before").height);  // in the middle of it
    return { left, right, below: top - y - (height + icon) / 2, size: parseFloat(getComputedStyle(tool).fontSize) };
}"""


@asynccontextmanager
async def a_reader_setup(folder: Path, *, articles: int = 20) -> AsyncIterator[tuple[RunningApp, User, SampleShelf]]:
    async with a_running_app(folder) as app:
        user = await app.add()
        yield app, user, await fill_shelf(app, user, articles=articles)


async def test_who_only_reads_a_shelf_is_offered_nothing_else(browser: Browser, tmp_path):
    async with a_reader_setup(tmp_path) as (app, user, sample_shelf):
        other = await app.add()
        shelf = await app.accounts.current_user.shelf_of(user)
        await app.accounts.sharing.share(shelf_user(user), shelf.public_id, other.username, "reader")
        await (await a_guest(app, other)).send("/account/open-shelf", {"shelf": show_id(shelf.public_id)})
        async with browsing(browser, app, other) as page:
            for path in ("/", "/feeds", f"/items/{sample_shelf.items[0]}"):
                await settled(page, f"{app.client.base}{path}")
                for name in ("Add a feed", "New group", "Mark all read", "Mark unread", "Mark read", "Save"):
                    await expect(
                        page.get_by_role("main").get_by_text(name, exact=True).locator("visible=true")
                    ).to_have_count(0)
            await expect(page.get_by_role("button", name="Share")).to_be_visible()
            await page.goto(f"{app.client.base}/feeds")
            await page.keyboard.press("Control+k")
            await expect(page.get_by_role("option", name="New group")).to_have_count(0)


# -- while it is open


async def test_new_installments_appear_by_themselves_and_counts_move(browser: Browser, tmp_path):
    async with a_reader_setup(tmp_path) as (app, user, sample_shelf), browsing(browser, app, user) as page:
        await settled(page, f"{app.client.base}/")
        await expect(count(page)).to_have_text("29")
        now = app.time()
        await release_items(app, sample_shelf.feeds[0], [an_item("live", at=now, title="Fresh from the press")])
        await expect(page.get_by_role("link", name="Fresh from the press", exact=True)).to_be_visible()
        await release_chapters(app, sample_shelf.series[0], [45])
        await expect(page.get_by_role("article").filter(has_text="Chapter 45")).to_be_visible()
        await expect(count(page)).to_have_text("31")
        await expect(count(page, "chapters")).to_have_text("10")
        await expect(page).to_have_title(re.compile(re.escape("(31)")))


async def test_what_comes_before_the_page_listens_appears_too(browser: Browser, tmp_path):
    async with a_reader_setup(tmp_path) as (app, user, sample_shelf), browsing(browser, app, user) as page:

        async def release_first(route: Route) -> None:
            await release_items(app, sample_shelf.feeds[0], [an_item("early", at=app.time(), title="Came in between")])
            await route.continue_()

        await page.route("**/api/v1/events", release_first, times=1)
        await settled(page, f"{app.client.base}/")
        await expect(page.get_by_role("link", name="Came in between", exact=True)).to_be_visible()


async def test_mark_all_comes_with_news_takes_them_along_and_goes(browser: Browser, tmp_path):
    async with a_reader_setup(tmp_path) as (app, user, sample_shelf), browsing(browser, app, user) as page:
        await settled(page, f"{app.client.base}/")
        all_read = page.get_by_role("button", name="Mark all read")
        await all_read.click()
        await expect(count(page)).to_have_text("")
        await expect(all_read).to_be_hidden()
        await settled(page, f"{app.client.base}/")
        await expect(all_read).to_be_hidden()
        await release_items(app, sample_shelf.feeds[0], [an_item("live", at=app.time(), title="Fresh from the press")])
        await expect(page.get_by_text("Fresh from the press")).to_be_visible()
        await all_read.click()
        await expect(count(page)).to_have_text("")
        await page.get_by_role("button", name="Undo").click()
        await expect(count(page)).to_have_text("1")
        await page.get_by_role("button", name="Mark read").click()
        await expect(all_read).to_be_hidden()


async def test_who_reads_further_down_is_told_instead_of_moved(browser: Browser, tmp_path):
    async with a_reader_setup(tmp_path) as (app, user, sample_shelf), browsing(browser, app, user) as page:
        await settled(page, f"{app.client.base}/")
        await page.evaluate("scrollTo({top: 900, behavior: 'instant'})")
        await page.wait_for_function("() => scrollY > 300")
        await release_items(app, sample_shelf.feeds[0], [an_item("live", at=app.time(), title="Fresh from the press")])
        await expect(page.get_by_text("1 new entry")).to_be_visible()
        await expect(page.get_by_text("Fresh from the press")).to_have_count(0)
        await page.get_by_text("1 new entry").click()
        await expect(page.get_by_text("Fresh from the press")).to_be_visible()


async def test_two_browsers_of_one_person_stay_in_step(browser: Browser, tmp_path):
    async with (
        a_reader_setup(tmp_path) as (app, user, _),
        browsing(browser, app, user) as one,
        browsing(browser, app, user) as other,
    ):
        for page in (one, other):
            await settled(page, f"{app.client.base}/")
        await one.get_by_role("button", name="Mark read").first.click()
        first = other.get_by_role("article").first
        await expect(first.get_by_role("button", name="Mark unread")).to_be_visible()
        await expect(count(other)).to_have_text("28")
        await one.get_by_role("button", name="Mark all read").click()
        await expect(other.locator(".entry.unread")).to_have_count(0)
        await one.get_by_role("button", name="Undo").click()
        await expect(other.locator(".entry.unread")).to_have_count(28)


# -- by keyboard alone


async def test_keys_alone_are_enough_to_read_mark_save_and_undo(browser: Browser, tmp_path):
    async with a_reader_setup(tmp_path) as (app, user, _), browsing(browser, app, user) as page:
        await settled(page, f"{app.client.base}/")
        press = page.keyboard.press
        rows = page.get_by_role("article")
        await press("j")
        await press("j")
        await expect(rows.nth(1)).to_have_class(re.compile(r"^entry unread tint\d current$"))
        await press("k")
        await press("m")
        await expect(rows.first.get_by_role("button", name="Mark unread")).to_be_visible()
        await press("s")
        await expect(page.get_by_text("Saved.", exact=True)).to_be_visible()
        await press("z")  # undo
        await expect(page.get_by_text("Removed from Saved.")).to_be_visible()
        await press("s")
        await press("o")
        await page.wait_for_url("**/items/*")
        title = await page.locator("h1").inner_text()
        await page.wait_for_selector("html.scripted")
        await press("j")
        await page.wait_for_function("title => document.querySelector('h1').textContent !== title", arg=title)
        await page.wait_for_selector("html.scripted")
        await press("u")
        await page.wait_for_url(f"{app.client.base}/")
        await page.wait_for_selector("html.scripted")


async def test_keys_go_everywhere_and_the_palette_finds_and_closes(browser: Browser, tmp_path):
    async with a_reader_setup(tmp_path) as (app, user, sample_shelf), browsing(browser, app, user) as page:
        await app.reading.bookmarks.add_item(sample_shelf.shelf, ItemId(sample_shelf.items[0]))
        await settled(page, f"{app.client.base}/")
        press = page.keyboard.press
        rows = page.get_by_role("article")
        await press("g")
        await press("s")
        await page.wait_for_url("**/?show=saved")
        await expect(rows).to_have_count(1)
        await page.wait_for_selector("html.scripted")
        await press("?")
        await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
        await expect(page.get_by_text("Go to Inbox")).to_be_visible()
        await press("Escape")
        await press("Control+k")
        await page.keyboard.type("Lantern")
        await expect(page.get_by_role("option", name="The Paper Lantern")).to_be_visible()
        await press("Escape")
        await press("/")
        await page.keyboard.type("type foundry")
        await expect(page.get_by_role("option", name="A morning at the type foundry").first).to_be_visible()
        await press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await press("g")
        await press("c")
        await page.wait_for_url("**/?kind=chapter")
        await page.wait_for_selector("html.scripted")
        await press("Shift+A")
        await expect(page.get_by_text("Marked read.")).to_be_visible()
        await expect(count(page, "chapters")).to_have_text("")
        await press("z")
        await expect(count(page, "chapters")).to_have_text("9")


async def test_a_list_restores_its_scroll_position(browser: Browser, tmp_path):
    async with a_reader_setup(tmp_path, articles=120) as (app, user, _), browsing(browser, app, user) as page:
        await settled(page, f"{app.client.base}/")
        for shown in (50, 100, 129):
            await expect(page.get_by_role("article")).to_have_count(shown)
            await page.locator(".older, .end").scroll_into_view_if_needed()
        wanted = page.get_by_role("article").nth(100)
        await wanted.scroll_into_view_if_needed()
        top = await page.evaluate("scrollY")
        link = wanted.locator("h3 a")
        target = await link.get_attribute("href")
        await link.click()
        await page.wait_for_url("**/items/*")
        await page.wait_for_selector("html.scripted")
        await page.go_back()
        await page.wait_for_selector("html.scripted")
        await expect(page.get_by_role("article")).to_have_count(129)
        assert abs(await page.evaluate("scrollY") - top) < 150
        again = page.locator(f'.entry h3 a[href="{target}"]')
        await expect(again).to_be_in_viewport()
        await expect(page.get_by_role("article").nth(100)).not_to_have_class("unread")


async def test_rows_of_another_version_are_dropped(browser: Browser, tmp_path):
    """What another version left, with its markup, under the same address."""
    async with a_reader_setup(tmp_path) as (app, user, _), browsing(browser, app, user) as page:
        await settled(page, f"{app.client.base}/")
        await settled(page, f"{app.client.base}/settings")
        [key] = await page.evaluate("Object.keys(sessionStorage).filter(key => key.startsWith('rows:'))")
        kept = await page.evaluate("key => sessionStorage.getItem(key)", key)
        await page.evaluate("key => sessionStorage.removeItem(key)", key)
        older = [f"rows:{app.client.base}/", re.sub(r"[0-9a-f]{12}", "0" * 12, key)]
        for one in older:
            stale = re.sub(r"<h3>.*?</h3>", "<h4>Of another version</h4>", kept)
            await page.evaluate("([key, rows]) => sessionStorage.setItem(key, rows)", [one, stale])
        await page.go_back()
        await page.wait_for_selector("html.scripted")
        await expect(page.locator(".entry h3")).to_have_count(29)
        await expect(page.get_by_text("Of another version")).to_have_count(0)
        assert not set(older) & set(await page.evaluate("Object.keys(sessionStorage)"))


async def test_a_restored_page_shows_current_marks(browser: Browser, tmp_path):
    """Said by the event that it is shown again with, since a browser that is steered keeps no pages."""
    async with a_reader_setup(tmp_path) as (app, user, _), browsing(browser, app, user) as page:
        await page.route("**/api/v1/events", lambda route: route.fulfill(status=204))  # nothing else tells it
        await page.goto(f"{app.client.base}/")
        await page.wait_for_selector("html.scripted")
        first = page.get_by_role("article").first
        entry = (await first.get_attribute("id") or "")[1:]
        await (await a_guest(app, user)).send("/inbox/mark", {"read": entry})
        await expect(first.get_by_role("button", name="Mark read: ")).to_be_visible()
        await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
        await expect(first.get_by_role("button", name="Mark unread: ")).to_be_visible()


async def test_what_is_scrolled_past_is_read_for_who_wants_that(browser: Browser, tmp_path):
    async with a_reader_setup(tmp_path, articles=40) as (app, user, _), browsing(browser, app, user) as page:
        await settled(page, f"{app.client.base}/settings")
        await page.get_by_label("Mark as read on scroll").check()
        await page.get_by_role("button", name="Save settings").click()
        await settled(page, f"{app.client.base}/")
        await expect(count(page)).to_have_text("49")
        await page.evaluate("scrollTo({top: 3000, behavior: 'instant'})")
        await expect(count(page)).not_to_have_text("49", timeout=8_000)
        await expect(page.locator(".entry:not(.unread)").nth(5)).to_be_attached()
        assert await page.locator(".entry.unread").count() > 5


# -- looks


@pytest.mark.parametrize("viewport", [DESK, PHONE])
async def test_words_of_a_row_cover_no_icon_without_scripts(browser: Browser, tmp_path, viewport):
    options = {"java_script_enabled": False, "viewport": viewport}
    async with a_reader_setup(tmp_path) as (app, user, _), browsing(browser, app, user, **options) as page:
        await page.goto(f"{app.client.base}/?kind=item")
        tools = page.locator(".entry").first.locator(":scope > p > *")
        places = [await tool.bounding_box() for tool in await tools.all()]
        assert len(places) == 3
        for tool in await tools.all():
            await tool.hover()
            said = await tool.evaluate(WORDS)
            assert said["size"] >= 12
            assert said["below"] > 0
            assert 0 <= said["left"] < said["right"] <= viewport["width"]
            assert [await tool.bounding_box() for tool in await tools.all()] == places
            assert await page.evaluate(WIDER) == 0


@pytest.mark.parametrize(
    ("spoken", "wanted"),
    [("en-US", r"[A-Z]\w+ \d+, 20\d\d, \d+:\d\d\s[AP]M"), ("de-DE", r"\d+ [A-Z]\w+ 20\d\d, \d\d:\d\d")],
)
async def test_a_rows_time_shows_its_moment_when_pointed_at(browser: Browser, tmp_path, spoken, wanted):
    """As pages write it. It lies above the link that covers a row, and still leads where that does."""
    async with a_reader_setup(tmp_path) as (app, user, _), browsing(browser, app, user, locale=spoken) as page:
        await settled(page, f"{app.client.base}/")
        time = page.locator(".entry time").first
        target = await page.locator(".entry h3 a").first.get_attribute("href") or ""
        await time.hover()
        await expect(time).to_have_attribute("title", re.compile(f"^{wanted}$"))
        await time.click()
        await page.wait_for_url(f"{app.client.base}{target}")


async def test_a_theme_is_chosen_by_the_palette_and_stays(browser: Browser, tmp_path):
    background = "getComputedStyle(document.body).backgroundColor"
    async with a_reader_setup(tmp_path) as (app, user, _), browsing(browser, app, user, color_scheme="light") as page:
        await settled(page, f"{app.client.base}/")
        assert await page.evaluate(background) == "rgb(251, 249, 246)"
        await page.keyboard.press("Control+k")
        await page.keyboard.type("dark")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("Theme changed.")).to_be_visible()
        await settled(page, f"{app.client.base}/feeds")
        assert await page.evaluate(background) == "rgb(22, 21, 26)"


async def test_what_the_palette_finds_late_takes_nobodys_choice_away(browser: Browser, tmp_path):
    async with a_reader_setup(tmp_path) as (app, user, _), browsing(browser, app, user) as page:
        await settled(page, f"{app.client.base}/")
        await page.keyboard.press("Control+k")
        await page.keyboard.type("ink")
        await page.keyboard.press("ArrowUp")  # the last one, before anything is found
        chosen = page.locator("#palette-list [aria-selected=true]")
        await expect(chosen).to_contain_text("Search for")
        await expect(page.get_by_role("option", name="Ink & Iron")).to_be_visible()
        await expect(chosen).to_contain_text("Search for")
        await page.keyboard.press("Control+a")
        await page.keyboard.type("tin")  # the middle of a word is no beginning of one
        await expect(page.get_by_role("option", name="Settings")).to_have_count(0)
        await page.keyboard.press("Control+a")
        await page.keyboard.type("set")
        await expect(page.get_by_role("option", name="Settings")).to_be_visible()


async def test_a_phone_has_bar_drawer_and_fitting_articles(browser: Browser, tmp_path):
    options = {"viewport": PHONE, "has_touch": True, "is_mobile": True, "color_scheme": "dark"}
    async with a_reader_setup(tmp_path) as (app, user, _), browsing(browser, app, user, **options) as page:
        await settled(page, f"{app.client.base}/")
        await expect(page.get_by_role("navigation", name="Navigation")).to_be_hidden()
        await page.get_by_role("button", name="Menu").tap()
        await page.get_by_role("navigation", name="Navigation").get_by_role("link", name="Craft").tap()
        await page.wait_for_url("**/?group=*")
        await page.locator(".entry h3 a").first.tap()
        await page.wait_for_url("**/items/*")
        await page.wait_for_selector("html.scripted")
        await page.get_by_role("button", name="Save").tap()
        await expect(page.get_by_role("button", name="Saved")).to_have_attribute("aria-pressed", "true")
        await page.get_by_role("link", name="Search").tap()
        await page.wait_for_url("**/search")


async def test_without_a_network_it_says_so_and_loses_nothing(browser: Browser, tmp_path):
    options = {"service_workers": "allow"}
    async with a_reader_setup(tmp_path) as (app, user, _), browsing(browser, app, user, **options) as page:
        await settled(page, f"{app.client.base}/")
        await page.evaluate("navigator.serviceWorker.ready.then(() => true)")
        await page.wait_for_function("() => navigator.serviceWorker.controller !== null")
        await page.context.set_offline(True)
        await expect(page.get_by_text("You are offline. What you mark is saved here")).to_be_visible()
        await page.get_by_role("button", name="Mark read").first.click()
        await expect(page.get_by_text("1 change waits to be sent.")).to_be_visible()
        await expect(page.get_by_role("article").first.get_by_role("button", name="Mark unread")).to_be_visible()
        await page.goto(f"{app.client.base}/feeds")
        await expect(page.get_by_role("heading", name="You are offline")).to_be_visible()
        await page.context.set_offline(False)
        await page.wait_for_selector("html.scripted", timeout=10_000)
        await expect(page.get_by_text("Your offline changes were sent.")).to_be_visible()


async def test_a_new_servers_visitor_is_led_to_setup(browser: Browser, tmp_path):
    with capture_logs():
        async with a_running_app(tmp_path, password="") as app:
            page = await browser.new_page()
            await page.goto(app.client.base)
            await expect(page.get_by_role("link", name="Set up this server")).to_be_visible()
            await page.close()
