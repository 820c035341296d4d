"""R99: a source that answers anybody may be asked by everybody: the breakers of its series close."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from tsuzuki.db import Database, Tx
from tsuzuki.model.errors import Unavailable
from tsuzuki.model.ids import SourceId
from tsuzuki.model.times import Millis
from tsuzuki.polling.breakers.store import Broken, Closed, broken_watches_tx, close_breakers_tx
from tsuzuki.polling.policy import PollAnswered, Watched, next_look
from tsuzuki.polling.saving import Conditions


class Breakers:
    """The breakers of every source's series. `changed` is called after some of them closed."""

    def __init__(self, db: Database, conditions: Conditions, *, changed: Callable[[], Awaitable[None]]) -> None:
        self._db = db
        self._conditions = conditions
        self._changed = changed

    async def close(self, source_id: SourceId) -> None:
        """Look at its broken series again by their class. Nobody's call fails because this could not be written."""
        with suppress(Unavailable):
            broken = await self._db.read(lambda tx: broken_watches_tx(tx, source_id))
            if broken:
                await self._db.with_tx(lambda tx: self._close_tx(tx, broken))
                await self._changed()

    async def _close_tx(self, tx: Tx, broken: list[Broken]) -> None:
        now = self._conditions.clock()
        await close_breakers_tx(tx, [self._closed(watch, now) for watch in broken], now)

    def _closed(self, watch: Broken, now: Millis) -> Closed:
        watched = Watched(
            kind="series",
            last_release_at=watch.last_release_at,
            followers=watch.followers,
            poll_floor=watch.poll_floor,
        )
        look = next_look(watched, PollAnswered(), self._conditions.pace, now, dice=self._conditions.dice())
        assert look.at is not None
        return Closed(watch.id, look.at, look.priority)
