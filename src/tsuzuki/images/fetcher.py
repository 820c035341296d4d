"""An image while it comes: from its source, a local folder or an article's address, and what its first bytes say."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Protocol

import msgspec

from tsuzuki.catalogue.calls import Calls, SourceCall
from tsuzuki.catalogue.chapters import Chapters
from tsuzuki.catalogue.details import NO_MANGA, DetailsService
from tsuzuki.connectors.protocol import ImageOutcome
from tsuzuki.db import Database, load_queries
from tsuzuki.images.files import Draft, Image, ImageSubject
from tsuzuki.images.formats import LONGEST_SIDE, MOST_PIXELS, ImageHead
from tsuzuki.images.policy import IMAGE_CAP
from tsuzuki.model.errors import NotAnImage, NotFound, RefusedAddress, SourceError, TooLarge
from tsuzuki.model.ids import SeriesSourceId, ShelfId
from tsuzuki.model.requests import Ask, ReadFile, Reply, SourceIdentity, Want
from tsuzuki.sources.sites import find_source_tx

if TYPE_CHECKING:
    from tsuzuki.net.response import HttpResponse

HELD_BACK = 512
"""Bytes; without them no decoder finds the end."""
CHUNK = 256 * 1024

q = load_queries("tsuzuki.images")


class Arrival:
    """An image that is being fetched. `head` is set first, then `image`; both raise what went wrong."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.head: asyncio.Future[ImageHead] = loop.create_future()
        self.image: asyncio.Future[Image] = loop.create_future()
        self._beginning = bytearray()
        self._descriptor: int | None = None
        self._listeners = 0
        self._shown = 0
        self._moved = asyncio.Event()

    # -- for whoever brings it

    def receive(self, data: bytes) -> None:
        """The next piece has come; NotAnImage or TooLarge when the beginning says so."""
        if self.head.done():
            return
        self._beginning += data
        head = sniff_image(bytes(self._beginning))
        if head is not None:
            self.head.set_result(head)
            self._show(len(self._beginning) - HELD_BACK)

    def wrote(self, draft: Draft) -> None:
        """The pieces received so far are on disk."""
        if self._descriptor is None and draft.descriptor is not None:
            self._descriptor = os.dup(draft.descriptor)  # the draft closes its own when it is stored
        if self.head.done():
            self._show(draft.size - HELD_BACK)

    def finish_head(self) -> ImageHead:
        """The head of an image that has arrived completely; NotAnImage when it has none."""
        if not self.head.done():
            head = sniff_image(bytes(self._beginning), is_whole=True)
            assert head is not None
            self.head.set_result(head)
        return self.head.result()

    def finish(self, image: Image) -> None:
        """It is verified and stored: the rest may be shown."""
        self._show(image.bytes)
        self.image.set_result(image)
        self._let_go()

    def found(self, image: Image) -> None:
        """Another process has brought and verified it."""
        self.head.set_result(ImageHead(image.media_type, image.width, image.height))
        self.image.set_result(image)

    def fail(self, error: BaseException) -> None:
        """End the image: the rest will not come."""
        for future in (self.head, self.image):
            if not future.done():
                future.set_exception(error)
                future.exception()  # seen, also when nobody waits
        self._wake()
        self._let_go()

    # -- for those who wait

    def listen(self) -> None:
        """Somebody will read what arrives, until they `leave`. To be called between `head` and `image` only."""
        self._listeners += 1

    def leave(self) -> None:
        """A reader has gone; without readers the fetch ends."""
        self._listeners -= 1
        self._let_go()

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Its bytes in order as they may be shown; raises what went wrong before the end."""
        place = 0
        while piece := await self._piece(place):
            place += len(piece)
            yield piece

    async def _piece(self, place: int) -> bytes:
        """The next bytes that may be shown from here on, once there are any; none at the end."""
        while self._shown <= place:
            if self.image.done():
                self.image.result()
                return b""
            await self._moved.wait()
        if place < len(self._beginning):  # the first bytes need not go by way of the disk
            return bytes(self._beginning[place : self._shown])
        assert self._descriptor is not None
        return await asyncio.to_thread(os.pread, self._descriptor, min(self._shown - place, CHUNK), place)

    def _show(self, upto: int) -> None:
        self._shown = max(self._shown, upto)
        self._wake()

    def _wake(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    def _let_go(self) -> None:
        """Close the file once it has come and nobody reads it."""
        if self._descriptor is not None and self.image.done() and not self._listeners:
            os.close(self._descriptor)
            self._descriptor = None


ARTICLES = SourceIdentity(source="articles' images")
"""The identity of these calls, for cookies and pace: no credentials are sent."""
NO_COVER = "This series has no cover."

Pieces = AsyncGenerator[bytes, None]

_NO_SHELF = ShelfId(0)
"""A cover is the same for everyone."""
_OK = 200
_MOST_REPORTS = 20
_ACCEPT = {"accept": "image/avif,image/webp,image/png,image/jpeg,image/gif"}


class ImageClient(Protocol):
    """The part of the client that is used here."""

    def stream(self, ask: Ask, origin: SourceIdentity) -> AbstractAsyncContextManager["HttpResponse"]: ...

    async def fetch(self, ask: Ask, origin: SourceIdentity) -> Reply: ...


class IncomingImage(msgspec.Struct, frozen=True):
    """An image's bytes as they come, and from where; `address` is None where it may not be stored (R66)."""

    pieces: Pieces
    address: str | None


