"""The pace of several processes, shared through Redis; each keeps its own pace while Redis does not answer."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.resources import files

from redis.asyncio import Redis
from redis.exceptions import RedisError

from tsuzuki.coord.pace import MILLISECOND, SECOND, PaceTurn, Rate
from tsuzuki.coord.pacer import MOST_PENALTIES, MemoryPacer, Microseconds
from tsuzuki.model.times import MINUTE, Millis

_LEASE = Millis(2 * MINUTE)  # a place whose owner died is free again after this
_LOOK_AGAIN = 0.05
_ANSWER_WITHIN = 1.0
_REST = 2 * SECOND  # after a failure, before Redis is asked again


class RedisPacer:
    """A pacer that all processes of an installation share. Falls back to its own memory, and comes back by itself.

    Each place is first taken in memory, so that only processes, never the tasks of one, wait by asking again.
    """

    def __init__(self, redis: Redis, now: Microseconds, *, prefix: str = "tsuzuki:pace") -> None:
        self._script = redis.register_script(files("tsuzuki.coord").joinpath("pace.lua").read_text("utf-8"))
        self._memory = MemoryPacer(now)
        self._now = now
        self._prefix = prefix
        self._silent_until = 0

    async def reserve(self, bucket: str, who: str, *, rate: Rate, patience: Millis) -> PaceTurn:
        """A turn in this bucket, if it comes within `patience`."""
        answer = await self._ask(bucket, "reserve", who, rate.interval, rate.tolerance, patience * MILLISECOND)
        if answer is None:
            return await self._memory.reserve(bucket, who, rate=rate, patience=patience)
        wait, is_reserved = answer
        return PaceTurn(wait, is_reserved=is_reserved)

    async def penalise(self, bucket: str, who: str, hold: Millis) -> None:
        """Also in memory, so that a penalty holds when Redis goes away."""
        await self._memory.penalise(bucket, who, hold)
        await self._ask(bucket, "penalise", who, hold * MILLISECOND, MOST_PENALTIES)

    @asynccontextmanager
    async def slot(self, bucket: str, limit: int) -> AsyncIterator[None]:
        """One of `limit` places among all processes; entering waits for it."""
        async with self._memory.slot(bucket, limit):
            token = secrets.token_hex(8)
            is_shared = await self._enter(bucket, token, limit)
            try:
                yield
            finally:
                if is_shared:
                    await self._ask(bucket, "leave", token)

    async def _enter(self, bucket: str, token: str, limit: int) -> bool:
        """Wait for a place among all processes; False when Redis does not answer and memory alone must do."""
        while True:
            answer = await self._ask(bucket, "enter", token, limit, _LEASE * MILLISECOND)
            if answer is None or answer[1]:
                return answer is not None
            await asyncio.sleep(_LOOK_AGAIN)

    async def _ask(self, bucket: str, verb: str, *arguments: str | int) -> tuple[int, bool] | None:
        """What the script answers; None while Redis does not, and for a little while after."""
        if self._now() < self._silent_until:
            return None
        keys = [f"{self._prefix}:{{{bucket}}}:{part}" for part in ("tat", "held", "places")]
        with suppress(RedisError, OSError, TimeoutError):
            async with asyncio.timeout(_ANSWER_WITHIN):
                wait, done = await self._script(keys=keys, args=[verb, *arguments])
                return int(wait), bool(done)
        self._silent_until = self._now() + _REST
        return None
