"""What a browser keeps while there is no network: marks of lists and series, and how far was read."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.api.people import RunningApp, a_running_app
from tests.web.browser import browsing, settled
from tests.web.gallery import Gallery, a_visitor, somebody
from tests.web.sample_shelf import fill_shelf
from tsuzuki.model.ids import ChapterId, read_id

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

HARBOUR = "The Harbour"
SENT = "Your offline changes were sent."
NOTHING_WAITS = "() => !localStorage.getItem('marks') && !localStorage.getItem('progress')"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def app(tmp_path_factory) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path_factory.mktemp("kept")) as app:
        yield app


async def read_chapters(gallery: Gallery, series: str) -> list[str | None]:
    public_id = read_id(series)
    assert public_id is not None
    order = await gallery.app.reading.series.order(gallery.shelf, public_id)
    return [chapter.number for chapter in order if chapter.is_read]


async def marked_offline(page: Page, app: RunningApp) -> int:
    """Open the inbox and mark all of it without a network; how much there was."""
    await settled(page, f"{app.client.base}/")
    count = await page.locator(".entry.unread").count()
    await page.context.set_offline(True)
    await page.get_by_role("button", name="Mark all read").click()
    return count


async def test_a_list_marked_offline_can_be_undone_and_sent(browser: Browser, app):
    user, _ = await somebody(app)
    await fill_shelf(app, user, articles=6)
    async with browsing(browser, app, user) as page:
        everything = await marked_offline(page, app)
        await expect(page.get_by_text("Marked read. It will be sent when you are back online.")).to_be_visible()
        await expect(page.get_by_text("1 change waits to be sent.")).to_be_visible()
        await expect(page.locator(".entry.unread")).to_have_count(0)
        await page.keyboard.press("z")
        await expect(page.locator(".entry.unread")).to_have_count(everything)
        await expect(page.locator("[data-waiting]")).to_have_text("")
        await page.get_by_role("button", name="Mark all read").click()
        await page.get_by_role("button", name="Mark unread").first.click()
        await expect(page.get_by_text("2 changes wait to be sent.")).to_be_visible()
        await page.context.set_offline(False)
        await expect(page.get_by_text(SENT)).to_be_visible()
        await page.reload()
        await expect(page.locator(".entry.unread")).to_have_count(1)
        await expect(page.locator("#side [data-count=unread]")).to_have_text("1")


async def test_a_sent_mass_mark_can_still_be_undone(browser: Browser, app):
    user, _ = await somebody(app)
    await fill_shelf(app, user, articles=6)
    async with browsing(browser, app, user) as page:
        everything = await marked_offline(page, app)
        undo = page.get_by_role("button", name="Undo")
        await undo.hover()  # the message stays
        await page.context.set_offline(False)
        await expect(page.get_by_text(SENT)).to_be_visible()
        await undo.click()
        await expect(page.get_by_text("Undone.")).to_be_visible()
        await page.reload()
        await expect(page.locator(".entry.unread")).to_have_count(everything)


async def test_offline_marks_of_chapters_are_sent_in_order(browser: Browser, app):
    user, gallery = await a_visitor(app)
    series = await gallery.follow(HARBOUR)
    async with browsing(browser, app, user) as page:
        await settled(page, f"{app.client.base}/series/{series}")
        await page.context.set_offline(True)
        await page.get_by_role("button", name="Mark all read").click()
        await expect(page.locator(".chapter.is-read")).to_have_count(4)
        await page.get_by_role("button", name="Mark unread: Chapter 2").click()
        await expect(page.get_by_text("Marked unread. It will be sent when you are back online.")).to_be_visible()
        await expect(page.locator(".chapter.is-read")).to_have_count(3)
        await expect(page.get_by_text("2 changes wait to be sent.")).to_be_visible()
        assert await read_chapters(gallery, series) == []
        await page.context.set_offline(False)
        await expect(page.get_by_text(SENT)).to_be_visible()
        assert await read_chapters(gallery, series) == ["6", "3", "1"]


async def test_all_marked_unread_is_taken_back_at_once(browser: Browser, app):
    user, gallery = await a_visitor(app)
    series = await gallery.follow(HARBOUR)
    async with browsing(browser, app, user) as page:
        await settled(page, f"{app.client.base}/series/{series}")
        await page.get_by_role("button", name="Mark all read").click()
        await page.get_by_role("button", name="Mark all unread").click()
        await expect(page.get_by_text("Marked unread.")).to_be_visible()
        await expect(page.locator(".chapter.is-read")).to_have_count(0)
        await page.keyboard.press("z")
        await expect(page.locator(".chapter.is-read")).to_have_count(4)
        assert len(await read_chapters(gallery, series)) == 4


async def test_progress_of_the_reader_is_sent_from_any_page(browser: Browser, app):
    user, gallery = await a_visitor(app)
    series = await gallery.follow(HARBOUR)
    first, second = [await gallery.chapter(HARBOUR, number) for number in ("1", "2")]
    async with browsing(browser, app, user) as page:
        await page.goto(f"{app.client.base}/series/{series}/chapters/{first}")
        await page.wait_for_selector("[data-reader][data-at]")
        await expect(page.locator(".sheet.came")).to_have_count(4)
        await page.context.set_offline(True)
        await page.keyboard.press("ArrowRight")
        await expect(page.get_by_text("Your place in 1 chapter waits to be sent.")).to_be_attached()
        await page.keyboard.press("End")
        await page.keyboard.press("ArrowRight")
        await page.get_by_role("button", name="Mark read").click()
        await expect(page.get_by_text("You have read this chapter.")).to_be_visible()
        await expect(page.get_by_text("1 change waits to be sent.")).to_be_attached()
        assert await read_chapters(gallery, series) == []
        await page.close()  # what is sent at the very end leaves after the browser has forgotten that it is offline
        await page.context.set_offline(False)
        other = await page.context.new_page()
        await other.goto(f"{app.client.base}/settings")
        await other.wait_for_function(NOTHING_WAITS)
        assert await read_chapters(gallery, series) == ["1"]
        assert (await told(gallery, series, first), await told(gallery, series, second)) == (3, 0)


async def test_a_refused_offline_mark_does_not_block_others(browser: Browser, app):
    user, gallery = await a_visitor(app)
    series = await gallery.follow(HARBOUR)
    chapters = [str(await gallery.chapter(HARBOUR, number)) for number in ("1", "2")]
    said: list[dict[str, Any]] = [{"page": 2, "was": "known once"}, {"page": 1}]
    async with browsing(browser, app, user) as page:
        await settled(page, f"{app.client.base}/")
        who = await page.evaluate("document.body.dataset.who")
        waits = [
            {"key": f"{series} {one}", "series_id": series, "chapter_id": one, "who": who, **more}
            for one, more in zip(chapters, said, strict=True)
        ]
        await page.evaluate("kept => localStorage.setItem('progress', JSON.stringify(kept))", waits)
        await page.reload()
        await page.wait_for_function(NOTHING_WAITS)
        assert [await told(gallery, series, ChapterId(int(one))) for one in chapters] == [0, 1]


async def told(gallery: Gallery, series: str, chapter: ChapterId) -> int:
    public_id = read_id(series)
    assert public_id is not None
    return (await gallery.app.reading.progress.get(gallery.shelf, public_id, chapter)).page
