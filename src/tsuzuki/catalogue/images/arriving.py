"""An image on its way: written to disk as it comes, and read from there by everyone who waits for it.

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
        self._draft: Draft | None = None
        self._beginning = bytearray()
        self._shown = 0
        self._moved = asyncio.Event()

    async def write(self, draft: Draft, data: bytes) -> None:
        """Take the next piece; NotAnImage or TooLarge when the beginning says so."""
        await asyncio.to_thread(draft.write, data)
        self._draft = draft
        if not self.head.done():
            self._beginning += data
            head = sniff(bytes(self._beginning))
            if head is None:
                return
            self.head.set_result(head)
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

    def fail(self, error: BaseException) -> None:
        """Nothing more comes."""
        for future in (self.head, self.image):
            if not future.done():
                future.set_exception(error)
                future.exception()  # seen, also when nobody waits
        self._wake()

    def listen(self) -> "Listener":
        """A reader of its own for someone who waits. To be called between `head` and `image` only."""
        assert self._draft is not None
        return Listener(self, os.dup(self._draft.descriptor))

    async def available(self, place: int) -> int:
        """How many bytes may be shown from here on, once there are any; 0 at the end. Raises what went wrong."""
        while self._shown <= place:
            if self.image.done():
                self.image.result()
                return 0
            await self._moved.wait()
        return self._shown - place

    def _show(self, upto: int) -> None:
        self._shown = max(self._shown, upto)
        self._wake()

    def _wake(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()


class Listener:
    """Reads what has arrived. Whoever got one closes it."""

    def __init__(self, arrival: Arrival, descriptor: int) -> None:
        self._arrival = arrival
        self._descriptor = descriptor

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """From the first byte to the last; raises what went wrong before the end."""
        place = 0
        while size := await self._arrival.available(place):
            piece = await asyncio.to_thread(os.pread, self._descriptor, min(size, CHUNK), place)
            place += len(piece)
            yield piece

    def close(self) -> None:
        """Read no more."""
        os.close(self._descriptor)
