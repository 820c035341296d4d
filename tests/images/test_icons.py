"""Icons of feeds: where they come from, how seldom they are fetched, and what is no icon."""

import asyncio
import io
import os
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from PIL import Image as Picture

from tests.builders import NOON, stored_feed
from tests.delivery.builders import a_reader, subscribe
from tests.images.builders import a_bomb, a_picture, packed
from tests.net.builders import SHORT, Served, a_client, a_server, answer
from tsuzuki.connectors.page_icons import read_icons
from tsuzuki.db import Database
from tsuzuki.db.queries import parse_queries
from tsuzuki.images.decoder import make_icon
from tsuzuki.images.icons import Icons
from tsuzuki.images.policy import ICON_EVERY, icon_delay
from tsuzuki.images.services import DECODING
from tsuzuki.model.errors import NotAnImage, NotFound, NotOurTurn, SourceError, TooLarge
from tsuzuki.model.ids import FeedId, ShelfId
from tsuzuki.model.times import DAY, HOUR, Millis
from tsuzuki.parsing.pool import ParsePool

pytestmark = pytest.mark.both_engines

q = parse_queries(
    "tests",
    """
-- name: set_addresses
update feed set site_url = :site_url, icon_url = :icon_url, proxy = :proxy where id = :id;
-- name: link
select link from feed where id = :id;
-- name: errors
select error from icon where error is not null order by id;
-- name: count_icons
select count(*) from icon;
-- name: leave
delete from subscription where feed_id = :id;
-- name: delete_feed
delete from feed where id = :id;
""",
)

Write = Callable[[asyncio.StreamWriter], Awaitable[None]]
RED, BLUE = (255, 0, 0, 255), (0, 0, 255, 255)
SCRIPT = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


