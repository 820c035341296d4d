"""Chores: each at its moments, once for all processes, whatever happens in between."""

import asyncio
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.app import in_settings, settings_for
from tests.builders import NOON, stored_feed
from tests.delivery.builders import a_reader
from tests.polling.builders import Clock
from tests.waiting import eventually
from tsuzuki.app.bootstrap import open_tsuzuki
from tsuzuki.app.pipeline import pipeline_chores
from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.db.queries import parse_queries
from tsuzuki.db.statistics import refresh_statistics
from tsuzuki.ingest.housekeeping import KEPT_TOMBSTONES, forget_tombstones
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis, from_datetime
from tsuzuki.queue.leases import WorkerContext
from tsuzuki.queue.worker import Worker
from tsuzuki.worker.maintenance import MAINTENANCE, Chore, Housekeeper, Planner

planners = parse_queries(
    "tests",
    "-- name: rows_of_feed\nselect stat from sqlite_stat1 where tbl = 'feed';",
    "-- name: rows_of_feed\nselect cast(cast(reltuples as bigint) as text) from pg_class where relname = 'feed';",
)
q = parse_queries(
    "tests",
    """
-- name: planned
select run_at from task where queue = 'maintenance' and status in ('queued', 'running') order by run_at;
-- name: ended
select status from task where queue = 'maintenance' and finished_at is not null order by id;
-- name: forget
delete from task;
-- name: add_tombstone
insert into entry_tombstone (shelf_id, feed_id, key, at) values (:shelf_id, :feed_id, :key, :at);
-- name: tombstones
select key from entry_tombstone order by key;
""",
)


AT = Millis(3 * HOUR)


