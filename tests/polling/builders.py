"""A poller on a real client, a clock to turn, and a publisher that says what a test wants."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import msgspec

from tests.builders import NOON
from tests.net.builders import Handler, Served, a_client, a_server, answer
from tsuzuki.connectors.config import SourceConfig
from tsuzuki.connectors.protocol import Connector, ConnectorInfo, Visit
from tsuzuki.connectors.registry import Registry
from tsuzuki.db import Database
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.chapters import ChapterBatch
from tsuzuki.ingest.items import ItemBatch
from tsuzuki.model.harvest import FoundChapter
from tsuzuki.model.ids import WatchId
from tsuzuki.model.requests import Ask, Reply
from tsuzuki.model.times import HOUR, MINUTE, SECOND, Millis
from tsuzuki.parsing.pool import ParsePool, PoolOptions
from tsuzuki.polling.claims import PollOptions
from tsuzuki.polling.driver import Driver
from tsuzuki.polling.outcomes import PollContext
from tsuzuki.polling.policy import PullPace
from tsuzuki.polling.service import Poller, PollResult

LEASE = Millis(30 * SECOND)
PACE = PullPace(Millis(30 * MINUTE), Millis(48 * HOUR))


class Clock:
    """Stands still until it is turned."""

    def __init__(self, now: Millis = NOON) -> None:
        self.now = now

    def __call__(self) -> Millis:
        return self.now

    def turn(self, span: int) -> None:
        self.now = Millis(self.now + span)


class Publisher(Served):
    """Answers every request as it was last told, and remembers what it was asked."""

    def __init__(self) -> None:
        self.response = answer(404, b"")
        self.delay = 0.0

    async def handle(self, _: bytes, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(self.delay)
        writer.write(self.response)

    @property
    def requests(self) -> list[dict[str, str]]:
        """The headers of each request, by lower-case name."""
        assert self.server is not None
        found = []
        for head in self.server.heads:
            lines = head.decode("latin-1").split("\r\n")[1:]
            found.append({name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)})
        return found


class Plain(Connector):
    """A source whose series are JSON lists of chapter numbers, the newest first; `1@A` is a release by the group A."""

    info = ConnectorInfo(
        id="org.example.plain", name="Plain", languages=("en",), base_url="https://example.org", ratelimit=1000
    )

    def chapters(self, config: SourceConfig, series_url: str) -> Visit[tuple[FoundChapter, ...]]:  # noqa: ARG002  the signature is the contract
        reply: Reply = yield Ask(series_url)
        numbers = msgspec.json.decode(reply.body, type=list[str])
        base = reply.headers.get("x-base", series_url)
        return tuple(_found(base, *each.partition("@")) for each in numbers)


def _found(base: str, number: str, _: str, group: str) -> FoundChapter:
    url = f"{base}/{number}"
    return FoundChapter(url, f"Chapter {number}", number=Decimal(number), language="en", group=group or None)


def a_feed(*keys: str, title: str = "A feed", changed: str = "") -> bytes:
    """An RSS feed with an item per key, the newest first; the item `changed` has other words."""
    items = "".join(
        f"<item><guid isPermaLink='false'>{key}</guid><title>Item {key}{' again' if key == changed else ''}</title>"
        f"<link>https://example.org/{key}</link><description>Words of {key}</description></item>"
        for key in keys
    )
    return f"<rss version='2.0'><channel><title>{title}</title>{items}</channel></rss>".encode()


@asynccontextmanager
async def a_publisher(handler: Handler | None = None) -> AsyncIterator[Publisher]:
    publisher = Publisher()
    async with a_server(handler or publisher.handle) as server:
        publisher.server = server
        yield publisher


@asynccontextmanager
async def a_poller(
    db: Database, clock: Callable[[], Millis], *, lease: Millis = LEASE, **options: Any
) -> AsyncIterator[Poller]:
    pool = ParsePool(PoolOptions(processes=1))
    jitter = options.pop("jitter", lambda: 0.0)  # nothing is spread unless a test wants it
    context = PollContext(PACE, clock, jitter, options.pop("after_commit", lambda *_: None))
    async with a_client(repeats=0, **options.pop("client", {})) as client:
        registry = Registry([("a test", Plain())])
        yield Poller(
            db,
            Driver(client, pool),
            registry,
            context,
            folder_of=lambda _: None,
            options=PollOptions(lease=lease, **options),
        )
    await pool.close()


class State(msgspec.Struct, frozen=True):
    """A watch as a test looks at it."""

    next_check_at: Millis
    next_check_why: str
    priority: int
    etag: str | None
    last_modified: str | None
    expires_at: Millis | None
    retry_after_until: Millis | None
    last_http_status: int | None
    last_success_at: Millis | None
    last_error_at: Millis | None
    last_error_code: str | None
    consecutive_failures: int
    first_harvest_at: Millis | None
    suspended_reason: str | None
    lease_until: Millis | None


q = parse_queries(
    "tests",
    """
-- name: state
select next_check_at, next_check_why, priority, etag, last_modified, expires_at, retry_after_until, last_http_status,
  last_success_at, last_error_at, last_error_code, consecutive_failures, first_harvest_at, suspended_reason, lease_until
from watch where id = :id;
-- name: age
update watch set last_checked_at = last_checked_at - 120000 where id = :id;
-- name: make_due
update watch set next_check_at = :at, lease_until = null, waits_since = null where id = :id;
-- name: drop_others
delete from feed where id not in (select feed_id from watch where id = :id);
-- name: suspend
update watch set suspended_at = 1, suspended_reason = 'a person' where id = :id;
-- name: payloads
select payload from task where queue = :queue order by id;
-- name: clear_tasks
delete from task;
-- name: titles
select title from item where feed_id = :id;
-- name: is_unstable
select has_unstable_keys from feed where id = :id;
-- name: drop_feeds
delete from feed;
-- name: wish
update subscription set poll_interval = :interval where shelf_id = :shelf_id;
-- name: link
select link from feed where id = :id;
""",
)


async def state(db: Database, watch: WatchId) -> State:
    return await db.read(lambda tx: tx.one(State, q.state, id=watch))


async def item_batches(db: Database) -> list[ItemBatch]:
    """What was handed to ingest since the last look."""
    return await _taken(db, "item-ingest", ItemBatch)


async def chapter_batches(db: Database) -> list[ChapterBatch]:
    return await _taken(db, "chapter-ingest", ChapterBatch)


async def _taken(db: Database, queue: str, kind: Any) -> list[Any]:
    payloads = await db.read(lambda tx: tx.many(str, q.payloads, queue=queue))
    await db.with_tx(lambda tx: tx.run(q.clear_tasks))
    return [msgspec.json.decode(payload, type=kind) for payload in payloads]


async def poll_due(poller: Poller) -> list[PollResult]:
    """Poll all that is due now, one after the other."""
    return [await poller.poll(watch) for watch in await poller.claim(10, {})]


async def poll_one(poller: Poller) -> PollResult:
    polled = await poll_due(poller)
    assert len(polled) == 1
    return polled[0]


def redirecting(status: int, body: bytes) -> Handler:
    """A publisher whose `/old` leads to `/new`."""

    async def handler(head, writer):
        is_old = b" /old" in head.split(b"\r\n")[0]
        writer.write(answer(status, b"", location="/new") if is_old else answer(200, body))

    return handler
