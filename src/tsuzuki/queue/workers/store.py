"""Workers, remembered."""

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import PublicId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.queue.workers")

_names = msgspec.json.Decoder(list[str])
_counts = msgspec.json.Decoder(dict[str, int])


class WorkerProcess(msgspec.Struct, frozen=True):
    """A process that works."""

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
    """And when it was last heard of."""

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
    """It works, and this is what it does."""
    values = {**msgspec.structs.asdict(worker), "queues": _text(worker.queues), "doing": _text(worker.doing)}
    await tx.run(q.beat, **values, now=now)


async def leave_tx(tx: Tx, worker_id: PublicId) -> None:
    """It has ended as it should."""
    await tx.run(q.leave, id=worker_id)


async def list_workers_tx(tx: Tx) -> list[SeenWorker]:
    """All that did not end as they should, the longest running first."""
    return [
        SeenWorker(
            id=row.id,
            host=row.host,
            pid=row.pid,
            queues=tuple(_names.decode(row.queues)),
            doing=_counts.decode(row.doing),
            started_at=row.started_at,
            seen_at=row.seen_at,
        )
        for row in await tx.many(_Row, q.list_workers)
    ]


async def forget_workers_tx(tx: Tx, before: Millis) -> int:
    """Forget those that were not heard of since then; how many."""
    return await tx.run(q.forget_workers, before=before)


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
