"""Recordings in the page, and marks without a network, in a real browser."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from playwright.async_api import expect

from tests.delivery.builders import subscribe
from tests.images.media_builders import API, a_studio, a_wave
from tests.web.browser import browsing
from tests.web.guests import a_guest
from tests.web.sample_shelf import a_feed, an_item, release_items
from tsuzuki.accounts.types import User
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.harvest import Enclosure

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

HEARD = "() => document.querySelector('audio').currentTime"
HEARD_ENOUGH = f"{HEARD} > 1.5"
HEARD_SOME = f"{HEARD} > 0"
STATE = "() => { const one = document.querySelector('audio'); return [one.paused, one.playbackRate]; }"
WAITING = "() => JSON.parse(localStorage.getItem('marks') ?? '[]').flatMap(one => one.fields)"

q = parse_queries(
    "tests",
    """
-- name: last_item
select max(id) from item;
-- name: marks
select id, read_at from entry where read_at is not null order by read_at;
""",
)


class Mark(msgspec.Struct, frozen=True):
    """An entry that was read."""

    id: int
    read_at: int


class Shown:
    """A studio with somebody who follows a feed of it."""

    def __init__(self, studio, user: User, feed) -> None:
        self.studio = studio
        self.app = studio.app
        self.user = user
        self.feed = feed

    @property
    def base(self) -> str:
        return str(self.app.client.base)

    async def release(self, *items) -> int:
        await release_items(self.app, self.feed, list(items))
        return int(await self.app.db.read(lambda tx: tx.one(int, q.last_item)))

    def recording(self, path: str, data: bytes, media_type: str) -> Enclosure:
        self.studio.offer(path, data, media_type)
        return Enclosure(self.studio.site.url + path, media_type, len(data), "The first part")


@asynccontextmanager
async def shown(folder: Path) -> AsyncIterator[Shown]:
    async with a_studio(folder) as studio:
        user = await studio.app.add()
        shelf = (await studio.app.accounts.current_user.shelf_of(user)).id
        feed = await a_feed(studio.app, "On air")
        await subscribe(studio.app.db, shelf, feed)
        yield Shown(studio, user, feed)


async def test_a_recording_plays_by_keyboard_and_resumes(browser, tmp_path):
    async with shown(tmp_path) as here:
        sound = here.recording("/a.wav", a_wave(40), "audio/wav")
        item = await here.release(an_item("1", at=here.app.time(), enclosures=(sound,)))
        async with browsing(browser, here.app, here.user) as page:
            await page.goto(f"{here.base}/items/{item}")
            player = page.locator("audio")
            assert here.studio.publisher.ranges == []  # nothing is loaded before it is wanted
            await player.focus()
            await page.keyboard.press("Space")
            await page.wait_for_function(HEARD_ENOUGH)
            await page.keyboard.press("Space")
            assert await page.evaluate(STATE) == [True, 1]
            await page.get_by_label("Speed").select_option("2")
            heard = await page.evaluate(HEARD)
            await page.reload()
            await page.locator("audio").focus()
            await page.keyboard.press("Space")
            await page.wait_for_function(HEARD_SOME)
            assert await page.evaluate(HEARD) >= int(heard)
            assert await page.evaluate(STATE) == [False, 2]
            link = page.get_by_role("link", name="The first part")
            assert await link.get_attribute("href") == sound.url


async def test_an_unplayable_recording_links_to_the_original(browser, tmp_path):
    async with shown(tmp_path) as here:
        lie = here.recording("/a.mp3", b"<script>alert(1)</script>" * 9, "audio/mpeg")
        item = await here.release(an_item("1", at=here.app.time(), enclosures=(lie,)))
        async with browsing(browser, here.app, here.user) as page:
            await page.goto(f"{here.base}/items/{item}")
            await page.locator("audio").focus()
            await page.keyboard.press("Space")
            await expect(page.get_by_text("This cannot be played here.")).to_be_visible()


async def test_i7_only_articles_may_play_anything(tmp_path):
    async with shown(tmp_path) as here:
        item = await here.release(an_item("1", at=here.app.time()))
        guest = await a_guest(here.app, here.user)
        article = (await guest.see(f"/items/{item}")).headers["content-security-policy"]
        usual = (await guest.see("/")).headers["content-security-policy"]
        assert article == f"{usual}; media-src 'self'"
        assert "media-src" not in usual
        assert API not in article


async def test_offline_marks_are_sent_later_and_the_newest_wins(browser, tmp_path):
    async with shown(tmp_path) as here:
        await here.release(*(an_item(str(n), at=here.app.time(), title=f"Number {n}") for n in range(5)))
        async with browsing(browser, here.app, here.user) as page:
            await page.goto(here.base)
            await page.wait_for_selector("#live[data-heard]", state="attached")
            await page.context.set_offline(True)
            for _ in range(3):
                await page.keyboard.press("j")
                await page.keyboard.press("m")
            await expect(page.get_by_text("3 changes wait to be sent.")).to_be_visible()
            await page.keyboard.press("m")  # the third is unread again: that is what counts
            await page.keyboard.press("s")
            await expect(page.get_by_text("4 changes wait to be sent.")).to_be_visible()
            kept = await page.evaluate(WAITING)
            assert [name for name, _ in kept] == ["read", "read", "unread", "save"]
            assert await here.app.db.read(lambda tx: tx.many(Mark, q.marks)) == []
            before = here.app.time()
            await page.wait_for_timeout(300)
            await page.context.set_offline(False)
            await expect(page.get_by_text("Your offline changes were sent.")).to_be_visible()
            await expect(page.locator(".offline-line")).to_be_hidden()
            marks = await here.app.db.read(lambda tx: tx.many(Mark, q.marks))
            assert [str(mark.id) for mark in marks] == [value for _, value in kept[:2]]
            assert all(mark.read_at <= before for mark in marks)
            await expect(page.locator(".entry.saved")).to_have_count(1)
            assert await page.evaluate(WAITING) == []
