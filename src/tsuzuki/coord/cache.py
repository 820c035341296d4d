"""Answers kept for a while, in Redis where there is one, else in memory; a write forgets all of them at once.

Everything is forgotten together. Writes are counted where every process sees the count, and what was kept under another
count is not used: an answer that was being made while a write came is kept under the old one and never seen.
"""

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec
import structlog

from tsuzuki.model.errors import Unavailable

if TYPE_CHECKING:
    from tsuzuki.coord.redis_client import Redis

T = TypeVar("T")

MOST_KEPT = 1000

_log = structlog.stdlib.get_logger("tsuzuki.cache")


class Cache(Protocol):
    """Keeps answers by their full question."""

    async def fetch(self, kind: Any, key: str, *, seconds: float, make: Callable[[], Awaitable[T]]) -> T:
        """The kept answer, or a new one; `kind` is its type. An error of `make` is not kept."""

    async def forget(self) -> None:
        """Forget every answer, in all processes; called after the commit of what they show."""


class Writes(Protocol):
    """How often something was written that answers show, by any process."""

    async def count(self) -> int:
        """How many writes there were; Unavailable if the shared cache cannot be reached."""

    async def add(self) -> None:
        """Count one more write; Unavailable if the shared cache cannot be reached."""


class MemoryCache:
    """A cache of this process; the shared count of writes says when it is outdated."""

    def __init__(self, writes: Writes, *, steady: Callable[[], float] = time.monotonic) -> None:
        self._writes = writes
        self._steady = steady
        self._kept: dict[str, tuple[float, Any]] = {}
        self._kept_at = 0
        """The count under which they were made."""

    async def fetch(self, kind: Any, key: str, *, seconds: float, make: Callable[[], Awaitable[T]]) -> T:  # noqa: ARG002  nothing is decoded here
        """See `Cache`."""
        writes = await self._writes.count()
        if writes != self._kept_at:
            self._kept, self._kept_at = {}, writes
        generation = self._kept
        until, answer = generation.get(key, (0.0, None))
        if until <= self._steady():
            answer = await make()
            if len(generation) >= MOST_KEPT:
                generation.clear()
            generation[key] = (self._steady() + seconds, answer)
        kept: T = answer
        return kept

    async def forget(self) -> None:
        """See `Cache`."""
        self._kept = {}
        try:
            await self._writes.add()
        except Unavailable as error:
            _log.warning("cache_unavailable", reason=str(error))  # others see it when their answers' time is over


class RedisCache:
    """Shared by all processes. A Redis that does not answer is as good as none."""

    def __init__(self, redis: "Redis", name: str) -> None:
        self._redis = redis
        self._name = name

    async def fetch(self, kind: Any, key: str, *, seconds: float, make: Callable[[], Awaitable[T]]) -> T:
        """See `Cache`."""
        try:
            generation = int(await self._redis.get(f"{self._name}:generation") or 0)
            place = f"{self._name}:{generation}:{key}"
            found = await self._redis.get(place)
        except _failures() as error:
            _log.warning("cache_unavailable", reason=str(error))
            return await make()
        if found is not None:
            kept: T = msgspec.json.decode(found, type=kind)
            return kept
        answer = await make()
        with suppress(*_failures()):
            await self._redis.set(place, msgspec.json.encode(answer), px=int(seconds * 1000))
        return answer

    async def forget(self) -> None:
        """See `Cache`."""
        try:
            await self._redis.incr(f"{self._name}:generation")
        except _failures() as error:
            _log.warning("cache_unavailable", reason=str(error))


def _failures() -> tuple[type[Exception], ...]:
    """What a lost Redis raises; its library is loaded only where there is one."""
    from redis.exceptions import RedisError

    return (RedisError, OSError, TimeoutError)
