"""R97: a host with many due feeds keeps other hosts from nothing, and a claim costs the same however many wait."""

import asyncio
import time

import msgspec
import pytest

from tests.builders import NOON
from tests.net.builders import a_server, answer
from tests.polling.builders import a_feed, a_poller, a_publisher
from tests.scale import scaled
from tests.waiting import eventually
from tests.worker.test_poll_pace import polling
from tsuzuki.db.deadlines import long_deadline
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.times import HOUR, Millis
from tsuzuki.polling.store import LOOK_AHEAD, BusyHosts, claim_due_watches_tx, claim_new_watches_tx
from tsuzuki.worker.poll_loop import StartPace

MANY, FEW = 50_000, 20
BUSY, OTHER = "127.0.0.1", "127.0.0.3"

q = parse_queries(
    "tests",
    """
-- name: analyze
analyze watch;
-- name: add_feeds
insert into feed (link, proxy, title, created_at, updated_at)
with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < cast(:count as bigint))
select :url || '/' || n, '', '', 1, 1 from numbers;
-- name: add_watches
insert into watch (feed_id, host, priority, next_check_at, created_at, last_checked_at)
select id, :host, 2, cast(:due as bigint), 1, cast(:seen as bigint) from feed where link like :url || '/%';
-- name: polled
select count(*) from watch where host = :host and last_http_status = 200;
-- name: waiting
select count(*) as count, min(next_check_at) as first, max(next_check_at) as last from watch
where host = :host and last_http_status is null and lease_until is null;
""",
)


class Line(msgspec.Struct, frozen=True):
    count: int
    first: Millis
    last: Millis


async def fill(db, url, host, *, count, due, seen):
    async def add(tx):
        await tx.run(q.add_feeds, url=url, count=count)
        await tx.run(q.add_watches, url=url, host=host, due=due, seen=seen)

    await db.with_tx(add)


def ticking():
    began = time.monotonic()
    return lambda: Millis(NOON + int((time.monotonic() - began) * 1000))


@pytest.mark.parametrize("seen", [None, NOON - 2 * HOUR], ids=["all new", "polled before"])
@pytest.mark.parametrize("delay", [0.0, 0.5], ids=["quick", "slow"])
async def test_twenty_feeds_are_polled_beside_50_000_due_ones(db, seen, delay):
    """The busy host's own keep their places meanwhile. By their turn alone the twenty would wait for hours."""
    async with (
        a_publisher() as busy,
        a_publisher() as quick,
        a_server(quick.handle, host=OTHER) as other,
        a_poller(db, ticking(), lease=HOUR) as poller,
    ):
        busy.response = quick.response = answer(200, a_feed("1"))
        busy.delay = delay
        await fill(db, busy.url, BUSY, count=MANY, due=NOON - HOUR, seen=seen)
        await fill(db, other.url, OTHER, count=FEW, due=NOON, seen=seen)
        async with polling(poller):

            async def are_all_polled():
                counts = [
                    await db.read(lambda tx, host=host: tx.one(int, q.polled, host=host)) for host in (OTHER, BUSY)
                ]
                return counts[0] == FEW and counts[1] > 0

            await eventually(are_all_polled, within=120.0)
        line = await db.read(lambda tx: tx.one(Line, q.waiting, host=BUSY))
        assert line.count < MANY
        assert (line.first, line.last) == (NOON - HOUR, NOON - HOUR)


def test_a_dominating_host_lets_others_begin():
    pace = StartPace(burst=4)
    assert pace.served == frozenset()
    pace.spend(["a"])
    assert pace.served == {"a"}
    pace.spend(["b"])
    assert pace.served == frozenset()
    pace.spend(["a", "a"])
    assert pace.served == {"a"}
    pace.spend(["b", "c", "d"])
    assert pace.served == frozenset()


async def test_a_host_asking_us_to_wait_keeps_its_queue(db):
    """R21: two feeds were told to wait an hour; the others are not claimed one by one to be put off."""
    async with a_publisher() as publisher, a_poller(db, ticking(), lease=HOUR) as poller:
        publisher.response = answer(429, b"", retry_after="3600")
        await fill(db, publisher.url, BUSY, count=300, due=NOON - HOUR, seen=None)
        async with polling(poller) as polled:

            async def are_some_told():
                return len(polled) >= 3

            await eventually(are_some_told)
            await asyncio.sleep(3.0)
        line = await db.read(lambda tx: tx.one(Line, q.waiting, host=BUSY))
        assert line.count >= 300 - 10
        assert len(polled) <= 10


# -- what a claim reads


CLAIMS = {
    "due": lambda tx: claim_due_watches_tx(tx, {1: 2, 2: 2, 3: 2}, now=NOON, lease=HOUR, busy=BusyHosts([BUSY])),
    "new": lambda tx: claim_new_watches_tx(tx, 2, now=NOON, lease=HOUR, busy=BusyHosts([BUSY])),
}


async def took(db, claim):
    """Seconds of the quickest of several."""
    best = 9.0
    for _ in range(15):
        began = time.perf_counter()
        await db.with_tx(CLAIMS[claim])
        best = min(best, time.perf_counter() - began)
    return best


@pytest.mark.soak
@pytest.mark.parametrize("claim", CLAIMS)
async def test_a_claim_costs_the_same_however_many_wait(db, claim):
    """Also behind the line of a full host."""
    await fill(db, "http://few", BUSY, count=LOOK_AHEAD * 5, due=NOON, seen=None)
    few = await took(db, claim)
    with long_deadline():
        await fill(db, "http://many", BUSY, count=scaled(50_000, 500_000), due=NOON, seen=None)
        if db.engine == "postgres":  # as autovacuum does within a minute: plans were made for the few
            await db.with_tx(lambda tx: tx.run(q.analyze))
    assert await took(db, claim) < few * 4 + 0.004
