"""Which tasks a batch handler gets at once: what comes while it is busy gathers, and it may say what goes together."""

import asyncio

from tests.queue.builders import BatchEffects, a_queue
from tests.queue.handlers import no_bell
from tsuzuki.model.times import MINUTE


class Holding(BatchEffects):
    """Says that it has begun, and goes on when it may."""

    def __init__(self, db):
        super().__init__(db)
        self.begun, self.may_go_on = asyncio.Event(), asyncio.Event()

    async def handle_all(self, tasks):
        self.begun.set()
        await self.may_go_on.wait()
        await super().handle_all(tasks)


class InPairs(BatchEffects):
    """Wants two of them at a time, the newest first."""

    def groups(self, tasks):
        newest_first = list(reversed(tasks))
        return [newest_first[first : first + 2] for first in range(0, len(tasks), 2)]

    async def handle_all(self, tasks):
        self.handled.append("".join(task.key for task in tasks))
        await super().handle_all(tasks)


@no_bell
async def test_single_tasks_gather_behind_the_running_batch(harness):
    handler = Holding(harness.db)
    async with harness.working(handler, a_queue(gather=MINUTE)):
        await harness.enqueue(0)
        await handler.begun.wait()
        for number in range(1, 6):
            await harness.enqueue(number)
        handler.may_go_on.set()
        await harness.until_all_are("done")
    assert handler.sizes == [1, 5]
    assert await harness.effects() == [*"012345"]


@no_bell
async def test_they_do_not_wait_longer_than_their_queue_says(harness):
    handler = Holding(harness.db)
    async with harness.working(handler, a_queue(gather=1)):
        await harness.enqueue(0)
        await handler.begun.wait()
        handler.begun.clear()
        await harness.enqueue(1)
        await asyncio.wait_for(handler.begun.wait(), 20)
        handler.may_go_on.set()
        await harness.until_all_are("done")
    assert handler.sizes == [1, 1]


@no_bell
async def test_a_handlers_groups_fail_and_retry_separately(harness):
    handler = InPairs(harness.db)
    await harness.enqueue(0, 1, 2)
    await harness.enqueue(3, manner="badly")
    await harness.enqueue(4, 5)
    async with harness.working(handler, a_queue(attempts=1)):
        await harness.until(lambda: over(harness))
    assert handler.handled == ["54", "32", "3", "2", "10"]
    assert await harness.effects() == [*"01245"]
    assert (await harness.statuses())["3"] == "failed"


async def over(harness):
    return not {"queued", "running"} & set((await harness.statuses()).values())
