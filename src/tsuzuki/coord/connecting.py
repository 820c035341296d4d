"""The one Redis client of a process."""

from redis.asyncio import Redis

__all__ = ["Redis", "redis_client"]

_CONNECT_WITHIN = 2.0
_ANSWER_WITHIN = 2.0


def redis_client(url: str) -> Redis:
    """A client that connects when it is first used; whoever opens it calls `aclose`."""
    client: Redis = Redis.from_url(url, socket_connect_timeout=_CONNECT_WITHIN, socket_timeout=_ANSWER_WITHIN)
    return client
