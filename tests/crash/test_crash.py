"""kill -9, frozen workers, restarts and flushes everywhere, and an outside ledger that finds nothing missing (I1-I4).

A publisher brings out installments and repeats of them while the faults happen. The counts of `make soak` are ten
times those of an ordinary run. `TSUZUKI_TEST_SEED` repeats a run's choices. Seed and table are shown whatever pytest
captures.
"""

import asyncio
import os
import random
import secrets
from collections.abc import Callable
from contextlib import asynccontextmanager

import msgspec
import pytest

from tests.crash.chaos import Chaos, Plan, run_in_many_processes, run_in_one_process
from tests.crash.fleet import LEASE_S, many_processes, one_process
from tests.crash.ledger import Ledger
from tests.crash.publisher import publishing
from tests.crash.script import cast_for, write
from tests.scale import SOAK
from tsuzuki.app.opening import wall_clock
from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.model.times import SECOND
from tsuzuki.queue.policy import FLOOR
from tsuzuki.queue.service import Tasks

READERS = 5
PORTION = 2
"""Entries: what these readers follow takes three portions at least, and every other delivery goes in them."""
HITS = 12
"""As often a worker is hit until the ledger sees the fault: on a busy machine it may not come to its point in time."""
SLACK_S = 2.0
"""For a machine that does other things too."""
ONE = Plan(installments=2000, repeats=600, server_kills=40)
MANY = Plan(
    installments=2000,
    repeats=600,
    worker_kills=100,
    server_kills=20,
    freezes=10,
    postgres_restarts=10,
    redis_kills=10,
    flushes=10,
)

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]


