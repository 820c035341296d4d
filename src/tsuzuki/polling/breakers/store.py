"""Watches whose breaker is open."""

from collections.abc import Iterable

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import SourceId, WatchId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.polling.breakers")

MOST_CLOSED = 1000
"""At once; the next call of the source closes the rest."""


class Broken(msgspec.Struct, frozen=True):
    """A series whose breaker is open."""

    id: WatchId
    last_release_at: Millis | None
    poll_floor: Millis | None
    followers: int


class Closed(msgspec.Struct, frozen=True):
    """One whose breaker closes, and when it is looked at."""

    id: WatchId
    next_check_at: Millis
    priority: int


async def broken_watches_tx(tx: Tx, source_id: SourceId) -> list[Broken]:
    """The series of a source whose breakers are open, so many at a time."""
    return await tx.many(Broken, q.broken_watches, source_id=source_id, most=MOST_CLOSED)


async def close_breakers_tx(tx: Tx, closed: Iterable[Closed], now: Millis) -> None:
    """Close them, but of those that somebody polls or holds."""
    await tx.bulk(int, q.close_breakers, closed, now=now)
