"""A worker: what it takes up, how soon, how much at once, and what it tells of it."""

import asyncio

from tests.queue.builders import Effects, Note, a_queue
from tests.queue.handlers import Failing, FunctionHandler, Gated
from tests.stopwatch import Stopwatch
from tsuzuki.queue.tasks import Task


async def test_each_task_takes_effect_once(harness):
    await harness.enqueue(*range(50))
    async with harness.working(Effects(harness.db)):
        await harness.until_all_are("done")
    assert await harness.effects() == sorted(str(number) for number in range(50))


async def test_a_wakeup_wakes_a_sleeping_worker_long_before_its_floor(harness):
    """Ten tasks, each when the worker has nothing to do any more: without a wakeup they take ten seconds."""
    async with harness.working(Effects(harness.db)):
        await asyncio.sleep(0.3)
        stopwatch = Stopwatch()
        for number in range(10):
            await harness.enqueue(number)
            await harness.until_all_are("done")
        assert stopwatch.seconds() < 10 * 0.7


async def test_without_a_wakeup_a_task_waits_one_interval(harness):
    class Deaf:
        def wake(self, *_: str) -> None:
            return None

        listen = harness.wakeup.listen

    async with harness.working(Effects(harness.db)):
        await asyncio.sleep(0.3)
        harness.tasks._wakeup = Deaf()
        stopwatch = Stopwatch()
        await harness.enqueue(1)
        await harness.until_all_are("done")
        assert stopwatch.seconds() < 2.0


async def test_no_more_handlers_run_at_once_than_the_settings_say(harness):
    handler = Gated(harness.db)
    await harness.enqueue(*range(10))
    async with harness.working(handler, a_queue(concurrency=3)):
        await handler.begun.wait()
        await asyncio.sleep(0.1)
        handler.may_end.set()
        await harness.until_all_are("done")
    assert handler.most_at_once == 3


async def test_a_long_task_does_not_keep_the_other_places_empty(harness):
    async def handle(task: Task[Note]) -> None:
        if task.payload.manner == "slowly":
            await release.wait()
        await effects.handle(task)

    release, effects = asyncio.Event(), Effects(harness.db)
    await harness.enqueue(*range(3), manner="slowly")
    await harness.enqueue(*range(3, 30))
    async with harness.working(FunctionHandler(handle), a_queue(concurrency=4)):

        async def others_done() -> bool:
            return len(await harness.effects()) == 27

        await harness.until(others_done)
        release.set()
        await harness.until_all_are("done")


async def test_a_tasks_duration_and_outcome_are_reported(harness):
    told: list[tuple[str, str]] = []
    await harness.enqueue(1)
    handler = Failing(Effects(harness.db), ValueError("once"))
    async with harness.working(handler, timed=lambda queue, outcome, _: told.append((queue, outcome))):
        await harness.until_all_are("done")
    assert told == [("notes", "retry"), ("notes", "done")]
