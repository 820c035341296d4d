"""Keeps the lease of a watch for as long as somebody works on it."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tsuzuki.db import Database
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.polling.store import extend_lease_tx
from tsuzuki.queue.errors import LeaseLost
from tsuzuki.sources.store import ClaimedWatch

T = TypeVar("T")


class Hold:
    """A lease that is extended until the work on its watch is over. Most work is over before the first time."""

    def __init__(self, db: Database, watch: ClaimedWatch, clock: Callable[[], Millis], *, lease: Millis) -> None:
        self._db = db
        self._watch = watch
        self._clock = clock
        self._lease = lease
        self._task: asyncio.Task[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._beating: asyncio.Task[None] | None = None
        self._failure: Exception | None = None

    async def during(self, work: Coroutine[Any, Any, T]) -> T:
        """What the work returns. LeaseLost, or why the lease could not be kept, ends it at once."""
        self._task = task = asyncio.current_task()
        self._set_timer()
        try:
            return await work
        except asyncio.CancelledError:
            # As `asyncio.timeout` tells its own cancellation from somebody else's.
            if self._failure is None or (task is not None and task.uncancel() > 0):
                raise
            raise self._failure from None
        finally:
            self._end()

    def _set_timer(self) -> None:
        # A timer, not a task that sleeps: it is made for every poll, and hardly ever comes.
        self._timer = asyncio.get_running_loop().call_later(self._lease / SECOND / 3, self._beat)

    def _beat(self) -> None:
        self._beating = asyncio.ensure_future(self._extend())

    async def _extend(self) -> None:
        until = Millis(self._clock() + self._lease)
        try:
            is_ours = await self._db.with_tx(lambda tx: extend_lease_tx(tx, self._watch, until=until))
        except Exception as error:  # noqa: BLE001  it is raised where the work is awaited
            self._give_up(error)
            return
        if is_ours:
            self._set_timer()
        else:
            self._give_up(LeaseLost([self._watch.id]))

    def _give_up(self, failure: Exception) -> None:
        self._failure = failure
        if self._task is not None:
            self._task.cancel()

    def _end(self) -> None:
        self._task = None
        if self._timer is not None:
            self._timer.cancel()
        if self._beating is not None:
            self._beating.cancel()