class Log:
    """A chore that writes down when it was done, and fails when it is told to."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.done: list[Millis] = []
        self.is_broken = False

    async def work(self) -> int:
        if self.is_broken:
            raise ValueError("not today")
        self.done.append(self._clock())
        return len(self.done)


class MaintenanceProcesses:
    """Processes that share a database, each with its planner and its worker."""

    def __init__(self, db, clock, *, processes=1, every=DAY, at=AT):
        self.db, self.clock, self.log = db, clock, Log(clock)
        chores = [Chore(name="a chore", every=every, at=at, work=self.log.work)]
        wakeup = MemoryWakeup()
        self.planners = [Planner(db, clock, chores) for _ in range(processes)]
        self.workers = [
            Worker(
                WorkerContext(db=db, wakeup=wakeup, clock=clock, name=f"p{n}"),
                MAINTENANCE,
                Housekeeper(db, clock, chores),
            )
            for n in range(processes)
        ]

    async def planned(self):
        return await self.db.read(lambda tx: tx.many(int, q.planned))

    async def ended(self):
        return await self.db.read(lambda tx: tx.many(str, q.ended))

    async def plan(self):
        await asyncio.gather(*(planner.plan() for planner in self.planners))

    async def do(self):
        """All processes do what is due, and no more."""

        async def is_done():
            return not [at for at in await self.planned() if at <= self.clock()]

        running = [asyncio.create_task(worker.run()) for worker in self.workers]
        await eventually(is_done)
        for worker in self.workers:
            worker.stop()
        await asyncio.gather(*running)
        for worker in self.workers:
            worker._is_stopping = False

    async def live(self, span, step):
        """Time goes on; everyone looks now and then."""
        until = self.clock() + span
        await self.plan()
        while self.clock() < until:
            self.clock.turn(step)
            await self.plan()
            await self.do()


@given(st.integers(0, 10**13), st.integers(1, 10**9), st.integers(0, 10**9))
def test_a_moment_is_the_first_of_its_kind_after_now(now, every, offset):
    at = offset % every
    moment = Chore(name="x", every=Millis(every), at=Millis(at), work=None).moment_after(Millis(now))  # type: ignore[arg-type]  # never called
    assert now < moment <= now + every
    assert moment % every == at


async def test_three_processes_do_a_chore_once_a_day(db):
    processes_ = MaintenanceProcesses(db, Clock(NOON), processes=3)
    await processes_.live(3 * DAY, 4 * HOUR)
    assert len(processes_.log.done) == 3
    assert len(await processes_.planned()) == 1


async def test_a_missed_chore_is_made_up_for_once(db):
    processes_ = MaintenanceProcesses(db, Clock(NOON))
    await processes_.plan()
    processes_.clock.turn(10 * DAY)
    await processes_.plan()
    await processes_.do()
    assert len(processes_.log.done) == 1


async def test_rel_19e_a_failed_or_lost_chore_runs_at_its_next_time(db):
    processes_ = MaintenanceProcesses(db, Clock(NOON))
    processes_.log.is_broken = True
    await processes_.plan()
    processes_.clock.turn(DAY)
    for _ in range(MAINTENANCE.settings.attempts):
        await processes_.do()
        processes_.clock.turn(MINUTE)
    assert await processes_.ended() == ["failed"]
    processes_.log.is_broken = False
    await processes_.plan()
    await db.with_tx(lambda tx: tx.run(q.forget))  # as if it had never been written
    await processes_.live(2 * DAY, 6 * HOUR)
    assert len(processes_.log.done) == 2


@pytest.mark.parametrize("day", ["2026-03-28", "2026-10-24"])
async def test_rel_19f_a_daily_chore_runs_once_across_clock_changes(db, day):
    """Moments are UTC: the local day of 23 or 25 hours has one like any other."""
    berlin = ZoneInfo("Europe/Berlin")
    processes_ = MaintenanceProcesses(
        db,
        Clock(from_datetime(datetime.fromisoformat(day).replace(tzinfo=berlin).astimezone(UTC))),
        at=Millis(90 * MINUTE),
    )
    await processes_.live(3 * DAY, 3 * HOUR)
    dates = [datetime.fromtimestamp(at / 1000, berlin).date() for at in processes_.log.done]
    assert len(dates) == len(set(dates)) == 3


async def test_rel_19g_a_clock_step_neither_repeats_nor_delays_a_chore(db):
    processes_ = MaintenanceProcesses(db, Clock(NOON), every=HOUR, at=Millis(0))
    await processes_.plan()
    processes_.clock.turn(HOUR)
    await processes_.do()
    processes_.clock.turn(-30 * MINUTE)
    await processes_.plan()
    assert await processes_.planned() == [NOON + 2 * HOUR]
    await db.with_tx(lambda tx: tx.run(q.forget))
    processes_.clock.turn(400 * DAY)
    await processes_.plan()
    processes_.clock.turn(-400 * DAY)
    await processes_.plan()
    assert (await processes_.planned())[0] <= processes_.clock() + HOUR


async def test_every_chore_runs_at_any_time_on_either_engine(db, database_url, tmp_path):
    settings = settings_for(tmp_path, database_url=in_settings(database_url))
    async with open_tsuzuki(settings) as opened:
        for chore in pipeline_chores(opened.pipeline, settings, opened.db, opened.clock):
            await chore.work()
            await chore.work()


async def test_statistics_are_refreshed_on_either_engine(db):
    for _ in range(30):
        await stored_feed(db)
    await refresh_statistics(db)
    known = await db.read(lambda tx: tx.many(str, planners.rows_of_feed))
    assert {one.partition(" ")[0] for one in known} == {"30"}


async def test_rel_39d_a_tombstone_is_forgotten_after_a_year(db):
    feed = await stored_feed(db)
    shelf = await a_reader(db)
    for key, age in (("old", KEPT_TOMBSTONES + 1), ("young", KEPT_TOMBSTONES - 1)):
        at = Millis(NOON - age)
        values = {"shelf_id": shelf, "feed_id": feed, "key": key, "at": at}
        await db.with_tx(lambda tx, values=values: tx.run(q.add_tombstone, **values))
    assert await forget_tombstones(db, NOON) == 1
    assert await db.read(lambda tx: tx.many(str, q.tombstones)) == ["young"]
