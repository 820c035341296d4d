"""One feed that very many follow: workers are killed in the midst of its delivery, and everybody gets everything once.

A million followers in the soak, and 30,000 in an ordinary run; `TSUZUKI_TEST_FOLLOWERS` says another number. The
figures are shown whatever pytest captures.
"""

import asyncio
import contextlib
import os
import random
import secrets
import time
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise

import aiohttp
import asyncpg
import msgspec
import pytest

from tests.app import Client
from tests.builders import stored_feed, stored_watch
from tests.crash.fleet import many_processes, one_process
from tests.crash.publisher import publishing
from tests.crash.script import BACK_CATALOGUE, Publishers, Step
from tests.crash.test_watched_fleet import address_in
from tests.delivery.builders import a_reader, subscribe
from tests.delivery.crowd import FIRST_SHELF, add_crowd, feed_of_crowd, spans_of
from tests.notifications.receivers import a_notifier
from tests.scale import scaled
from tests.waiting import eventually
from tsuzuki.app.opening import wall_clock
from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.db.queries import parse_queries
from tsuzuki.db.statistics import refresh_statistics
from tsuzuki.delivery.portions import LARGEST
from tsuzuki.delivery.tasks import DELIVERIES, PORTION, prefix_of
from tsuzuki.queue.service import Tasks
from tsuzuki.queue.tasks import open_payloads_tx

FOLLOWERS = int(os.environ.get("TSUZUKI_TEST_FOLLOWERS") or scaled(30_000, 1_000_000))
ITEMS = 3
POPULAR, OTHERS = "popular", tuple(f"other{number}" for number in range(6))
PASSWORD = "canary of the crash test"
DEATHS = scaled(1, 6)
"""Rounds, in each of which every worker dies at a named point."""
POINTS = ("placing", "delivering", "delivered")
KILLS = scaled(0, 4)
"""At random."""
WITHIN = 120.0
SPAN = 50_000
"""Shelves that are counted in one statement."""
WAITED_FOR = 5
"""Portions, at most, while somebody waits for the lock of the feed: the one under way, and those around the request."""
LOOK_EVERY = 0.05

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]

q = parse_queries(
    "tests",
    """
-- name: settle_shelves
update shelf set synced = true where not synced;
-- name: unharvested
select count(*) from watch where first_harvest_at is null;
-- name: unfinished
select count(*) from task where status in ('queued', 'running') and queue <> 'maintenance';
-- name: entries
-- Of the crowd's shelves: how many have how many entries of the feed, and of how many items.
select entries, items, count(*) as shelves from (
  select count(*) as entries, count(distinct item_id) as items from entry
  where shelf_id >= :first and shelf_id < :until and feed_id = :feed_id group by shelf_id
) as counted group by entries, items;
-- name: portions
select appeared_at, count(*) as entries from entry
where shelf_id >= :first and shelf_id < :until and feed_id = :feed_id group by appeared_at;
-- name: events
select events, count(*) as shelves from (
  select count(*) as events from event
  where shelf_id >= :first and shelf_id < :until and kind = 'entry' group by shelf_id
) as counted group by events;
-- name: tallies
select coalesce(sum(unread), 0) from tally
where shelf_id >= :first and shelf_id < :until and kind = 'item' and of_id = :feed_id;
-- name: arrived
select count(*) from entry where shelf_id = :shelf_id and feed_id <> :feed_id;
-- name: letters
select queue from dead_letter where replayed_at is null and discarded_at is null;
""",
)

_LONGEST_TX = """
select extract(epoch from clock_timestamp() - xact_start)::float as seconds, state || ': ' || left(query, 80) as what
from pg_stat_activity
where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
  and xact_start is not null
order by 1 desc limit 1
"""


class ShelfCount(msgspec.Struct, frozen=True):
    entries: int
    items: int
    shelves: int


class PortionCount(msgspec.Struct, frozen=True):
    appeared_at: int | None
    entries: int


class EventCount(msgspec.Struct, frozen=True):
    events: int
    shelves: int


@pytest.fixture
def show(capsys):
    def say(text):
        with capsys.disabled():
            print(text)  # noqa: T201  the figures are half of what this test is for

    return say


