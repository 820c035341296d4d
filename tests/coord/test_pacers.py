"""One suite over every pacer: in memory, and shared through Redis."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import pytest
from redis.asyncio import Redis

from tsuzuki.coord.pacer import SECOND, MemoryPacer, Pacer, Rate
from tsuzuki.coord.redis_client import RedisPacer
from tsuzuki.model.times import MINUTE, Millis

SLOW = Rate(per_second=10)
LONG = Millis(MINUTE)
HOUR_OFF = 3600 * SECOND


def micros() -> int:
    return time.monotonic_ns() // 1000


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.server)])
async def pacers(request: pytest.FixtureRequest) -> AsyncIterator[Callable[[], Pacer]]:
    """Makes pacers that share what pacers of their kind share."""
    if request.param == "memory":
        one = MemoryPacer(micros)
        yield lambda: one
        return
    async with Redis.from_url(request.getfixturevalue("redis_url")) as redis:
        await redis.flushdb()
        yield lambda: RedisPacer(redis, micros)


async def test_turns_are_spread_over_the_rate(pacers):
    one, two = pacers(), pacers()
    turns = [await pacer.reserve("a.example", "w", rate=SLOW, patience=LONG) for pacer in (one, two, one, two)]
    waits = [turn.wait for turn in turns]
    assert waits[0] == 0
    assert all(turn.is_reserved for turn in turns)
    assert 250_000 < waits[3] <= 300_000


async def test_each_bucket_has_its_own_turns(pacers):
    for bucket in ("a.example", "b.example", "a.example via http://proxy.example"):
        assert (await pacers().reserve(bucket, "w", rate=SLOW, patience=LONG)).wait == 0


async def test_a_burst_comes_at_once(pacers):
    burst = Rate(per_second=1, burst=3)
    began = time.monotonic()
    waits = [(await pacers().reserve("a.example", "w", rate=burst, patience=LONG)).wait for _ in range(4)]
    took = (time.monotonic() - began) * 1e6
    assert waits[:3] == [0, 0, 0]
    assert 1_000_000 - took - 1000 <= waits[3] <= 1_000_000


async def test_a_turn_beyond_patience_is_not_taken(pacers):
    pacer = pacers()
    await pacer.reserve("a.example", "w", rate=Rate(0.1), patience=LONG)
    for _ in range(3):
        turn = await pacer.reserve("a.example", "w", rate=Rate(0.1), patience=Millis(100))
        assert not turn.is_reserved
        assert 9 * SECOND < turn.wait <= 10 * SECOND


async def test_a_second_penalty_holds_everybody_back(pacers):
    """R21, SEC-11."""
    pacer, other = pacers(), pacers()
    await pacer.penalise("a.example", "one", Millis(60 * MINUTE))

    async def is_held(who: str) -> bool:
        turn = await other.reserve("a.example", who, rate=Rate(1000), patience=LONG)
        return not turn.is_reserved

    assert [await is_held("one"), await is_held("two"), await is_held("three")] == [True, False, False]
    await other.penalise("a.example", "two", Millis(30 * MINUTE))
    assert [await is_held("one"), await is_held("two"), await is_held("three")] == [True, True, True]
    turn = await pacer.reserve("a.example", "three", rate=SLOW, patience=LONG)
    assert HOUR_OFF // 2 - SECOND < turn.wait <= HOUR_OFF // 2
    assert (await pacer.reserve("b.example", "one", rate=SLOW, patience=LONG)).is_reserved


async def test_a_shorter_penalty_does_not_shorten_a_longer_one(pacers):
    pacer = pacers()
    await pacer.penalise("a.example", "one", Millis(60 * MINUTE))
    await pacer.penalise("a.example", "one", Millis(1000))
    assert (await pacer.reserve("a.example", "one", rate=SLOW, patience=LONG)).wait > HOUR_OFF - SECOND


async def test_a_penalty_runs_out(pacers):
    pacer = pacers()
    began = time.monotonic()
    await pacer.penalise("a.example", "one", Millis(200))
    turn = await pacer.reserve("a.example", "one", rate=SLOW, patience=LONG)
    assert not turn.is_reserved or time.monotonic() - began >= 0.2  # a busy machine may come too late
    await asyncio.sleep(0.21)
    assert (await pacer.reserve("a.example", "one", rate=SLOW, patience=LONG)).is_reserved


async def test_no_more_than_the_limit_are_in_at_once(pacers):
    inside = most = 0

    async def enter(pacer: Pacer) -> None:
        nonlocal inside, most
        async with pacer.slot("a.example", 2):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.02)
            inside -= 1

    shared = [pacers(), pacers()]
    await asyncio.gather(*(enter(shared[n % 2]) for n in range(10)))
    assert (inside, most) == (0, 2)


async def test_a_place_is_released_after_failure_or_cancellation(pacers):
    pacer = pacers()

    async def fail() -> None:
        async with pacer.slot("a.example", 1):
            await asyncio.sleep(60)

    for _ in range(2):
        task = asyncio.create_task(fail())
        waiting = asyncio.create_task(fail())
        await asyncio.sleep(0.05)
        waiting.cancel()
        task.cancel()
        await asyncio.gather(task, waiting, return_exceptions=True)
    async with asyncio.timeout(1), pacer.slot("a.example", 1):
        pass


async def test_memory_forgets_the_buckets_that_rest():
    now = 0
    pacer = MemoryPacer(lambda: now)
    for n in range(3000):
        await pacer.reserve(f"{n}.example", "w", rate=SLOW, patience=LONG)
    await pacer.penalise("held.example", "w", LONG)
    now = 10 * SECOND
    for n in range(3000):
        await pacer.reserve(f"again-{n}.example", "w", rate=SLOW, patience=LONG)
    assert len(pacer._buckets) < 5000
    assert not (await pacer.reserve("held.example", "w", rate=SLOW, patience=LONG)).is_reserved


async def test_without_redis_each_process_keeps_its_own_pace(redis_url):
    """Redis is a convenience (R40): its loss costs the sharing, not the pace."""
    now = 0
    async with Redis.from_url("redis://127.0.0.1:1/0") as gone:
        pacer = RedisPacer(gone, lambda: now)
        assert (await pacer.reserve("a.example", "w", rate=SLOW, patience=LONG)).wait == 0
        assert (await pacer.reserve("a.example", "w", rate=SLOW, patience=LONG)).wait == 100_000
        await pacer.penalise("b.example", "w", LONG)
        assert not (await pacer.reserve("b.example", "w", rate=SLOW, patience=LONG)).is_reserved
        async with pacer.slot("a.example", 1):
            pass
        async with Redis.from_url(redis_url) as back:
            await back.flushdb()
            gone.connection_pool = back.connection_pool
            await pacer.reserve("a.example", "w", rate=SLOW, patience=LONG)
            assert await back.keys("*") == []  # still resting
            now += 3 * SECOND
            await pacer.reserve("a.example", "w", rate=SLOW, patience=LONG)
            assert await back.keys("*") == [b"tsuzuki:pace:{a.example}:tat"]


async def test_redis_keeps_nothing_for_ever(redis_url):
    async with Redis.from_url(redis_url) as redis:
        await redis.flushdb()
        pacer = RedisPacer(redis, micros)
        await pacer.reserve("a.example", "w", rate=SLOW, patience=LONG)
        await pacer.penalise("a.example", "w", LONG)
        async with pacer.slot("a.example", 2):
            keys = await redis.keys("*")
            assert len(keys) == 3
            assert all([0 < await redis.pttl(key) <= 130_000 for key in keys])
        await redis.flushdb()
        assert (await pacer.reserve("a.example", "w", rate=SLOW, patience=LONG)).is_reserved
