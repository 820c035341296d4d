"""R125: who works is written down by those who do, and read by whoever wants to know."""

import asyncio

from tests.builders import NOON, a_public_id
from tests.waiting import eventually
from tsuzuki.model.times import DAY, SECOND, Millis
from tsuzuki.queue.workers import LOST_AFTER, WorkerProcess, Workers
from tsuzuki.worker.loops import Heartbeat, WorkerLoops


class ManualClock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> Millis:
        return self.now

    def turn(self, span: int) -> None:
        self.now = Millis(self.now + span)


def a_worker(pid: int = 7, queues: tuple[str, ...] = ("poll-source", "crawl")) -> WorkerProcess:
    return WorkerProcess(id=a_public_id(), host="box", pid=pid, queues=queues, doing={}, started_at=NOON)


async def test_a_worker_is_seen_with_what_it_does(db):
    workers = Workers(db, ManualClock())
    await workers.beat(a_worker(7), {})
    await workers.beat(a_worker(8, ("crawl",)), {"crawl": 2})
    found = await workers.get()
    assert [(seen.name, seen.queues, seen.doing) for seen in found.live] == [
        ("box:7", ("poll-source", "crawl"), {}),
        ("box:8", ("crawl",), {"crawl": 2}),
    ]
    assert (found.working_on("poll-source"), found.working_on("crawl"), found.lost) == (1, 2, [])


async def test_a_silent_worker_is_lost_and_forgotten_after_a_day(db):
    clock = ManualClock()
    workers, dead, alive = Workers(db, clock), a_worker(7), a_worker(8)
    await workers.beat(dead, {"crawl": 1})
    clock.turn(LOST_AFTER + SECOND)
    await workers.beat(alive, {})
    found = await workers.get()
    assert ([seen.pid for seen in found.live], [seen.pid for seen in found.lost]) == ([8], [7])
    assert await workers.forget_lost() == 0
    clock.turn(DAY)
    await workers.beat(alive, {})
    assert await workers.forget_lost() == 1
    assert (await workers.get()).lost == []


async def test_why_nobody_works_is_said_in_words(db):
    clock = ManualClock()
    workers, one = Workers(db, clock), a_worker()
    nobody = "No worker is running, so nothing is polled or delivered. Start `tsuzuki work`."
    assert await workers.why_nobody_works() == nobody
    await workers.beat(one, {})
    assert await workers.why_nobody_works() is None
    clock.turn(90 * SECOND)
    assert await workers.why_nobody_works() == (
        "No worker has reported for 90 s, so nothing is polled or delivered. The last was box:7."
    )
    await workers.leave(one)
    assert await workers.why_nobody_works() == nobody


class Busy:
    """A loop that does something until it is told to stop, and then takes a moment."""

    problem = None

    def __init__(self) -> None:
        self._stopping = asyncio.Event()
        self.may_end = asyncio.Event()

    @property
    def doing(self):
        return {"crawl": 3, "poll-source": 0}

    def stop(self) -> None:
        self._stopping.set()

    async def run(self, *, patience: float = 0.0) -> None:
        del patience
        await self._stopping.wait()
        await self.may_end.wait()


async def test_loops_are_seen_from_their_start_to_their_end(db):
    workers, busy = Workers(db, ManualClock()), Busy()
    worker_loops = WorkerLoops([busy], Heartbeat(workers, a_worker()))
    worker_loops.start()

    async def is_seen():
        return (await workers.get()).live

    [seen] = await eventually(is_seen)
    assert (seen.name, seen.doing) == ("box:7", {"crawl": 3})
    stopping = asyncio.ensure_future(worker_loops.stop())
    await asyncio.sleep(0.1)
    assert (await workers.get()).live  # it ends what it began, and is seen meanwhile
    busy.may_end.set()
    await stopping
    assert (await workers.get()).live == []


async def test_work_goes_on_while_its_heartbeat_cannot_be_written(db):
    workers, busy = Workers(db, ManualClock()), Busy()
    worker_loops = WorkerLoops([busy], Heartbeat(workers, a_worker()))
    await db.close()
    worker_loops.start()
    await asyncio.sleep(0.2)
    assert worker_loops.is_working
    busy.may_end.set()
    await worker_loops.stop()