class Crowd:
    """A feed of very many, other feeds, a reader of all of them, and a fleet that delivers."""

    def __init__(self, fleet, db, publisher, feed, reader, rng):
        self.fleet = fleet
        self.db = db
        self.publisher = publisher
        self.feed = feed
        self.reader = reader
        self.rng = rng
        self.done = Counter[str]()
        self.seconds = 0.0
        self.longest_tx = (0.0, "")
        """Seconds, and what it was doing."""
        self.others_arrived_at = None
        """How many of the crowd had theirs when the reader had all that other feeds brought out at the same time."""
        self.changes = []
        """Portions that went by while somebody followed the feed, or left it."""
        self._began = self._ended = 0.0

    # -- what happens

    async def publish(self):
        """All of it at once, so that one poll finds it: the feed of very many, and something new of each other one."""
        for number in range(ITEMS):
            self.publisher.take(Step(POPULAR, number))
        for name in OTHERS:
            self.publisher.take(Step(name, BACK_CATALOGUE))
        await eventually(self._is_under_way, WITHIN)
        self._began = time.monotonic()

    async def _is_under_way(self):
        return await self.progress() is not None

    async def progress(self):
        """How many of the crowd have theirs; None when nothing is on its way."""
        deliveries = await self.db.read(lambda tx: open_payloads_tx(tx, DELIVERIES, prefix_of("item", self.feed)))
        return max((max(0, each.after + 1 - FIRST_SHELF) for each in deliveries), default=None)

    async def reach(self, share):
        """Whether so large a share has been delivered, and not yet all of it."""

        async def is_there():
            now = await self.progress()
            return "over" if now is None else now >= share * FOLLOWERS and "there"

        return await eventually(is_there, 1800) == "there"

    async def die_at_points(self):
        """Every process that works dies by its own hand when it comes to its point."""
        await self._kill_all()
        specs = [f"{self._point()}:{self.rng.randint(2, 4)}:KILL" for _ in self.fleet.workers or [None]]
        if self.fleet.workers:
            dying = [await self.fleet.start_worker(place, spec) for place, spec in enumerate(specs)]
        else:
            dying = [await self.fleet.start_server(specs[0])]
        for spec, child in zip(specs, dying, strict=True):
            if await self.fleet.until_dead(child, WITHIN):
                self.done[f"kill -9 at '{spec.partition(':')[0]}'"] += 1
        await self._start_all()

    def _point(self):
        return POINTS[sum(self.done.values()) % len(POINTS)]

    async def kill_at_random(self):
        await self._kill_all()
        self.done["kill -9 at random"] += 1
        await self._start_all()

    async def _kill_all(self):
        for child in self.fleet.workers or [self.fleet.server]:
            await self.fleet.kill(child)

    async def _start_all(self):
        if self.fleet.workers:
            for place in range(len(self.fleet.workers)):
                await self.fleet.start_worker(place)
        else:
            await self.fleet.start_server()

    # -- who looks on

    @asynccontextmanager
    async def watched(self):
        """Look on from beside until the end of the block: at other feeds, and at how old transactions become."""
        looking = asyncio.create_task(self._look_on())
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)

    async def _look_on(self):
        is_postgres = self.db.engine == "postgres"
        onlooker = await asyncpg.connect(self.fleet.database_url) if is_postgres else None
        try:
            while True:
                if onlooker is not None:
                    found = await onlooker.fetchrow(_LONGEST_TX)
                    if found is not None and found["seconds"] > self.longest_tx[0]:
                        self.longest_tx = (found["seconds"], " ".join(found["what"].split()))
                await self._look_at_others()
                await asyncio.sleep(LOOK_EVERY)
        finally:
            if onlooker is not None:
                await onlooker.close()

    async def _look_at_others(self):
        if self.others_arrived_at is None:
            where = {"shelf_id": self.reader, "feed_id": self.feed}
            arrived = await self.db.read(lambda tx: tx.one(int, q.arrived, **where))
            if arrived == len(OTHERS) * (BACK_CATALOGUE + 1):
                self.others_arrived_at = await self.progress()

    @asynccontextmanager
    async def coming_and_going(self):
        """Somebody follows the feed and leaves it again, again and again; each takes the lock that delivery shares."""
        base = address_in(self.fleet.said[self.fleet.server.pid])
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(60)) as session:
            client = Client(session, base)
            signed_in = await client.post("/api/v1/sessions", {"username": "admin", "password": PASSWORD})
            assert signed_in.status == 200, signed_in.text
            cookie = signed_in.headers["set-cookie"].partition(";")[0]
            going = asyncio.create_task(self._come_and_go(client, {"cookie": cookie}))
            try:
                yield
            finally:
                going.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await going

    async def _come_and_go(self, client, headers):
        link = self.publisher.feed_url(POPULAR)
        while True:
            before = await self.progress()
            followed = await client.post("/api/v1/feeds", {"link": link}, headers=headers)
            assert followed.status == 201, followed.text
            between = await self.progress()
            left = await client.ask("DELETE", f"/api/v1/feeds/{followed.json()['data']['id']}", headers=headers)
            assert left.status == 204, left.text
            after = await self.progress()
            if before is not None and after is not None:
                places = PORTION // ITEMS
                self.changes += [(between - before) / places, (after - between) / places]
            await asyncio.sleep(LOOK_EVERY)

    # -- the end

    async def settle(self):
        """Wait until nothing is on its way any more."""

        async def is_over():
            return await self.progress() is None

        async def is_idle():
            return not await self.db.read(lambda tx: tx.one(int, q.unfinished))

        await eventually(is_over, 1800)
        self._ended = time.monotonic()
        self.seconds = self._ended - self._began
        await eventually(is_idle, WITHIN)
        for queue in await self.letters():  # three kills under one task (R42): replayed, as an operator would
            self.done[f"given up, replayed: {queue}"] += 1
        await Tasks(self.db, MemoryWakeup(), wall_clock).replay_all()
        await eventually(is_idle, WITHIN)

    async def letters(self):
        """The queues of what was given up."""
        return await self.db.read(lambda tx: tx.many(str, q.letters))

    async def count(self):
        """Entries of the crowd that are lost and doubled, events too few or too many, and the largest portion."""
        lost = doubled = events = tallied = 0
        portions = Counter[int | None]()
        for span in spans_of(range(FOLLOWERS), SPAN):
            where = {"feed_id": self.feed, **span}
            counts = await self._many(ShelfCount, q.entries, where)
            shelves = sum(each.shelves for each in counts)
            lost += ITEMS * (span["until"] - span["first"] - shelves)
            lost += sum((ITEMS - each.items) * each.shelves for each in counts)
            doubled += sum((each.entries - each.items) * each.shelves for each in counts)
            found = await self._many(EventCount, q.events, span)
            events += span["until"] - span["first"] - sum(each.shelves for each in found if each.events == 1)
            portions.update(
                {each.appeared_at: each.entries for each in await self._many(PortionCount, q.portions, where)}
            )
            tallied += (await self._many(int, q.tallies, where))[0]
        return {"lost": lost, "doubled": doubled, "events": events, "tallied": tallied}, portions

    async def _many(self, row, query, where):
        return await self.db.read(lambda tx: tx.many(row, query, **where))

    def polls(self):
        """How often each other feed was asked for meanwhile, and the longest that one was not."""
        gaps, counts = [], []
        for name in OTHERS:
            times = [at for at in self.publisher.asked[name] if self._began <= at <= self._ended]
            counts.append(len(times))
            marks = [self._began, *times, self._ended]
            gaps.append(max(after - before for before, after in pairwise(marks)))
        return counts, max(gaps)


