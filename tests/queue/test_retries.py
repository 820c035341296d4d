"""Handlers that fail: what is tried again, what is given up, and that one poisonous task fails alone."""

import asyncio
from collections.abc import Sequence
from functools import partial

import pytest

from tests.queue.builders import BatchEffects, Effects, Note, a_queue, put_task, wall
from tests.queue.handlers import Doing, Failing, is_over, no_bell
from tsuzuki.db import Tx
from tsuzuki.db.errors import DatabaseUnavailable
from tsuzuki.model.errors import NotFound
from tsuzuki.queue.errors import Fatal, NotRetryable
from tsuzuki.queue.tasks import Task, skip_tx


async def test_a_task_that_fails_is_tried_again_with_its_attempts_counted(world):
    handler = Failing(Effects(world.db), ValueError("a"), ValueError("b"))
    [task_id] = await world.enqueue(1)
    async with world.working(handler):
        await world.until_all_are("done")
    assert handler.attempts == [1, 2, 3]
    assert (await world.tasks.find(task_id)).attempts == 2
    assert await world.effects() == ["1"]
    assert await world.tasks.letters() == []


async def test_r55_a_task_that_fails_too_often_is_a_dead_letter_with_all_that_is_known(world):
    errors = [ValueError(f"no {number}\0") for number in range(1, 4)]
    [task_id] = await world.enqueue(7)
    before = wall()
    async with world.working(Failing(Effects(world.db), *errors), a_queue(attempts=3)):
        await world.until_all_are("failed")
    [letter] = await world.tasks.letters()
    assert (letter.task_id, letter.queue, letter.key, letter.attempts) == (task_id, "notes", "7", 3)
    assert letter.payload == '{"number":7,"manner":"well"}'
    assert (letter.error, letter.error_code) == ("no 3\N{REPLACEMENT CHARACTER}", "ValueError")
    assert "raise self.errors.pop(0)" in letter.stack
    assert before <= letter.first_failed_at < letter.last_failed_at
    assert (await world.tasks.find(task_id)).error == letter.error


@pytest.mark.parametrize(
    ("error", "code"), [(NotRetryable("never"), "not_retryable"), (NotFound("the watch"), "NOT_FOUND")]
)
async def test_r56_what_will_never_work_is_a_dead_letter_at_once(world, error, code):
    handler = Failing(Effects(world.db), error)
    await world.enqueue(1)
    async with world.working(handler):
        await world.until_all_are("failed")
    assert handler.attempts == [1]
    assert [letter.error_code for letter in await world.tasks.letters()] == [code]


@pytest.mark.parametrize("payload", ["{", '{"number":"seven"}', "[" * 100_000, ""])
async def test_r58_a_payload_that_does_not_decode_is_a_dead_letter_at_once_and_the_others_go_on(world, payload):
    await put_task(world.db, payload)
    await world.enqueue(1)
    handler = Effects(world.db)
    async with world.working(handler):
        await world.until(lambda: is_over(world, "odd"))
        await world.until(lambda: is_over(world, "1"))
    assert handler.handled == ["1"]
    [letter] = await world.tasks.letters()
    assert (letter.key, letter.payload, letter.error_code, letter.attempts) == ("odd", payload, "undecodable", 1)


async def test_a_fatal_error_stops_the_worker_says_so_and_costs_the_task_nothing(world):
    async with world.working(Failing(Effects(world.db), Fatal("no secret")), a_queue(concurrency=1)) as worker:
        [first] = await world.enqueue(1)

        async def in_trouble() -> bool:
            return str(worker.trouble) == "no secret"

        await world.until(in_trouble)
        await world.enqueue(2)
        await asyncio.sleep(1.2)
        assert await world.statuses() == {"1": "queued", "2": "queued"}
        assert (await world.tasks.find(first)).attempts == 0
    async with world.working(Effects(world.db)) as healthy:
        await world.until_all_are("done")
        assert healthy.trouble is None


