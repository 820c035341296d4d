"""Worker processes, by their heartbeats (R125)."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.model.ids import PublicId
from tsuzuki.model.structs import copied
from tsuzuki.model.times import DAY, SECOND, Millis

q = load_queries("tsuzuki.queue.workers")

_names = msgspec.json.Decoder(list[str])
_counts = msgspec.json.Decoder(dict[str, int])


class WorkerProcess(msgspec.Struct, frozen=True):
    """A worker process."""

    id: PublicId
    host: str
    pid: int
    queues: tuple[str, ...]
    doing: dict[str, int]
    """Polls and tasks that are under way, by queue."""
    started_at: Millis

    @property
    def name(self) -> str:
        """As on the tasks that it holds."""
        return f"{self.host}:{self.pid}"


class SeenWorker(WorkerProcess, frozen=True):
    """A worker process, and its last heartbeat."""

    seen_at: Millis


class _Row(msgspec.Struct, frozen=True):
    id: PublicId
    host: str
    pid: int
    queues: str
    doing: str
    started_at: Millis
    seen_at: Millis


async def beat_tx(tx: Tx, worker: WorkerProcess, now: Millis) -> None:
    """Store a heartbeat with what the process is doing."""
    values = {**msgspec.structs.asdict(worker), "queues": _text(worker.queues), "doing": _text(worker.doing)}
    await tx.run(q.beat, **values, now=now)


async def list_workers_tx(tx: Tx) -> list[SeenWorker]:
    """All that did not end as they should, the longest running first."""
    return [
        copied(SeenWorker, row, queues=tuple(_names.decode(row.queues)), doing=_counts.decode(row.doing))
        for row in await tx.many(_Row, q.list_workers)
    ]


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


BEAT_EVERY = Millis(10 * SECOND)
LOST_AFTER = Millis(30 * SECOND)
"""Not heard of for so long, it has died, or hangs."""
KEPT = DAY
"""So long one that was lost is shown."""


class Workforce(msgspec.Struct, frozen=True):
    """Who works at a moment, and who is lost."""

    live: Sequence[SeenWorker]
    lost: Sequence[SeenWorker]

    def working_on(self, queue: str) -> int:
        """How many workers this queue has."""
        return sum(queue in worker.queues for worker in self.live)


class Workers:
    """The processes that share this database."""

    def __init__(self, db: Database, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._clock = clock

    async def beat(self, worker: WorkerProcess, doing: Mapping[str, int]) -> None:
        """Store a heartbeat with what the process is doing."""
        now, seen = self._clock(), msgspec.structs.replace(worker, doing=dict(doing))
        await self._db.with_tx(lambda tx: beat_tx(tx, seen, now))

    async def leave(self, worker: WorkerProcess) -> None:
        """Remove a process that ended as it should."""
        await self._db.with_tx(lambda tx: tx.run(q.leave, id=worker.id))

    async def get(self) -> Workforce:
        """Who works now, and who is lost."""
        oldest = self._clock() - LOST_AFTER
        seen = await self._db.read(list_workers_tx)
        return Workforce(
            [worker for worker in seen if worker.seen_at >= oldest],
            [worker for worker in seen if worker.seen_at < oldest],
        )

    async def why_nobody_works(self) -> str | None:
        """Why no process works, in words; None when one does."""
        found = await self.get()
        if found.live:
            return None
        if not found.lost:
            return "No worker is running, so nothing is polled or delivered. Start `tsuzuki work`."
        last = max(found.lost, key=lambda worker: worker.seen_at)
        seconds = (self._clock() - last.seen_at) // SECOND
        return f"No worker has reported for {seconds:,} s, so nothing is polled or delivered. The last was {last.name}."

    async def forget_lost(self) -> int:
        """Forget those that were lost long ago; how many."""
        before = Millis(self._clock() - KEPT)
        return await self._db.with_tx(lambda tx: tx.run(q.forget_workers, before=before))