@asynccontextmanager
async def stage(fleet, show):
    """A crowd whose feeds are all known, and a fleet that polls them every second."""
    seed = int(os.environ.get("TSUZUKI_TEST_SEED", secrets.randbits(32)))
    show(f"\nTSUZUKI_TEST_SEED={seed}")
    async with publishing(Publishers((POPULAR, *OTHERS), ()), readers=1) as publisher:
        publisher.feeds[POPULAR].items.clear()
        url = fleet.database_url.replace("sqlite:////", "sqlite:///")
        db = await open_database(DatabaseOptions(url))
        try:
            await a_reader(db)  # the first shelf is the administrator's, who comes and goes
            others = [await stored_feed(db, publisher.feed_url(name)) for name in OTHERS]
            reader = await a_reader(db, feeds=others)
            async with a_notifier(db) as notifier:
                await notifier.webhook(reader, publisher.hook_url(0))
            began = time.monotonic()
            await add_crowd(db, FOLLOWERS)
            feed = await feed_of_crowd(db, FOLLOWERS, publisher.feed_url(POPULAR))
            await subscribe(db, reader, feed)
            await db.with_tx(lambda tx: tx.run(q.settle_shelves))
            await refresh_statistics(db)
            show(f"{FOLLOWERS:,} followers, set up in {time.monotonic() - began:.0f} s")
            for name, each in zip((POPULAR, *OTHERS), (feed, *others), strict=True):
                await stored_watch(db, each, host=publisher.feed_host(name), next_check_at=wall_clock())
            await fleet.start()

            async def are_known():
                return not await db.read(lambda tx: tx.one(int, q.unharvested))

            await eventually(are_known, WITHIN)
            yield Crowd(fleet, db, publisher, feed, reader, random.Random(seed))
        finally:
            await db.close()


