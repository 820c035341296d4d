"""An image on its way: shown as it comes, written to disk, and read from there by whoever is slower.

Nothing is shown before its header says that it is an image (SEC-12), and the end is held back until all of it was
decoded: one that turns out broken is cut short, and no browser takes it for whole.
"""

import asyncio
import os
from collections.abc import AsyncGenerator

from tsuzuki.catalogue.images.files import Draft
from tsuzuki.catalogue.images.rows import Image
from tsuzuki.catalogue.images.sniffing import Head, sniff

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
        if self._descriptor is None:
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

    def listen(self) -> "ArrivingReader":
        """A reader of its own for someone who waits. To be called between `head` and `image` only."""
        self._listeners += 1
        return ArrivingReader(self)

    def leave(self) -> None:
        """A listener reads no more."""
        self._listeners -= 1
        self._let_go()

    async def piece(self, place: int) -> bytes:
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


class ArrivingReader:
    """Reads what has arrived. Whoever got one closes it."""

    def __init__(self, arrival: Arrival) -> None:
        self._arrival = arrival

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """From the first byte to the last; raises what went wrong before the end."""
        place = 0
        while piece := await self._arrival.piece(place):
            place += len(piece)
            yield piece

    def close(self) -> None:
        """Read no more."""
        self._arrival.leave()
