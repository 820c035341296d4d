"""How much is passed on at the same time. Whoever seeks opens one stream after another: the newest goes on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tsuzuki.model.errors import Unavailable
from tsuzuki.model.ids import ShelfId


class StreamSlots:
    """So many streams for a shelf, of which the newest go on; so many in all, beyond which nobody comes in."""

    def __init__(self, *, per_shelf: int, in_all: int) -> None:
        self._per_shelf = per_shelf
        self._in_all = in_all
        self._held: dict[ShelfId, list[asyncio.Timeout]] = {}

    @asynccontextmanager
    async def hold(self, shelf_id: ShelfId) -> AsyncIterator[None]:
        """A place within the block. Unavailable at once when there is none, and later when the place is needed."""
        if sum(map(len, self._held.values())) >= self._in_all:
            raise Unavailable("Too much is being played at the moment. Try again in a minute.")
        mine = self._held.setdefault(shelf_id, [])
        if len(mine) >= self._per_shelf:
            _end(mine.pop(0))
        place = asyncio.timeout(None)
        try:
            async with place:
                mine.append(place)
                yield
        except TimeoutError:
            if not place.expired():
                raise
            raise Unavailable("Something newer is played on this shelf.") from None
        finally:
            self._leave(shelf_id, place)

    def _leave(self, shelf_id: ShelfId, place: asyncio.Timeout) -> None:
        mine = self._held.get(shelf_id, [])
        if place in mine:
            mine.remove(place)
        if not mine:
            self._held.pop(shelf_id, None)


def _end(place: asyncio.Timeout) -> None:
    place.reschedule(asyncio.get_running_loop().time())
