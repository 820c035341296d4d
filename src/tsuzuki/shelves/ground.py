"""What every service of this area stands on, and what it asks of those above it."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from tsuzuki.db import Database, Tx
from tsuzuki.model.fetching import Parsers
from tsuzuki.model.ids import FeedId, PublicId, SeriesId, ShelfId, WatchId
from tsuzuki.model.times import Millis


class Above(Protocol):
    """What lies above shelves and is asked by them or must hear of them: delivery, polling, the client."""

    async def subscribed_tx(self, tx: Tx, shelf_id: ShelfId, feed_id: FeedId, now: Millis) -> None:
        """A shelf follows a feed from this transaction on: R8, its newest known items become entries."""
        ...

    async def followed_tx(self, tx: Tx, shelf_id: ShelfId, series_id: SeriesId, *, available: int, now: Millis) -> None:
        """A shelf follows a series from this transaction on: R8, what it has already is told in one line."""
        ...

    async def counts_changed_tx(self, tx: Tx, shelf_id: ShelfId, now: Millis) -> None:
        """Entries were marked or saved: open pages are told when this transaction is committed."""
        ...

    def committed(self) -> None:
        """One of the two above is committed."""
        ...

    def due(self) -> None:
        """A watch became due out of turn, and that is committed."""
        ...

    async def ask_refresh(self, watch_id: WatchId) -> bool:
        """Have a watch polled now, suspended or not; False when that was asked for already."""
        ...

    async def ask_refresh_all(self, shelf_id: ShelfId) -> int:
        """Have all feeds of a shelf polled now that are not suspended; how many."""
        ...

    async def vet(self, url: str, proxy: str | None) -> str:
        """The canonical form of an address that may be stored and called; RefusedAddress otherwise."""
        ...


class Ground(msgspec.Struct, frozen=True):
    """The database, the clock, new ids, what lies above, and parsers of foreign text."""

    db: Database
    clock: Callable[[], Millis]
    new_id: Callable[[], PublicId]
    above: Above
    parsers: Parsers
