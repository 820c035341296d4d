"""The conduct of a server towards a publisher that logs everything: days of it, on a clock that is turned.

The publisher is real, and so are its log, the client, the scheduler and the database. Each of its feeds has wishes of
its own; after every request it knows when the next may come at the earliest, and with which headers.
"""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Callable

import msgspec
import pytest

from tests.builders import NOON, a_public_id, stored_feed, stored_shelf, stored_watch
from tests.net.builders import a_server, answer
from tests.polling.builders import LEASE, PACE, Clock, a_feed, a_poller
from tests.scale import scaled
from tsuzuki.coord.pacer import MemoryPacer
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.ids import WatchId
from tsuzuki.model.times import DAY, HOUR, MINUTE, SECOND, Millis
from tsuzuki.net.headers import user_agent
from tsuzuki.polling.policy import FULL_FETCH_EVERY
from tsuzuki.polling.service import Poller
from tsuzuki.worker.poll_loop import StartPace

PLACES, PER_HOST = 10, 2
AWAY = Millis(2 * DAY)
OWN_INTERVAL = Millis(20 * MINUTE)
NIGHT, WEEKEND = tuple(range(7)), (5, 6)
ASKED_PER_STEP = 0.02

q = parse_queries(
    "tests",
    """
-- name: next_event
select min(next_check_at) from watch where suspended_at is null;
-- name: add_group
insert into shelf_group (public_id, shelf_id, name, created_at, updated_at)
values (:public_id, :shelf_id, 'g', 1, 1) returning id;
-- name: subscribe
insert into subscription (public_id, shelf_id, feed_id, group_id, poll_interval, created_at, updated_at)
values (:public_id, :shelf_id, :feed_id, :group_id, :interval, 1, 1);
""",
)


class Logged(msgspec.Struct, frozen=True):
    """One request."""

    at: Millis
    path: str
    headers: dict[str, str]

    @property
    def is_conditional(self) -> bool:
        return "if-none-match" in self.headers or "if-modified-since" in self.headers


class Page(msgspec.Struct):
    """What the publisher remembers of one address."""

    version: int = 0
    requests: int = 0
    last: Logged | None = None
    not_before: int = 0
    """By wishes and Retry-After."""
    held_until: int = 0
    """By Retry-After alone."""
    full_at: Millis | None = None


def wishes(text: str) -> Callable[[int], bytes]:
    def body(version: int) -> bytes:
        return a_feed(*map(str, range(version + 1, 0, -1))).replace(b"</title>", f"</title>{text}".encode(), 1)

    return body


def skipping() -> str:
    hours = "".join(f"<hour>{hour}</hour>" for hour in NIGHT)
    return f"<skipHours>{hours}</skipHours><skipDays><day>Saturday</day><day>Sunday</day></skipDays>"


BODIES = defaultdict(
    lambda: wishes(""),
    {"/ttl": wishes("<ttl>120</ttl>"), "/skips": wishes(skipping()), "/own": wishes("<ttl>1440</ttl>")},
)
PATHS = ("/plain", "/fresh", "/ttl", "/skips", "/busy", "/moves", "/bare", "/broken", "/own")


