"""A publisher of recordings, honest or not, and a server that may call it."""

import asyncio
import io
import re
import wave
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from tests.api.people import RunningApp, Visitor, a_running_app
from tests.net.builders import RawServer, a_server, answer
from tsuzuki.images.media import MediaLink, MediaLinks
from tsuzuki.images.policy import Kind

MP3 = b"ID3\x04\0\0\0\0\0\0" + bytes(range(256)) * 40
"""Not that it sounds like anything."""
API = "/api/v1"

Write = Callable[[asyncio.StreamWriter], Awaitable[None]]


def a_wave(seconds: float = 20.0) -> bytes:
    """Silence that a browser plays."""
    written = io.BytesIO()
    with wave.open(written, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(4000)
        sound.writeframes(b"\x80" * int(4000 * seconds))
    return written.getvalue()


class Publisher:
    """Has `files` by their path, each with its type, and answers ranges; or writes what it likes."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[bytes, str] | Write] = {}
        self.ranges: list[str | None] = []
        self.left = asyncio.Event()
        """Somebody closed a connection while we wrote."""

    async def handle(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        found = self.files.get(head.split(b" ", 2)[1].decode())
        asked = re.search(rb"\r\nrange: bytes=(\d+)-(\d*)\r\n", head, re.IGNORECASE)
        self.ranges.append(None if asked is None else f"{asked[1].decode()}-{asked[2].decode()}")
        if found is None:
            writer.write(answer(404, b"gone"))
        elif not isinstance(found, tuple):
            try:
                await found(writer)
            except OSError:
                self.left.set()
                raise
        else:
            writer.write(_part(*found, asked))


def _part(data: bytes, media_type: str, asked: "re.Match[bytes] | None") -> bytes:
    if asked is None:
        return answer(200, data, content_type=media_type, accept_ranges="bytes")
    first, last = int(asked[1]), min(int(asked[2] or len(data) - 1), len(data) - 1)
    if first > last:
        return answer(416, b"", content_range=f"bytes */{len(data)}")
    span = f"bytes {first}-{last}/{len(data)}"
    return answer(206, data[first : last + 1], content_type=media_type, content_range=span)


class MediaSetup(msgspec.Struct, frozen=True):
    """A running server, the publisher, and who listens."""

    app: RunningApp
    publisher: Publisher
    site: RawServer
    reader: Visitor
    links: MediaLinks

    def offer(self, path: str, data: bytes | Write, media_type: str = "audio/mpeg", kind: Kind = "audio") -> str:
        """The publisher has this; where a reader gets it from us, below the API's prefix."""
        self.publisher.files[path] = (data, media_type) if isinstance(data, bytes) else data
        return self.links.url(MediaLink(kind, self.site.url + path)).removeprefix(API)


@asynccontextmanager
async def a_studio(folder: Path, **settings: object) -> AsyncIterator[MediaSetup]:
    publisher = Publisher()
    wanted = {"allow_private_networks": "127.0.0.0/8"} | settings
    async with a_server(publisher.handle) as site, a_running_app(folder, **wanted) as app:
        links = await MediaLinks.open(app.db, bytes, app.time)
        reader = await app.signed_in(await app.add())
        yield MediaSetup(app, publisher, site, reader, links)
