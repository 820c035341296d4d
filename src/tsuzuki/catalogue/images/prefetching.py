"""The next pages, fetched while a reader looks at this one: a few, one at a time, and only while nobody waits."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec

from tsuzuki.catalogue.images.rows import page_of
from tsuzuki.catalogue.images.service import Images
from tsuzuki.catalogue.images.store import known_positions_tx
from tsuzuki.db import Database
from tsuzuki.model.errors import TsuzukiError
from tsuzuki.model.ids import ReleaseId, UserId
from tsuzuki.model.times import Millis

AHEAD: Final = 3
MOST_READERS: Final = 200
"""Readers who are remembered; the others are served when they ask."""
_PLACES = 2


class _Reading(msgspec.Struct):
    """Where somebody reads, and what runs ahead of them."""

    release_id: ReleaseId
    position: int
    task: "asyncio.Task[None] | None" = None

    @property
    def is_running(self) -> bool:
        return self.task is not None and not self.task.done()


class Prefetch:
    """Runs ahead of readers. One per process."""

    def __init__(self, db: Database, images: Images, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._images = images
        self._clock = clock
        self._readers: OrderedDict[UserId, _Reading] = OrderedDict()
        self._places = asyncio.Semaphore(_PLACES)

    def follow(self, reader: UserId, release_id: ReleaseId, position: int) -> None:
        """The reader looks at this page. Whoever goes elsewhere is no longer run ahead of."""
        reading = self._readers.get(reader)
        if reading is None or reading.release_id != release_id:
            reading = self._begin(reader, release_id, position)
        elif reading.position == position:
            return  # seen to already
        elif reading.is_running and not 0 < position - reading.position <= AHEAD:
            reading = self._begin(reader, release_id, position)
        reading.position = position
        if not reading.is_running:
            reading.task = asyncio.create_task(self._run(reading))

    async def close(self) -> None:
        """Run ahead of nobody."""
        tasks = [reading.task for reading in self._readers.values() if reading.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, reader: UserId, release_id: ReleaseId, position: int) -> _Reading:
        """Forget where the reader was, and who has not been seen for longest."""
        self._stop(self._readers.pop(reader, None))
        while len(self._readers) >= MOST_READERS:
            self._stop(self._readers.popitem(last=False)[1])
        self._readers[reader] = reading = _Reading(release_id, position)
        return reading

    @staticmethod
    def _stop(reading: _Reading | None) -> None:
        if reading is not None and reading.task is not None:
            reading.task.cancel()

    async def _run(self, reading: _Reading) -> None:
        """Fetch what is missing ahead of the reader, who may move on meanwhile; stop at the first that fails."""
        try:
            while (position := await self._missing(reading)) is not None:
                async with self._places:
                    await self._images.quiet()
                    await self._images.ensure(page_of(reading.release_id, position), is_ahead=True)
        except TsuzukiError:
            return  # there are no more pages, or the source does not answer: the reader will be told

    async def _missing(self, reading: _Reading) -> int | None:
        """The next page that is not here; None when all that should be is."""
        wanted = range(reading.position + 1, reading.position + 1 + AHEAD)
        now = self._clock()
        known = await self._db.read(lambda tx: known_positions_tx(tx, reading.release_id, wanted, now))
        return next((position for position in wanted if position not in known), None)
