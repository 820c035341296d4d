"""Faults at random and at named points while the publisher goes on, until all of them have happened."""

import asyncio
import contextlib
import random
import signal
import time
from asyncio.subprocess import Process
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import msgspec

from tests.crash.fleet import LEASE_S, Fleet, KillableServers
from tests.crash.killable import POINTS
from tests.crash.ledger import Ledger
from tests.crash.script import BACK_CATALOGUE, Step
from tsuzuki.coord.redis_client import redis_client
from tsuzuki.model.errors import Unavailable

POINT_WITHIN = 4.0
"""How long a process may take to come to its point; then it is killed wherever it is."""
LONGEST_PAUSE = 0.4
"""Between two things that the publisher does while faults happen; none is made at the end."""
SETTLE_WITHIN = 60.0
"""Without any progress."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How often what happens."""

    installments: int
    repeats: int
    worker_kills: int = 0
    server_kills: int = 0
    freezes: int = 0
    postgres_restarts: int = 0
    redis_kills: int = 0
    flushes: int = 0


class Chaos:
    """Does what the plan says to one fleet, and remembers how it went."""

    def __init__(self, fleet: Fleet, ledger: Ledger, steps: Sequence[Step], rng: random.Random) -> None:
        self.fleet = fleet
        self.ledger = ledger
        self.rng = rng
        self.done: Counter[str] = Counter()
        self.recoveries: list[float] = []
        """Seconds from a death to the moment when nothing is held by the dead any more."""
        self._steps = deque(steps)
        self._next = Counter(dict.fromkeys({step.outlet for step in steps}, BACK_CATALOGUE))
        self._total = len(steps)
        self._allowed = 0.0
        self._points: dict[int, str] = {}
        """Where each worker, or the server at -1, is to die."""
        self._burials: set[asyncio.Task[None]] = set()
        self._pauses = random.Random(rng.random())  # of their own: the order of faults must not depend on timing

    # -- publishing

    @contextlib.asynccontextmanager
    async def publishing(self) -> AsyncIterator[None]:
        """The script goes on in the background, as far as the faults have come."""
        going = asyncio.create_task(self._publish())
        try:
            yield
        finally:
            going.cancel()
            await asyncio.gather(going, return_exceptions=True)

    def allow(self, share: float) -> None:
        self._allowed = share

    @property
    def has_published_all(self) -> bool:
        return not self._steps

    async def _publish(self) -> None:
        while self._steps:
            step = self._steps[0]
            taken = 1 - len(self._steps) / self._total
            if taken < self._allowed and self._may(step):
                self.ledger.publisher.take(self._steps.popleft())
                self._next[step.outlet] += step.repeat is None
                await asyncio.sleep(0 if self._allowed >= 1 else self._pauses.uniform(0, LONGEST_PAUSE))
            elif taken < self._allowed:
                self._steps.rotate(-1)
                await asyncio.sleep(0.005)
            else:
                await asyncio.sleep(0.02)

    def _may(self, step: Step) -> bool:
        """One after the other; and what is shown under a new key must be known under its old one (REL-27)."""
        if step.repeat is None:
            return self._next[step.outlet] == step.number
        if step.repeat == "rekeyed":
            return self.ledger.is_told(step.name)
        return step.name in self.ledger.publisher.released

    # -- faults

    async def kill_worker(self) -> None:
        """At random, or at the named point that it was started with; another takes its place."""
        place = self._some_worker()
        worker = self.fleet.workers[place]
        assert worker is not None
        await self._end(worker, "worker")
        await self.fleet.start_worker(place, self._perhaps_killable(worker=place))

    def _some_worker(self) -> int:
        """One that died already, if there is one."""
        dead = [place for place, worker in enumerate(self.fleet.workers) if worker and worker.returncode is not None]
        return (dead or [self.rng.randrange(len(self.fleet.workers))])[0]

    async def kill_server(self) -> None:
        """The one that serves; in one process it is the one that works too."""
        assert self.fleet.server is not None
        await self._end(self.fleet.server, "server")
        await self.fleet.start_server("" if self.fleet.workers else self._perhaps_killable())

    def _perhaps_killable(self, worker: int = -1) -> str:
        """Where the next one is to die; nowhere in particular for every other."""
        if self.rng.random() < 0.5:
            self._points.pop(worker, None)
            return ""
        self._points[worker] = point = self.rng.choice(POINTS)
        return f"{point}:{self.rng.randint(1, 3)}:KILL"

    async def _end(self, child: Process, who: str) -> None:
        place = self.fleet.workers.index(child) if child in self.fleet.workers else -1
        point = self._points.pop(place, None)
        if point is not None and await self.fleet.until_dead(child, POINT_WITHIN):
            self.done[f"{who}, kill -9 at '{point}'"] += 1
        else:
            await asyncio.sleep(self.rng.uniform(0, 0.5))
            await self.fleet.kill(child)
            self.done[f"{who}, kill -9 at random"] += 1
        self._bury(child.pid)

    async def replace_killables(self) -> None:
        """From here on nobody dies."""
        for place in [place for place in self._points if place >= 0]:
            worker = self.fleet.workers[place]
            assert worker is not None
            await self.fleet.kill(worker)
            await self.fleet.start_worker(place)
        if -1 in self._points and self.fleet.server is not None:
            await self.fleet.kill(self.fleet.server)
            await self.fleet.start_server()
        self._points.clear()

    async def freeze_worker(self) -> None:
        """SIGSTOP past the lease, at random or at a named point; others take over; then it goes on (REL-13)."""
        place = self._some_worker()
        worker = self.fleet.workers[place]
        assert worker is not None
        if place not in self._points and self.rng.random() < 0.5:
            worker.send_signal(signal.SIGSTOP)
            self.done["worker, frozen at random"] += 1
        else:
            await self.fleet.kill(worker)
            self._points.pop(place, None)
            point = self.rng.choice(["visited", "announcing", "telling", "told", "claimed"])
            worker = await self.fleet.start_worker(place, f"{point}:1:STOP")
            if await self.fleet.until_stopped(worker, POINT_WITHIN):
                self.done[f"worker, frozen at '{point}'"] += 1
        await asyncio.sleep(LEASE_S * 1.5 + 1.0)
        with contextlib.suppress(ProcessLookupError):
            worker.send_signal(signal.SIGCONT)

    async def meet_point(self, spec: str, share: float) -> bool:
        """Whether a worker came to this point; one that froze there goes on after its lease.

        The script goes on up to this share when the worker is there: a slow machine would have played it before.
        """
        first = self.fleet.workers[0]
        assert first is not None
        await self.fleet.kill(first)
        worker = await self.fleet.start_worker(0, spec)
        self.allow(share)
        if spec.endswith("KILL"):
            met = await self.fleet.until_dead(worker, POINT_WITHIN)
        else:
            met = await self.fleet.until_stopped(worker, POINT_WITHIN)
            await asyncio.sleep(LEASE_S * 1.5 + 1.0)
            worker.send_signal(signal.SIGCONT)
            await asyncio.sleep(1.0)
        return met

    async def flush(self, url: str) -> None:
        async with contextlib.aclosing(redis_client(url)) as client:
            await client.flushall()
        self.done["Redis, FLUSHALL"] += 1

    def _bury(self, pid: int) -> None:
        """Measure, beside all else, how long the dead hold what they held; where nobody else works, nobody takes it."""
        if self.fleet.workers:
            burial = asyncio.create_task(self._watch_over(pid))
            self._burials.add(burial)
            burial.add_done_callback(self._burials.discard)

    async def _watch_over(self, pid: int) -> None:
        began = time.monotonic()
        with contextlib.suppress(Unavailable):  # PostgreSQL restarts: that is another matter
            while await self.ledger.held_by(pid):
                if time.monotonic() - began > 10 * LEASE_S:
                    break
                await asyncio.sleep(0.05)
            self.recoveries.append(time.monotonic() - began)

    # -- the end

    async def settle(self, patience: float = SETTLE_WITHIN) -> float:
        """Wait until everything has arrived, or nothing has moved for so long; the seconds since the last fault."""
        await self.replace_killables()
        self.allow(1.0)
        await asyncio.gather(*self._burials)
        began = moved = time.monotonic()
        last: object = None
        while time.monotonic() - moved < patience:
            state = await self._state()
            if state is not None and state == (0, 0, True) and self.has_published_all:
                break
            if state != last:
                last, moved = state, time.monotonic()
            await asyncio.sleep(0.1)
        return time.monotonic() - began

    async def _state(self) -> tuple[int, int, bool] | None:
        try:
            entries, notices = await self.ledger.entries(), await self.ledger.notices()
            return len(entries.lost), len(notices.lost), await self.ledger.is_idle()
        except Unavailable:
            return None


async def run_in_one_process(chaos: Chaos, plan: Plan) -> None:
    """Everything in one process on SQLite, which is killed again and again."""
    for number in range(plan.server_kills):
        chaos.allow((number + 1) / plan.server_kills)
        await chaos.kill_server()


async def run_in_many_processes(chaos: Chaos, plan: Plan, deps: KillableServers) -> None:
    """A server and workers, and the servers under them."""

    async def postgres() -> None:
        await deps.restart_postgres()
        chaos.done["PostgreSQL, immediate restart"] += 1

    async def redis() -> None:
        await deps.restart_redis()
        chaos.done["Redis, kill -9"] += 1

    faults: list[Callable[[], Awaitable[None]]] = [
        *[chaos.kill_worker] * plan.worker_kills,
        *[chaos.kill_server] * plan.server_kills,
        *[chaos.freeze_worker] * plan.freezes,
        *[postgres] * plan.postgres_restarts,
        *[redis] * plan.redis_kills,
        *[lambda: chaos.flush(deps.redis.url)] * plan.flushes,
    ]
    chaos.rng.shuffle(faults)
    for number, fault in enumerate(faults):
        chaos.allow((number + 1) / len(faults))
        await fault()
