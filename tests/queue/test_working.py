"""A worker and its handlers."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from tests.builders import NOON
from tests.queue.builders import BatchEffects, Clock, Effects, Note, World, a_queue, put_task, wall
from tsuzuki.db import Tx
from tsuzuki.db.errors import DatabaseUnavailable
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.errors import NotFound
from tsuzuki.model.times import DAY, HOUR, SECOND, Millis
from tsuzuki.queue.errors import Fatal, LeaseLost, NotRetryable
from tsuzuki.queue.store import claim_tx, enqueue_tx, skip_tx
from tsuzuki.queue.tasks import Task

Handle = Callable[[Task[Note]], Awaitable[None]]


STEPS: list[Callable[[Clock], None]] = [
    lambda clock: clock.step(-HOUR),
    lambda clock: clock.step(DAY),
    lambda clock: clock.freeze(),
]
each_step = pytest.mark.parametrize("step", STEPS, ids=["an hour back", "a day ahead", "frozen"])
no_bell = pytest.mark.parametrize("engine", ["sqlite", "postgres"])  # leases are the database's alone


class Doing:
    """A handler made of a function."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle


class Failing:
    """Raises these errors in turn, then does what its effects do; remembers the attempts it saw."""

    def __init__(self, effects: Effects, *errors: BaseException) -> None:
        self.effects = effects
        self.errors = list(errors)
        self.attempts: list[int] = []

    async def handle(self, task: Task[Note]) -> None:
        self.attempts.append(task.attempt)
        if self.errors:
            raise self.errors.pop(0)
        await self.effects.handle(task)


class Gated(Effects):
    """Says that it has begun, and goes on when it may."""

    def __init__(self, db: Any) -> None:
        super().__init__(db)
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self.cancelled = 0
        self.most_at_once = 0
        self._now = 0

    async def handle(self, task: Task[Note]) -> None:
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        self.begun.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self._now -= 1
        await super().handle(task)


async def test_each_task_takes_effect_once(world):
    await world.enqueue(*range(50))
    async with world.working(Effects(world.db)):
        await world.until_all_are("done")
    assert await world.effects() == sorted(str(number) for number in range(50))


async def test_a_bell_wakes_a_sleeping_worker_long_before_its_floor(world):
    async with world.working(Effects(world.db)):
        await asyncio.sleep(0.3)
        began = time.monotonic()
        await world.enqueue(1)
        await world.until_all_are("done")
        assert time.monotonic() - began < 0.7


async def test_without_a_bell_a_task_waits_no_longer_than_the_floor(world):
    class Deaf:
        def ring(self, *_: str) -> None:
            return None

        listen = world.bell.listen

    async with world.working(Effects(world.db)):
        await asyncio.sleep(0.3)
        world.tasks._bell = Deaf()
        began = time.monotonic()
        await world.enqueue(1)
        await world.until_all_are("done")
        assert time.monotonic() - began < 2.0


async def test_no_more_handlers_run_at_once_than_the_settings_say(world):
    handler = Gated(world.db)
    await world.enqueue(*range(10))
    async with world.working(handler, a_queue(concurrency=3)):
        await handler.begun.wait()
        await asyncio.sleep(0.1)
        handler.may_end.set()
        await world.until_all_are("done")
    assert handler.most_at_once == 3


async def test_a_long_task_does_not_keep_the_other_places_empty(world):
    async def handle(task: Task[Note]) -> None:
        if task.payload.manner == "slowly":
            await release.wait()
        await effects.handle(task)

    release, effects = asyncio.Event(), Effects(world.db)
    await world.enqueue(*range(3), manner="slowly")
    await world.enqueue(*range(3, 30))
    async with world.working(Doing(handle), a_queue(concurrency=4)):

        async def others_done() -> bool:
            return len(await world.effects()) == 27

        await world.until(others_done, 5)
        release.set()
        await world.until_all_are("done")


# -- failures


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


async def is_over(world: World, key: str) -> bool:
    statuses = await world.statuses()
    return statuses[key] not in {"queued", "running"}


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


async def test_a_database_that_does_not_answer_costs_a_task_no_attempt(world):
    errors = [DatabaseUnavailable("restarting")] * 3
    [task_id] = await world.enqueue(1)
    async with world.working(Failing(Effects(world.db), *errors), a_queue(attempts=2)):
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


