"""Runs claimed tasks through their handler and records how they ended."""

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import msgspec
import structlog

from tsuzuki.db.tx import Work
from tsuzuki.model.errors import Unavailable
from tsuzuki.model.structs import copied
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.queue.errors import LeaseLost, NotFinished, Postponed, Undecodable
from tsuzuki.queue.leases import LeaseKeeper, WorkerContext
from tsuzuki.queue.policy import Verdict, code_of, judge, retry_delay
from tsuzuki.queue.store import TaskFailure, fail_tx, release_tx
from tsuzuki.queue.tasks import ClaimedRow, ClaimedTask, Queue, Task

P = TypeVar("P", bound=msgspec.Struct)

_ASK_AGAIN = 1.0
_LONG_PAYLOAD = 10_000
"""Characters; others have their turn after one of these was read."""

_log = structlog.stdlib.get_logger("tsuzuki.queue")


class Handler(Protocol[P]):
    """Does one task: its effect and `finish_tx` in one `with_tx` (I4)."""

    async def handle(self, task: Task[P]) -> None:
        """Return when the task is finished; raise to have it tried again or given up."""
        ...


@runtime_checkable
class BatchHandler(Protocol[P]):
    """Does several tasks in one transaction. When it raises, each of them is handed in again alone."""

    async def handle_all(self, tasks: Sequence[Task[P]]) -> None:
        """Return when all of them are finished."""
        ...


@runtime_checkable
class Grouping(Protocol[P]):
    """A batch handler that wants to choose which tasks share a transaction."""

    def groups(self, tasks: Sequence[Task[P]]) -> Sequence[Sequence[Task[P]]]:
        """Each task once; they are handed in group by group, in this order."""
        ...


@runtime_checkable
class Gated(Protocol):
    """A handler that may want nothing for a while; what is queued stays queued meanwhile."""

    async def is_open(self) -> bool:
        """Whether tasks may be taken now; asked before every claim."""
        ...


