"""Maintenance: periodic chores, each run once across all processes.

Each chore is a task of the queue `maintenance`, scheduled for the next of its moments and written again whenever there
is none. The plan follows from the clock and the table alone (REL-19e): whoever dies, fails or is killed in between, the
next look finds what is missing. Moments are UTC: a day has one of each, whatever people do to their clocks (REL-19f).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

import msgspec
import structlog

from tsuzuki.coord.wakeup import Listener
from tsuzuki.db import Database, Tx
from tsuzuki.db.deadlines import long_deadline
from tsuzuki.model.errors import Unavailable
from tsuzuki.model.times import MINUTE, SECOND, Millis
from tsuzuki.queue.policy import QueueSettings
from tsuzuki.queue.tasks import Queue, Task, enqueue_tx, finish_tx, last_run_at_tx, run_earlier_tx, skip_tx
from tsuzuki.worker.loops import Loop

LOOK_EVERY = MINUTE
AT_ONCE = Millis(0)

_log = structlog.stdlib.get_logger("tsuzuki.maintenance")


class Chore(msgspec.Struct, frozen=True, kw_only=True):
    """Work that may be repeated at any time without harm, and its moments: `at` within every `every`."""

    name: str
    every: Millis
    at: Millis = AT_ONCE
    work: Callable[[], Awaitable[object]]

    def moment_after(self, now: Millis) -> Millis:
        """The chore's first scheduled moment after this one."""
        return Millis((now - self.at) // self.every * self.every + self.every + self.at)


class Due(msgspec.Struct, frozen=True):
    """The payload of a chore's task."""

    chore: str


MAINTENANCE: Final[Queue[Due]] = Queue("maintenance", Due, QueueSettings(concurrency=1, is_routine=True))


class Planner(Loop):
    """Schedules the next task of every chore."""

    def __init__(self, db: Database, clock: Callable[[], Millis], chores: Sequence[Chore]) -> None:
        self._db = db
        self._clock = clock
        self._chores = chores
        self._is_stopping = False
        self._listener = Listener()

    def stop(self) -> None:
        """Plan nothing more."""
        self._is_stopping = True
        self._listener.wake()

    async def run(self, *, patience: float = 0.0) -> None:
        """Look every minute until `stop`."""
        del patience
        while not self._is_stopping:
            try:
                await self.plan()
            except Unavailable as error:
                _log.warning("maintenance_unavailable", reason=str(error))
            except Exception:  # noqa: BLE001  the top of a worker's loop, which must go on
                _log.exception("maintenance_not_planned")
            await self._listener.wait(LOOK_EVERY / SECOND)

    async def plan(self) -> None:
        """Schedule what is missing. A missed moment is made up for once, by the task that waited for it."""
        for chore in self._chores:
            await self._db.with_tx(lambda tx: self._plan_tx(tx, chore))  # noqa: B023  awaited at once

    async def _plan_tx(self, tx: Tx, chore: Chore) -> None:
        now = self._clock()
        # Not the same moment again, though the clock went back since it was done.
        done = await last_run_at_tx(tx, MAINTENANCE.name, chore.name)
        moment = chore.moment_after(max(now, min(done, Millis(now + chore.every))))
        task = await enqueue_tx(tx, MAINTENANCE, chore.name, Due(chore.name), now=now, run_at=moment, priority=3)
        if not task.is_new:
            # Planned by a clock that was ahead: it must not wait for that (REL-19g).
            await run_earlier_tx(tx, MAINTENANCE.name, chore.name, moment)


class Housekeeper:
    """Handles `maintenance`."""

    def __init__(self, db: Database, clock: Callable[[], Millis], chores: Sequence[Chore]) -> None:
        self._db = db
        self._clock = clock
        self._chores: Mapping[str, Chore] = {chore.name: chore for chore in chores}

    async def handle(self, task: Task[Due]) -> None:
        """Do the chore, then end its task: one that was interrupted is done again."""
        chore = self._chores.get(task.payload.chore)
        if chore is None:
            await self._db.with_tx(lambda tx: skip_tx(tx, task, now=self._clock(), why="There is no such chore."))
            return
        with long_deadline():
            done = await chore.work()
        _log.debug("chore_done", chore=chore.name, result=str(done))
        await self._db.with_tx(lambda tx: finish_tx(tx, task, now=self._clock()))