# -- batches


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


# -- cancelling


async def test_a_queued_task_is_cancelled_at_once_and_never_runs(world):
    [task_id] = await world.enqueue(1)
    assert await world.tasks.cancel(task_id)
    assert not await world.tasks.cancel(task_id)
    row = await world.tasks.find(task_id)
    assert row.status == "cancelled"
    assert row.finished_at is not None
    async with world.working(Effects(world.db)):
        await asyncio.sleep(0.2)
    assert await world.effects() == []


async def test_a_running_task_is_stopped_within_a_second_and_the_row_says_so(world):
    """R45; it is no failure, and nothing of it stays."""
    handler = Gated(world.db)
    [task_id, _] = await world.enqueue(1, 2)
    async with world.working(handler, a_queue(lease=Millis(30 * SECOND))):
        await handler.begun.wait()
        assert await world.tasks.cancel(task_id)
        began = time.monotonic()

        async def stopped() -> bool:
            return handler.cancelled == 1

        await world.until(stopped)
        assert time.monotonic() - began < 1.5
        handler.may_end.set()
        await world.until(lambda: is_over(world, "2"))
    assert await world.statuses() == {"1": "cancelled", "2": "done"}
    assert await world.effects() == ["2"]
    assert await world.tasks.letters() == []


async def test_cancelling_one_of_a_batch_stops_only_that_one(world):
    class Waiting(BatchEffects):
        async def handle_all(self, tasks: Sequence[Task[Note]]) -> None:
            self.sizes.append(len(tasks))
            if len(self.sizes) == 1:
                await asyncio.sleep(60)
            await self.take_effect(tasks)

    handler = Waiting(world.db)
    ids = await world.enqueue(1, 2, 3)
    async with world.working(handler):

        async def begun() -> bool:
            return handler.sizes == [3]

        await world.until(begun)
        await world.tasks.cancel(ids[1])
        await world.until(lambda: is_over(world, "3"))
    assert await world.statuses() == {"1": "done", "2": "cancelled", "3": "done"}
    assert await world.effects() == ["1", "3"]


# -- stopping


async def test_a_worker_that_stops_lets_what_it_began_come_to_its_end(world):
    handler = Gated(world.db)
    await world.enqueue(1, 2, 3)
    async with world.working(handler, a_queue(concurrency=1)) as worker:
        await handler.begun.wait()
        worker.stop()
        handler.may_end.set()
    assert await world.statuses() == {"1": "done", "2": "queued", "3": "queued"}


async def test_what_does_not_end_in_time_is_given_back_uncounted_and_done_by_another(world):
    handler = Gated(world.db)
    [task_id] = await world.enqueue(1)
    async with world.working(handler, patience=0.1):
        await handler.begun.wait()
    row = await world.tasks.find(task_id)
    assert (row.status, row.attempts, row.losses, row.worker) == ("queued", 0, 0, None)
    async with world.working(Effects(world.db)):
        await world.until_all_are("done")
    assert await world.effects() == ["1"]


@pytest.mark.parametrize("after", [0.0, 0.001, 0.003, 0.01, 0.05])
async def test_a_worker_that_is_cancelled_at_any_moment_loses_nothing(world, after):
    await world.enqueue(*range(20))
    for _ in range(5):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(after), world.working(Effects(world.db)):
                await asyncio.sleep(60)

        async def nothing_runs() -> bool:
            return "running" not in (await world.statuses()).values()

        await world.until(nothing_runs, 2)
    async with world.working(Effects(world.db)):
        await world.until_all_are("done")
    assert len(await world.effects()) == 20


# -- leases


@no_bell
async def test_a_lease_is_kept_for_as_long_as_the_handler_runs(world):
    """REL-19b: commits inside the job drop no lock, because the lease is a row; nobody picks it up a second time."""

    async def handle(task: Task[Note]) -> None:
        handled.append(task.key)
        for _ in range(12):
            await world.db.with_tx(some_commit)
            await asyncio.sleep(0.2)
        await effects.take_effect([task])

    async def some_commit(_: Tx) -> None:
        return None

    handled: list[str] = []
    effects = Effects(world.db)
    await world.enqueue(1)
    async with world.working(Doing(handle)), world.working(Doing(handle)):
        await world.until_all_are("done")
    assert handled == ["1"]


