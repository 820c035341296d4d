"""Rate limits for calls to hosts: the policy, the interface, and the pacer of one process."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from tsuzuki.model.times import Millis

SECOND = 1_000_000
MILLISECOND = 1_000


class Rate(msgspec.Struct, frozen=True):
    """So many calls a second, of which `burst` may come at once after a rest."""

    per_second: float
    burst: int = 1

    @property
    def interval(self) -> int:
        """Between two calls; rounded up, so that the rate is never passed."""
        return -int(-SECOND // self.per_second)

    @property
    def tolerance(self) -> int:
        """How far ahead of its time a call may come."""
        return self.interval * (self.burst - 1)


class PaceTurn(msgspec.Struct, frozen=True):
    """The answer to a reservation: how long to wait, and whether the turn is reserved."""

    wait: int
    """From now on, in microseconds."""
    is_reserved: bool
    """True: call after `wait`. False: nothing was taken; ask again after `wait`, or give up."""


class Reservation(msgspec.Struct, frozen=True):
    """A turn, and the bucket's TAT after it."""

    turn: PaceTurn
    tat: int


def reserve(tat: int, now: int, *, rate: Rate, held: int, patience: int) -> Reservation:
    """The earliest turn in a bucket whose TAT is `tat`, for a caller that is held until `held`.

    A held caller takes no turn, or its wait would be everyone's; neither does one that would not wait so long.
    """
    if held > now:
        return Reservation(PaceTurn(held - now, is_reserved=False), tat)
    wait = max(0, tat - rate.tolerance - now)
    if wait > patience:
        return Reservation(PaceTurn(wait, is_reserved=False), tat)
    return Reservation(PaceTurn(wait, is_reserved=True), max(tat, now) + rate.interval)


def held_until(penalties: Mapping[str, int], who: str) -> int:
    """Until when `who` must wait: for its own penalty, or for everyone's when a second caller got one too (R21).

    What two agree on is the second-latest of all penalties; one caller alone can never stop the others (SEC-11).
    """
    agreed = sorted(penalties.values(), reverse=True)[1:2]
    return max(penalties.get(who, 0), *agreed, 0)


Microseconds = Callable[[], int]

_SWEEP_EVERY = 4096
MOST_PENALTIES = 1000


class Pacer(Protocol):
    """Says when a caller may call, remembers who must wait, and limits calls at the same time."""

    async def reserve(self, bucket: str, who: str, *, rate: Rate, patience: Millis) -> PaceTurn:
        """A turn in this bucket, if it comes within `patience`."""

    async def penalise(self, bucket: str, who: str, hold: Millis) -> None:
        """Nobody calls on behalf of `who` for so long; when a second one gets one, nobody calls at all (R21)."""

    def slot(self, bucket: str, limit: int) -> AbstractAsyncContextManager[None]:
        """One of `limit` places at the same time; entering waits for it."""


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


class _Place:
    """One of a bucket's places. A class, not a generator: every poll takes one."""

    __slots__ = ("_bucket", "_places")

    def __init__(self, bucket: _Bucket, limit: int) -> None:
        self._bucket = bucket
        places = bucket.places.get(limit)
        if places is None:
            places = bucket.places[limit] = asyncio.Semaphore(limit)
        self._places = places

    async def __aenter__(self) -> None:
        self._bucket.users += 1
        try:
            await self._places.acquire()
        except BaseException:
            self._bucket.users -= 1
            raise

    async def __aexit__(self, *_: object) -> None:
        self._places.release()
        self._bucket.users -= 1


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
        """Nobody calls on behalf of `who` for so long; when a second one gets one, nobody calls at all (R21)."""
        penalties, now = self._bucket(bucket).penalties, self._now()
        for known in [known for known, until in penalties.items() if until <= now]:
            del penalties[known]
        if who in penalties or len(penalties) < MOST_PENALTIES:
            penalties[who] = max(penalties.get(who, 0), now + hold * MILLISECOND)

    def slot(self, bucket: str, limit: int) -> "_Place":
        """One of `limit` places at the same time; entering waits for it."""
        return _Place(self._bucket(bucket), limit)

    def _bucket(self, name: str) -> _Bucket:
        self._calls += 1
        if self._calls % _SWEEP_EVERY == 0:
            now = self._now()
            self._buckets = {known: state for known, state in self._buckets.items() if not state.is_idle(now)}
        return self._buckets.setdefault(name, _Bucket())
