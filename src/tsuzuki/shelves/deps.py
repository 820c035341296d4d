"""What every service of shelves is given."""

from collections.abc import Awaitable, Callable

import msgspec

from tsuzuki.coord.wakeup import AfterCommit
from tsuzuki.db import Database, Tx
from tsuzuki.model.harvest import Kind
from tsuzuki.model.ids import PublicId, ShelfId, WatchId
from tsuzuki.model.requests import Parsers
from tsuzuki.model.times import Millis


class RefreshOutcome(msgspec.Struct, frozen=True):
    """What came of a request to refresh (R96)."""

    queued: int
    """How many will be looked at."""
    not_before: Millis | None = None
    """Why none is: publishers asked to be left alone, the first of them until then."""
    is_known: bool = False
    """Why none is: what is known was seen just now."""


class ShelfDeps(msgspec.Struct, frozen=True, kw_only=True):
    """The database, the clock, new ids, parsers of foreign text, and the few calls into what is above."""

    db: Database
    clock: Callable[[], Millis]
    new_id: Callable[[], PublicId]
    parsers: Parsers
    after_commit: AfterCommit
    vet: Callable[[str, str | None], Awaitable[str]]
    """The canonical form of an address (and its proxy) that may be stored and called; RefusedAddress otherwise."""
    ask_refresh: Callable[[WatchId], Awaitable[RefreshOutcome]]
    """Have a watch polled now, suspended or not, but never before a Retry-After is over."""
    ask_refresh_all: Callable[[ShelfId], Awaitable[RefreshOutcome]]
    """Have all feeds of a shelf polled now that are not suspended."""
    deliver_before_leaving_tx: Callable[[Tx, Kind, int, ShelfId], Awaitable[None]]
    """What is on its way from a feed or series to a shelf that is about to leave it."""
