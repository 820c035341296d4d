"""The loop that claims the tasks of one queue and runs them."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

import msgspec
import structlog

from tsuzuki.coord.wakeup import Listener
from tsuzuki.db import load_queries
from tsuzuki.db.tx import Work
from tsuzuki.model.errors import Unavailable
from tsuzuki.model.times import SECOND
from tsuzuki.queue.attempts import Attempts, BatchHandler, Gated, Handler
from tsuzuki.queue.leases import LeaseKeeper, WorkerContext
from tsuzuki.queue.policy import FLOOR
from tsuzuki.queue.store import claim_tx, has_suspect_tx, lease_values
from tsuzuki.queue.tasks import ClaimedRow, Queue

q = load_queries("tsuzuki.queue")

P = TypeVar("P", bound=msgspec.Struct)

_FLOOR = FLOOR / SECOND
_GATHER = 0.01
"""How long a busy worker waits for more free places before it claims for the few that there are."""

_log = structlog.stdlib.get_logger("tsuzuki.queue")


class Worker(Generic[P]):
    """Works one queue in this process, as many handlers at a time as its settings say."""

    def __init__(self, worker_context: WorkerContext, queue: Queue[P], handler: Handler[P] | BatchHandler[P]) -> None:
        self._worker_context = worker_context
        self._queue = queue
        self._keeper = LeaseKeeper(worker_context, queue)
        self._attempts = Attempts(worker_context, queue, handler, self._keeper)
        self._gate = handler if isinstance(handler, Gated) else None
        self._most = queue.settings.batch if isinstance(handler, BatchHandler) else 1
        self._has_more = True
        self._running: set[asyncio.Task[None]] = set()
        self._is_stopping = False
        self._listener = Listener()
        self._next_suspect_look = 0.0

    @property
    def problem(self) -> str | None:
        """Why nothing is taken any more, for readiness; None while all is well."""
        return self._attempts.problem

    @property
    def doing(self) -> Mapping[str, int]:
        """Calls of the handler that are under way."""
        return {self._queue.name: len(self._running)}

    def stop(self) -> None:
        """Take nothing more; `run` returns when what was begun is done, or given back after its patience."""
        self._is_stopping = True
        self._listener.wake()

    async def run(self, *, patience: float = 20.0) -> None:
        """Work until `stop`; cancelled, it gives back at once what it holds."""
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(self._keeper.run())
            with self._worker_context.wakeup.listen(self._queue.name) as listener:
                self._listener = listener
                while not self._is_stopping:
                    if not await self._claim_some(group):
                        await self._listener.wait(_FLOOR)
            await self._drain(patience)
            keeping.cancel()

    async def _claim_some(self, group: asyncio.TaskGroup) -> bool:
        """Begin what is due and has a place; False when there is nothing more to begin now."""
        if not self._may_take():
            return False
        try:
            if self._gate is not None and not await self._gate.is_open():
                return False
            await self._claim_suspects(group)
            places = await self._places()
            if not places or not self._may_take():
                return False
            rows = await self._claim(places * self._most)
            self._has_more = len(rows) == places * self._most
            if self.problem is not None:  # it came about while these were claimed
                await self._attempts.give_back(rows)
                return False
        except Unavailable as error:
            _log.warning("queue_unavailable", queue=self._queue.name, reason=str(error))
            return False
        except Exception:  # noqa: BLE001  the top of a worker's loop, which must go on
            _log.exception("queue_claim_failed", queue=self._queue.name)
            return False
        for first in range(0, len(rows), self._most):
            self._begin(group, rows[first : first + self._most])
        return bool(rows)

    def _may_take(self) -> bool:
        return self.problem is None and not self._is_stopping

    def _begin(self, group: asyncio.TaskGroup, rows: Sequence[ClaimedRow]) -> None:
        doing = group.create_task(self._attempts.work(rows))
        self._running.add(doing)
        doing.add_done_callback(self._end)

    def _end(self, done: asyncio.Task[None]) -> None:
        was_full = len(self._running) >= self._queue.settings.concurrency
        self._running.discard(done)
        if was_full or self._is_stopping:
            self._listener.wake()

    async def _places(self) -> int:
        """How many more may begin. Short tasks end together, so a moment's wait saves many small claims."""
        most = self._queue.settings.concurrency
        if len(self._running) > most / 2:
            await asyncio.wait(self._running, timeout=_GATHER)
        elif self._most > 1 and self._running and not self._has_more:
            patience = self._queue.settings.gather / SECOND
            await asyncio.wait(self._running, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        return most - len(self._running)

    async def _claim_suspects(self, group: asyncio.TaskGroup) -> None:
        """REL-14: a task that was lost nearly too often runs alone: if it kills us, no other is lost with it."""
        if self._worker_context.steady() < self._next_suspect_look:
            return
        while self._may_take() and await self._has_suspect():
            await self._left_alone(self._queue.settings.lease / SECOND)
            for row in await self._claim_suspect():
                self._begin(group, [row])
            await self._left_alone()
        self._next_suspect_look = self._worker_context.steady() + _FLOOR

    async def _left_alone(self, seconds: float = float("inf")) -> None:
        """Wait until nothing runs any more, the time has passed, or `stop` was called."""
        until = self._worker_context.steady() + seconds
        while self._running and not self._is_stopping and self._worker_context.steady() < until:
            await asyncio.wait(self._running, timeout=_FLOOR)

    async def _has_suspect(self) -> bool:
        now, queue = self._worker_context.clock(), self._queue
        return await self._worker_context.db.read(lambda tx: has_suspect_tx(tx, queue.name, queue.settings, now=now))

    async def _claim_suspect(self) -> list[ClaimedRow]:
        name, now, queue = self._worker_context.name, self._worker_context.clock(), self._queue
        return await self._claimed(
            lambda tx: tx.many(
                ClaimedRow, q.claim_suspect, **lease_values(queue.name, queue.settings, worker=name, now=now)
            )
        )

    async def _claim(self, most: int) -> list[ClaimedRow]:
        name, now, queue = self._worker_context.name, self._worker_context.clock(), self._queue
        return await self._claimed(lambda tx: claim_tx(tx, queue.name, queue.settings, worker=name, now=now, most=most))

    async def _claimed(self, work: Work[list[ClaimedRow]]) -> list[ClaimedRow]:
        """What was claimed; one who is cancelled meanwhile gives it back first."""
        claim = asyncio.ensure_future(self._worker_context.db.with_tx(work))
        try:
            return await asyncio.shield(claim)
        except asyncio.CancelledError:
            with suppress(Unavailable):
                await self._attempts.give_back(await claim)
            raise

    async def _drain(self, patience: float) -> None:
        """Let what was begun come to its end; what does not in time is cancelled, and gives its tasks back."""
        if self._running:
            _, unfinished = await asyncio.wait(self._running, timeout=patience)
            for doing in unfinished:
                doing.cancel()
            await asyncio.gather(*unfinished, return_exceptions=True)
