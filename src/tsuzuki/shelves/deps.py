"""What every service of this area stands on, and what it asks of those above it."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from tsuzuki.db import Database, Tx
from tsuzuki.model.fetching import Parsers
from tsuzuki.model.ids import FeedId, PublicId, SeriesId, ShelfId, WatchId
from tsuzuki.model.installments import FeedChange
from tsuzuki.model.times import Millis

ALWAYS = Millis(0)


class Asked(msgspec.Struct, frozen=True):
    """R96: what became of asking for a look now."""

    queued: int
    """How many will be looked at."""
    not_before: Millis | None = None
    """Why none is: publishers asked to be left alone, the first of them until then."""
    is_known: bool = False
    """Why none is: what is known was seen just now."""


class Above(Protocol):
    """What lies above shelves and is asked by them or must hear of them: delivery, polling, the client."""

    async def subscribed_tx(
        self, tx: Tx, shelf_id: ShelfId, feed_id: FeedId, now: Millis, *, since: Millis = ALWAYS
    ) -> None:
        """A shelf follows a feed from this transaction on: R8, its newest known items become entries.

        `since` is for one that was suspended from then on: what it had before, and retention removed, stays away.
        """
        ...

    async def followed_tx(self, tx: Tx, shelf_id: ShelfId, series_id: SeriesId, *, available: int, now: Millis) -> None:
        """A shelf follows a series from this transaction on: R8, what it has already is told in one line."""
        ...

    async def counts_changed_tx(self, tx: Tx, shelf_id: ShelfId, now: Millis) -> None:
        """Entries were marked or saved: open pages are told when this transaction is committed."""
        ...

    async def feed_changed_tx(
        self, tx: Tx, shelf_id: ShelfId, public_id: PublicId, *, name: str, change: FeedChange, now: Millis
    ) -> None:
        """A subscription was added, changed or left: open pages are told when this transaction is committed."""
        ...

    def committed(self) -> None:
        """One of those above is committed."""
        ...

    def due(self) -> None:
        """A watch became due out of turn, and that is committed."""
        ...

    async def ask_refresh(self, watch_id: WatchId) -> Asked:
        """Have a watch polled now, suspended or not, but never before a Retry-After is over."""
        ...

    async def ask_refresh_all(self, shelf_id: ShelfId) -> Asked:
        """Have all feeds of a shelf polled now that are not suspended."""
        ...

    async def vet(self, url: str, proxy: str | None) -> str:
        """The canonical form of an address that may be stored and called; RefusedAddress otherwise."""
        ...


class ShelfDeps(msgspec.Struct, frozen=True):
    """The database, the clock, new ids, what lies above, and parsers of foreign text."""

    db: Database
    clock: Callable[[], Millis]
    new_id: Callable[[], PublicId]
    above: Above
    parsers: Parsers