class Cover(msgspec.Struct, frozen=True):
    """Where a source shows the cover of a series."""

    source_id: int
    url: str | None


class ImageFetcher:
    """Fetches any image."""

    def __init__(
        self, db: Database, client: ImageClient, calls: Calls, *, chapters: Chapters, details: DetailsService
    ) -> None:
        self._db = db
        self._details = details
        self._client = client
        self._calls = calls
        self._chapters = chapters
        self._reports: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Cancel the reports of fetched images that are under way."""
        report = list(self._reports)
        for task in report:
            task.cancel()
        await asyncio.gather(*report, return_exceptions=True)

    def open(self, subject: ImageSubject, address: str, *, again: bool) -> AbstractAsyncContextManager[IncomingImage]:
        """The image's bytes. With `again`, addresses that were remembered are asked for anew."""
        if subject.release_id is not None:
            return self._page(subject, again=again)
        if subject.series_source_id is not None:
            return self._cover(subject)
        return self._from_article(address)

    @asynccontextmanager
    async def _page(self, subject: ImageSubject, *, again: bool) -> AsyncIterator[IncomingImage]:
        assert subject.release_id is not None
        answer = await self._chapters.pages(subject.release_id, refresh=again)
        image = await self._chapters.image(answer, subject.position)
        async with self._called(image.call, image.want) as pieces:
            yield IncomingImage(pieces, None if answer.expires else image.image_url)

    @asynccontextmanager
    async def _cover(self, subject: ImageSubject) -> AsyncIterator[IncomingImage]:
        assert subject.series_source_id is not None
        cover = await self._where(subject.series_source_id)
        source_id, url = cover.source_id, cover.url
        if url is None:
            raise NotFound(NO_COVER)
        source = await self._db.read(lambda tx: find_source_tx(tx, source_id))
        if source is None:
            raise NotFound(NO_MANGA)
        call = await self._calls.to(source)
        async with self._called(call, call.connector.image(call.config, url)) as pieces:
            yield IncomingImage(pieces, url)

    async def _where(self, manga_id: SeriesSourceId) -> Cover:
        """The address of the cover; where the list had none, the details are fetched."""
        cover = await self._db.read(lambda tx: tx.maybe(Cover, q.find_cover, id=manga_id))
        if cover is not None and cover.url is None:
            await self._details.show(manga_id, _NO_SHELF)
            cover = await self._db.read(lambda tx: tx.maybe(Cover, q.find_cover, id=manga_id))
        if cover is None:
            raise NotFound(NO_MANGA)
        return cover

    @asynccontextmanager
    async def _from_article(self, address: str) -> AsyncIterator[IncomingImage]:
        ask = Ask(address, headers=_ACCEPT)
        async with self._streamed(ask, ARTICLES) as answer, aclosing(answer.chunks(IMAGE_CAP)) as pieces:
            yield IncomingImage(pieces, None)

    @asynccontextmanager
    async def _called(self, call: SourceCall, want: Want) -> AsyncIterator[Pieces]:
        """The image as the connector gets it: by a request, or from a folder."""
        if isinstance(want, Ask):
            async with self._asked(call, want) as pieces:
                yield pieces
            return
        if not isinstance(want, ReadFile) or call.folder is None:
            raise RefusedAddress(f"{call.origin.source} has no folder to read images from.")
        data = await call.folder.read(msgspec.structs.replace(want, max_bytes=min(want.max_bytes, IMAGE_CAP)))
        await call.answered()
        async with aclosing(_one(data)) as pieces:
            yield pieces

    @asynccontextmanager
    async def _asked(self, call: SourceCall, ask: Ask) -> AsyncIterator[Pieces]:
        """The answer's pieces; afterwards the connector may report the outcome to the source."""
        outcome = _Outcome(ask.url)
        wanted = msgspec.structs.replace(ask, headers={**_ACCEPT, **ask.headers})
        try:
            async with self._streamed(wanted, call.origin) as answer:
                outcome.saw(answer)
                await call.answered()
                async with aclosing(outcome.counted(answer.chunks(IMAGE_CAP))) as pieces:
                    yield pieces
        finally:
            self._report_soon(call, outcome.ended())

    @asynccontextmanager
    async def _streamed(self, ask: Ask, origin: SourceIdentity) -> AsyncIterator["HttpResponse"]:
        async with self._client.stream(ask, origin) as answer:
            if answer.status != _OK:
                raise NotAnImage(f"{answer.host} answered {answer.status} instead of an image.", status=answer.status)
            yield answer

    def _report_soon(self, call: SourceCall, outcome: ImageOutcome) -> None:
        """Report the outcome to the source; nobody waits for it."""
        ask = call.connector.image_report(outcome)
        if ask is not None and len(self._reports) < _MOST_REPORTS:
            report = asyncio.create_task(self._report(ask, call.origin))
            self._reports.add(report)
            report.add_done_callback(self._reports.discard)

    async def _report(self, ask: Ask, origin: SourceIdentity) -> None:
        with suppress(SourceError):
            await self._client.fetch(ask, origin)


