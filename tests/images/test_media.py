"""Recordings by way of this server, from publishers of every kind."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.api.people import Visitor, a_running_app
from tests.images.media_builders import API, MP3, MediaSetup, a_studio
from tests.net.builders import SOMEONE, a_client
from tsuzuki.images.media import MediaLink, MediaLinks, MediaService, StreamLimits, StreamSlots
from tsuzuki.model.errors import TimedOut, TooLarge, Unavailable
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.requests import Ask
from tsuzuki.model.times import DAY

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: audio/mpeg\r\n\r\n"
MINE = ShelfId(1)


@pytest.fixture
async def setup(tmp_path) -> AsyncIterator[MediaSetup]:
    async with a_studio(tmp_path) as setup:
        yield setup


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + MP3)
    while True:
        writer.write(bytes(64 * 1024))
        await writer.drain()


async def dripping(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"ID3")
    for _ in range(100):
        await asyncio.sleep(0.05)
        writer.write(b"\0")
        await writer.drain()


# -- what goes through


async def test_a_recording_is_passed_on_and_cannot_run(setup):
    got = await setup.reader.get(setup.offer("/a.mp3", MP3))
    assert (got.status, got.body) == (200, MP3)
    assert got.headers["content-type"] == "audio/mpeg"
    assert got.headers["content-length"] == str(len(MP3))
    assert got.headers["accept-ranges"] == "bytes"
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["content-security-policy"] == "sandbox; default-src 'none'; frame-ancestors 'none'"
    assert got.headers["cache-control"] == "no-store"


async def test_a_part_of_it_is_passed_on_as_a_part(setup):
    path = setup.offer("/a.mp3", MP3)
    got = await setup.reader.get(path, range="bytes=100-199")
    assert (got.status, got.body) == (206, MP3[100:200])
    assert got.headers["content-range"] == f"bytes 100-199/{len(MP3)}"
    assert setup.publisher.ranges == ["0-63", "100-199"]  # what it is was looked at first
    assert b"accept-encoding: identity" in setup.site.heads[-1].lower()  # a part of what is packed is no use
    await setup.reader.get(path, range="bytes=200-")
    assert setup.publisher.ranges[2:] == ["200-"]
    assert (await setup.reader.get(path, range=f"bytes={len(MP3)}-")).status == 416


async def test_a_head_is_answered_without_the_recording(setup):
    got = await setup.reader.ask("HEAD", setup.offer("/a.mp3", MP3))
    assert (got.status, got.headers["content-length"], got.body) == (200, str(len(MP3)), b"")


async def test_only_media_types_we_made_are_sent(setup):
    """The family is the publisher's word, the rest is ours."""
    got = await setup.reader.get(setup.offer("/a", MP3, "audio/x-evil+html; charset=utf-7"))
    assert got.headers["content-type"] == "audio/mpeg"


# -- what does not


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"<html><script>alert(1)</script></html>" * 9, "audio/mpeg"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>" * 9, "video/mp4"),
        (MP3, "text/html"),
        (MP3, "image/svg+xml"),
    ],
)
async def test_sec_12_a_publisher_who_lies_is_not_passed_on(setup, data, media_type):
    path = setup.offer("/a.mp3", data, media_type)
    for headers in ({}, {"range": "bytes=0-"}, {"range": "bytes=5-"}):
        got = await setup.reader.get(path, **headers)
        assert got.status == 503, got.text
        assert got.headers["content-type"] == "application/json"
        assert b"alert" not in got.body


async def test_a_publisher_who_fails_is_said_to_fail(setup):
    path = setup.links.url(MediaLink("audio", f"{setup.site.url}/missing.mp3")).removeprefix(API)
    got = await setup.reader.get(path)
    assert (got.status, "404" in got.json()["error"]) == (503, True)


async def test_sec_01_an_address_inside_is_refused_even_with_our_seal(tmp_path):
    async with a_running_app(tmp_path) as app:
        links = await MediaLinks.open(app.db, bytes, app.time)
        reader = await app.signed_in(await app.add())
        for address in ("http://127.0.0.1:1/a.mp3", "http://169.254.169.254/latest", "http://[::1]/a.mp3"):
            got = await reader.get(links.url(MediaLink("audio", address)).removeprefix(API))
            assert got.status == 400, address


