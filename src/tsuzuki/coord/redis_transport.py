"""Wake-ups through Redis publish/subscribe."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from tsuzuki.coord.shared_wakeup import CHANNEL, WireBroken

_CONNECT_WITHIN = 2.0
_LOOK_AGAIN = 1.0


class RedisTransport:
    """Lines through one Redis; those with another prefix do not hear each other."""

    def __init__(self, url: str, *, prefix: str = "tsuzuki") -> None:
        self._url = url
        self._channel = f"{prefix}:{CHANNEL}"

    @asynccontextmanager
    async def open(self) -> AsyncIterator["RedisConnection"]:
        """See `Wire`. A client of its own, without its own timeouts.

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
    """See `Line`."""

    def __init__(self, client: Redis, pubsub: PubSub, channel: str) -> None:
        self._client = client
        self._pubsub = pubsub
        self._channel = channel

    async def send(self, text: str) -> None:
        """See `Line`."""
        try:
            await self._client.publish(self._channel, text)
        except (RedisError, OSError) as error:
            raise WireBroken(str(error)) from error

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
