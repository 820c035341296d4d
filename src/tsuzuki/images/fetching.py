"""Where the bytes of an image come from: the source of a page or cover, a local folder, the address in an article."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from typing import Protocol

import msgspec

from tsuzuki.catalogue.calls import Calls
from tsuzuki.catalogue.chapters import Chapters
from tsuzuki.catalogue.details import NO_MANGA, DetailsService
from tsuzuki.connectors.protocol import ImageOutcome
from tsuzuki.db import Database
from tsuzuki.images.decoding import Head, sniff
from tsuzuki.images.files import Draft
from tsuzuki.images.policy import IMAGE_CAP
from tsuzuki.images.store import find_cover_tx
from tsuzuki.images.types import Cover, Image, ImageSubject
from tsuzuki.model.errors import NotAnImage, NotFound, RefusedAddress, SourceError, TooLarge
from tsuzuki.model.ids import SeriesSourceId, ShelfId
from tsuzuki.model.requests import Ask, ReadFile, Reply, Want
from tsuzuki.net.options import SourceIdentity
from tsuzuki.net.response import HttpResponse
from tsuzuki.polling.driver import SourceCall
from tsuzuki.sources.sites import find_source_tx

HELD_BACK = 512
"""Bytes; without them no decoder finds the end."""
CHUNK = 256 * 1024


class Arrival:
    """One image that comes. `head` and `image` are set in this order, or raise what went wrong."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.head: asyncio.Future[Head] = loop.create_future()
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
        head = sniff(bytes(self._beginning))
        if head is not None:
            self.head.set_result(head)
            self._show(len(self._beginning) - HELD_BACK)

    def wrote(self, draft: Draft) -> None:
        """All that has come is on disk."""
        if self._descriptor is None and draft.descriptor is not None:
            self._descriptor = os.dup(draft.descriptor)
        if self.head.done():
            self._show(draft.size - HELD_BACK)

    def finish_head(self) -> Head:
        """The head of one whose bytes have all come; NotAnImage when they were not enough to tell."""
        if not self.head.done():
            head = sniff(bytes(self._beginning), is_whole=True)
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
        self.head.set_result(Head(image.media_type, image.width, image.height))
        self.image.set_result(image)

    def fail(self, error: BaseException) -> None:
        """Nothing more comes."""
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
        """A listener reads no more."""
        self._listeners -= 1
        self._let_go()

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """From the first byte to the last; raises what went wrong before the end."""
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
"""Whose cookies and pace: nobody's credentials are sent along."""
NO_COVER = "This series has no cover."

Pieces = AsyncGenerator[bytes, None]

_NO_SHELF = ShelfId(0)
"""A cover is the same for everyone."""
_OK = 200
_MOST_REPORTS = 20
_ACCEPT = {"accept": "image/avif,image/webp,image/png,image/jpeg,image/gif"}


class ImageClient(Protocol):
    """What is needed of the client."""

    def stream(self, ask: Ask, origin: SourceIdentity) -> AbstractAsyncContextManager[HttpResponse]: ...

    async def fetch(self, ask: Ask, origin: SourceIdentity) -> Reply: ...


class Coming(msgspec.Struct, frozen=True):
    """Bytes on their way, and where from; `address` is None where it may not be stored (R66)."""

    pieces: Pieces
    address: str | None


class ImageFetcher:
    """Opens the way to any image."""

    def __init__(
        self, db: Database, client: ImageClient, calls: Calls, *, chapters: Chapters, details: DetailsService
    ) -> None:
        self._db = db
        self._details = details
        self._client = client
        self._calls = calls
        self._chapters = chapters
        self._telling: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Tell nobody anything more."""
        telling = list(self._telling)
        for task in telling:
            task.cancel()
        await asyncio.gather(*telling, return_exceptions=True)

    def open(self, subject: ImageSubject, address: str, *, again: bool) -> AbstractAsyncContextManager[Coming]:
        """The image's bytes. With `again`, addresses that were remembered are asked for anew."""
        if subject.release_id is not None:
            return self._page(subject, again=again)
        if subject.series_source_id is not None:
            return self._cover(subject)
        return self._from_article(address)

    @asynccontextmanager
    async def _page(self, subject: ImageSubject, *, again: bool) -> AsyncIterator[Coming]:
        assert subject.release_id is not None
        answer = await self._chapters.pages(subject.release_id, refresh=again)
        image = await self._chapters.image(answer, subject.position)
        async with self._called(image.call, image.want) as pieces:
            yield Coming(pieces, None if answer.expires else image.image_url)

    @asynccontextmanager
    async def _cover(self, subject: ImageSubject) -> AsyncIterator[Coming]:
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
            yield Coming(pieces, url)

    async def _where(self, manga_id: SeriesSourceId) -> Cover:
        """Where the cover is; many lists do not tell, and the details do."""
        cover = await self._db.read(lambda tx: find_cover_tx(tx, manga_id))
        if cover is not None and cover.url is None:
            await self._details.show(manga_id, _NO_SHELF)
            cover = await self._db.read(lambda tx: find_cover_tx(tx, manga_id))
        if cover is None:
            raise NotFound(NO_MANGA)
        return cover

    @asynccontextmanager
    async def _from_article(self, address: str) -> AsyncIterator[Coming]:
        ask = Ask(address, headers=_ACCEPT)
        async with self._streamed(ask, ARTICLES) as answer, aclosing(answer.chunks(IMAGE_CAP)) as pieces:
            yield Coming(pieces, None)

    @asynccontextmanager
    async def _called(self, call: SourceCall, want: Want) -> AsyncIterator[Pieces]:
        """As the connector wants it: by a request, or out of its folder."""
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
        """The answer's pieces; the connector may have the source told how it went."""
        outcome = _Outcome(ask.url)
        wanted = msgspec.structs.replace(ask, headers={**_ACCEPT, **ask.headers})
        try:
            async with self._streamed(wanted, call.origin) as answer:
                outcome.saw(answer)
                await call.answered()
                async with aclosing(outcome.counted(answer.chunks(IMAGE_CAP))) as pieces:
                    yield pieces
        finally:
            self._tell(call, outcome.ended())

    @asynccontextmanager
    async def _streamed(self, ask: Ask, origin: SourceIdentity) -> AsyncIterator[HttpResponse]:
        async with self._client.stream(ask, origin) as answer:
            if answer.status != _OK:
                raise NotAnImage(f"{answer.host} answered {answer.status} instead of an image.", status=answer.status)
            yield answer

    def _tell(self, call: SourceCall, outcome: ImageOutcome) -> None:
        """Nobody waits for this, and nothing hangs on it."""
        ask = call.connector.image_report(outcome)
        if ask is not None and len(self._telling) < _MOST_REPORTS:
            telling = asyncio.create_task(self._report(ask, call.origin))
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)

    async def _report(self, ask: Ask, origin: SourceIdentity) -> None:
        with suppress(SourceError):
            await self._client.fetch(ask, origin)


class _Outcome:
    """How an image comes, for hosts that want to be told."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._begun = time.monotonic()
        self._size = 0
        self._is_whole = False
        self._is_cached = False

    def saw(self, answer: HttpResponse) -> None:
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
