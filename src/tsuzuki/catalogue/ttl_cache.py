"""The rule of every cached answer: from the database while fresh, else from the source, else stale (R64)."""

import hashlib
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

import msgspec

from tsuzuki.catalogue.policy import fresh_until, is_fresh
from tsuzuki.catalogue.single_flight import CallLocks, SingleFlight
from tsuzuki.model.errors import SourceError, Unavailable
from tsuzuki.model.times import Millis

T = TypeVar("T")

PATIENCE = 8.0
"""Seconds that a reader waits for a slow source while there is something to show."""


class CachedValue(msgspec.Struct, Generic[T], frozen=True):
    """What is stored, and since when; `is_there` is False for what nobody ever fetched."""

    value: T
    fetched_at: Millis | None
    is_there: bool = True
    error: str | None = None
    """What is wrong with it though it came: a list with holes."""


class Freshness(msgspec.Struct, frozen=True, kw_only=True):
    """How an answer was come by."""

    fetched_at: Millis | None
    fresh_until: Millis | None
    age: Millis | None
    is_stale: bool = False
    is_from_cache: bool
    error: str | None = None
    """Why it is stale, or not whole."""


class CachedAnswer(msgspec.Struct, Generic[T], frozen=True):
    """A value, and how it was come by."""

    value: T
    freshness: Freshness


class Question(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """What is asked, where it is kept, and how it is fetched."""

    key: Hashable
    look: Callable[[], Awaitable[CachedValue[T]]]
    fetch: Callable[[], Awaitable[CachedValue[T] | None]]
    """Calls the source and stores what comes; a SourceError or Unavailable when it cannot.

    What it returns is given to everyone who waits; None has each look for themselves, where a shelf's state is in it.
    """
    ttl: Millis | None


class TtlCache:
    """Answers questions. One per process."""

    def __init__(self, clock: Callable[[], Millis], locks: CallLocks, patience: float = PATIENCE) -> None:
        self._clock = clock
        self._locks = locks
        self.patience = patience
        self._flights = SingleFlight()

    async def close(self) -> None:
        """End the calls that are under way."""
        await self._flights.close()

    async def answer(self, question: Question[T], *, refresh: bool) -> CachedAnswer[T]:
        """From the cache while it is fresh and `refresh` is not said. Raises only when there is nothing to show."""
        kept = await question.look()
        if not refresh and is_fresh(kept.fetched_at, question.ttl, self._clock()):
            return CachedAnswer(kept.value, self._freshness(kept, question.ttl, is_from_cache=True))
        try:
            fetched = await self._flights.join(
                question.key,
                lambda: self._fetch(question, kept.fetched_at, refresh=refresh),
                patience=self.patience if kept.is_there else None,
            )
        except (SourceError, Unavailable) as error:
            if not kept.is_there:
                raise
            stale = self._freshness(kept, question.ttl, is_from_cache=True, trouble=str(error))
            return CachedAnswer(kept.value, stale)
        kept = await question.look() if fetched is None else fetched
        return CachedAnswer(kept.value, self._freshness(kept, question.ttl, is_from_cache=False))

    async def _fetch(self, question: Question[T], seen: Millis | None, *, refresh: bool) -> CachedValue[T] | None:
        """R65, R102: a call of anybody's that landed after the caller's look, which saw `seen`, counts."""
        async with self._locks.hold(_name(question.key)):
            kept = await question.look()
            if kept.fetched_at != seen or (not refresh and is_fresh(kept.fetched_at, question.ttl, self._clock())):
                return None
            return await question.fetch()

    def _freshness(
        self, kept: CachedValue[T], ttl: Millis | None, *, is_from_cache: bool, trouble: str | None = None
    ) -> Freshness:
        """`trouble` is why nothing fresher is to be had."""
        fetched_at = kept.fetched_at
        return Freshness(
            fetched_at=fetched_at,
            fresh_until=fresh_until(fetched_at, ttl),
            age=None if fetched_at is None else Millis(max(0, self._clock() - fetched_at)),
            is_stale=trouble is not None,
            is_from_cache=is_from_cache,
            error=trouble or kept.error,
        )


def _name(key: Hashable) -> str:
    """The same in every process."""
    return hashlib.sha256(repr(key).encode()).hexdigest()