async def test_what_waits_behind_a_fatal_error_is_left_to_others(world):
    """Also when it was just about to be taken."""
    for turn in range(0, 10, 2):
        first, second = await world.enqueue(turn, turn + 1)
        handler = Failing(Effects(world.db), Fatal("no secret"))
        async with world.working(handler, a_queue(concurrency=1)) as worker:
            await world.until(partial(_is_in_trouble, worker))
            await world.until(partial(_are_queued, world, first, second))
        async with world.working(Effects(world.db)):
            await world.until_all_are("done")


async def _are_queued(world, *ids):
    return {(await world.tasks.find(each)).status for each in ids} == {"queued"}


async def _is_in_trouble(worker):
    return worker.trouble is not None


async def test_a_database_that_does_not_answer_costs_a_task_no_attempt(world):
    errors = [DatabaseUnavailable("restarting")] * 2
    [task_id] = await world.enqueue(1)
    async with world.working(Failing(Effects(world.db), *errors), a_queue(attempts=1)):
        await world.until_all_are("done")
    assert (await world.tasks.find(task_id)).attempts == 0


async def test_a_handler_that_forgets_to_finish_its_task_has_failed(world):
    async def forget(_: Task[Note]) -> None:
        return None

    await world.enqueue(1)
    async with world.working(Doing(forget), a_queue(attempts=1)):
        await world.until_all_are("failed")
    assert [letter.error_code for letter in await world.tasks.letters()] == ["not_finished"]


async def test_an_effect_that_fails_after_finishing_is_undone_with_it(world):
    async def handle(task: Task[Note]) -> None:
        async def work(tx: Tx) -> None:
            await skip_tx(tx, task, now=wall(), why="gone")
            if task.attempt == 1:
                raise ValueError("after")

        await world.db.with_tx(work)

    [task_id] = await world.enqueue(1)
    async with world.working(Doing(handle)):
        await world.until_all_are("skipped")
    row = await world.tasks.find(task_id)
    assert (row.attempts, row.error) == (1, "gone")  # R58: a task whose watch is gone ends as skipped


async def test_something_cancelled_inside_a_handler_is_a_failure_and_not_the_end_of_the_worker(world):
    await world.enqueue(1)
    async with world.working(Failing(Effects(world.db), asyncio.CancelledError())):
        await world.until_all_are("done")
    assert await world.effects() == ["1"]


async def test_a_batch_handler_gets_batches_and_finishes_them_in_one_transaction(world):
    handler = BatchEffects(world.db)
    await world.enqueue(*range(40))
    async with world.working(handler, a_queue(batch=20)):
        await world.until_all_are("done")
    assert handler.sizes == [20, 20]
    assert len(await world.effects()) == 40


async def test_one_poisonous_task_fails_alone_and_the_rest_of_its_batch_takes_effect(world):
    handler = BatchEffects(world.db)
    await world.enqueue(*range(5))
    await world.enqueue(5, manner="badly")
    await world.enqueue(*range(6, 10))
    async with world.working(handler, a_queue(attempts=1)):
        await world.until(lambda: is_over(world, "9"))
    assert [key for key, status in (await world.statuses()).items() if status == "failed"] == ["5"]
    assert await world.effects() == [*"01234", *"6789"]
    assert handler.sizes == [10] + [1] * 10


@no_bell
async def test_a_batch_that_outlasts_its_lease_while_it_is_split_loses_nothing(world):
    class Slow(BatchEffects):
        async def handle_all(self, tasks: Sequence[Task[Note]]) -> None:
            await asyncio.sleep(0.25)
            await super().handle_all(tasks)

    handler = Slow(world.db)
    await world.enqueue(*range(6))
    await world.enqueue(6, manner="badly")
    async with world.working(handler, a_queue(attempts=1)), world.working(Effects(world.db)):
        await world.until(lambda: is_over(world, "6"))
    assert (await world.effects()) == [*"012345"]
