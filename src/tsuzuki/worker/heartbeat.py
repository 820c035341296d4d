"""Tells that this process works, and what it does (R125)."""

import asyncio
from collections.abc import Callable, Mapping

import structlog

from tsuzuki.model.errors import Unavailable
from tsuzuki.model.times import SECOND
from tsuzuki.queue.workers import BEAT_EVERY, WorkerProcess, Workers

PATIENCE_S = 3.0

_log = structlog.stdlib.get_logger("tsuzuki.worker")


class Heartbeat:
    """Beats until it is cancelled; then others are told that this process ended as it should."""

    def __init__(self, workers: Workers, me: WorkerProcess) -> None:
        self._workers = workers
        self._me = me

    async def run(self, doing: Callable[[], Mapping[str, int]]) -> None:
        """Beat for ever; `doing` says what is under way."""
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