async def deliver_among_deaths(crowd):
    async with crowd.watched(), AsyncExitStack() as stack:
        await crowd.publish()
        if fleet_has_workers := bool(crowd.fleet.workers):
            await stack.enter_async_context(crowd.coming_and_going())
        for _ in range(DEATHS):
            await crowd.die_at_points()
        for number in range(KILLS):
            if await crowd.reach((number + 1) / (KILLS + 2)):
                await crowd.kill_at_random()
        if not fleet_has_workers:  # the one that serves does not die any more
            await stack.enter_async_context(crowd.coming_and_going())
        await crowd.settle()


async def must_be_whole(crowd, title, show):
    found, portions = await crowd.count()
    counts, gap = crowd.polls()
    told = {name: len(ids) for name, ids in crowd.publisher.told["0"].items()}
    lines = [
        title,
        f"  {'entries: expected, lost, doubled':44}{FOLLOWERS * ITEMS:>12,}{found['lost']:>6}{found['doubled']:>6}",
        f"  {'shelves without exactly one event':44}{found['events']:>12,}",
        f"  {'transactions, entries in the largest':44}{len(portions):>12,}{max(portions.values()):>12,}",
        *(f"  {what:44}{count:>12,}" for what, count in sorted(crowd.done.items())),
        f"  {'seconds, deaths included':44}{crowd.seconds:>12.1f}",
        f"  {'oldest transaction seen, s':44}{crowd.longest_tx[0]:>12.2f} {crowd.longest_tx[1]}",
        f"  {'polls of each other feed meanwhile':44}{min(counts):>12,} to {max(counts):,}",
        f"  {'longest without a poll of one, s':44}{gap:>12.1f}",
        f"  {'of the crowd before others were delivered':44}{crowd.others_arrived_at or 0:>12,}",
        f"  {'followed and left meanwhile':44}{len(crowd.changes):>12,}",
        f"  {'most portions during one of these':44}{max(crowd.changes, default=0):>12.1f}",
    ]
    show("\n".join(lines))
    assert found == {"lost": 0, "doubled": 0, "events": 0, "tallied": FOLLOWERS * ITEMS}
    assert max(portions.values()) <= LARGEST
    assert len(portions) >= FOLLOWERS * ITEMS // LARGEST
    assert told == {f"{POPULAR}-{n}": 1 for n in range(ITEMS)} | {f"{name}-{BACK_CATALOGUE}": 1 for name in OTHERS}
    assert await crowd.letters() == []
    assert min(counts) > 0, "a feed was not polled while the other was delivered"
    assert crowd.others_arrived_at is not None, "other feeds waited for the end of the delivery"
    assert max(crowd.changes, default=0) <= WAITED_FOR
    assert set(await crowd.fleet.stop()) <= {0}
    assert crowd.fleet.exits == []


async def test_one_process_delivers_a_large_feed_exactly_once(tmp_path, show):
    async with one_process(tmp_path) as fleet, stage(fleet, show) as crowd:
        await deliver_among_deaths(crowd)
        await must_be_whole(crowd, "One process on SQLite", show)


@pytest.mark.server
async def test_many_processes_deliver_a_large_feed_exactly_once(tmp_path, show):
    async with many_processes(tmp_path, workers=2) as (fleet, _), stage(fleet, show) as crowd:
        await deliver_among_deaths(crowd)
        await must_be_whole(crowd, "A server and two workers on PostgreSQL and Redis", show)