class _Outcome:
    """How an image arrives, for hosts that want a report."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._begun = time.monotonic()
        self._size = 0
        self._is_whole = False
        self._is_cached = False

    def saw(self, answer: "HttpResponse") -> None:
        self._is_cached = answer.headers.get("x-cache", "").upper().startswith("HIT")

    async def counted(self, pieces: Pieces) -> Pieces:
        async with aclosing(pieces):
            async for piece in pieces:
                self._size += len(piece)
                yield piece
        self._is_whole = True

    def ended(self) -> ImageOutcome:
        took = int((time.monotonic() - self._begun) * 1000)
        return ImageOutcome(self._url, self._is_whole, self._size, took, is_cached=self._is_cached)


async def _one(data: object) -> Pieces:
    if not isinstance(data, bytes):
        raise NotAnImage("This is a folder, not an image.")
    if len(data) > IMAGE_CAP:
        raise TooLarge(f"The image is larger than {IMAGE_CAP:,} bytes.")
    yield data


# -- what an image is, by its first bytes

LONGEST_HEADER = 1024 * 1024
"""By then an image must have said how large it is: colour profiles and cameras' notes come first in some."""

_PNG = b"\x89PNG\r\n\x1a\n"
_AVIF_BRANDS = frozenset({b"avif", b"avis"})
_JPEG_SIZES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""The segments that say how large the image is."""
_JPEG_BARE = frozenset({0x01, *range(0xD0, 0xD8)})  # TEM and RST0 to RST7: markers without a length
_SHORTEST = 12


def sniff_image(data: bytes, *, is_whole: bool = False) -> ImageHead | None:
    """The head of an image that begins with these bytes; None when it takes more of them.

    NotAnImage for anything else, TooLarge for dimensions that we do not accept.
    """
    if len(data) < _SHORTEST and not is_whole:
        return None
    reader = _reader_of(data)
    if reader is None:
        raise NotAnImage(f"This is not an image: {_what_it_is(data)}.")
    head = reader(data)
    if head is None and (is_whole or len(data) > LONGEST_HEADER):
        raise NotAnImage("The image does not say how large it is.")
    return None if head is None else _within_bounds(head)


def _reader_of(data: bytes) -> Callable[[bytes], ImageHead | None] | None:
    if data.startswith(b"\xff\xd8\xff"):
        return _jpeg
    if data.startswith(_PNG):
        return _png
    if data.startswith((b"GIF87a", b"GIF89a")):
        return _gif
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return _webp_size
    if data[4:8] == b"ftyp" and data[8:12] in _AVIF_BRANDS:
        return _avif
    return None


def _what_it_is(data: bytes) -> str:
    """A word for what came instead; nothing of it is repeated (SEC-13)."""
    start = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not data:
        return "it is empty"
    if b"<svg" in start:
        return "it is SVG, which can contain scripts"
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<body", b"<script")) or b"<html" in start:
        return "it is a web page"
    if start.startswith(b"pk\x03\x04"):
        return "it is an archive"
    return "it is none of the supported types (JPEG, PNG, WebP, GIF, AVIF)"


def _within_bounds(head: ImageHead) -> ImageHead:
    width, height = head.width, head.height
    if not width or not height:
        raise NotAnImage("The image has no size.")
    if max(width, height) > LONGEST_SIDE:
        raise TooLarge(f"The image is {width:,} x {height:,}; we accept {LONGEST_SIDE:,} on its longer side.")
    if width * height > MOST_PIXELS:
        raise TooLarge(f"The image has {width * height / 1e6:.0f} megapixels; we accept {MOST_PIXELS / 1e6:.0f}.")
    return head


def _png(data: bytes) -> ImageHead | None:
    if len(data) < 24:
        return None
    if data[12:16] != b"IHDR":  # it must be the first chunk
        raise NotAnImage("The PNG does not begin with its header.")
    return ImageHead("image/png", int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big"))


def _gif(data: bytes) -> ImageHead | None:
    return ImageHead("image/gif", int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little"))


def _webp_size(data: bytes) -> ImageHead | None:
    if len(data) < 30:
        return None
    kind = data[12:16]
    if kind == b"VP8X":  # the canvas: 24 bits each, minus one
        width, height = (1 + int.from_bytes(data[start : start + 3], "little") for start in (24, 27))
        return ImageHead("image/webp", width, height)
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")  # after the signature 0x2F: 14 bits each, minus one
        return ImageHead("image/webp", 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
    if kind == b"VP8 ":  # after the start code: 14 bits each, the other two say how to scale
        width, height = (int.from_bytes(data[start : start + 2], "little") & 0x3FFF for start in (26, 28))
        return ImageHead("image/webp", width, height)
    raise NotAnImage("The WebP contains nothing that is supported.")


def _jpeg(data: bytes) -> ImageHead | None:
    """Go from segment to segment up to the one with the size."""
    place = 2
    while place + 4 <= len(data):
        if data[place] != 0xFF:
            raise NotAnImage("The JPEG is broken in its header.")
        marker = data[place + 1]
        if marker == 0xFF:  # padding
            place += 1
            continue
        if marker in _JPEG_BARE:
            place += 2
            continue
        if marker in {0xD9, 0xDA}:  # the end, or the pixels, before any frame
            raise NotAnImage("The JPEG does not say how large it is.")
        if marker in _JPEG_SIZES:
            # After the length come the precision, one byte, and then the sizes.
            height, width = (int.from_bytes(data[start : start + 2], "big") for start in (place + 5, place + 7))
            return None if len(data) < place + 9 else ImageHead("image/jpeg", width, height)
        place += 2 + max(2, int.from_bytes(data[place + 2 : place + 4], "big"))
    return None


def _avif(data: bytes) -> ImageHead | None:
    """The largest of the sizes in the `meta` box: that of a grid is larger than those of its tiles."""
    meta = _box(data, b"meta")
    if meta is None:
        return None
    sizes = []
    place = meta.find(b"ispe")
    while 0 <= place <= len(meta) - 16:
        # Behind the name: version and flags, then width and height, four bytes each.
        sizes.append((int.from_bytes(meta[place + 8 : place + 12], "big"), meta[place + 12 : place + 16]))
        place = meta.find(b"ispe", place + 4)
    if not sizes:
        raise NotAnImage("The AVIF does not say how large it is.")
    return ImageHead(
        "image/avif", max(width for width, _ in sizes), max(int.from_bytes(tall, "big") for _, tall in sizes)
    )


def _box(data: bytes, name: bytes) -> bytes | None:
    """The whole of the first box of this name; None while it has not arrived."""
    place = 0
    while place + 8 <= len(data):
        size = int.from_bytes(data[place : place + 4], "big")
        if size < 8:  # ISO 14496-12 gives 0 and 1 meanings that no box before the pixels needs
            raise NotAnImage("The AVIF is broken in its header.")
        if data[place + 4 : place + 8] == name:
            return data[place : place + size] if place + size <= len(data) else None
        place += size
    return None
