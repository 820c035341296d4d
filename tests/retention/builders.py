"""A server whose publishers are in memory and whose clock is turned: real polls, ingest, shelves and retention."""

import asyncio
import random
from collections.abc import Iterable

import msgspec

from tests.builders import HERE, NOON
from tests.delivery.builders import a_reader
from tests.inbox.builders import an_inbox
from tests.ingest.builders import claimed_all
from tests.polling.builders import PACE, Clock
from tests.shelves.builders import shelf_deps
from tsuzuki.connectors.registry import Registry
from tsuzuki.db import Database
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.housekeeping import forget_tombstones, forget_unheld
from tsuzuki.ingest.items import FeedItems
from tsuzuki.ingest.service import Ingest
from tsuzuki.model.ids import ItemId, ShelfId
from tsuzuki.model.requests import Ask, Reply, SourceIdentity
from tsuzuki.model.times import MINUTE, Millis
from tsuzuki.polling.claims import PollOptions
from tsuzuki.polling.driver import Driver
from tsuzuki.polling.outcomes import PollContext
from tsuzuki.polling.service import Poller
from tsuzuki.retention.policy import RetentionRules
from tsuzuki.retention.preview import Preview
from tsuzuki.retention.service import Pruner
from tsuzuki.shelves.bookmarks import Bookmarks
from tsuzuki.shelves.subscriptions import Subscriptions
from tsuzuki.shelves.types import NewSubscription, Subscription

q = parse_queries(
    "tests",
    """
-- name: entries
select item.id, item.key, entry.feed_id, entry.unread, entry.saved from entry join item on item.id = entry.item_id
where entry.shelf_id = :shelf_id order by item.id;
-- name: counts
select
  (select count(*) from entry) as entries, (select count(*) from item) as items,
  (select count(*) from item_tombstone) as tombstones, (select count(*) from item_full_text) as full_texts,
  (select count(*) from crawl_job) as jobs, (select count(*) from audit) as audit;
-- name: keys
select key from item where feed_id = :feed_id order by key;
-- name: tombstones
select key from item_tombstone where feed_id = :feed_id order by key;
-- name: tallied
select coalesce(sum(entries), 0) * 1000000 + coalesce(sum(unread), 0) from tally where shelf_id = :shelf_id;
-- name: counted
select count(*) * 1000000 + count(case when unread then 1 end) from entry where shelf_id = :shelf_id;
-- name: all_due
update watch set next_check_at = :now, waits_since = null, lease_until = null where suspended_at is null;
-- name: read_since
update entry set read_at = :at where shelf_id = :shelf_id and not unread;
""",
)


class EntryRow(msgspec.Struct, frozen=True):
    """What a shelf has of an item."""

    id: ItemId
    key: str
    feed_id: int
    unread: bool
    saved: bool


class Counts(msgspec.Struct, frozen=True):
    """How many rows there are."""

    entries: int
    items: int
    tombstones: int
    full_texts: int
    jobs: int
    audit: int


class MemoryPublishers:
    """Publishers by their address. What they list is the newest first, as `(key, words)`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.listed: dict[str, list[tuple[str, str]]] = {}

    async def fetch(self, ask: Ask, _: SourceIdentity) -> Reply:
        return Reply(ask.url, 200, {"content-type": "application/rss+xml"}, self._document(ask.url), self._clock())

    def _document(self, url: str) -> bytes:
        items = "".join(
            f"<item><guid isPermaLink='false'>{key}</guid><title>Item {key}</title><link>{url}/{key}</link>"
            f"<description>{words}</description></item>"
            for key, words in self.listed[url]
        )
        return f"<rss version='2.0'><channel><title>{url}</title>{items}</channel></rss>".encode()


class SimulatedServer:
    """All that an article meets on its way, but the wire."""

    def __init__(self, db: Database, rules: RetentionRules) -> None:
        self.db = db
        self.clock = clock = Clock(NOON)
        self.press = MemoryPublishers(clock)
        context = PollContext(PACE, clock, lambda: 0.0)
        options = PollOptions(lease=Millis(30 * MINUTE))
        driver = Driver(self.press, HERE)
        self.poller = Poller(db, driver, Registry([]), context, folder_of=lambda _: None, options=options)
        self.ingest = Ingest(db, FeedItems(HERE), clock=clock, after_commit=lambda *_: None)
        deps = shelf_deps(db, clock)
        self.subscriptions, self.inbox, self.bookmarks = Subscriptions(deps), an_inbox(db, clock), Bookmarks(deps)
        self.pauses: list[float] = []
        self.pruned: dict[str, int] = {}
        self.pruner = Pruner(db, clock, rules, pruned=self._count, pause=self._pause, hour_of=lambda _: 3)
        self.preview = Preview(db, clock, rules)

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def _count(self, what: str, rows: int) -> None:
        self.pruned[what] = self.pruned.get(what, 0) + rows

    # -- what people and publishers do

    async def reader(self, *links: str) -> ShelfId:
        shelf = await a_reader(self.db)
        for link in links:
            await self.follow(shelf, link)
        return shelf

    async def follow(self, shelf: ShelfId, link: str) -> Subscription:
        self.press.listed.setdefault(link, [])
        return await self.subscriptions.add(shelf, NewSubscription(link=link))

    def publish(self, link: str, *keys: str, listing: int = 1000, words: str = "Words") -> None:
        """New items, the first of them the oldest; the document shows so many."""
        new = [(key, f"{words} of {key}") for key in reversed(keys)]
        self.press.listed[link] = (new + self.press.listed.get(link, []))[:listing]

    async def poll(self) -> None:
        """Everything, and what it brings is stored and delivered."""
        await self.db.with_tx(lambda tx: tx.run(q.all_due, now=self.clock.now))
        while claimed := await self.poller.claim(50, {}):
            await asyncio.gather(*(self.poller.poll(watch) for watch in claimed))
        while tasks := await claimed_all(self.db, self.ingest.queue, now=self.clock.now):
            for group in self.ingest.groups(tasks):
                await self.ingest.handle_all(group)

    async def read(self, shelf: ShelfId, ids: Iterable[ItemId] | None = None) -> None:
        wanted = [row.id for row in await self.rows(shelf)] if ids is None else list(ids)
        await self.inbox.mark_items(shelf, wanted, unread=False)

    async def night(self) -> None:
        """A night's work, with what else is forgotten then."""
        for _ in range(100):
            if not await self.pruner.work():
                break
        await forget_unheld(self.db)
        await forget_tombstones(self.db, self.clock.now)

    # -- looking

    async def rows(self, shelf: ShelfId) -> list[EntryRow]:
        return await self.db.read(lambda tx: tx.many(EntryRow, q.entries, shelf_id=shelf))

    async def keys(self, shelf: ShelfId) -> list[str]:
        return sorted(row.key for row in await self.rows(shelf))

    async def counts(self) -> Counts:
        return await self.db.read(lambda tx: tx.one(Counts, q.counts))

    async def is_tallied(self, shelf: ShelfId) -> bool:
        tallied = await self.db.read(lambda tx: tx.one(int, q.tallied, shelf_id=shelf))
        return tallied == await self.db.read(lambda tx: tx.one(int, q.counted, shelf_id=shelf))


def words_of(rng: random.Random, count: int) -> str:
    """An article's text: words that come often and words that come once."""
    return " ".join(f"w{int(rng.paretovariate(0.6)) % 50_000}" for _ in range(count))
