"""The loop towards publishers: nobody's slow hosts hold all places, days away end in no burst, a clock is put right."""

import asyncio
import time
from contextlib import asynccontextmanager

import pytest

from tests.builders import NOON, a_public_id, stored_feed, stored_shelf, stored_watch
from tests.net.builders import a_server, answer
from tests.polling.builders import Clock, a_feed, a_poller, a_publisher, state
from tests.stopwatch import Stopwatch
from tests.waiting import eventually
from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.worker.poll_loop import CATCHING_UP, SLOWEST_START, PollLoop, StartPace

PLACES = 10
SLOW_HOSTS = 30

q = parse_queries(
    "tests",
    """
-- name: add_group
insert into shelf_group (public_id, shelf_id, name, position, created_at, updated_at)
values (:public_id, :shelf_id, 'g', 0, 1, 1) returning id;
-- name: subscribe
insert into subscription (public_id, shelf_id, feed_id, group_id, created_at, updated_at)
values (:public_id, :shelf_id, :feed_id, :group_id, 1, 1);
-- name: seen
update watch set last_checked_at = :at, first_harvest_at = :at, next_check_at = :due;
""",
)


async def follow(db, shelf, feeds):
    async def add(tx):
        group = await tx.one(int, q.add_group, public_id=a_public_id(), shelf_id=shelf)
        for feed in feeds:
            await tx.run(q.subscribe, public_id=a_public_id(), shelf_id=shelf, feed_id=feed, group_id=group)

    await db.with_tx(add)


@asynccontextmanager
async def polling(poller, *, places=PLACES):
    polled = []
    loop = PollLoop(
        poller, MemoryWakeup(), concurrency=places, ingest_wakeups=(), polled=lambda one, _: polled.append(one)
    )
    running = asyncio.create_task(loop.run(patience=0.1))
    try:
        yield polled
    finally:
        loop.stop()
        await running


class SlowHosts:
    """Hosts that send a byte now and then, for as long as somebody listens."""

    def __init__(self) -> None:
        self.holds = 0

    async def handle(self, _, writer) -> None:
        self.holds += 1
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\n")
        try:
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.2)
        finally:
            self.holds -= 1


@pytest.mark.parametrize("is_seen", [False, True], ids=["all new", "polled before"])
async def test_thirty_slow_hosts_do_not_delay_other_readers(db, is_seen):
    """Somebody else's new feed is polled within 5 s, though each slow one may hold its place for ten."""
    loris = SlowHosts()
    async with (
        a_server(loris.handle, host="127.0.0.3") as slow,
        a_publisher() as quick,
        a_poller(db, lambda: Millis(NOON + int(time.monotonic() * 1000)), lease=HOUR) as poller,
    ):
        quick.response = answer(200, a_feed("1"))
        feeds = [await stored_feed(db, f"{slow.url}/{n}") for n in range(SLOW_HOSTS)]
        for number, feed in enumerate(feeds):
            await stored_watch(db, feed, host=f"slow{number}.example", priority=1)
        if is_seen:
            await db.with_tx(lambda tx: tx.run(q.seen, at=NOON - DAY, due=NOON))
        await follow(db, await stored_shelf(db), feeds)
        other = await stored_shelf(db)
        async with polling(poller) as polled:

            async def is_held_up():
                return loris.holds >= 5

            await eventually(is_held_up)
            await asyncio.sleep(1.5)  # whatever more it would take, it has taken by now
            assert loris.holds < PLACES
            feed = await stored_feed(db, f"{quick.url}/new")
            await follow(db, other, [feed])
            watch = await stored_watch(db, feed, host="127.0.0.1", priority=1)
            stopwatch = Stopwatch()

            async def is_polled():
                return any(one.outcome == "changed" for one in polled)

            await eventually(is_polled)
            assert stopwatch.seconds() < 5.0
        assert (await state(db, watch)).last_http_status == 200


