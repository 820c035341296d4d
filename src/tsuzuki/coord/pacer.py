"""The pace of one process, and the face that every pacer has."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from tsuzuki.coord.pace import MILLISECOND, PaceTurn, Rate, held_until, reserve
from tsuzuki.model.times import Millis

Microseconds = Callable[[], int]

_SWEEP_EVERY = 4096
MOST_PENALTIES = 1000


class Pacer(Protocol):
    """Says when a caller may call, remembers who must wait, and limits calls at the same time."""

    async def reserve(self, bucket: str, who: str, *, rate: Rate, patience: Millis) -> PaceTurn:
        """A turn in this bucket, if it comes within `patience`."""
        ...

    async def penalise(self, bucket: str, who: str, hold: Millis) -> None:
        """Nobody calls on behalf of `who` for so long; when a second one is told so too, nobody calls at all (R21)."""
        ...

    def slot(self, bucket: str, limit: int) -> AbstractAsyncContextManager[None]:
        """One of `limit` places at the same time; entering waits for it."""
        ...


class _Bucket:
    """What one process knows of one host."""

    __slots__ = ("penalties", "places", "tat", "users")

    def __init__(self) -> None:
        self.tat = 0
        self.penalties: dict[str, int] = {}
        self.places: dict[int, asyncio.Semaphore] = {}
        self.users = 0

    def is_idle(self, now: int) -> bool:
        return self.users == 0 and self.tat <= now and all(until <= now for until in self.penalties.values())


class MemoryPacer:
    """A pacer for one process. `now` is a clock in microseconds that never goes back."""

    def __init__(self, now: Microseconds) -> None:
        self._now = now
        self._buckets: dict[str, _Bucket] = {}
        self._calls = 0

    async def reserve(self, bucket: str, who: str, *, rate: Rate, patience: Millis) -> PaceTurn:
        """A turn in this bucket, if it comes within `patience`."""
        state, now = self._bucket(bucket), self._now()
        taken = reserve(
            state.tat, now, rate=rate, held=held_until(state.penalties, who), patience=patience * MILLISECOND
        )
        state.tat = taken.tat
        return taken.turn

    async def penalise(self, bucket: str, who: str, hold: Millis) -> None:
        """Nobody calls on behalf of `who` for so long; when a second one is told so too, nobody calls at all (R21)."""
        penalties, now = self._bucket(bucket).penalties, self._now()
        for known in [known for known, until in penalties.items() if until <= now]:
            del penalties[known]
        if who in penalties or len(penalties) < MOST_PENALTIES:
            penalties[who] = max(penalties.get(who, 0), now + hold * MILLISECOND)

    @asynccontextmanager
    async def slot(self, bucket: str, limit: int) -> AsyncIterator[None]:
        """One of `limit` places at the same time; entering waits for it."""
        state = self._bucket(bucket)
        state.users += 1
        try:
            async with state.places.setdefault(limit, asyncio.Semaphore(limit)):
                yield
        finally:
            state.users -= 1

    def _bucket(self, name: str) -> _Bucket:
        self._calls += 1
        if self._calls % _SWEEP_EVERY == 0:
            now = self._now()
            self._buckets = {known: state for known, state in self._buckets.items() if not state.is_idle(now)}
        return self._buckets.setdefault(name, _Bucket())
