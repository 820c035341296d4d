"""The bell's wire through Redis publish/subscribe."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from tsuzuki.coord.bell_wire import CHANNEL, WireBroken

_LOOK_AGAIN = 1.0


class RedisWire:
    """Lines through one Redis; those with another prefix do not hear each other."""

    def __init__(self, redis: Redis, *, prefix: str = "tsuzuki") -> None:
        self._redis = redis
        self._channel = f"{prefix}:{CHANNEL}"

    @asynccontextmanager
    async def open(self) -> AsyncIterator["RedisLine"]:
        """See `Wire`."""
        async with self._redis.pubsub() as pubsub:
            try:
                await pubsub.subscribe(self._channel)
            except (RedisError, OSError) as error:
                raise WireBroken(str(error)) from error
            _heed_cancellation()
            yield RedisLine(self._redis, pubsub, self._channel)


class RedisLine:
    """See `Line`."""

    def __init__(self, redis: Redis, pubsub: PubSub, channel: str) -> None:
        self._redis = redis
        self._pubsub = pubsub
        self._channel = channel

    async def send(self, text: str) -> None:
        """See `Line`."""
        try:
            await self._redis.publish(self._channel, text)
        except (RedisError, OSError) as error:
            raise WireBroken(str(error)) from error
        _heed_cancellation()

    async def receive(self) -> str:
        """See `Line`."""
        message = None
        try:
            while message is None:
                message = await self._pubsub.get_message(ignore_subscribe_messages=True, timeout=_LOOK_AGAIN)
        except (RedisError, OSError) as error:
            raise WireBroken(str(error)) from error
        said: bytes = message["data"]
        return said.decode()


def _heed_cancellation() -> None:
    """The client sends through `wait_for`, which until Python 3.12 swallows a cancellation that comes as it ends."""
    current = asyncio.current_task()
    if current is not None and current.cancelling():
        raise asyncio.CancelledError
