"""One search of a shelf at a time: a match looks at what all shelves have, and others want to read meanwhile."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tsuzuki.model.errors import TooManyRequests
from tsuzuki.model.ids import ShelfId

MOST_WAITING = 5
"""Searches of a shelf that wait for their turn."""


class SearchTurns:
    """Shared by the pages, the API, apps and feeds out."""

    def __init__(self) -> None:
        self._turns: dict[ShelfId, asyncio.Lock] = {}
        self._waiting: Counter[ShelfId] = Counter()

    @asynccontextmanager
    async def take(self, shelf_id: ShelfId) -> AsyncIterator[None]:
        """The shelf's turn within the block; TooManyRequests when too many of the shelf wait already."""
        if self._waiting[shelf_id] >= MOST_WAITING:
            raise TooManyRequests("Other searches on this shelf are still running. Try again in a moment.", 1)
        self._waiting[shelf_id] += 1
        try:
            async with self._turns.setdefault(shelf_id, asyncio.Lock()):
                yield
        finally:
            self._waiting[shelf_id] -= 1
            if not self._waiting[shelf_id]:
                del self._waiting[shelf_id], self._turns[shelf_id]