class LoggingPublisher:
    """Answers by its rules, and counts every way in which they are not kept."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.log: list[Logged] = []
        self.pages: dict[str, Page] = defaultdict(Page)
        self.asked: set[str] = set()
        """What a person asked for: no wish holds, but Retry-After does."""
        self.wrong: list[str] = []
        self._here = 0
        self.most_here = 0
        self.is_counting = True

    async def handle(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        self._here += 1
        self.most_here = max(self.most_here, self._here)
        await asyncio.sleep(0.001)
        self._here -= 1
        request = self._read(head)
        self.log.append(request)
        writer.write(self._answer(request))

    def _read(self, head: bytes) -> Logged:
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        return Logged(self._clock(), first.split(" ")[1], headers)

    def _answer(self, request: Logged) -> bytes:
        page = self.pages[request.path]
        self._judge(request, page)
        page.requests += 1
        page.last = request
        if request.path == "/moves":
            return answer(302, b"", location=f"/target{page.requests // 7 % 2}", set_cookie="a=b")
        if request.path == "/broken":
            return answer(500, b"", set_cookie="a=b")
        if request.path == "/busy" and page.requests % 5 == 0:
            page.held_until = page.not_before = request.at + 2 * HOUR
            return answer(503, b"", retry_after="7200", set_cookie="a=b")
        return self._content(request, page)

    def _content(self, request: Logged, page: Page) -> bytes:
        headers = {"set_cookie": "session=secret; Path=/"}
        is_known = request.headers.get("if-none-match") == self._etag(request.path, page)
        if page.requests % 9 == 0:
            page.version, is_known = page.version + 1, False
        if request.path != "/bare":
            headers |= {"etag": self._etag(request.path, page), "last_modified": f"version {page.version} of it"}
        if request.path == "/fresh" and not is_known:
            headers["cache_control"] = "max-age=5400"
        page.not_before = request.at + self._pause(request.path)
        if not request.is_conditional:
            page.full_at = request.at  # who was turned away may ask for the whole again
        if is_known:
            return answer(304, b"")
        return answer(200, BODIES[request.path](page.version), **headers)

    @staticmethod
    def _etag(path: str, page: Page) -> str:
        return f'W/"{path} {page.version};gzip"'

    @staticmethod
    def _pause(path: str) -> int:
        return {"/fresh": 90 * MINUTE, "/ttl": 2 * HOUR, "/own": OWN_INTERVAL}.get(path, PACE.interval)

    def _judge(self, request: Logged, page: Page) -> None:
        path, at = request.path, request.at
        is_target = path.startswith("/target")
        if "cookie" in request.headers:
            self.wrong.append(f"{path}: a cookie")
        if request.headers.get("user-agent") != user_agent(None):
            self.wrong.append(f"{path}: {request.headers.get('user-agent')}")
        if at < page.held_until:
            self.wrong.append(f"{path}: {page.held_until - at} ms before its Retry-After was over")
        is_asked = path in self.asked
        self.asked.discard(path)
        if not is_asked and not is_target and at < page.not_before:
            self.wrong.append(f"{path}: {page.not_before - at} ms too soon")
        is_skipped = at // HOUR % 24 in NIGHT or (at // DAY + 3) % 7 in WEEKEND
        if path == "/skips" and page.requests and not is_asked and is_skipped:
            self.wrong.append(f"{path}: at a time that it skips")
        self._judge_condition(request, page)

    def _judge_condition(self, request: Logged, page: Page) -> None:
        """R26: byte for byte, at the address that they came from, and left out once a week at most."""
        expected = (
            {}
            if request.path == "/bare" or not page.requests
            else {
                "if-none-match": self._etag(request.path, page),
                "if-modified-since": f"version {page.version} of it",
            }
        )
        sent = {name: value for name, value in request.headers.items() if name.startswith("if-")}
        if request.path in ("/moves", "/broken", "/bare"):
            expected = {}
        if sent and sent != expected:
            self.wrong.append(f"{request.path}: {sent} for {expected}")
        since = None if page.full_at is None else request.at - page.full_at
        is_target = request.path.startswith("/target")
        if not sent and expected and not is_target and since is not None and since < FULL_FETCH_EVERY:
            self.wrong.append(f"{request.path}: a whole answer again after {since} ms")


class Days:
    """Time, and a server that goes by it."""

    def __init__(self, poller: Poller, clock: Clock, publisher: LoggingPublisher, watches: dict[str, WatchId]) -> None:
        self._poller = poller
        self._clock = clock
        self._publisher = publisher
        self._watches = watches
        self._dice = random.Random(17)
        self._pace = StartPace(PLACES)
        self.begun: Counter[int] = Counter()
        """How many polls began in each second."""

    async def pass_until(self, db, end: Millis) -> None:
        while self._clock() < end:
            await self._poll_all()
            await self._ask_now_and_then()
            due = await db.read(lambda tx: tx.one(int, q.next_event))
            self._clock.now = Millis(max(min(due, end), self._clock() + SECOND))

    async def _poll_all(self) -> None:
        self._pace.set_demand(await self._poller.demand())
        while claimed := await self._poller.claim(PLACES, {}, starts=self._pace.left(self._clock() / SECOND)):
            self._pace.spend([watch.host for watch in claimed if watch.last_checked_at is not None])
            self.begun[self._clock() // SECOND] += len(claimed)
            await asyncio.gather(*(self._poller.poll(watch) for watch in claimed))

    async def _ask_now_and_then(self) -> None:
        if self._dice.random() > ASKED_PER_STEP:
            return
        path = self._dice.choice(PATHS)
        if (await self._poller.ask_refresh(self._watches[path])).queued:
            self._publisher.asked.add(path)


@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_a_publisher_that_logs_everything_finds_nothing_wrong(db):
    """R94-R97, R20-R26: 5 days ordinarily, 40 in the soak; the server was away for two of them."""
    days, clock = scaled(5, 40), Clock()
    publisher = LoggingPublisher(clock)
    rng = random.Random(4)
    client = {"pacer": MemoryPacer(lambda: clock() * 1000)}
    async with (
        a_server(publisher.handle) as server,
        a_poller(db, clock, lease=LEASE, per_host=PER_HOST, jitter=rng.random, client=client) as poller,
    ):
        shelf = await stored_shelf(db)
        group = await db.with_tx(lambda tx: tx.one(int, q.add_group, public_id=a_public_id(), shelf_id=shelf))
        watches = {}
        for path in PATHS:
            feed = await stored_feed(db, f"{server.url}{path}")
            row = {"public_id": a_public_id(), "shelf_id": shelf, "feed_id": feed, "group_id": group}
            interval = OWN_INTERVAL if path == "/own" else None
            await db.with_tx(lambda tx, row=row, interval=interval: tx.run(q.subscribe, **row, interval=interval))
            watches[path] = await stored_watch(db, feed, host="127.0.0.1", priority=1)
        time = Days(poller, clock, publisher, watches)
        half = Millis(NOON + (days * DAY - AWAY) // 2)
        await time.pass_until(db, half)
        clock.turn(AWAY)
        await time.pass_until(db, Millis(NOON + days * DAY))
    assert publisher.wrong == []
    assert publisher.most_here <= PER_HOST
    assert max(count for second, count in time.begun.items() if second > NOON // SECOND) <= PLACES
    counts = Counter(request.path for request in publisher.log)
    active = days * DAY - AWAY
    assert counts["/plain"] >= active / (PACE.interval * 1.06) - 2, counts
    assert counts["/own"] >= active / (OWN_INTERVAL * 1.06) - 2, counts
    assert counts["/ttl"] >= active / (2 * HOUR * 1.06) - 2, counts
    assert counts["/target0"] > 5
    assert counts["/target1"] > 5
    conditional = Counter(request.path for request in publisher.log if request.is_conditional)
    assert conditional["/plain"] >= counts["/plain"] - 1 - days / 7
