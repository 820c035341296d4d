"""Who works: written by those who do, read by whoever wants to know."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from tsuzuki.db import Database
from tsuzuki.model.times import DAY, SECOND, Millis
from tsuzuki.queue.workers.store import SeenWorker, WorkerProcess, beat_tx, forget_workers_tx, leave_tx, list_workers_tx

BEAT_EVERY = Millis(10 * SECOND)
LOST_AFTER = Millis(30 * SECOND)
"""Not heard of for so long, it has died, or hangs."""
KEPT = DAY
"""So long one that was lost is shown."""


class Workforce(msgspec.Struct, frozen=True):
    """Who works at a moment, and who did and is lost."""

    live: Sequence[SeenWorker]
    lost: Sequence[SeenWorker]

    def working_on(self, queue: str) -> int:
        """How many work on this queue."""
        return sum(queue in worker.queues for worker in self.live)


class Workers:
    """The processes that share this database."""

    def __init__(self, db: Database, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._clock = clock

    async def beat(self, worker: WorkerProcess, doing: Mapping[str, int]) -> None:
        """It works, and this is what it does."""
        now, seen = self._clock(), msgspec.structs.replace(worker, doing=dict(doing))
        await self._db.with_tx(lambda tx: beat_tx(tx, seen, now))

    async def leave(self, worker: WorkerProcess) -> None:
        """It has ended as it should."""
        await self._db.with_tx(lambda tx: leave_tx(tx, worker.id))

    async def look(self) -> Workforce:
        """Who works now."""
        oldest = self._clock() - LOST_AFTER
        seen = await self._db.read(list_workers_tx)
        return Workforce(
            [worker for worker in seen if worker.seen_at >= oldest],
            [worker for worker in seen if worker.seen_at < oldest],
        )

    async def why_nobody_works(self) -> str | None:
        """In words; None when somebody does."""
        found = await self.look()
        if found.live:
            return None
        if not found.lost:
            return "No worker is running, so nothing is polled or delivered. Start `tsuzuki work`."
        last = max(found.lost, key=lambda worker: worker.seen_at)
        seconds = (self._clock() - last.seen_at) // SECOND
        return f"No worker was heard of for {seconds:,} s, so nothing is polled or delivered. The last was {last.name}."

    async def forget_lost(self) -> int:
        """Forget those that were lost long ago; how many."""
        before = Millis(self._clock() - KEPT)
        return await self._db.with_tx(lambda tx: forget_workers_tx(tx, before))
