"""What is measured: polls of every kind in turns, then the API in turns."""

import asyncio
import contextlib
import random
import statistics
import sys
import time
from asyncio.subprocess import PIPE
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import aiohttp
import apsw
import asyncpg
import msgspec

from bench.harness import p95, say
from bench.peers.contestants import Broken, Contestant
from bench.peers.publisher import COMMON, NEW, AnswerCounts, Mode, address, rare_word
from bench.peers.table import Row, megabytes, milliseconds, octets, rate

CLIENTS = 16
"""That ask for lists at the same time."""
STALL_S = 15.0
"""Without a request to the publisher and without a feed that is done; what is left then is a note."""
LOOK_S = 0.02
STIR = "200, other bytes, the same items"
KINDS: Sequence[tuple[Mode, str]] = (
    ("same", "304"),
    ("mute", "200, the same bytes"),
    ("stir", STIR),
    ("new", f"200, {NEW} new items"),
)
FIRST = "first fetch of everything"
POLLS = (FIRST, *(what for _, what in KINDS))
LIST, ENTRY, MARK = "list 50 unread, with content", "one entry", "mark read and unread again"
FOUND_COMMON, FOUND_RARE = "search, a word of every item", "search, a word of one item"
CALLS = (LIST, ENTRY, MARK, FOUND_COMMON, FOUND_RARE)
CROWD, CROWD_P95 = "lists a second, 16 clients", "p95 of the list, 16 clients"
DURING = "p95 of the list during a refresh with new items"
COLD = "cold start, until the list is answered"
AHEAD = {STIR: {"Fusion": 1.2}}
"""Where the aim is more than the first place."""
IDLE, AFTER = "memory, idle and empty", "memory, after all of this"
DISK = "disk for each item"


class Sizes(msgspec.Struct, frozen=True):
    """How much of everything."""

    feeds: int = 500
    items: int = 30
    rounds: int = 3
    calls: int = 100
    hosts: int = 200
    settle: int = 2000
    """Milliseconds of rest before memory is read."""


class Site:
    """The publisher, from outside."""

    def __init__(self, session: aiohttp.ClientSession, port: int, hosts: int) -> None:
        self._session = session
        self._port = port
        self._hosts = hosts

    def urls(self, key: str, feeds: int) -> list[str]:
        """On as many hosts as there are."""
        hosts = [address(number) for number in range(self._hosts)] or ["127.0.0.1"]
        return [f"http://{hosts[number % len(hosts)]}:{self._port}/{key}/{number}" for number in range(feeds)]

    async def set(self, key: str, mode: Mode) -> None:
        await self._get(f"set/{key}/{mode}")

    async def answers(self, key: str) -> AnswerCounts:
        return msgspec.json.decode(await self._get(f"answers/{key}"), type=AnswerCounts)

    async def _get(self, path: str) -> bytes:
        async with self._session.get(f"http://127.0.0.1:{self._port}/{path}") as response:
            response.raise_for_status()
            return await response.read()


@contextlib.asynccontextmanager
async def a_site(sizes: Sizes) -> AsyncIterator[Site]:
    """A publisher, until the end of the block."""
    hosts = min(sizes.feeds, sizes.hosts)
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.peers.publisher", str(hosts), str(sizes.items), stdout=PIPE
    )
    assert child.stdout is not None
    port, bound = (await child.stdout.readline()).split()
    try:
        async with aiohttp.ClientSession() as session:
            yield Site(session, int(port), int(bound))
    finally:
        child.kill()
        await child.wait()


