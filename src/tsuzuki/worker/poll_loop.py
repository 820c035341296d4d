"""The loop that polls what is due, several polls at a time."""

import asyncio
import contextlib
import math
import random
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping

import structlog

from tsuzuki.coord.wakeup import POLL_WAKEUP, Listener, Wakeup
from tsuzuki.model.errors import Unavailable
from tsuzuki.model.times import SECOND
from tsuzuki.polling.policy import ClaimedWatch
from tsuzuki.polling.service import Poller, PollResult
from tsuzuki.queue.policy import FLOOR
from tsuzuki.worker.loops import Loop

_GATHER = 0.01
"""How long after its last claim a busy loop waits, at the most, until it may begin half as many as it has places."""

_AHEAD = 0.1
"""Seconds. What begins within them, as quickly as polls end just now, is claimed though no place is free yet: then no
place stands empty while a claim is on its way. Where polls are slow that is nothing, and others may have it."""

_LONGEST_HOLD = 30.0
"""Seconds. A host that lets one poll wait is left alone for so long at most: what made it wait may concern that one."""

_DEMAND_LASTS = 300.0
"""Seconds, unless polls wait for their start."""
_SELDOM = 50
"""Times as long as it took to see how many polls are due a second; then, if polls wait, it may be seen again."""

_CLOCK_WENT_BACK = 60.0
"""Seconds."""

_log = structlog.stdlib.get_logger("tsuzuki.polling")


SLOWEST_START = 1.0
CATCHING_UP = 1.5


class StartPace:
    """How quickly polls may begin of what was looked at before: after days away they are spread, not fired at once.

    `rate` is in polls a second. Moments are seconds of a clock that never goes back.
    """

    def __init__(self, burst: int) -> None:
        self._burst = burst
        self._left = float(burst)
        self._rate = SLOWEST_START
        self._since: float | None = None
        self._begun: deque[str] = deque(maxlen=burst)

    def set_demand(self, per_second: float) -> None:
        """By how many fall due in the ordinary way; a little more, so that what has piled up becomes less."""
        self._rate = max(SLOWEST_START, CATCHING_UP * per_second)

    def left(self, now: float) -> int:
        """How many polls may start now."""
        passed = 0.0 if self._since is None else max(0.0, now - self._since)
        self._left = min(self._left + passed * self._rate, max(self._burst, self._rate))
        self._since = now
        return max(0, int(self._left))

    def spend(self, hosts: Collection[str]) -> None:
        """Count one start at each of these hosts."""
        self._left -= len(hosts)
        self._begun.extend(hosts)

    @property
    def served(self) -> frozenset[str]:
        """The host that had more than half of the last starts, if any did: the next is for others, if any wait."""
        counts = Counter(self._begun)
        return frozenset(host for host, count in counts.items() if count * 2 > len(self._begun))