async def test_r42_a_task_of_a_worker_that_died_runs_again(world):
    handler = Gated(world.db)
    [task_id] = await world.enqueue(1)
    dead = world.station()
    await abandon(world, dead)
    began = time.monotonic()
    handler.may_end.set()
    async with world.working(handler):
        await world.until_all_are("done")
    assert time.monotonic() - began < 0.9 + 1.5  # lease + floor, and some time to look
    row = await world.tasks.find(task_id)
    assert (row.losses, row.attempts) == (1, 0)
    assert await world.effects() == ["1"]


async def abandon(world, station: Any) -> None:
    """Claim everything and do nothing with it."""
    queue = a_queue()
    now = station.clock()
    await world.db.with_tx(lambda tx: claim_tx(tx, queue.name, queue.settings, worker=station.name, now=now, most=100))


@no_bell
@each_step
async def test_rel_19g_no_step_of_the_clock_makes_a_living_worker_lose_its_task(world, step):
    """Two leases long; two workers whose clocks both step, or stand still, in the middle of the task."""
    clock = Clock()

    async def handle(task: Task[Note]) -> None:
        handled.append(task.key)
        await asyncio.sleep(0.3)
        step(clock)
        await asyncio.sleep(1.8)
        await effects.take_effect([task])

    handled: list[str] = []
    effects = Effects(world.db)
    await enqueue_at(world, clock, "1")
    async with world.working(Doing(handle), clock=clock), world.working(Doing(handle), clock=clock):
        await world.until_all_are("done")
    assert handled == ["1"]


@no_bell
@each_step
async def test_rel_19g_nothing_is_stuck_longer_than_a_lease_whatever_the_clock_does(world, step):
    """What a dead worker held, what was due, and what waits for its next try."""
    clock = Clock()
    for key in ("held", "due", "failed"):
        await enqueue_at(world, clock, key)
    await abandon(world, world.station(clock=clock))
    await give_back_all_but(world, "held")
    async with world.working(Failing(Effects(world.db), ValueError("once")), clock=clock):
        step(clock)
        await asyncio.sleep(0.3)
        clock.thaw()
        began = time.monotonic()
        await world.until_all_are("done")
        assert time.monotonic() - began < 0.9 + 2.0
    assert await world.effects() == ["due", "failed", "held"]


async def enqueue_at(world, clock: Clock, key: str, **over: Any) -> None:
    await world.db.with_tx(lambda tx: enqueue_tx(tx, a_queue(), key, Note(), now=clock(), **over))


async def give_back_all_but(world, kept: str) -> None:
    back = parse_queries(
        "tests",
        "-- name: back\n"
        "update task set status = 'queued', lease_token = lease_token + 1, lease_until = null where key <> :kept",
    ).back
    await world.db.with_tx(lambda tx: tx.run(back, kept=kept))


@no_bell
async def test_rel_19g_a_task_that_a_person_scheduled_keeps_its_time_when_the_clock_goes_back(world):
    clock = Clock()
    await enqueue_at(world, clock, "later", run_at=Millis(NOON + 2 * HOUR))
    async with world.working(Effects(world.db), clock=clock):
        await asyncio.sleep(0.3)
        clock.step(-HOUR)
        await asyncio.sleep(1.2)
        assert await world.statuses() == {"later": "queued"}
        clock.step(3 * HOUR)
        await world.until_all_are("done")


async def test_a_worker_whose_task_was_taken_stops_its_handler(world):
    handler = Gated(world.db)
    await world.enqueue(1)
    async with world.working(handler):
        await handler.begun.wait()
        await give_back_all_but(world, "")

        async def stopped() -> bool:
            return handler.cancelled == 1

        await world.until(stopped)
        handler.may_end.set()
        await world.until_all_are("done")
    assert await world.effects() == ["1"]


async def test_how_long_a_task_took_and_how_it_ended_is_told(world):
    told: list[tuple[str, str]] = []
    await world.enqueue(1)
    handler = Failing(Effects(world.db), ValueError("once"))
    async with world.working(handler, timed=lambda queue, outcome, _: told.append((queue, outcome))):
        await world.until_all_are("done")
    assert told == [("notes", "retry"), ("notes", "done")]


def test_a_lost_lease_names_its_tasks():
    assert str(LeaseLost([1, 2])) == "No longer ours: 1, 2."
