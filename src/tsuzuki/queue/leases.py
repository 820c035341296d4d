"""Renews a worker's leases, notices lost ones, and reclaims those of dead workers."""

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import msgspec
import structlog

from tsuzuki.coord.wakeup import Wakeup
from tsuzuki.db import Database, load_queries
from tsuzuki.model.errors import Unavailable
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.queue.policy import FLOOR, LeasedTask, SeenLease, is_lost, longest_wait, observe_leases
from tsuzuki.queue.store import extend_tx, reclaim_lost_tx, running_tx
from tsuzuki.queue.tasks import Queue, Task, lost_by_us_tx

q = load_queries("tsuzuki.queue")

Clock = Callable[[], Millis]
Timed = Callable[[str, str, float], None]
"""Called for each task with its queue, its outcome (`done` or a verdict) and the seconds it took."""


def _untimed(_queue: str, _outcome: str, _seconds: float) -> None:
    return None


class WorkerContext(msgspec.Struct, frozen=True, kw_only=True):
    """The database, the wake-ups and the clocks of a process, and its name on the tasks that it holds."""

    db: Database
    wakeup: Wakeup
    clock: Clock
    """Wall time, for what people see and schedule."""
    name: str
    steady: Callable[[], float] = time.monotonic
    """Seconds that never step, for waiting and for watching leases."""
    jitter: Callable[[], float] = random.random
    timed: Timed = _untimed


def cancel_wakeup(queue: str) -> str:
    """What is woken when a task of this queue was cancelled."""
    return f"{queue}:cancelled"


_log = structlog.stdlib.get_logger("tsuzuki.queue")

Scope: TypeAlias = asyncio.Timeout
Hold: TypeAlias = tuple[Task[Any], Scope | None]


class LeaseKeeper:
    """The leases of one queue, as one worker sees them."""

    def __init__(self, worker_context: WorkerContext, queue: Queue[Any]) -> None:
        self._worker_context = worker_context
        self._queue = queue
        self._held: dict[tuple[int, int], Hold] = {}
        self._seen: dict[int, SeenLease] = {}
        self._last_beat = worker_context.steady()
        self._last_now: Millis | None = None

    @contextmanager
    def holding(self, tasks: Sequence[Task[Any]], scope: Scope | None = None) -> Iterator[None]:
        """Keep their leases meanwhile; the scope is cancelled as soon as one of them is no longer ours."""
        before = {_lease_of(task): self._held.get(_lease_of(task)) for task in tasks}
        self._held |= {_lease_of(task): (task, scope) for task in tasks}
        try:
            yield
        finally:
            for lease, outer in before.items():
                del self._held[lease]
                if outer is not None:
                    self._held[lease] = outer

    async def run(self) -> None:
        """Check every second, and at once when something was cancelled; ends only by being cancelled."""
        pause = min(FLOOR, self._queue.settings.heartbeat / 2) / SECOND
        with self._worker_context.wakeup.listen(cancel_wakeup(self._queue.name)) as listener:
            while True:
                try:
                    await self.check()
                except Unavailable as error:
                    _log.warning("queue_unavailable", queue=self._queue.name, reason=str(error))
                except Exception:  # noqa: BLE001  the top of a worker's loop, which must go on
                    _log.exception("lease_check_failed", queue=self._queue.name)
                await listener.wait(pause)

    async def check(self) -> None:
        """One round: drop what is no longer ours, renew what is, reclaim what nobody renews."""
        now = self._worker_context.clock()
        await self._repair(now)
        held = list(self._held.values())
        leases = await self._worker_context.db.read(lambda tx: running_tx(tx, self._queue.name))
        await self._drop_lost(held, leases)
        await self._beat()
        await self._reclaim_lost(leases)

    async def _repair(self, now: Millis) -> None:
        """REL-19g: at the start, and whenever the clock went back."""
        if self._last_now is None or now < self._last_now:
            settings = self._queue.settings
            await self._worker_context.db.with_tx(
                lambda tx: tx.run(q.repair_run_at, queue=self._queue.name, now=now, latest=now + longest_wait(settings))
            )
        self._last_now = now

    async def _drop_lost(self, held: Sequence[Hold], leases: Sequence[LeasedTask]) -> None:
        known = {_lease_of(lease) for lease in leases}
        doubtful = [hold for hold in held if _lease_of(hold[0]) not in known and not hold[0].is_finished]
        if not doubtful:
            return
        tasks = [task for task, _ in doubtful]
        lost = set(await self._worker_context.db.read(lambda tx: lost_by_us_tx(tx, tasks)))
        for task, scope in doubtful:
            if task.id in lost and scope is not None and self._held.get(_lease_of(task)) == (task, scope):
                scope.reschedule(asyncio.get_running_loop().time())

    async def _beat(self) -> None:
        settings, steady = self._queue.settings, self._worker_context.steady()
        if (steady - self._last_beat) * SECOND < settings.heartbeat:
            return
        if tasks := [task for task, _ in self._held.values() if not task.is_finished]:
            until = Millis(self._worker_context.clock() + settings.lease)
            await self._worker_context.db.with_tx(lambda tx: extend_tx(tx, tasks, until=until))
        self._last_beat = steady

    async def _reclaim_lost(self, leases: Sequence[LeasedTask]) -> None:
        now, steady, settings = self._worker_context.clock(), self._worker_context.steady(), self._queue.settings
        others = (lease for lease in leases if _lease_of(lease) not in self._held)
        self._seen = observe_leases(others, self._seen, steady)
        lost = [seen.lease for seen in self._seen.values() if is_lost(seen, settings, now=now, steady=steady)]
        if not lost:
            return
        taken = await self._worker_context.db.with_tx(lambda tx: reclaim_lost_tx(tx, lost, settings, now=now))
        for task in taken:
            _log.warning("task_lost", queue=self._queue.name, task=task.id, now=task.status)
        if taken:
            self._worker_context.wakeup.wake(self._queue.name)


def _lease_of(task: Task[Any] | LeasedTask) -> tuple[int, int]:
    """With the token: a worker may get a task again while the handler that lost it is still coming to its end."""
    return task.id, task.lease_token