class IconSite(Served):
    """Answers with what a test put at a path; anything else is a 404."""

    def __init__(self) -> None:
        self.files: dict[str, bytes | Write] = {}

    def put(self, path: str, body: bytes, content_type: str = "image/png", status: int = 200) -> None:
        self.files[path] = answer(status, body, content_type=content_type)

    def page(self, head: str, path: str = "/") -> None:
        self.put(path, f"<!doctype html><html><head>{head}</head></html>".encode(), "text/html; charset=utf-8")

    async def handle(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        found = self.files.get(head.split(b" ", 2)[1].decode(), answer(404, b"no", content_type="text/plain"))
        if isinstance(found, bytes):
            writer.write(found)
        else:
            await found(writer)


class Shelf:
    """A shelf whose feeds have icons, and a clock that a test turns."""

    def __init__(self, db: Database, shelf: ShelfId, icons: Icons, site: IconSite) -> None:
        self.db, self.shelf, self.icons, self.site = db, shelf, icons, site
        self.now = NOON

    async def add(self, *, icon: str | None = None, site: str | None = None, proxy: str = "") -> FeedId:
        """A feed of the site, or of another."""
        feed = await stored_feed(self.db, f"{site or self.site.url}/feed/{os.urandom(4).hex()}")
        await self.say(feed, icon=icon, site=site, proxy=proxy)
        await subscribe(self.db, self.shelf, feed)
        return feed

    async def say(self, feed: FeedId, *, icon: str | None, site: str | None = None, proxy: str = "") -> None:
        said = {"site_url": f"{site or self.site.url}/", "icon_url": icon, "proxy": proxy}
        await self.db.with_tx(lambda tx: tx.run(q.set_addresses, id=feed, **said))

    async def color(self, feed: FeedId) -> tuple[int, ...] | None:
        """Of the middle of the icon that is shown."""
        shown = (await self.icons.of_shelf(self.shelf)).get(feed)
        if shown is None:
            return None
        with Picture.open(io.BytesIO(await self.icons.picture(shown.token.hex()))) as picture:
            assert (picture.format, picture.mode) == ("PNG", "RGBA")
            assert 32 <= picture.width == picture.height <= 64
            found = picture.getpixel((picture.width // 2, picture.height // 2))
            assert isinstance(found, tuple)
            return found

    async def errors(self) -> list[str]:
        return await self.db.read(lambda tx: tx.many(str, q.errors))


@pytest.fixture
async def shelf(db) -> AsyncIterator[Shelf]:
    async with a_shelf(db) as made:
        yield made


@asynccontextmanager
async def a_shelf(db: Database, **over: Any) -> AsyncIterator[Shelf]:
    site = IconSite()
    async with AsyncExitStack() as parts:
        site.server = await parts.enter_async_context(a_server(site.handle))
        client = await parts.enter_async_context(a_client(**over))
        pool = await parts.enter_async_context(ParsePool(DECODING))
        icons = Icons(db, client, pages=pool, pictures=pool, clock=lambda: made.now, random_bytes=os.urandom)
        made = Shelf(db, await a_reader(db), icons, site)
        yield made


# -- where it comes from


async def test_the_feeds_own_icon_comes_first(shelf):
    shelf.site.put("/own.png", a_picture("PNG", (40, 40), color="red"))
    shelf.site.put("/favicon.ico", a_picture("ICO", (32, 32), color="blue"))
    feed = await shelf.add(icon=f"{shelf.site.url}/own.png")
    await shelf.icons.work()
    assert await shelf.color(feed) == RED
    assert shelf.site.asked == ["/own.png"]


async def test_else_the_icon_that_its_page_names(shelf):
    shelf.site.page('<link rel="icon" href="/small.png" sizes="16x16"><link rel="icon" href="b.png" sizes="64x64">')
    shelf.site.put("/b.png", a_picture("PNG", (64, 64), color="blue"))
    feed = await shelf.add()
    await shelf.icons.work()
    assert await shelf.color(feed) == BLUE
    assert shelf.site.asked == ["/", "/b.png"]


async def test_else_the_sites_favicon(shelf):
    shelf.site.put("/favicon.ico", a_picture("ICO", (16, 16), color="red"))
    feed = await shelf.add()
    await shelf.icons.work()
    assert await shelf.color(feed) == RED
    assert shelf.site.asked == ["/", "/favicon.ico"]


@pytest.mark.parametrize("names_itself", [True, False])
async def test_a_feed_without_site_has_its_hosts_icon(shelf, names_itself):
    """And is not asked for once more, as if it were a page that names icons."""
    shelf.site.page('<link rel="icon" href="/named.png" sizes="64x64">')
    shelf.site.put("/named.png", a_picture("PNG", (64, 64), color="blue"))
    feed = await shelf.add()
    link = await shelf.db.read(lambda tx: tx.one(str, q.link, id=feed))
    said = {"site_url": link if names_itself else None, "icon_url": None, "proxy": ""}
    await shelf.db.with_tx(lambda tx: tx.run(q.set_addresses, id=feed, **said))
    await shelf.icons.work()
    assert await shelf.color(feed) == BLUE
    assert shelf.site.asked == ["/", "/named.png"]


async def test_a_feed_whose_own_icon_fails_has_its_sites(shelf):
    shelf.site.put("/own.svg", SCRIPT, "image/svg+xml")
    shelf.site.put("/favicon.ico", a_picture("ICO", (32, 32), color="blue"))
    feed = await shelf.add(icon=f"{shelf.site.url}/own.svg")
    await shelf.icons.work()
    assert await shelf.color(feed) is None
    await shelf.icons.work()
    assert await shelf.color(feed) == BLUE
    later = await shelf.add(icon=f"{shelf.site.url}/own.svg")
    await shelf.icons.work()
    assert await shelf.color(later) == BLUE
    assert shelf.site.asked == ["/own.svg", "/", "/favicon.ico"]


async def test_another_icon_is_fetched_when_the_feed_names_another(shelf):
    shelf.site.put("/red.png", a_picture("PNG", (40, 40), color="red"))
    shelf.site.put("/blue.png", a_picture("PNG", (40, 40), color="blue"))
    feed = await shelf.add(icon=f"{shelf.site.url}/red.png")
    await shelf.icons.work()
    await shelf.say(feed, icon=f"{shelf.site.url}/blue.png")
    await shelf.icons.work()
    assert await shelf.color(feed) == BLUE
    assert await shelf.icons.forget_unused() == 1
    assert await shelf.color(feed) == BLUE


def test_a_page_names_icons_by_size_and_no_drawings():
    page = (
        b"<base href='/a/'><link rel='mask-icon' href=m.svg><link rel='icon' type='image/svg+xml' href='x'>"
        b"<link rel='shortcut icon' href='javascript:alert(1)'><link rel=icon href='data:image/png;base64,AA'>"
        b"<link rel='stylesheet' href='s.css'><link rel='apple-touch-icon' href='touch.png#x'>"
        b"<link rel='Shortcut Icon' href='s.ico'><link rel=icon sizes='512x512' href='large.png'>"
    )
    found = read_icons(page, "https://example.org/blog/", None)
    assert found == ["https://example.org/a/touch.png", "https://example.org/a/large.png"]
    with pytest.raises(TooLarge):
        read_icons(b"<div>" * 100_000, "https://example.org/", None)


# -- how seldom


async def test_two_feeds_of_one_host_fetch_once(shelf):
    shelf.site.put("/favicon.ico", a_picture("ICO", (32, 32), color="red"))
    feeds = [await shelf.add(), await shelf.add()]
    for _ in range(3):
        await shelf.icons.work()
    assert [await shelf.color(feed) for feed in feeds] == [RED, RED]
    assert shelf.site.asked == ["/", "/favicon.ico"]
    assert len(await shelf.icons.pictures_of(shelf.shelf)) == 1


async def test_after_a_month_it_is_fetched_again(shelf):
    shelf.site.put("/own.png", a_picture("PNG", (40, 40), color="red"))
    feed = await shelf.add(icon=f"{shelf.site.url}/own.png")
    await shelf.icons.work()
    [first] = (await shelf.icons.of_shelf(shelf.shelf)).values()
    shelf.now = Millis(shelf.now + ICON_EVERY - 1)
    assert await shelf.icons.work() == 0
    shelf.now = Millis(shelf.now + 1)
    assert await shelf.icons.work() == 1
    [same] = (await shelf.icons.of_shelf(shelf.shelf)).values()
    assert same == first  # whoever has the picture keeps it
    shelf.site.put("/own.png", a_picture("PNG", (40, 40), color="blue"))
    shelf.now = Millis(shelf.now + ICON_EVERY)
    await shelf.icons.work()
    [other] = (await shelf.icons.of_shelf(shelf.shelf)).values()
    assert await shelf.color(feed) == BLUE
    assert (other.id, other.token != first.token) == (first.id, True)
    with pytest.raises(NotFound):
        await shelf.icons.picture(first.token.hex())


async def test_what_fails_is_asked_more_and_more_seldom(shelf):
    feed = await shelf.add()
    asked = 0
    for wait in (1, 4, 16, 30, 30):
        await shelf.icons.work()
        asked += 2
        assert len(shelf.site.asked) == asked
        shelf.now = Millis(shelf.now + wait * DAY - 1)
        assert await shelf.icons.work() == 0
        shelf.now = Millis(shelf.now + 1)
    shelf.site.put("/favicon.ico", a_picture("ICO", (32, 32), color="red"))
    await shelf.icons.work()
    assert await shelf.color(feed) == RED
    assert await shelf.errors() == []


async def test_an_icon_stays_while_its_site_is_out(shelf):
    shelf.site.put("/own.png", a_picture("PNG", (40, 40), color="red"))
    feed = await shelf.add(icon=f"{shelf.site.url}/own.png")
    await shelf.icons.work()
    del shelf.site.files["/own.png"]
    shelf.now = Millis(shelf.now + ICON_EVERY)
    await shelf.icons.work()
    [error] = await shelf.errors()
    assert "404" in error
    assert await shelf.color(feed) == RED
    assert "/favicon.ico" not in shelf.site.asked


async def test_a_few_are_fetched_at_a_time(shelf):
    for number in range(12):
        await shelf.add(icon=f"{shelf.site.url}/{number}.png")
    assert await shelf.icons.work() == 10
    assert await shelf.icons.work() == 3  # with the site, which those without have need of


def test_the_pause_after_failures_is_bounded():
    failed = SourceError("no")
    assert [icon_delay(count, failed) // DAY for count in (1, 2, 3, 4, 99)] == [1, 4, 16, 30, 30]
    assert icon_delay(1, SourceError("later", retry_after=2 * DAY)) == 2 * DAY
    assert icon_delay(1, SourceError("later", retry_after=400 * DAY)) == ICON_EVERY
    assert icon_delay(0, NotOurTurn("busy")) == HOUR


async def test_nothing_is_fetched_for_feeds_behind_a_proxy(shelf):
    await shelf.add(proxy="http://proxy.example:3128")
    assert await shelf.icons.work() == 0
    assert shelf.site.asked == []


async def test_nothing_is_kept_for_feeds_that_are_gone(shelf):
    shelf.site.put("/favicon.ico", a_picture("ICO", (32, 32)))
    feed = await shelf.add()
    await shelf.icons.work()
    assert await shelf.icons.forget_unused() == 0
    await shelf.db.with_tx(lambda tx: tx.run(q.leave, id=feed))
    await shelf.db.with_tx(lambda tx: tx.run(q.delete_feed, id=feed))
    assert await shelf.icons.forget_unused() == 1
    assert await shelf.db.read(lambda tx: tx.one(int, q.count_icons)) == 0


async def test_its_requests_carry_no_cookie(shelf):
    shelf.site.files["/"] = answer(200, b"<p>hi", content_type="text/html", set_cookie="seen=1")
    await shelf.add()
    await shelf.icons.work()
    assert shelf.site.server is not None
    assert len(shelf.site.server.heads) == 2
    assert not any(b"cookie:" in head.lower() for head in shelf.site.server.heads)


# -- what is no icon


def ico_of(png: bytes, side: int = 16) -> bytes:
    """An ICO whose directory says so, around any PNG."""
    return struct.pack("<HHHBBBBHHII", 0, 1, 1, side, side, 0, 0, 1, 32, len(png), 22) + png


HOSTILE = {
    "huge": answer(200, b"\x89PNG\r\n\x1a\n" + bytes(3 * 1024 * 1024), content_type="image/png"),
    "bomb": answer(200, a_bomb(), content_type="image/png"),
    "bomb within": answer(200, ico_of(a_bomb()), content_type="image/x-icon"),
    "page": answer(200, b"<!doctype html><script>alert(1)</script>", content_type="image/png"),
    "drawing": answer(200, SCRIPT, content_type="image/png"),
    "empty": answer(200, b"", content_type="image/png"),
    "cut": answer(200, a_picture("PNG", (90, 90), noisy=True)[:900], content_type="image/png"),
    "tiny": answer(200, a_picture("GIF", (1, 1)), content_type="image/gif"),
    "banner": answer(200, a_picture("PNG", (468, 60)), content_type="image/png"),
    "not allowed": answer(302, b"", location="http://10.1.2.3/favicon.ico"),
    "metadata": answer(302, b"", location="http://169.254.169.254/latest"),
    "file": answer(302, b"", location="file:///etc/passwd"),
    "round": answer(302, b"", location="/favicon.ico"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_what_is_no_icon_leaves_none(shelf, name):
    shelf.site.files["/favicon.ico"] = HOSTILE[name]
    feed = await shelf.add()
    await shelf.icons.work()
    assert await shelf.color(feed) is None
    assert len(await shelf.errors()) == 1
    assert await shelf.icons.pictures_of(shelf.shelf) == []


async def test_a_page_that_names_refused_addresses_does_no_harm(shelf):
    shelf.site.page('<link rel=icon href="http://169.254.169.254/a.png"><link rel=icon href="http://10.0.0.1/b.png">')
    shelf.site.put("/favicon.ico", a_picture("ICO", (32, 32), color="red"))
    feed = await shelf.add()
    await shelf.icons.work()
    assert await shelf.color(feed) == RED


async def test_a_site_that_never_answers_is_left(db):
    async def silence(_: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    async with a_shelf(db, deadlines=SHORT) as shelf:
        shelf.site.files["/"] = silence
        await shelf.add()
        await shelf.icons.work()
        assert shelf.site.asked == ["/"]
        assert len(await shelf.errors()) == 1


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "AVIF", "ICO"])
@pytest.mark.parametrize("size", [(16, 16), (31, 20), (48, 48), (64, 100), (256, 200)])
def test_an_icon_is_a_small_square_png(kind, size):
    with Picture.open(io.BytesIO(make_icon(a_picture(kind, size)))) as made:
        assert made.format == "PNG"
        assert 32 <= made.width == made.height <= 64


def test_nothing_but_the_picture_is_kept():
    picture = Picture.new("RGB", (64, 64), "red")
    written = packed(picture, "JPEG", exif=b"Exif\0\0secret place", comment=b"secret word")
    assert b"secret" not in make_icon(written)
    with pytest.raises(NotAnImage):
        make_icon(SCRIPT)


async def test_an_unknown_address_has_no_icon(shelf):
    for token in ("", "0" * 32, "zz" * 16, "0" * 31, "../x", "é" * 32):
        with pytest.raises(NotFound):
            await shelf.icons.picture(token)