def share_of(plan: Plan) -> Plan:
    """A tenth, unless this is the soak."""
    if os.environ.get(SOAK):
        return plan
    return Plan(**{name: -(-count // 10) for name, count in msgspec.structs.asdict(plan).items()})


@pytest.fixture
def show(capsys) -> Callable[[str], None]:
    def say(text: str) -> None:
        with capsys.disabled():
            print(text)  # noqa: T201  the table is what this test is for

    return say


@asynccontextmanager
async def stage(fleet, plan, show):
    """Publisher, ledger and a running fleet that has seen every back-catalogue."""
    seed = int(os.environ.get("TSUZUKI_TEST_SEED", secrets.randbits(32)))
    show(f"\nTSUZUKI_TEST_SEED={seed}")
    rng = random.Random(seed)
    url = fleet.database_url.replace("sqlite:////", "sqlite:///")
    cast = cast_for(plan.installments)
    fleet.portion = PORTION
    fleet.interval_s = max(1, len(cast.outlets) // 20)
    async with publishing(cast, READERS) as publisher:
        db = await open_database(DatabaseOptions(url))
        try:
            ledger = Ledger(db, publisher, READERS)
            await ledger.set_up(fleet)
            chaos = Chaos(fleet, ledger, write(cast, plan.installments, plan.repeats, rng), rng)
            await fleet.start()
            async with asyncio.timeout(120):
                while not await ledger.is_harvested():  # noqa: ASYNC110  other processes do the work
                    await asyncio.sleep(0.1)
            async with chaos.publishing():
                yield chaos
        finally:
            await db.close()


async def finish(chaos):
    """Settle; what was given up by bad luck (three kills under one task, R42) is replayed, as an operator would."""
    seconds = await chaos.settle()
    tasks = Tasks(chaos.ledger.db, MemoryWakeup(), wall_clock)
    if replayed := await tasks.replay_all():
        chaos.done["given up, replayed"] = replayed
        seconds += await chaos.settle()
    return seconds


async def report(chaos, seconds, title, show):
    entries, notices = await chaos.ledger.entries(), await chaos.ledger.notices()
    calls = chaos.ledger.publisher.calls
    lines = [
        title,
        *(f"  {what:40}{count:>7}" for what, count in sorted(chaos.done.items())),
        f"  {'portions of deliveries':40}{await chaos.ledger.portions():>7}",
        f"  {'tasks that lost their worker':40}{await chaos.ledger.losses():>7}",
        f"  {'polls answered with 200 / 304':40}{calls[200]:>7} / {calls[304]}",
        f"  {'notices repeated under the same id':40}{chaos.ledger.repeats():>7}",
        *(f"  {'slowest recovery of a lease, s':40}{seconds:>7.1f}" for seconds in sorted(chaos.recoveries)[-1:]),
        f"  {'settled after the last fault, s':40}{seconds:>7.1f}",
        f"  {'':20}{'expected':>10}{'lost':>8}{'doubled':>9}{'unexpected':>12}",
        *(
            f"  {what:20}{count.expected:>10}{len(count.lost):>8}{len(count.doubled):>9}{len(count.unexpected):>12}"
            for what, count in (("entries", entries), ("notices", notices))
        ),
    ]
    show("\n".join(lines))
    return entries, notices


async def must_be_clean(chaos, title, show):
    seconds = await finish(chaos)
    entries, notices = await report(chaos, seconds, title, show)
    assert chaos.has_published_all, "the script was not played to its end"
    assert entries == msgspec.structs.replace(entries, lost=(), doubled=(), unexpected=())
    assert notices == msgspec.structs.replace(notices, lost=(), doubled=(), unexpected=())
    if os.environ.get(SOAK):  # a few kills may all come between two tasks
        assert await chaos.ledger.losses() > 0, "nobody was killed in the middle of anything"
    assert await chaos.ledger.portions() > 0
    assert max(chaos.recoveries, default=0) < LEASE_S + FLOOR / SECOND + SLACK_S
    assert set(await chaos.fleet.stop()) <= {0}
    assert chaos.fleet.exits == []
    await asyncio.sleep(1.0)
    assert chaos.fleet.left_behind() == []


async def test_in_one_process_nothing_is_lost_or_doubled(tmp_path, show):
    plan = share_of(ONE)
    async with one_process(tmp_path) as fleet, stage(fleet, plan, show) as chaos:
        await run_in_one_process(chaos, plan)
        await must_be_clean(chaos, "One process on SQLite", show)


@pytest.mark.server
async def test_in_many_processes_nothing_is_lost_or_doubled(tmp_path, show):
    plan = share_of(MANY)
    async with many_processes(tmp_path, workers=3) as (fleet, deps), stage(fleet, plan, show) as chaos:
        await run_in_many_processes(chaos, plan, deps)
        await must_be_clean(chaos, "A server and three workers on PostgreSQL and Redis", show)


FAULTS = {"fencing": "announcing:1:STOP", "unique": "storing:1:KILL", "transaction": "between:1:KILL"}
"""The safeguard that is taken out, and where a worker must then be hit for the ledger to see it."""


@pytest.mark.server
@pytest.mark.skipif(not os.environ.get(SOAK), reason="half a minute for each; with --soak")
@pytest.mark.parametrize("fault", FAULTS)
async def test_the_ledger_finds_a_planted_fault(tmp_path, fault, show):
    """Without the fencing check, the unique key, or the transaction around fan-out, the same test fails."""
    plan = Plan(installments=200, repeats=60)
    async with many_processes(tmp_path, workers=2) as (fleet, _):
        fleet.planted = fault
        async with stage(fleet, plan, show) as chaos:
            if fault == "unique":
                await chaos.ledger.drop_key()
            for hit in range(HITS):
                await chaos.meet_point(FAULTS[fault], (hit + 1) / HITS)
                if not await is_clean(chaos):
                    return
            await chaos.settle(patience=2.0 * LEASE_S)
            assert not await is_clean(chaos)


async def is_clean(chaos):
    """So far: what is still on its way is no fault."""
    entries, notices = await chaos.ledger.entries(), await chaos.ledger.notices()
    is_over = chaos.has_published_all and await chaos.ledger.is_idle()
    return not (entries.doubled or notices.doubled or (is_over and (entries.lost or notices.lost)))
