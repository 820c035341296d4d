"""Real worker processes that are killed, frozen, and asked to stop."""

import asyncio
import contextlib
import random
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.queue.builders import QueueHarness, a_harness, a_queue
from tests.servers import Redis, shared_folder
from tests.stopwatch import Stopwatch
from tsuzuki.coord.redis_client import redis_client

KILLS, TASKS_PER_KILL = 100, 60
SHARE = 12


async def test_rel_13_a_worker_frozen_past_its_lease_cannot_write(harness: QueueHarness):
    """SIGSTOP, another takes over, SIGCONT: the effect is there once, and the first goes on with other work."""
    with harness.process() as first:
        [task_id] = await harness.enqueue(1, manner="freeze")
        await harness.until(lambda: is_stopped(first))
        with harness.process() as second:
            await harness.until_all_are("done")
            row = await harness.tasks.find(task_id)
            assert (row.worker, row.losses) == (f"process-{second.pid}", 1)
        first.send_signal(signal.SIGCONT)
        await harness.enqueue(2)
        await harness.until_all_are("done")
        assert first.poll() is None
    assert await harness.effects() == ["1", "2"]


async def is_stopped(process: "subprocess.Popen[bytes]") -> bool:
    with open(f"/proc/{process.pid}/stat", encoding="utf-8") as stat:  # noqa: ASYNC230, PTH123  not a file on any disk
        return stat.read().rpartition(")")[2].split()[0] == "T"


@pytest.mark.timeout(300)
async def test_rel_14_a_task_that_kills_workers_is_given_up_alone(harness: QueueHarness):
    """R42: at the third loss. The others shared a worker with it twice, and are done all the same."""
    queue = a_queue(concurrency=20)
    await harness.enqueue(0, queue=queue, manner="kill")
    await harness.enqueue(*range(1, 20), queue=queue, manner="briskly")
    async with restarting(harness, queue):
        await harness.until(lambda: is_settled(harness), 150)
        await harness.enqueue(99, queue=queue)
        await harness.until(lambda: is_settled(harness), 150)
    statuses = await harness.statuses()
    assert [key for key, status in statuses.items() if status != "done"] == ["0"]
    assert statuses["0"] == "failed"
    [letter] = await harness.tasks.letters()
    assert (letter.key, letter.attempts, letter.error_code) == ("0", 3, "lost")
    assert "3 times" in letter.error
    assert len(await harness.effects()) == 20


async def is_settled(harness: QueueHarness) -> bool:
    return not {"queued", "running"} & set((await harness.statuses()).values())


@contextlib.asynccontextmanager
async def restarting(harness: QueueHarness, queue) -> AsyncIterator[None]:
    """A worker process that is started again whenever it dies."""

    stop = asyncio.Event()

    async def is_dead_or_enough(process: "subprocess.Popen[bytes]") -> bool:
        return stop.is_set() or process.poll() is not None

    async def watch() -> None:
        while not stop.is_set():
            with harness.process(queue) as process:
                await harness.until(lambda: is_dead_or_enough(process), 150)

    async with asyncio.TaskGroup() as group:
        group.create_task(watch())
        yield
        stop.set()


async def test_rel_19c_tasks_enqueued_during_a_drain_wait_for_the_next(harness: QueueHarness):
    with harness.process() as first:
        await harness.enqueue(0)
        await harness.until_all_are("done")
        submitted = 1
        first.send_signal(signal.SIGTERM)
        while first.poll() is None:
            await harness.enqueue(submitted, manner="briskly")
            submitted += 1
            await asyncio.sleep(0.005)
        assert first.returncode == 0
    with harness.process():
        await harness.until_all_are("done")
    assert await harness.effects() == sorted(str(number) for number in range(submitted))


async def test_a_cancelled_task_in_another_process_stops_quickly(harness: QueueHarness):
    with harness.process():
        [task_id] = await harness.enqueue(1, manner="endlessly")
        await harness.until(lambda: has_effects(harness, ["begun 1"]))
        stopwatch = Stopwatch()
        assert await harness.tasks.cancel(task_id)
        await harness.until(lambda: has_effects(harness, ["begun 1", "cancelled 1"]))
        assert stopwatch.seconds() < 1.5
    assert (await harness.tasks.find(task_id)).status == "cancelled"


async def is_busy(harness: QueueHarness) -> bool:
    return "running" in (await harness.statuses()).values()


async def has_effects(harness: QueueHarness, keys: list[str]) -> bool:
    return await harness.effects() == keys


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_every_effect_happens_exactly_once_however_often_workers_are_killed(harness: QueueHarness, request):
    """R40, I3, I4: kill -9 at random moments while tasks come in."""
    kills = KILLS if request.config.getoption("--soak") else KILLS // SHARE
    tasks = kills * TASKS_PER_KILL
    queue = a_queue(most_losses=10**6, concurrency=4)
    workers = [harness.spawn(queue) for _ in range(2)]
    try:
        for kill in range(kills):
            await harness.enqueue(
                *range(kill * TASKS_PER_KILL, (kill + 1) * TASKS_PER_KILL), queue=queue, manner="briskly"
            )
            await harness.until(
                lambda: is_busy(harness), 60
            )  # a process takes its time to start; killing it then proves nothing
            await asyncio.sleep(random.uniform(0.0, 0.4))
            victim = kill % len(workers)
            workers[victim].kill()
            workers[victim].wait()
            workers[victim] = harness.spawn(queue)
        await harness.until_all_are("done", 60 + tasks / 10)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    assert await harness.losses() > 0, "nobody was killed in the middle of anything"
    assert await harness.effects() == sorted(str(number) for number in range(tasks))


# -- Redis is only a wake-up


@pytest.fixture
def own_redis() -> Iterator[Redis]:
    """A Redis that a test may kill."""
    folder = shared_folder()
    redis = Redis(folder).start()
    yield redis
    redis.stop(signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("engine", ["postgres_redis"])
async def test_rel_06_redis_flushed_killed_and_restarted_empty_loses_nothing(db, database_url, own_redis):
    """R40: the database is the queue's truth."""
    async with a_harness(db, database_url, own_redis.url) as harness:
        with harness.process(), harness.process():
            await harness.enqueue(*range(50), manner="briskly")
            async with contextlib.aclosing(redis_client(own_redis.url)) as client:
                await client.flushall()
            await harness.enqueue(*range(50, 100), manner="briskly")
            own_redis.stop(signal.SIGKILL)
            await harness.enqueue(*range(100, 150), manner="briskly")
            await harness.until_all_are("done")
            own_redis.start()
            await harness.enqueue(*range(150, 200), manner="briskly")
            await harness.until_all_are("done")
        assert await harness.effects() == sorted(str(number) for number in range(200))