class PollLoop(Loop):
    """Claims due watches and polls them until it is stopped. `ingest_wakeups` are woken when a poll found something."""

    def __init__(
        self,
        poller: Poller,
        wakeup: Wakeup,
        *,
        concurrency: int,
        ingest_wakeups: tuple[str, ...],
        polled: Callable[[PollResult, float], None],
        is_spread: bool = True,
    ) -> None:
        """`is_spread` bounds how quickly polls begin of what was looked at before."""
        self._start_pace = StartPace(concurrency) if is_spread else None
        self._demand_good_until = self._demand_good_for_now = -math.inf
        self._lag: float | None = None
        self._poller = poller
        self._wakeup = wakeup
        self._concurrency = concurrency
        self._ingest_wakeups = ingest_wakeups
        self._polled = polled
        self._running: dict[asyncio.Task[None], ClaimedWatch] = {}
        self._held: dict[str, float] = {}
        self.places = asyncio.Semaphore(concurrency)
        self._ended: deque[float] = deque(maxlen=concurrency)
        self.is_stopping = False
        self._listener = Listener()
        self._most = concurrency
        self._has_room = asyncio.Event()
        self._last_claim = 0.0

    @property
    def doing(self) -> Mapping[str, int]:
        """Polls that are under way."""
        return {POLL_WAKEUP: len(self._running)}

    def stop(self) -> None:
        """Claim nothing more; `run` returns when the polls that were begun are over."""
        self.is_stopping = True
        self._listener.wake()

    async def run(self, *, patience: float = 20.0) -> None:
        """Poll until `stop`. A poll that does not end in time is cancelled; its lease runs out by itself."""
        async with asyncio.TaskGroup() as group:
            with self._wakeup.listen(POLL_WAKEUP) as listener:
                self._listener = listener
                while not self.is_stopping:
                    await self._check_clock()
                    if not await self._claim_some(group):
                        await listener.wait(FLOOR / SECOND * random.uniform(0.75, 1.25))
            if self._running:
                _, late = await asyncio.wait(self._running, timeout=patience)
                for poll in late:
                    poll.cancel()

    async def _claim_some(self, group: asyncio.TaskGroup) -> bool:
        """Begin what is due; False when nothing more can be begun now."""
        room = await self._room()
        if room <= 0 or self.is_stopping:
            return False
        hosts = Counter(watch.host for watch in self._running.values())
        shelves = Counter(watch.shelf_id for watch in self._running.values() if watch.shelf_id is not None)
        try:
            starts = await self._starts()
            served = () if self._start_pace is None else self._start_pace.served
            claimed = await self._poller.claim(
                room, hosts, shelves=shelves, held=self._held_hosts(), starts=starts, served=served
            )
        except Unavailable as error:
            _log.warning("polling_unavailable", reason=str(error))
            return False
        except Exception:  # noqa: BLE001  the top of a worker's loop, which must go on
            _log.exception("polling_claim_failed")
            return False
        for watch in claimed:
            poll = group.create_task(self._poll(watch))
            self._running[poll] = watch
            poll.add_done_callback(self._end)
        if self._start_pace is not None:
            self._start_pace.spend([watch.host for watch in claimed if watch.last_checked_at is not None])
        return bool(claimed)

    async def _starts(self) -> int | None:
        """How many may begin of what was looked at before; None for all."""
        if self._start_pace is None:
            return None
        clock = asyncio.get_running_loop().time
        left = self._start_pace.left(began := clock())
        if began > self._demand_good_until or (not left and began > self._demand_good_for_now):
            self._start_pace.set_demand(await self._poller.demand())
            took = clock() - began
            self._demand_good_until = clock() + _DEMAND_LASTS
            self._demand_good_for_now = clock() + max(FLOOR / SECOND, took * _SELDOM)
        return left

    def _held_hosts(self) -> Collection[str]:
        now = asyncio.get_running_loop().time()
        self._held = {host: until for host, until in self._held.items() if until > now}
        return self._held

    async def _check_clock(self) -> None:
        """Repair what was planned by a clock that ran ahead, at the start and when the clock goes back (REL-19g)."""
        lag = asyncio.get_running_loop().time() - self._poller.now / SECOND
        if self._lag is not None and lag - self._lag < _CLOCK_WENT_BACK:
            self._lag = min(lag, self._lag)
            return
        try:
            repaired = await self._poller.repair()
        except Exception as error:  # noqa: BLE001  the top of a worker's loop, which must go on
            _log.warning("watches_not_repaired", reason=str(error))
            return
        self._lag = lag
        if repaired:
            _log.warning("wrong_clock_repaired", repaired=repaired)

    async def _room(self) -> int:
        """How many more may be claimed. Under load polls end one after the other: a moment's wait saves many claims."""
        now = asyncio.get_running_loop().time
        self._most = self._concurrency + self._ahead(now())
        if not self._has_much_room():
            self._has_room.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(max(self._last_claim + _GATHER, now())):
                    await self._has_room.wait()
        self._last_claim = now()
        return self._most - len(self._running)

    def _ahead(self, now: float) -> int:
        """How many would have begun within `_AHEAD` seconds, by when the last of them ended."""
        if len(self._ended) < self._concurrency:
            return 0
        passed = max(now - self._ended[0], _AHEAD)  # never more than there are places
        return int(self._concurrency * _AHEAD / passed)

    def _has_much_room(self) -> bool:
        return self._most - len(self._running) >= self._concurrency / 2

    def _end(self, done: asyncio.Task[None]) -> None:
        del self._running[done]
        self._ended.append(asyncio.get_running_loop().time())
        self._listener.wake()
        if self._has_much_room():
            self._has_room.set()

    async def _poll(self, watch: ClaimedWatch) -> None:
        turn = _Turn(self)
        try:
            polled = await self._poller.poll(watch, turn)
        except Unavailable as error:
            _log.warning("poll_unavailable", watch=watch.id, reason=str(error))
            return
        except Exception:  # noqa: BLE001  one watch's trouble is not the others'
            _log.exception("poll_failed", watch=watch.id)
            return
        now = asyncio.get_running_loop().time()
        if polled.host_waits:
            self._held[watch.host] = now + min(polled.host_waits / SECOND, _LONGEST_HOLD)
        self._report(watch, polled, now - turn.begun)
        if polled.found:
            self._wakeup.wake(*self._ingest_wakeups)

    def _report(self, watch: ClaimedWatch, polled: PollResult, seconds: float) -> None:
        """One line in the log for each poll, with the reason where it failed."""
        self._polled(polled, seconds)
        facts = {"watch": watch.id, "host": watch.host, "outcome": polled.outcome, "seconds": round(seconds, 3)}
        if polled.why:
            _log.warning("polled", **facts, reason=polled.why)
        else:
            _log.info("polled", **facts, found=polled.found)


class _Turn:
    """One poll's wait for a slot, and when it began."""

    def __init__(self, loop: PollLoop) -> None:
        self._loop = loop
        self.begun = 0.0

    async def __aenter__(self) -> bool:
        """See `polling.service.PollTurn`."""
        await self._loop.places.acquire()
        self.begun = asyncio.get_running_loop().time()
        return not self._loop.is_stopping

    async def __aexit__(self, *_: object) -> None:
        self._loop.places.release()
