"""Handlers that fail: what is tried again, what is given up, and that one poisonous task fails alone."""

import asyncio
from collections.abc import Sequence
from functools import partial

import pytest

from tests.queue.builders import BatchEffects, Effects, Note, a_queue, put_task, wall
from tests.queue.handlers import Failing, FunctionHandler, is_over, no_bell
from tsuzuki.db import Tx
from tsuzuki.db.errors import DatabaseUnavailable
from tsuzuki.model.errors import NotFound
from tsuzuki.queue.errors import Fatal, NotRetryable
from tsuzuki.queue.tasks import Task, skip_tx


async def test_a_failed_task_is_retried_with_counted_attempts(harness):
    handler = Failing(Effects(harness.db), ValueError("a"), ValueError("b"))
    [task_id] = await harness.enqueue(1)
    async with harness.working(handler):
        await harness.until_all_are("done")
    assert handler.attempts == [1, 2, 3]
    assert (await harness.tasks.find(task_id)).attempts == 2
    assert await harness.effects() == ["1"]
    assert await harness.tasks.letters() == []


async def test_r55_a_task_that_fails_too_often_dead_letters_completely(harness):
    errors = [ValueError(f"no {number}\0") for number in range(1, 4)]
    [task_id] = await harness.enqueue(7)
    before = wall()
    async with harness.working(Failing(Effects(harness.db), *errors), a_queue(attempts=3)):
        await harness.until_all_are("failed")
    [letter] = await harness.tasks.letters()
    assert (letter.task_id, letter.queue, letter.key, letter.attempts) == (task_id, "notes", "7", 3)
    assert letter.payload == '{"number":7,"manner":"well"}'
    assert (letter.error, letter.error_code) == ("no 3\N{REPLACEMENT CHARACTER}", "ValueError")
    assert "raise self.errors.pop(0)" in letter.stack
    assert before <= letter.first_failed_at < letter.last_failed_at
    assert (await harness.tasks.find(task_id)).error == letter.error


@pytest.mark.parametrize(
    ("error", "code"), [(NotRetryable("never"), "not_retryable"), (NotFound("the watch"), "NOT_FOUND")]
)
async def test_r56_what_will_never_work_is_a_dead_letter_at_once(harness, error, code):
    handler = Failing(Effects(harness.db), error)
    await harness.enqueue(1)
    async with harness.working(handler):
        await harness.until_all_are("failed")
    assert handler.attempts == [1]
    assert [letter.error_code for letter in await harness.tasks.letters()] == [code]


@pytest.mark.parametrize("payload", ["{", '{"number":"seven"}', "[" * 100_000, ""])
async def test_r58_an_undecodable_payload_dead_letters_at_once_and_alone(harness, payload):
    await put_task(harness.db, payload)
    await harness.enqueue(1)
    handler = Effects(harness.db)
    async with harness.working(handler):
        await harness.until(lambda: is_over(harness, "odd"))
        await harness.until(lambda: is_over(harness, "1"))
    assert handler.handled == ["1"]
    [letter] = await harness.tasks.letters()
    assert (letter.key, letter.payload, letter.error_code, letter.attempts) == ("odd", payload, "undecodable", 1)


async def test_a_fatal_error_stops_the_worker_without_an_attempt(harness):
    async with harness.working(Failing(Effects(harness.db), Fatal("no secret")), a_queue(concurrency=1)) as worker:
        [first] = await harness.enqueue(1)

        async def in_trouble() -> bool:
            return str(worker.problem) == "no secret"

        await harness.until(in_trouble)
        await harness.enqueue(2)
        await asyncio.sleep(1.2)
        assert await harness.statuses() == {"1": "queued", "2": "queued"}
        assert (await harness.tasks.find(first)).attempts == 0
    async with harness.working(Effects(harness.db)) as healthy:
        await harness.until_all_are("done")
        assert healthy.problem is None


