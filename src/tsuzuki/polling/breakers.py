"""R99: a source that answers anybody may be asked by everybody: the breakers of its series close."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec

from tsuzuki.db import Database, load_queries
from tsuzuki.model.errors import Unavailable
from tsuzuki.model.ids import SourceId, WatchId
from tsuzuki.model.structs import copied
from tsuzuki.model.times import Millis
from tsuzuki.polling.outcomes import PollContext
from tsuzuki.polling.policy import PollAnswered, Watched, next_look

q = load_queries("tsuzuki.polling")

MOST_CLOSED = 1000
"""At once; the next call of the source closes the rest."""


class BrokenWatch(msgspec.Struct, frozen=True):
    """A series whose breaker is open."""

    id: WatchId
    last_release_at: Millis | None
    poll_floor: Millis | None
    followers: int


class ClosedBreaker(msgspec.Struct, frozen=True):
    """One whose breaker closes, and when it is looked at."""

    id: WatchId
    next_check_at: Millis
    priority: int


class Breakers:
    """The breakers of every source's series."""

    def __init__(self, db: Database, context: PollContext, *, after_commit: Callable[[], Awaitable[None]]) -> None:
        self._db = db
        self._context = context
        self._after_commit = after_commit

    async def close(self, source_id: SourceId) -> None:
        """Look at its broken series again by their class. Nobody's call fails because this could not be written."""
        with suppress(Unavailable):
            broken = await self._db.read(
                lambda tx: tx.many(BrokenWatch, q.broken_watches, source_id=source_id, most=MOST_CLOSED)
            )
            if broken:
                now = self._context.clock()
                closed = [self._closed(watch, now) for watch in broken]
                await self._db.with_tx(lambda tx: tx.bulk(int, q.close_breakers, closed, now=now))
                await self._after_commit()

    def _closed(self, watch: BrokenWatch, now: Millis) -> ClosedBreaker:
        watched = copied(Watched, watch, kind="series")
        look = next_look(watched, PollAnswered(), self._context.pace, now, jitter=self._context.jitter())
        assert look.at is not None
        return ClosedBreaker(watch.id, look.at, look.priority)