class Attempts(Generic[P]):
    """Runs tasks and records how they ended; never raises but when it is cancelled, and then gives them back."""

    def __init__(
        self, worker_context: WorkerContext, queue: Queue[P], handler: Handler[P] | BatchHandler[P], keeper: LeaseKeeper
    ) -> None:
        self._worker_context = worker_context
        self._queue = queue
        self._call = _all_or_each(handler)
        self._groups = handler.groups if isinstance(handler, Grouping) else _one_group
        self._keeper = keeper
        self.problem: str | None = None
        """Why this process cannot do this kind of work; nothing more is taken then."""

    async def work(self, rows: Sequence[ClaimedRow]) -> None:
        """Run these tasks, together where the handler takes batches."""
        try:
            tasks = await self._decoded(rows)
            with self._keeper.holding(tasks):
                for group in self._groups(tasks):
                    await self._try(group)
        except asyncio.CancelledError:
            await asyncio.shield(self.give_back(rows))
            raise

    async def _decoded(self, rows: Sequence[ClaimedRow]) -> list[Task[P]]:
        """R58: what does not decode is given up at once."""
        tasks = []
        for row in rows:
            try:
                tasks.append(_task(row, self._queue.decode(row.payload)))
            except Undecodable as error:
                self._log_outcome([row], await self._record_failure(_task(row, None), error), 0.0)
            if len(row.payload) > _LONG_PAYLOAD:
                await asyncio.sleep(0)
        return tasks

    async def _try(self, tasks: Sequence[Task[P]]) -> None:
        began = self._worker_context.steady()
        error = await self._outcome(tasks)
        took = self._worker_context.steady() - began
        if error is None:
            self._log_outcome(tasks, "done", took)
        elif len(tasks) > 1 and judge(error, 1, self._queue.settings) not in {"postpone", "stop"}:
            # One poisonous task must not take the others along: each is tried by itself, and fails by itself.
            for task in tasks:
                await self._try([task])
        else:
            for task in tasks:
                self._log_outcome([task], await self._record_failure(task, error), took)

    async def _outcome(self, tasks: Sequence[Task[P]]) -> BaseException | None:
        """What the handler raised, in the scope that ends when a lease is lost; None when all is well."""
        for task in tasks:
            task.is_finished = False
        scope, cancellings = asyncio.timeout(None), _cancellings()
        try:
            async with scope:
                with self._keeper.holding(tasks, scope):
                    await self._call(tasks)
        except asyncio.CancelledError as error:
            if _cancellings() > cancellings:
                raise
            return error  # something that the handler waited for was cancelled, not we
        except Exception as error:  # noqa: BLE001  the top of the worker: whatever a handler raises is judged and stored
            return LeaseLost(task.id for task in tasks) if scope.expired() else error
        if open_tasks := [task.key for task in tasks if not task.is_finished]:
            return NotFinished(f"The handler returned without finishing {', '.join(open_tasks)}.")
        return None

    # -- recording

    async def _record_failure(self, task: Task[Any], error: BaseException) -> Verdict:
        """Write what follows from the failure; a task that is no longer ours is left alone."""
        settings = self._queue.settings
        verdict = judge(error, task.attempt, settings)
        if isinstance(error, Postponed):
            await self.give_back([task])
            return verdict
        _log.warning(
            "task_failed", queue=self._queue.name, task=task.id, key=task.key, verdict=verdict, error=str(error)
        )
        if verdict == "drop":
            return verdict
        if verdict == "stop":
            self.problem = str(error)
        now = self._worker_context.clock()
        delay = retry_delay(settings, task.attempt, error, self._worker_context.jitter())
        failure = TaskFailure(
            error=str(error) or type(error).__name__,
            code=code_of(error),
            stack="".join(traceback.format_exception(error)),
            run_at=None if verdict == "give up" else Millis(now + delay),
            is_counted=verdict in {"retry", "give up"},
        )
        await self._retry_within_lease(lambda tx: fail_tx(tx, task, failure, now=now))
        return verdict

    async def give_back(self, tasks: Sequence[ClaimedTask]) -> None:
        """Queue again what is stopped in the middle; what was finished just before stays finished."""
        try:
            await self._worker_context.db.with_tx(lambda tx: release_tx(tx, tasks, now=self._worker_context.clock()))
        except Unavailable as error:
            _log.warning("tasks_not_released", queue=self._queue.name, reason=str(error))
        self._worker_context.wakeup.wake(self._queue.name)

    async def _retry_within_lease(self, work: Work[Any]) -> None:
        """Repeat while the database does not answer, for as long as our lease lasts."""
        until = self._worker_context.steady() + self._queue.settings.lease / SECOND
        while True:
            try:
                await self._worker_context.db.with_tx(work)
                return
            except Unavailable as error:
                _log.warning("queue_unavailable", queue=self._queue.name, reason=str(error))
                if self._worker_context.steady() >= until:
                    return
            await asyncio.sleep(_ASK_AGAIN)

    def _log_outcome(self, tasks: Sequence[ClaimedTask], outcome: str, seconds: float) -> None:
        """Log one line for each task; failures were logged with their reason already."""
        tell = _log.debug if self._queue.settings.is_routine or outcome != "done" else _log.info
        for task in tasks:
            self._worker_context.timed(self._queue.name, outcome, seconds)
            facts = {"queue": self._queue.name, "task": task.id, "key": task.key}
            tell("task_ended", **facts, outcome=outcome, seconds=round(seconds, 3))


def _all_or_each(handler: Handler[P] | BatchHandler[P]) -> Callable[[Sequence[Task[P]]], Awaitable[None]]:
    if isinstance(handler, BatchHandler):
        return handler.handle_all

    async def each(tasks: Sequence[Task[P]]) -> None:
        for task in tasks:
            await handler.handle(task)

    return each


def _one_group(tasks: Sequence[Task[P]]) -> Sequence[Sequence[Task[P]]]:
    return [tasks] if tasks else []


def _cancellings() -> int:
    """How many times this asyncio task was asked to stop; only ever compared, as some of the past are never undone."""
    current = asyncio.current_task()
    return current.cancelling() if current is not None else 0


def _task(row: ClaimedRow, payload: Any) -> Task[Any]:
    return copied(Task, row, payload=payload, attempt=row.attempts + 1)