async def test_where_one_shelf_is_alone_it_has_all_the_places(db):
    loris = SlowHosts()
    async with a_server(loris.handle) as slow, a_poller(db, Clock(), lease=HOUR) as poller:
        feeds = [await stored_feed(db, f"{slow.url}/{n}") for n in range(SLOW_HOSTS)]
        for number, feed in enumerate(feeds):
            await stored_watch(db, feed, host=f"slow{number}.example")
        await follow(db, await stored_shelf(db), feeds)
        async with polling(poller):

            async def are_all_taken():
                return loris.holds == PLACES

            await eventually(are_all_taken)


# -- days away


def test_polls_begin_at_the_pace_at_which_they_fall_due():
    pace = StartPace(burst=10)
    pace.set_demand(per_second=100 / 1800)
    assert pace.left(0.0) == 10
    pace.spend(["h"] * 10)
    assert [pace.left(moment) for moment in (0.5, 1.0, 3.0)] == [0, int(SLOWEST_START), int(3 * SLOWEST_START)]
    pace.set_demand(per_second=20.0)
    pace.spend(["h"] * 3)
    assert pace.left(4.0) == 20 * CATCHING_UP
    assert pace.left(1000.0) == 20 * CATCHING_UP
    assert pace.left(1000.0) == 20 * CATCHING_UP


async def test_after_days_away_polls_are_spread_new_feeds_excepted(db):
    """All of them would be over within a second; a new feed does not wait for them."""
    feeds = 60
    async with a_publisher() as publisher, a_poller(db, lambda: Millis(NOON + 3 * DAY), lease=HOUR) as poller:
        publisher.response = answer(200, a_feed("1"))
        for number in range(feeds):
            feed = await stored_feed(db, f"{publisher.url}/{number}")
            await stored_watch(db, feed, host=f"h{number}.example")
        await db.with_tx(lambda tx: tx.run(q.seen, at=NOON, due=NOON + 30 * MINUTE))
        async with polling(poller) as polled:

            async def has_begun():
                return len(polled) >= PLACES

            await eventually(has_begun)
            began = time.monotonic()
            await asyncio.sleep(2.0)
            new = await stored_watch(db, await stored_feed(db, f"{publisher.url}/new"), host="new.example")

            async def is_polled():
                return (await state(db, new)).last_http_status == 200

            await eventually(is_polled)
            passed = time.monotonic() - began
            assert PLACES <= len(polled) <= PLACES + 2 + SLOWEST_START * (passed + 1)
            assert len(polled) < feeds / 2


# -- the clock


async def test_a_starting_loop_repairs_plans_of_a_fast_clock(db):
    clock = Clock(Millis(NOON + 2 * DAY))
    async with a_publisher() as publisher, a_poller(db, clock) as poller:
        publisher.response = answer(200, a_feed("1"))
        watch = await stored_watch(db, await stored_feed(db, f"{publisher.url}/feed"), host="127.0.0.1")
        async with polling(poller) as polled:
            await eventually(lambda: are(polled, 1))
        clock.turn(-2 * DAY)
        async with polling(poller):
            await eventually(lambda: is_planned(db, watch, NOON + 30 * MINUTE))


async def test_a_loop_notices_that_its_clock_was_put_back(db):
    clock = Clock(Millis(NOON + 2 * DAY))
    async with a_publisher() as publisher, a_poller(db, clock) as poller:
        publisher.response = answer(200, a_feed("1"))
        watch = await stored_watch(db, await stored_feed(db, f"{publisher.url}/feed"), host="127.0.0.1")
        async with polling(poller) as polled:
            await eventually(lambda: are(polled, 1))
            clock.turn(-2 * DAY)
            await eventually(lambda: is_planned(db, watch, NOON + 30 * MINUTE))
            clock.turn(30 * MINUTE)
            await eventually(lambda: are(polled, 2))


async def are(polled, count):
    return len(polled) == count


async def is_planned(db, watch, at):
    return (await state(db, watch)).next_check_at == at
