"""Answers kept for a while: until their time is over, or something was written."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tsuzuki.coord.cache import Cache, MemoryCache, RedisCache
from tsuzuki.coord.redis_client import redis_client
from tsuzuki.model.errors import Unavailable

NAME = "things"


class Steady:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Counted:
    """Writes, counted where two caches see it."""

    def __init__(self) -> None:
        self._count = 0

    async def count(self) -> int:
        return self._count

    async def add(self) -> None:
        self._count += 1


class Uncountable(Counted):
    async def add(self) -> None:
        raise Unavailable("The database does not answer.")


class Maker:
    """Makes a new answer every time, and counts."""

    def __init__(self, during: Callable[[], Awaitable[None]] | None = None) -> None:
        self.count = 0
        self._during = during

    async def __call__(self) -> int:
        self.count += 1
        answer = self.count
        if self._during is not None:
            await self._during()
        return answer


@pytest.fixture(params=["memory", "redis"])
async def caches(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Cache, Cache]]:
    """The caches of two processes."""
    if request.param == "memory":
        writes = Counted()
        yield MemoryCache(writes), MemoryCache(writes)
        return
    clients = [redis_client(request.getfixturevalue("redis_url")) for _ in range(2)]
    await clients[0].flushdb()
    yield RedisCache(clients[0], NAME), RedisCache(clients[1], NAME)
    for client in clients:
        await client.aclose()


async def test_an_answer_is_made_once_for_the_same_question(caches):
    cache, _ = caches
    make = Maker()
    assert [await cache.fetch(int, "a", seconds=60, make=make) for _ in range(3)] == [1, 1, 1]
    assert await cache.fetch(int, "b", seconds=60, make=make) == 2


async def test_a_write_anywhere_is_seen_at_once_everywhere(caches):
    """R53."""
    here, there = caches
    make = Maker()
    await here.fetch(int, "a", seconds=60, make=make)
    await there.fetch(int, "a", seconds=60, make=make)
    before = make.count
    await there.forget()
    assert await here.fetch(int, "a", seconds=60, make=make) == before + 1
    assert await here.fetch(int, "a", seconds=60, make=make) == before + 1


async def test_an_answer_outdated_by_a_write_is_not_cached(caches):
    here, there = caches
    make = Maker(during=there.forget)
    assert await here.fetch(int, "a", seconds=60, make=make) == 1
    assert await here.fetch(int, "a", seconds=60, make=make) == 2


async def test_an_error_is_not_kept(caches):
    cache, _ = caches

    async def fail() -> int:
        raise LookupError

    with pytest.raises(LookupError):
        await cache.fetch(int, "a", seconds=60, make=fail)
    assert await cache.fetch(int, "a", seconds=60, make=Maker()) == 1


async def test_memory_expires_and_stays_bounded():
    steady, make = Steady(), Maker()
    cache = MemoryCache(Counted(), steady=steady)
    assert await cache.fetch(int, "a", seconds=60, make=make) == 1
    steady.now += 59
    assert await cache.fetch(int, "a", seconds=60, make=make) == 1
    steady.now += 2
    assert await cache.fetch(int, "a", seconds=60, make=make) == 2
    for number in range(3000):
        await cache.fetch(int, f"q{number}", seconds=60, make=make)
    assert len(cache._kept) <= 1000


async def test_a_write_without_a_counter_is_seen_anyway():
    cache, make = MemoryCache(Uncountable()), Maker()
    assert await cache.fetch(int, "a", seconds=60, make=make) == 1
    await cache.forget()
    assert await cache.fetch(int, "a", seconds=60, make=make) == 2


async def test_redis_forgets_when_the_time_is_over(redis_url):
    client = redis_client(redis_url)
    await client.flushdb()
    await RedisCache(client, NAME).fetch(int, "a", seconds=60, make=Maker())
    assert 0 < await client.ttl(f"{NAME}:0:a") <= 60
    await client.aclose()


async def test_a_redis_that_does_not_answer_counts_as_none():
    client = redis_client("redis://127.0.0.1:1/0")
    cache, make = RedisCache(client, NAME), Maker()
    assert [await cache.fetch(int, "a", seconds=60, make=make) for _ in range(2)] == [1, 2]
    await cache.forget()
    await client.aclose()
