"""What goes through Redis: wake-ups, and one pace for all processes (each has its own while Redis is away)."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.resources import files

from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from tsuzuki.coord.pacer import MILLISECOND, MOST_PENALTIES, SECOND, MemoryPacer, Microseconds, PaceTurn, Rate
from tsuzuki.coord.wakeup import CHANNEL, WireBroken
from tsuzuki.model.times import MINUTE, Millis

__all__ = ["Redis", "redis_client"]

_CONNECT_WITHIN = 2.0
_TIMEOUT = 2.0


def redis_client(url: str) -> Redis:
    """A client that connects when it is first used; whoever opens it calls `aclose`."""
    client: Redis = Redis.from_url(url, socket_connect_timeout=_CONNECT_WITHIN, socket_timeout=_TIMEOUT)
    return client


_LOOK_AGAIN = 1.0


class RedisTransport:
    """Wake-ups through one Redis; those with another prefix are not received."""

    def __init__(self, url: str, *, prefix: str = "tsuzuki") -> None:
        self._url = url
        self._channel = f"{prefix}:{CHANNEL}"

    @asynccontextmanager
    async def open(self) -> AsyncIterator["RedisConnection"]:
        """See `WakeupTransport`. A client of its own, without its own timeouts.

        Those go through `wait_for`, which until Python 3.12 swallows a cancellation that comes as it ends; that has
        timeouts that do not.
        """
        client: Redis = Redis.from_url(self._url, socket_timeout=None, socket_connect_timeout=_CONNECT_WITHIN)
        async with client, client.pubsub() as pubsub:
            try:
                await pubsub.subscribe(self._channel)
            except (RedisError, OSError) as error:
                raise WireBroken(str(error)) from error
            yield RedisConnection(client, pubsub, self._channel)


class RedisConnection:
    """See `WakeupConnection`."""

    def __init__(self, client: Redis, pubsub: PubSub, channel: str) -> None:
        self._client = client
        self._pubsub = pubsub
        self._channel = channel

    async def send(self, text: str) -> None:
        """See `WakeupConnection`."""
        try:
            await self._client.publish(self._channel, text)
        except (RedisError, OSError) as error:
            raise WireBroken(str(error)) from error

    async def receive(self) -> str:
        """See `WakeupConnection`."""
        message = None
        try:
            while message is None:
                message = await self._pubsub.get_message(ignore_subscribe_messages=True, timeout=_LOOK_AGAIN)
        except (RedisError, OSError) as error:
            raise WireBroken(str(error)) from error
        said: bytes = message["data"]
        return said.decode()


_LEASE = Millis(2 * MINUTE)  # a place whose owner died is free again after this
_PACER_RETRY = 0.05
_PACER_TIMEOUT = 1.0
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
            await asyncio.sleep(_PACER_RETRY)

    async def _ask(self, bucket: str, verb: str, *arguments: str | int) -> tuple[int, bool] | None:
        """What the script answers; None while Redis does not, and for a little while after."""
        if self._now() < self._silent_until:
            return None
        keys = [f"{self._prefix}:{{{bucket}}}:{part}" for part in ("tat", "held", "places")]
        with suppress(RedisError, OSError, TimeoutError):
            async with asyncio.timeout(_PACER_TIMEOUT):
                wait, done = await self._script(keys=keys, args=[verb, *arguments])
                return int(wait), bool(done)
        self._silent_until = self._now() + _REST
        return None