class Measuring:
    """All contestants, and what was found out. Who breaks is left out of what follows."""

    def __init__(self, site: Site, contestants: Sequence[Contestant], sizes: Sizes) -> None:
        self._site = site
        self._all = list(contestants)
        self._in = list(contestants)
        self._sizes = sizes
        self._rng = random.Random(1)
        self.figures: dict[str, dict[str, float | None]] = defaultdict(dict)
        self.notes: list[str] = []

    @property
    def contestants(self) -> Sequence[Contestant]:
        """Also those who broke."""
        return self._all

    @property
    def names(self) -> list[str]:
        return [one.name for one in self._all]

    async def run(self) -> None:
        await self._each("start", self._start)
        await self._each(FIRST, self._first)
        for mode, what in KINDS:
            await self._polls(mode, what)
        await self._calls()
        await self._each(CROWD, self._crowd)
        await self._each(DURING, self._during_refresh)
        await self._each("what was stored", self._stored)
        await self._each(COLD, self._cold)

    async def _each(self, what: str, do: Callable[[Contestant], Awaitable[None]]) -> None:
        """In another order each time."""
        order = list(self._in)
        self._rng.shuffle(order)
        for one in order:
            if what:
                say(f"{what}: {one.name}")
            try:
                await do(one)
            except (Broken, aiohttp.ClientError, OSError, apsw.Error, asyncpg.PostgresError) as error:
                self._in.remove(one)
                why = str(error) or type(error).__name__
                self._note(f"{one.name} is missing from the rest, since “{what}”: {why}")

    def _note(self, sentence: str) -> None:
        say(sentence)
        self.notes.append(sentence)

    # -- polls

    async def _start(self, one: Contestant) -> None:
        await one.start()
        await one.prepare()
        await asyncio.sleep(self._sizes.settle / 1000)
        self.figures[IDLE][one.name] = one.memory
        self.figures["empty"][one.name] = await one.stored.size()

    async def _first(self, one: Contestant) -> None:
        urls = self._site.urls(one.key, self._sizes.feeds)
        await self._timed(one, FIRST, lambda: one.first_fetch(urls))
        await self._check_requests(one, FIRST, "200")

    async def _polls(self, mode: Mode, what: str) -> None:
        """A round that is not counted, because the ETags are from the mode before, then those that are."""

        async def warm_up(one: Contestant) -> None:
            await self._site.set(one.key, mode)
            await one.age()
            await self._timed(one, None, one.refresh)

        async def poll(one: Contestant) -> None:
            await self._site.set(one.key, mode)  # also begins to count anew
            await one.age()
            await self._timed(one, what, one.refresh)
            await self._check_requests(one, what, "304" if mode == "same" else "200")

        await self._each(f"{what}, warm-up", warm_up)
        for number in range(self._sizes.rounds):
            await self._each(f"{what}, round {number + 1} of {self._sizes.rounds}", poll)

    async def _check_requests(self, one: Contestant, what: str, expected: str) -> None:
        """Each feed once, with the answer that was meant."""
        statuses = (await self._site.answers(one.key)).statuses
        if statuses != {expected: self._sizes.feeds}:
            got = ", ".join(f"{count:,} times {status}" for status, count in sorted(statuses.items())) or "nothing"
            self._note(f"{one.name}, {what}: the publisher answered {got}, for {self._sizes.feeds:,} feeds.")

    async def _timed(self, one: Contestant, what: str | None, begin: Callable[[], Awaitable[None]]) -> None:
        """Polls a second from the request until the last feed is stored; the best of the rounds stays."""
        await begin()
        left, done_at = await self._wait(one)
        if left:
            self._note(f"{one.name}, {what or 'warm-up'}: {left} of {self._sizes.feeds} feeds were not done.")
        if what is not None:
            found = (self._sizes.feeds - left) / (done_at - one.began)
            self.figures[what][one.name] = max(found, self.figures[what].get(one.name) or 0.0)

    async def _wait(self, one: Contestant) -> tuple[int, float]:
        """How many feeds are left in the end, and when the last one was done."""
        left, changed_at, asked = await one.left(), time.perf_counter(), 0
        while left and time.perf_counter() - changed_at < STALL_S:
            await asyncio.sleep(LOOK_S)
            now_left, now_asked = await one.left(), asked
            if time.perf_counter() - changed_at > 1:
                now_asked = sum((await self._site.answers(one.key)).statuses.values())
            if (now_left, now_asked) != (left, asked):
                left, asked, changed_at = now_left, now_asked, time.perf_counter()
        return left, changed_at

    # -- the API

    async def _calls(self) -> None:
        """One call of each in turn, so that what else the machine does concerns all."""
        times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        ids: dict[str, list[Any]] = {}

        async def one_round(one: Contestant) -> None:
            feed, number = self._rng.randrange(self._sizes.feeds), self._sizes.items
            which = self._rng.choice(ids[one.name])
            calls: dict[str, Callable[[], Awaitable[object]]] = {
                LIST: one.unread,
                ENTRY: lambda: one.entry(which),
                MARK: lambda: _mark_twice(one, which),
                FOUND_COMMON: lambda: one.search(COMMON),
                FOUND_RARE: lambda: one.search(rare_word(feed, number)),
            }
            for what, call in calls.items():
                began = time.perf_counter()
                await call()
                times[what][one.name].append(time.perf_counter() - began)

        async def warm_up(one: Contestant) -> None:
            ids[one.name] = await one.unread()
            await self._check_search(one)
            await one_round(one)
            for found in times.values():
                found[one.name].clear()

        await self._each("API, warm-up", warm_up)
        for _ in range(self._sizes.calls):
            await self._each("", one_round)
        for what, each in times.items():
            for name, found in each.items():
                self.figures[what][name] = statistics.median(found) if found else None

    async def _check_search(self, one: Contestant) -> None:
        """A search that finds nothing is quick: it is said."""
        for word, wanted in ((COMMON, 20), (rare_word(0, self._sizes.items), 1)):
            if (found := await one.search(word)) < wanted:
                self._note(f"{one.name}: a search for “{word}” found {found}.")

    async def _crowd(self, one: Contestant) -> None:
        """Sixteen clients, each asking again as soon as it is answered."""
        times: list[float] = []

        async def client() -> None:
            for _ in range(max(2, self._sizes.calls // 4)):
                began = time.perf_counter()
                await one.unread()
                times.append(time.perf_counter() - began)

        began = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(CLIENTS)))
        self.figures[CROWD][one.name] = len(times) / (time.perf_counter() - began)
        self.figures[CROWD_P95][one.name] = p95(times)

    async def _during_refresh(self, one: Contestant) -> None:
        await self._site.set(one.key, "new")
        await one.age()
        await one.refresh()
        waiting = asyncio.ensure_future(self._wait(one))
        times: list[float] = []
        try:
            while not waiting.done():
                began = time.perf_counter()
                await one.unread()
                times.append(time.perf_counter() - began)
            left, _ = await waiting
        finally:
            waiting.cancel()
        if left:
            self._note(f"{one.name}, {DURING}: {left} of {self._sizes.feeds} feeds were not done.")
        self.figures[DURING][one.name] = p95(times)

    # -- what it cost

    async def _stored(self, one: Contestant) -> None:
        await asyncio.sleep(self._sizes.settle / 1000)
        self.figures[AFTER][one.name] = one.memory
        items, published = await one.items(), (await self._site.answers(one.key)).published
        if items != published:
            word = "missing" if items < published else "too many"
            amiss = f"of {published:,} items published to it {abs(published - items):,} are {word}"
            self._note(f"{one.name}: {amiss}.{one.complaint}")
        grown = await one.stored.size() - (self.figures["empty"][one.name] or 0)
        self.figures[DISK][one.name] = grown / items if items else None

    async def _cold(self, one: Contestant) -> None:
        """Until the list is answered, with everything in the database."""
        await one.stop()
        began = time.perf_counter()
        await one.start()
        await one.unread()
        self.figures[COLD][one.name] = time.perf_counter() - began

    # -- the tables

    def rows(self) -> list[Row]:
        polls = [
            Row(
                f"polls/s: {what}",
                self.figures[what],
                rate,
                is_more_better=True,
                is_speed=True,
                times=AHEAD.get(what, {}),
            )
            for what in POLLS
        ]
        calls = [
            *(Row(what, self.figures[what], milliseconds, is_speed=True) for what in CALLS),
            Row(CROWD, self.figures[CROWD], rate, is_more_better=True, is_speed=True),
            *(Row(what, self.figures[what], milliseconds, is_speed=True) for what in (CROWD_P95, DURING, COLD)),
        ]
        memory = [Row(what, self.figures[what], megabytes) for what in (IDLE, AFTER)]
        return [*polls, *calls, *memory, Row(DISK, self.figures[DISK], octets)]


async def _mark_twice(one: Contestant, which: object) -> None:
    await one.mark(which, unread=False)
    await one.mark(which, unread=True)
