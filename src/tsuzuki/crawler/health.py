"""How a source fares."""

from collections.abc import Callable

import msgspec

from tsuzuki.crawler.store import count_by_status_tx, last_failure_tx, last_job_tx, spell_tx, watching_tx
from tsuzuki.crawler.types import Job, LastFailure, Spell, Status, Watching
from tsuzuki.db import Database, Tx
from tsuzuki.model.errors import NotFound
from tsuzuki.model.times import DAY, Millis
from tsuzuki.polling.policy import BREAKER_AT
from tsuzuki.sources.sites import NO_SOURCE, find_source_tx, paused_since_tx
from tsuzuki.sources.types import Source


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """A source, its jobs, and what is known of calling it."""

    source: Source
    is_paused: bool
    jobs: dict[Status, int]
    last_job: Job | None
    day: Spell
    week: Spell
    watching: Watching
    last_failure: LastFailure | None


class HealthService:
    """Says how sources fare."""

    def __init__(self, db: Database, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._clock = clock

    async def look(self, source_id: int) -> Health:
        """How one source fares, or NotFound."""
        now = self._clock()

        async def gather(tx: Tx) -> Health:
            source = await find_source_tx(tx, source_id)
            if source is None:
                raise NotFound(NO_SOURCE)
            return Health(
                source=source,
                is_paused=await paused_since_tx(tx) is not None,
                jobs=await count_by_status_tx(tx, source.id),
                last_job=await last_job_tx(tx, source.id, now),
                day=await spell_tx(tx, source.id, Millis(now - DAY)),
                week=await spell_tx(tx, source.id, Millis(now - 7 * DAY)),
                watching=await watching_tx(tx, source.id, breaker_at=BREAKER_AT),
                last_failure=await last_failure_tx(tx, source.id),
            )

        return await self._db.read(gather)