async def test_what_waits_behind_a_fatal_error_is_left_to_others(harness):
    """Also when it was just about to be taken."""
    for turn in range(0, 10, 2):
        first, second = await harness.enqueue(turn, turn + 1)
        handler = Failing(Effects(harness.db), Fatal("no secret"))
        async with harness.working(handler, a_queue(concurrency=1)) as worker:
            await harness.until(partial(_is_in_trouble, worker))
            await harness.until(partial(_are_queued, harness, first, second))
        async with harness.working(Effects(harness.db)):
            await harness.until_all_are("done")


async def _are_queued(harness, *ids):
    return {(await harness.tasks.find(each)).status for each in ids} == {"queued"}


async def _is_in_trouble(worker):
    return worker.problem is not None


async def test_a_database_that_does_not_answer_costs_no_attempt(harness):
    errors = [DatabaseUnavailable("restarting")] * 2
    [task_id] = await harness.enqueue(1)
    async with harness.working(Failing(Effects(harness.db), *errors), a_queue(attempts=1)):
        await harness.until_all_are("done")
    assert (await harness.tasks.find(task_id)).attempts == 0


async def test_a_handler_that_forgets_to_finish_its_task_has_failed(harness):
    async def forget(_: Task[Note]) -> None:
        return None

    await harness.enqueue(1)
    async with harness.working(FunctionHandler(forget), a_queue(attempts=1)):
        await harness.until_all_are("failed")
    assert [letter.error_code for letter in await harness.tasks.letters()] == ["not_finished"]


async def test_an_effect_that_fails_after_finishing_is_undone_with_it(harness):
    async def handle(task: Task[Note]) -> None:
        async def work(tx: Tx) -> None:
            await skip_tx(tx, task, now=wall(), why="gone")
            if task.attempt == 1:
                raise ValueError("after")

        await harness.db.with_tx(work)

    [task_id] = await harness.enqueue(1)
    async with harness.working(FunctionHandler(handle)):
        await harness.until_all_are("skipped")
    row = await harness.tasks.find(task_id)
    assert (row.attempts, row.error) == (1, "gone")  # R58: a task whose watch is gone ends as skipped


async def test_a_cancellation_inside_a_handler_is_a_failure(harness):
    await harness.enqueue(1)
    async with harness.working(Failing(Effects(harness.db), asyncio.CancelledError())):
        await harness.until_all_are("done")
    assert await harness.effects() == ["1"]


async def test_a_batch_handler_finishes_batches_in_one_transaction(harness):
    handler = BatchEffects(harness.db)
    await harness.enqueue(*range(40))
    async with harness.working(handler, a_queue(batch=20)):
        await harness.until_all_are("done")
    assert handler.sizes == [20, 20]
    assert len(await harness.effects()) == 40


async def test_one_poisonous_task_fails_alone_in_its_batch(harness):
    handler = BatchEffects(harness.db)
    await harness.enqueue(*range(5))
    await harness.enqueue(5, manner="badly")
    await harness.enqueue(*range(6, 10))
    async with harness.working(handler, a_queue(attempts=1)):
        await harness.until(lambda: is_over(harness, "9"))
    assert [key for key, status in (await harness.statuses()).items() if status == "failed"] == ["5"]
    assert await harness.effects() == [*"01234", *"6789"]
    assert handler.sizes == [10] + [1] * 10


@no_bell
async def test_a_batch_split_beyond_its_lease_loses_nothing(harness):
    class Slow(BatchEffects):
        async def handle_all(self, tasks: Sequence[Task[Note]]) -> None:
            await asyncio.sleep(0.25)
            await super().handle_all(tasks)

    handler = Slow(harness.db)
    await harness.enqueue(*range(6))
    await harness.enqueue(6, manner="badly")
    async with harness.working(handler, a_queue(attempts=1)), harness.working(Effects(harness.db)):
        await harness.until(lambda: is_over(harness, "6"))
    assert (await harness.effects()) == [*"012345"]
