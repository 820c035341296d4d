"""The loop that polls: after a long absence, and when it is told to stop."""

import asyncio
import time
from collections import Counter
from contextlib import asynccontextmanager

from tests.builders import NOON, stored_feed, stored_watch
from tests.net.builders import answer
from tests.polling.builders import a_feed, a_poller, a_publisher, state
from tests.waiting import eventually
from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.model.times import DAY, HOUR, Millis
from tsuzuki.worker.poll_loop import PollLoop

HOSTS, EACH, AT_ONCE = 5, 6, 6


class Busy:
    """A publisher that notes how many call it at the same time, in all and for each host."""

    def __init__(self) -> None:
        self.now: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()

    async def handle(self, head, writer) -> None:
        path = head.split(b" ", 2)[1].decode()
        names = (path.split("/")[1], "all")
        self.calls[path] += 1
        for name in names:
            self.now[name] += 1
            self.most[name] = max(self.most[name], self.now[name])
        await asyncio.sleep(0.02)
        for name in names:
            self.now[name] -= 1
        writer.write(answer(200, a_feed("1")))


def after(days: int):
    """A clock that stood still for so many days."""
    began = time.monotonic()
    return lambda: Millis(NOON + days * DAY + int((time.monotonic() - began) * 1000))


async def test_rel_39b_after_three_days_away_everything_is_polled_once(db):
    busy, polled = Busy(), []
    async with a_publisher(busy.handle) as publisher, a_poller(db, after(3), lease=HOUR) as poller:
        watches = []
        for number in range(HOSTS * EACH):
            host = f"h{number % HOSTS}"
            feed = await stored_feed(db, f"{publisher.url}/{host}/{number}")
            watches.append(await stored_watch(db, feed, host=host, next_check_at=Millis(NOON + number)))
        loop = PollLoop(
            poller,
            MemoryWakeup(),
            concurrency=AT_ONCE,
            ingest_wakeups=(),
            polled=lambda outcome, _: polled.append(outcome.outcome),
        )
        running = asyncio.create_task(loop.run())

        async def is_done():
            return len(polled) >= len(watches)

        await eventually(is_done)
        loop.stop()
        await running
        next_checks = [(await state(db, watch)).next_check_at for watch in watches]
    assert set(busy.calls.values()) == {1}
    assert busy.most.pop("all") <= AT_ONCE
    assert max(busy.most.values()) <= 2
    assert min(next_checks) > NOON + 3 * DAY


class Slow(Busy):
    """Answers `quick` calls at once, and the others when it may."""

    def __init__(self, quick: int) -> None:
        super().__init__()
        self.quick = quick
        self.waiting = 0
        self.may_go = asyncio.Event()

    async def handle(self, head, writer) -> None:
        self.quick -= 1
        if self.quick < 0:
            self.waiting += 1
            await self.may_go.wait()
        await super().handle(head, writer)


async def leased(db, watches, now):
    states = [await state(db, each) for each in watches]
    return len([each for each in states if each.lease_until is not None and each.lease_until > now])


@asynccontextmanager
async def running(loop, slow):
    """A loop that is told to stop in the end, before those who wait are answered."""
    running = asyncio.create_task(loop.run())
    try:
        yield
    finally:
        loop.stop()
        slow.may_go.set()
        await running


async def a_crowd(db, url, count):
    return [await stored_watch(db, await stored_feed(db, f"{url}/h/{n}"), host=f"h{n}") for n in range(count)]


async def test_with_quick_polls_the_next_are_claimed_early(db):
    """They are called when one is, and those whose turn does not come before the end are due again at once."""
    slow, places, clock = Slow(quick=24), 8, after(0)
    async with a_publisher(slow.handle) as publisher, a_poller(db, clock, lease=HOUR) as poller:
        watches = await a_crowd(db, publisher.url, 60)
        loop = PollLoop(poller, MemoryWakeup(), concurrency=places, ingest_wakeups=(), polled=lambda *_: None)
        async with running(loop, slow):

            async def some_wait():
                return slow.waiting == places and await leased(db, watches, clock()) > places

            await eventually(some_wait)
        states = [await state(db, each) for each in watches]
    polled = [each for each in states if each.last_http_status is not None]
    assert len(polled) == slow.calls.total() < len(watches)
    assert slow.waiting <= places
    assert await leased(db, watches, clock()) == 0


async def test_with_slow_polls_nothing_is_claimed_early(db):
    slow, places = Slow(quick=0), 4
    async with a_publisher(slow.handle) as publisher, a_poller(db, after(0)) as poller:
        watches = await a_crowd(db, publisher.url, 20)
        loop = PollLoop(poller, MemoryWakeup(), concurrency=places, ingest_wakeups=(), polled=lambda *_: None)
        async with running(loop, slow):

            async def all_call():
                return slow.waiting == places

            await eventually(all_call)
            await asyncio.sleep(0.1)
            assert await leased(db, watches, NOON) == places


async def test_a_stopping_loop_finishes_and_begins_nothing(db):
    busy = Busy()
    async with a_publisher(busy.handle) as publisher, a_poller(db, after(0)) as poller:
        watches = [
            await stored_watch(db, await stored_feed(db, f"{publisher.url}/h/{n}"), host=f"h{n}") for n in range(4)
        ]
        loop = PollLoop(poller, MemoryWakeup(), concurrency=2, ingest_wakeups=(), polled=lambda *_: loop.stop())
        await loop.run()
        left = [watch for watch in watches if (await state(db, watch)).last_http_status is None]
    assert 0 < len(left) < 4
    assert len(left) + len(busy.calls) == 4
