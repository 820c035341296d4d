"""The loops of one process, started and stopped together, and its heartbeat (R125)."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import structlog

from tsuzuki.model.errors import Unavailable
from tsuzuki.model.times import SECOND
from tsuzuki.queue.workers import BEAT_EVERY, WorkerProcess, Workers

PATIENCE_S = 3.0

_log = structlog.stdlib.get_logger("tsuzuki.worker")


class Heartbeat:
    """Writes heartbeats until it is cancelled, then that the process ended as it should."""

    def __init__(self, workers: Workers, me: WorkerProcess) -> None:
        self._workers = workers
        self._me = me

    async def run(self, doing: Callable[[], Mapping[str, int]]) -> None:
        """Write heartbeats; `doing` says what is under way."""
        _log.info("worker_started", worker=self._me.name, queues=",".join(self._me.queues))
        try:
            while True:
                await self._beat(doing())
                await asyncio.sleep(BEAT_EVERY / SECOND)
        finally:
            await asyncio.shield(self._leave())

    async def _beat(self, doing: Mapping[str, int]) -> None:
        try:
            await self._workers.beat(self._me, doing)
        except Unavailable as error:
            _log.warning("heartbeat_not_written", worker=self._me.name, reason=str(error))
        except Exception:  # noqa: BLE001  whoever works must not end because nobody can be told
            _log.exception("heartbeat_failed", worker=self._me.name)

    async def _leave(self) -> None:
        _log.info("worker_stopped", worker=self._me.name)
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._workers.leave(self._me)
        except (Unavailable, TimeoutError) as error:
            _log.warning("heartbeat_not_written", worker=self._me.name, reason=str(error) or "no answer in time")


class Loop(Protocol):
    """Runs until it is stopped, and then finishes what it began."""

    @property
    def problem(self) -> str | None:
        """Why it cannot work; none of a loop that needs nothing but the database, which has a check of its own."""
        return None

    @property
    def doing(self) -> Mapping[str, int]:
        """What is under way, by queue; nothing where that takes a moment."""
        return {}

    def stop(self) -> None: ...
    async def run(self, *, patience: float = ...) -> None: ...


class WorkerLoops:
    """The loops of a process."""

    def __init__(self, loops: Sequence[Loop], heartbeat: Heartbeat | None = None) -> None:
        self._loops = loops
        self._heartbeat = heartbeat
        self._running: asyncio.Task[None] | None = None

    @property
    def is_working(self) -> bool:
        """Whether the loops run in this process."""
        return self._running is not None and not self._running.done()

    def doing(self) -> Mapping[str, int]:
        """What is under way in this process, by queue."""
        counts: Counter[str] = Counter()
        for loop in self._loops:
            counts.update(loop.doing)
        return +counts

    @property
    def problem(self) -> str | None:
        """Why some of the work cannot be done here, for readiness; None while all is well."""
        if self._running is not None and self._running.done():
            return "the loops have ended"
        return next((loop.problem for loop in self._loops if loop.problem is not None), None)

    def start(self) -> None:
        """Start all loops on this event loop."""
        self._running = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """Take nothing more, and return when what was begun is done or given back."""
        for loop in self._loops:
            loop.stop()
        if self._running is not None:
            await self._running

    async def wait(self) -> None:
        """Return when the loops have ended; raise what ended one of them against our will."""
        if self._running is not None:
            await asyncio.shield(self._running)

    async def _run(self) -> None:
        beating = None if self._heartbeat is None else asyncio.ensure_future(self._heartbeat.run(self.doing))
        try:
            async with asyncio.TaskGroup() as group:
                for loop in self._loops:
                    group.create_task(loop.run())
        finally:
            if beating is not None:
                beating.cancel()
                await asyncio.gather(beating, return_exceptions=True)