async def test_a_seal_that_is_forged_or_too_old_opens_nothing(setup):
    path = setup.offer("/a.mp3", MP3)
    _, _, terms, seal, medium = path.split("/")
    other = setup.offer("/b.mp3", MP3).split("/")
    for parts in (
        (terms, other[3], medium),
        (terms, seal, other[4]),
        (terms.replace("audio", "video"), seal, medium),
        (f"audio-{int(terms.partition('-')[2]) + 1}", seal, medium),
        (terms, "x", medium),
        (terms, seal, "%25%25"),
    ):
        assert (await setup.reader.get("/media/" + "/".join(parts))).status == 404, parts
    assert setup.publisher.ranges == []
    assert (await setup.reader.get(path)).status == 200
    setup.app.time.pass_(2 * DAY)
    later = await Visitor.get(await setup.app.signed_in(await setup.app.add()), path)
    assert (later.status, "too old" in later.json()["error"]) == (404, True)


async def test_whoever_is_not_signed_in_gets_nothing(setup):
    assert (await setup.app.anyone.get(setup.offer("/a.mp3", MP3))).status == 401


# -- bounds


async def test_the_publisher_is_left_when_the_browser_goes_away(setup):
    path = setup.offer("/radio", endless)
    async with (
        aiohttp.ClientSession() as session,
        session.get(setup.app.client.base + API + path, headers=setup.reader.headers) as got,
    ):
        assert got.status == 200
        assert await got.content.readexactly(len(MP3)) == MP3
    async with asyncio.timeout(10):
        await setup.publisher.left.wait()


async def test_a_listener_does_not_delay_polls_of_the_host(setup):
    setup.offer("/radio", endless)
    setup.offer("/feed", b"<rss/>", "text/xml")
    async with a_client(allowed_slots=1) as client:
        media = MediaService(client)
        async with media.open(MediaLink("audio", f"{setup.site.url}/radio"), MINE), asyncio.timeout(5):
            assert (await client.fetch(Ask(f"{setup.site.url}/feed"), SOMEONE)).body == b"<rss/>"


async def test_an_endless_stream_ends_at_the_cap(setup):
    path = "/radio"
    setup.offer(path, endless)
    async with a_client() as client:
        media = MediaService(client, StreamLimits(size=200_000))
        received = 0

        async def listen() -> None:
            nonlocal received
            async with media.open(MediaLink("audio", setup.site.url + path), MINE) as playing:
                assert playing.length is None
                async for piece in playing.pieces:
                    received += len(piece)

        with pytest.raises(TooLarge):
            await listen()
        assert 0 < received <= 200_000


@pytest.mark.parametrize("limits", [StreamLimits(beginning=0.3), StreamLimits(seconds=0.3)])
async def test_one_that_drips_ends_at_the_deadline(setup, limits):
    setup.offer("/slow", dripping)
    async with a_client() as client:
        with pytest.raises(TimedOut):
            async with MediaService(client, limits).open(MediaLink("audio", f"{setup.site.url}/slow"), MINE):
                pass


async def test_beyond_the_limit_a_shelfs_oldest_stream_ends():
    places = StreamSlots(per_shelf=2, in_all=3)
    ended: list[int] = []
    begun = asyncio.Event()

    async def play(number: int, shelf_id: ShelfId = MINE) -> None:
        try:
            async with places.acquire(shelf_id):
                begun.set()
                await asyncio.sleep(60)
        except Unavailable:
            ended.append(number)

    playing = []
    for number in range(3):
        begun.clear()
        playing.append(asyncio.create_task(play(number)))
        await begun.wait()
    await playing[0]
    assert ended == [0]
    begun.clear()
    playing.append(asyncio.create_task(play(3, ShelfId(2))))
    await begun.wait()
    await play(4, ShelfId(3))  # no room in all
    assert ended == [0, 4]
    for task in playing:
        task.cancel()
    await asyncio.gather(*playing, return_exceptions=True)
    async with places.acquire(MINE):
        assert ended == [0, 4]  # every place was given back
