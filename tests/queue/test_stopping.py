"""Tasks that are cancelled, and workers that are stopped: nothing is lost, and nothing of the cancelled stays."""

import asyncio
from collections.abc import Sequence

import pytest

from tests.queue.builders import BatchEffects, Effects, Note, a_queue
from tests.queue.handlers import Gated, is_over
from tests.stopwatch import Stopwatch
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.queue.tasks import Task


async def test_a_queued_task_is_cancelled_at_once_and_never_runs(harness):
    [task_id] = await harness.enqueue(1)
    assert await harness.tasks.cancel(task_id)
    assert not await harness.tasks.cancel(task_id)
    row = await harness.tasks.find(task_id)
    assert row.status == "cancelled"
    assert row.finished_at is not None
    async with harness.working(Effects(harness.db), a_queue(concurrency=1)):
        await harness.enqueue(2)
        await harness.until(lambda: is_over(harness, "2"))
    assert await harness.effects() == ["2"]


async def test_a_cancelled_task_stops_within_a_second(harness):
    """R45; it is no failure, and nothing of it stays."""
    handler = Gated(harness.db)
    [task_id, _] = await harness.enqueue(1, 2)
    async with harness.working(handler, a_queue(lease=Millis(30 * SECOND))):
        await handler.begun.wait()
        assert await harness.tasks.cancel(task_id)
        stopwatch = Stopwatch()

        async def stopped() -> bool:
            return handler.cancelled == 1

        await harness.until(stopped)
        assert stopwatch.seconds() < 1.5
        handler.may_end.set()
        await harness.until(lambda: is_over(harness, "2"))
    assert await harness.statuses() == {"1": "cancelled", "2": "done"}
    assert await harness.effects() == ["2"]
    assert await harness.tasks.letters() == []


async def test_cancelling_one_of_a_batch_stops_only_that_one(harness):
    class Waiting(BatchEffects):
        async def handle_all(self, tasks: Sequence[Task[Note]]) -> None:
            self.sizes.append(len(tasks))
            if len(self.sizes) == 1:
                await asyncio.sleep(60)
            await self.take_effect(tasks)

    handler = Waiting(harness.db)
    ids = await harness.enqueue(1, 2, 3)
    async with harness.working(handler):

        async def begun() -> bool:
            return handler.sizes == [3]

        await harness.until(begun)
        await harness.tasks.cancel(ids[1])
        await harness.until(lambda: is_over(harness, "3"))
    assert await harness.statuses() == {"1": "done", "2": "cancelled", "3": "done"}
    assert await harness.effects() == ["1", "3"]


async def test_a_stopping_worker_finishes_what_it_began(harness):
    handler = Gated(harness.db)
    await harness.enqueue(1, 2, 3)
    async with harness.working(handler, a_queue(concurrency=1)) as worker:
        await handler.begun.wait()
        worker.stop()
        handler.may_end.set()
    assert await harness.statuses() == {"1": "done", "2": "queued", "3": "queued"}


async def test_unfinished_tasks_are_given_back_uncounted(harness):
    handler = Gated(harness.db)
    [task_id] = await harness.enqueue(1)
    async with harness.working(handler, patience=0.1):
        await handler.begun.wait()
    row = await harness.tasks.find(task_id)
    assert (row.status, row.attempts, row.losses, row.worker) == ("queued", 0, 0, None)
    async with harness.working(Effects(harness.db)):
        await harness.until_all_are("done")
    assert await harness.effects() == ["1"]


@pytest.mark.parametrize("after", [0.0, 0.001, 0.003, 0.01, 0.05])
async def test_a_worker_that_is_cancelled_at_any_moment_loses_nothing(harness, after):
    await harness.enqueue(*range(20))
    for _ in range(5):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(after), harness.working(Effects(harness.db)):
                await asyncio.sleep(60)

        async def nothing_runs() -> bool:
            return "running" not in (await harness.statuses()).values()

        await harness.until(nothing_runs, 2)
    async with harness.working(Effects(harness.db)):
        await harness.until_all_are("done")
    assert len(await harness.effects()) == 20
