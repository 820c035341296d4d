"""Leases: kept while a handler runs, given on when its worker dies, whatever the clock does."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.builders import NOON
from tests.queue.builders import Clock, Effects, Note, a_queue
from tests.queue.handlers import Failing, FunctionHandler, Gated, abandon, give_back_all_but, no_bell
from tests.stopwatch import Stopwatch
from tsuzuki.db import Tx
from tsuzuki.model.times import DAY, HOUR, Millis
from tsuzuki.queue.errors import LeaseLost
from tsuzuki.queue.tasks import Task, enqueue_tx

STEPS: list[Callable[[Clock], None]] = [
    lambda clock: clock.step(-HOUR),
    lambda clock: clock.step(DAY),
    lambda clock: clock.freeze(),
]
each_step = pytest.mark.parametrize("step", STEPS, ids=["an hour back", "a day ahead", "frozen"])


@no_bell
async def test_a_lease_lasts_as_long_as_its_handler(harness):
    """REL-19b: commits inside the job drop no lock, because the lease is a row; nobody picks it up a second time."""

    async def handle(task: Task[Note]) -> None:
        handled.append(task.key)
        for _ in range(12):
            await harness.db.with_tx(some_commit)
            await asyncio.sleep(0.2)
        await effects.take_effect([task])

    async def some_commit(_: Tx) -> None:
        return None

    handled: list[str] = []
    effects = Effects(harness.db)
    await harness.enqueue(1)
    async with harness.working(FunctionHandler(handle)), harness.working(FunctionHandler(handle)):
        await harness.until_all_are("done")
    assert handled == ["1"]


async def test_r42_a_task_of_a_worker_that_died_runs_again(harness):
    handler = Gated(harness.db)
    [task_id] = await harness.enqueue(1)
    dead = harness.worker_context()
    await abandon(harness, dead)
    stopwatch = Stopwatch()
    handler.may_end.set()
    async with harness.working(handler):
        await harness.until_all_are("done")
    assert stopwatch.seconds() < 0.9 + 1.5  # lease + floor, and some time to look
    row = await harness.tasks.find(task_id)
    assert (row.losses, row.attempts) == (1, 0)
    assert await harness.effects() == ["1"]


@no_bell
@each_step
async def test_rel_19g_a_clock_step_takes_no_task_from_a_worker(harness, step):
    """Two leases long; two workers whose clocks both step, or stand still, in the middle of the task."""
    clock = Clock()

    async def handle(task: Task[Note]) -> None:
        handled.append(task.key)
        await asyncio.sleep(0.3)
        step(clock)
        await asyncio.sleep(1.8)
        await effects.take_effect([task])

    handled: list[str] = []
    effects = Effects(harness.db)
    await enqueue_at(harness, clock, "1")
    async with (
        harness.working(FunctionHandler(handle), clock=clock),
        harness.working(FunctionHandler(handle), clock=clock),
    ):
        await harness.until_all_are("done")
    assert handled == ["1"]


@no_bell
@each_step
async def test_rel_19g_nothing_is_stuck_longer_than_a_lease(harness, step):
    """What a dead worker held, what was due, and what waits for its next try."""
    clock = Clock()
    for key in ("held", "due", "failed"):
        await enqueue_at(harness, clock, key)
    await abandon(harness, harness.worker_context(clock=clock))
    await give_back_all_but(harness, "held")
    async with harness.working(Failing(Effects(harness.db), ValueError("once")), clock=clock):
        step(clock)
        await asyncio.sleep(0.3)
        clock.thaw()
        stopwatch = Stopwatch()
        await harness.until_all_are("done")
        assert stopwatch.seconds() < 0.9 + 2.0
    assert await harness.effects() == ["due", "failed", "held"]


async def enqueue_at(harness, clock: Clock, key: str, **over: Any) -> None:
    await harness.db.with_tx(lambda tx: enqueue_tx(tx, a_queue(), key, Note(), now=clock(), **over))


@no_bell
async def test_rel_19g_a_scheduled_task_keeps_its_time_when_clocks_step_back(harness):
    clock = Clock()
    await enqueue_at(harness, clock, "later", run_at=Millis(NOON + 2 * HOUR))
    async with harness.working(Effects(harness.db), clock=clock):
        await asyncio.sleep(0.3)
        clock.step(-HOUR)
        await asyncio.sleep(1.2)
        assert await harness.statuses() == {"later": "queued"}
        clock.step(3 * HOUR)
        await harness.until_all_are("done")


async def test_a_worker_whose_task_was_taken_stops_its_handler(harness):
    handler = Gated(harness.db)
    await harness.enqueue(1)
    async with harness.working(handler):
        await handler.begun.wait()
        await give_back_all_but(harness, "")

        async def stopped() -> bool:
            return handler.cancelled == 1

        await harness.until(stopped)
        handler.may_end.set()
        await harness.until_all_are("done")
    assert await harness.effects() == ["1"]


def test_a_lost_lease_names_its_tasks():
    assert str(LeaseLost([1, 2])) == "No longer ours: 1, 2."
