"""An image is shown while it comes; one that turns out broken is cut."""

import asyncio

import aiohttp
import pytest

from tests.api.people import API
from tests.images.builders import Gallery, a_gallery, a_picture, on_sqlite

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: %d\r\n\r\n"


class Slow:
    """Sends the first half, and the rest once it is told to."""

    def __init__(self, picture: bytes) -> None:
        self.picture = picture
        self.half = len(picture) // 2
        self.go_on = asyncio.Event()
        self.is_broken = False

    async def __call__(self, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD % len(self.picture) + self.picture[: self.half])
        await writer.drain()
        await self.go_on.wait()
        if self.is_broken:
            writer.close()
        else:
            writer.write(self.picture[self.half :])


async def first_piece(gallery: Gallery, response: aiohttp.ClientResponse) -> bytes:
    async with asyncio.timeout(20):
        return await response.content.readany()


def opened(gallery: Gallery, session: aiohttp.ClientSession, position: int = 0) -> aiohttp.ClientResponse:
    url = gallery.app.client.base + API + gallery.page(position)
    found: aiohttp.ClientResponse = session.get(url, headers=gallery.reader.headers)  # type: ignore[assignment]  # awaited
    return found


@on_sqlite
async def test_the_first_bytes_are_shown_before_the_last_are_sent(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery, aiohttp.ClientSession() as session:
        slow = Slow(a_picture(size=(300, 300), noisy=True))
        gallery.show(0, slow)
        async with opened(gallery, session) as response:
            begun = await first_piece(gallery, response)
            assert response.headers["content-type"] == "image/png"
            assert slow.picture.startswith(begun)
            joined = asyncio.create_task(gallery.reader.get(gallery.page(0)))
            slow.go_on.set()
            assert begun + await response.read() == slow.picture
            assert (await joined).body == slow.picture
        assert gallery.site.asked_for("/0.png") == 1


@on_sqlite
async def test_a_stream_that_breaks_is_cut_and_leaves_nothing(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery, aiohttp.ClientSession() as session:
        slow = Slow(a_picture(size=(300, 300), noisy=True))
        slow.is_broken = True
        gallery.show(0, slow)
        async with opened(gallery, session) as response:
            await first_piece(gallery, response)
            slow.go_on.set()
            with pytest.raises(aiohttp.ClientPayloadError):
                await response.read()
        assert await gallery.count_images() == 0
        assert not [path for path in (tmp_path / "images").rglob("*") if path.is_file()]


@on_sqlite
async def test_an_image_whose_end_is_damaged_never_reaches_its_end(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery, aiohttp.ClientSession() as session:
        picture = bytearray(a_picture(size=(300, 300), noisy=True))
        picture[-2000:-100] = bytes(1900)
        slow = Slow(bytes(picture))
        slow.go_on.set()
        gallery.show(0, slow)
        with pytest.raises(aiohttp.ClientPayloadError):
            async with opened(gallery, session) as response:
                await response.read()
        said = await gallery.reader.get(gallery.page(0))
        assert said.status == 503
        assert "decode" in said.json()["error"]


@on_sqlite
async def test_an_abandoned_fetch_is_completed_and_stored(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery, aiohttp.ClientSession() as session:
        slow = Slow(a_picture(size=(300, 300), noisy=True))
        gallery.show(0, slow)
        async with opened(gallery, session) as response:
            await first_piece(gallery, response)
        slow.go_on.set()
        await gallery.until_images(1)
        assert (await gallery.reader.get(gallery.page(0))).body == slow.picture
        assert gallery.site.asked_for("/0.png") == 1


@on_sqlite
async def test_prefetching_ends_when_the_reader_goes_elsewhere(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url, pages=9) as gallery:
        ahead = Slow(a_picture(size=(300, 300), noisy=True))
        gallery.show(0, a_picture())
        gallery.show(1, ahead)
        gallery.show(8, a_picture(color="blue"))
        await gallery.reader.get(gallery.page(0))
        images = gallery.app.pictures.images
        async with asyncio.timeout(20):
            while not gallery.site.asked_for("/1.png"):  # noqa: ASYNC110  the site wakes nobody
                await asyncio.sleep(0.01)
        assert (await gallery.reader.get(gallery.page(8))).status == 200
        async with asyncio.timeout(20):
            while images._fetches:  # noqa: ASYNC110  nor does the server
                await asyncio.sleep(0.01)
        ahead.go_on.set()
        assert await gallery.count_images() == 2
        assert (await gallery.reader.get(gallery.page(1))).body == ahead.picture
