"""Nobody writes into somebody else's feed: what a feed holds comes only from fetching it.

Whole servers, publishers on this machine, real polls over more than two days.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from tests.app import in_settings, settings_for
from tests.builders import HERE, NOON
from tests.delivery.builders import a_reader
from tests.inbox.builders import items_of
from tests.ingest.builders import claimed_all, work_off
from tests.net.builders import answer
from tests.polling.builders import Clock, Publisher, a_publisher, poll_due
from tsuzuki.app.bootstrap import Tsuzuki, open_tsuzuki
from tsuzuki.db.queries import parse_queries
from tsuzuki.inbox.search.hits import search_items_tx
from tsuzuki.ingest.housekeeping import forget_unheld
from tsuzuki.ingest.items import ITEMS, FeedItems
from tsuzuki.ingest.service import Ingest
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.pages import FROM_THE_TOP
from tsuzuki.model.times import DAY, HOUR, Millis
from tsuzuki.queue.errors import LeaseLost
from tsuzuki.queue.store import TaskFailure, fail_tx
from tsuzuki.shelves.bookmarks import BookmarkFilter, list_bookmarks_tx
from tsuzuki.shelves.types import NewSubscription, Subscription, SubscriptionChange

q = parse_queries(
    "tests",
    """
-- name: counted
select entries * 1000 + unread from tally where shelf_id = :shelf_id;
-- name: count_items
select count(*) from item;
-- name: descriptions
select description from feed;
-- name: make_up
update feed set title = 'Made up', description = 'Made up', has_unstable_keys = true, described_at = null;
-- name: unstable
select has_unstable_keys from feed;
-- name: feeds
select link from feed order by link;
""",
)

FAKE = "Fake"


def post(guid: str, title: str, *, link: str | None = None) -> str:
    return (
        f"<item><guid isPermaLink='false'>{guid}</guid><title>{title}</title>"
        f"<link>{link or f'https://good.example/{guid}'}</link><description>{title} of {guid}</description></item>"
    )


def a_document(*posts: str, title: str = "Good") -> bytes:
    about = "" if title == "Good" else "<description>Evil</description><language>xx</language>"
    return f"<rss version='2.0'><channel><title>{title}</title>{about}{''.join(posts)}</channel></rss>".encode()


class Seen(msgspec.Struct, frozen=True):
    """An item as it lies on a shelf."""

    key: str
    title: str
    unread: bool


class Server:
    """A Tsuzuki, a good publisher and an evil one."""

    def __init__(self, opened: Tsuzuki, clock: Clock, good: Publisher, evil: Publisher) -> None:
        self.opened, self.clock, self.good, self.evil = opened, clock, good, evil
        self.db = opened.db
        self.ingest = Ingest(self.db, FeedItems(HERE), clock=clock, after_commit=lambda *_: None)

    async def reader(self, *links: str) -> ShelfId:
        """Somebody else's tenant, who follows these."""
        shelf = await a_reader(self.db)
        for link in links:
            await self.opened.reading.subscriptions.add(shelf, NewSubscription(link=link))
        return shelf

    async def poll(self) -> None:
        """All that is due, and what it brings."""
        await poll_due(self.opened.pipeline.poller)
        assert await work_off(self.db, self.ingest, now=self.clock.now) == []

    async def wait(self, span: Millis, *, times: int = 1) -> None:
        for _ in range(times):
            self.clock.turn(span)
            await self.poll()

    async def seen(self, shelf: ShelfId) -> list[Seen]:
        """All that is on a shelf, by key and title."""
        items = await items_of(self.db, shelf)
        return sorted(
            (Seen(item.key or "", item.title, item.unread) for item in items), key=lambda each: (each.key, each.title)
        )

    async def titles(self, shelf: ShelfId) -> list[str]:
        return [each.title for each in await self.seen(shelf)]

    async def found(self, shelf: ShelfId, words: str) -> list[str]:
        """What a search finds."""
        return sorted(hit.title for hit in await self.db.read(lambda tx: search_items_tx(tx, shelf, words)))

    async def feed_of(self, shelf: ShelfId) -> Subscription:
        [feed] = await self.opened.reading.subscriptions.list(shelf)
        return feed

    async def read_all(self, shelf: ShelfId) -> None:
        ids = [item.id for item in await items_of(self.db, shelf)]
        await self.opened.inbox.mark_entries(shelf, ids, unread=False)


@asynccontextmanager
async def a_tsuzuki(url: str, folder: Path) -> AsyncIterator[Server]:
    clock = Clock()
    settings = settings_for(folder, database_url=in_settings(url), allow_private_networks="127.0.0.0/8")
    async with a_publisher() as good, a_publisher() as evil, open_tsuzuki(settings, clock=clock) as opened:
        good.response = answer(200, a_document(post("1", "Real")))
        evil.response = answer(200, a_document(post("fake", FAKE, link="https://evil.example/fake"), title="Evil"))
        yield Server(opened, clock, good, evil)


@pytest.fixture
async def server(database_url, tmp_path):
    async with a_tsuzuki(database_url, tmp_path) as opened:
        yield opened


def lead(server: Server) -> None:
    """The evil address answers 301 to the good feed from now on."""
    server.evil.response = answer(301, b"", location=f"{server.good.url}/feed")


@pytest.mark.parametrize("guessed", [None, "https://evil.example/next"], ids=["same link", "other link"])
async def test_a_redirect_brings_nothing_into_the_feed_it_leads_to(server, guessed):
    """A guid that was published beforehand takes the real post away from nobody."""
    server.evil.response = answer(
        200,
        a_document(
            post("next", FAKE, link=guessed), post("fake", FAKE, link="https://evil.example/fake"), title="Evil"
        ),
    )
    evil, good = f"{server.evil.url}/feed", f"{server.good.url}/feed"
    attacker, victim, both = await server.reader(evil), await server.reader(good), await server.reader(evil, good)
    await server.poll()
    await server.read_all(attacker)
    lead(server)
    await server.wait(Millis(13 * HOUR), times=6)
    assert await server.db.read(lambda tx: tx.many(str, q.feeds)) == [good]
    later = await server.reader(good)
    assert await server.titles(later) == ["Real"]
    assert await server.found(later, FAKE) == []

    server.good.response = answer(200, a_document(post("next", "Next"), post("1", "Real")))
    await server.wait(Millis(13 * HOUR))
    for shelf in (victim, later):
        assert await server.seen(shelf) == [Seen("1", "Real", unread=True), Seen("next", "Next", unread=True)]
    kept = ["Fake"] if guessed is None else ["Fake", "Fake"]
    for shelf in (attacker, both):
        assert sorted(await server.titles(shelf)) == [*kept, "Next", "Real"]
    unread = [each.title for each in await server.seen(attacker) if each.unread]
    assert unread == ["Real"] if guessed is None else ["Next", "Real"]
    assert (await server.feed_of(victim)).title == "Good"


async def test_who_followed_the_address_keeps_what_they_had(server):
    """I9: listed, counted, found, bookmarked and exported as before; and gone when nobody has it any more."""
    evil, good = f"{server.evil.url}/feed", f"{server.good.url}/feed"
    victim, follower = await server.reader(good), await server.reader(evil)
    await server.poll()
    [item] = await items_of(server.db, follower)
    assert item.item_id is not None
    await server.opened.reading.bookmarks.add_item(follower, item.item_id)
    lead(server)
    await server.wait(Millis(13 * HOUR), times=6)
    assert sorted(await server.titles(follower)) == ["Fake", "Real"]
    assert await server.found(follower, FAKE) == ["Fake"]
    assert await server.db.read(lambda tx: tx.many(int, q.counted, shelf_id=follower)) == [2002]
    feed = await server.feed_of(follower)
    assert (feed.link, feed.item_count, feed.unread_count) == (good, 2, 2)
    [mark] = await server.db.read(
        lambda tx: list_bookmarks_tx(tx, follower, BookmarkFilter(), after=FROM_THE_TOP, most=9)
    )
    assert (mark.title, mark.item_id, mark.feed_id) == ("Fake", item.id, feed.public_id)
    assert await forget_unheld(server.db) == 0

    await server.opened.reading.subscriptions.delete(follower, feed.public_id)
    restored = await server.opened.reading.subscriptions.restore(follower, feed.public_id)
    assert sorted(await server.titles(follower)) == ["Fake", "Real"]
    await server.opened.reading.subscriptions.delete(follower, restored.public_id)
    server.clock.turn(60 * DAY)
    await server.opened.reading.subscriptions.forget_former()
    assert await forget_unheld(server.db) == 1
    assert await server.titles(victim) == ["Real"]


async def test_an_address_that_moves_takes_nothing_along(server):
    """Where nobody follows the good feed yet, the address itself becomes it; those who come later see the good one."""
    follower = await server.reader(f"{server.evil.url}/feed")
    await server.poll()
    await server.read_all(follower)
    server.good.response = answer(200, a_document(post("2", "Two"), post("1", "Real")), etag='"same"')
    lead(server)
    await server.wait(Millis(13 * HOUR), times=6)
    assert await server.db.read(lambda tx: tx.many(str, q.feeds)) == [f"{server.good.url}/feed"]
    later = await server.reader(f"{server.good.url}/feed")
    assert sorted(await server.titles(later)) == ["Real", "Two"]
    assert sorted(await server.titles(follower)) == ["Fake", "Real", "Two"]
    feed = await server.feed_of(later)
    assert (feed.title, feed.item_count) == ("Good", 2)
    assert await server.db.read(lambda tx: tx.many(str, q.descriptions)) == [None]
    server.good.response = answer(200, a_document(post("fake", "Not fake"), post("2", "Two"), post("1", "Real")))
    await server.wait(Millis(13 * HOUR))
    assert sorted(await server.titles(later)) == ["Not fake", "Real", "Two"]
    assert sorted(await server.titles(follower)) == ["Fake", "Not fake", "Real", "Two"]


async def test_another_link_of_a_subscription_takes_nothing_along(server):
    """The reader keeps what was there, read as it was, and gets what the new address brings."""
    server.evil.response = answer(200, a_document(post("1", "Early"), post("fake", FAKE), title="Evil"))
    reader = await server.reader(f"{server.evil.url}/feed")
    await server.poll()
    await server.read_all(reader)
    feed = await server.feed_of(reader)
    await server.opened.reading.subscriptions.change(
        reader, feed.public_id, SubscriptionChange(link=f"{server.good.url}/feed")
    )
    later = await server.reader(f"{server.good.url}/feed")
    assert await server.titles(later) == []
    server.good.response = answer(200, a_document(post("2", "Two"), post("1", "Real")))
    await server.poll()
    assert sorted(await server.titles(later)) == ["Real", "Two"]
    assert await server.seen(reader) == [
        Seen("1", "Real", unread=False),
        Seen("2", "Two", unread=True),
        Seen("fake", "Fake", unread=False),
    ]
    assert (await server.feed_of(later)).title == "Good"
    assert await server.db.read(lambda tx: tx.many(str, q.descriptions)) == [None]


async def test_metadata_of_an_archive_lasts_until_the_next_poll(server):
    """All of it: also what the feed itself says nothing of."""
    reader = await server.reader(f"{server.good.url}/feed")
    await server.db.with_tx(lambda tx: tx.run(q.make_up))
    await server.poll()
    assert (await server.feed_of(reader)).title == "Good"
    assert await server.db.read(lambda tx: tx.many(str, q.descriptions)) == [None]
    assert await server.db.read(lambda tx: tx.many(bool, q.unstable)) == [False]


async def test_who_left_the_address_has_it_back_as_it_was(server):
    """I9: having left can be undone for a month, also when the feed was merged meanwhile; nothing comes twice."""
    evil, good = f"{server.evil.url}/feed", f"{server.good.url}/feed"
    server.evil.response = answer(200, a_document(post("1", "Real"), post("fake", FAKE), title="Evil"))
    await server.reader(good)
    await server.reader(evil)
    left = await server.reader(evil)
    await server.poll()
    await server.read_all(left)
    feed = await server.feed_of(left)
    await server.opened.reading.subscriptions.delete(left, feed.public_id)
    lead(server)
    await server.wait(Millis(13 * HOUR), times=6)
    server.good.response = answer(200, a_document(post("fake", "Real too"), post("1", "Real")))
    await server.wait(Millis(13 * HOUR))
    await server.opened.reading.subscriptions.restore(left, feed.public_id)
    assert await server.seen(left) == [Seen("1", "Real", unread=False), Seen("fake", "Real too", unread=False)]


async def test_pruned_items_do_not_return_with_the_feed(server):
    """REL-39d, also for what no feed holds: the reader had it from another address."""
    evil, good = f"{server.evil.url}/feed", f"{server.good.url}/feed"
    await server.reader(good)
    follower, other = await server.reader(evil), await server.reader(evil)
    await server.poll()
    await server.read_all(follower)
    lead(server)
    await server.wait(Millis(13 * HOUR), times=6)
    feed = await server.feed_of(follower)
    await server.opened.reading.subscriptions.change(
        follower, feed.public_id, SubscriptionChange(retention=Millis(HOUR))
    )
    await server.opened.pruner.prune()
    assert await server.titles(follower) == ["Real"]
    server.good.response = answer(
        200, a_document(post("fake", "Again", link="https://evil.example/fake"), post("1", "Real"))
    )
    await server.wait(Millis(13 * HOUR))
    assert await server.titles(follower) == ["Real"]
    assert await server.titles(other) == ["Real", "Again"]


@pytest.mark.parametrize("how", ["queued", "given up"])
async def test_what_was_found_before_a_new_link_is_not_stored(server, how):
    """It waits in the queue, or was given up, when the reader gives the subscription the good address."""
    reader = await server.reader(f"{server.evil.url}/feed")
    await poll_due(server.opened.pipeline.poller)
    if how == "given up":
        [task] = await claimed_all(server.db, ITEMS, now=server.clock.now)
        await server.db.with_tx(lambda tx: fail_tx(tx, task, TaskFailure(error="no", code="x"), now=server.clock.now))
    feed = await server.feed_of(reader)
    await server.opened.reading.subscriptions.change(
        reader, feed.public_id, SubscriptionChange(link=f"{server.good.url}/feed")
    )
    await server.poll()
    await server.opened.pipeline.tasks.replay_all()
    await server.poll()
    later = await server.reader(f"{server.good.url}/feed")
    assert await server.titles(later) == await server.titles(reader) == ["Real"]


async def test_a_late_preview_does_not_overwrite_a_poll(server):
    """I4: it had taken the task before the link was changed."""
    reader = await server.reader(f"{server.evil.url}/feed")
    await poll_due(server.opened.pipeline.poller)
    [task] = await claimed_all(server.db, ITEMS, now=server.clock.now)
    feed = await server.feed_of(reader)
    await server.opened.reading.subscriptions.change(
        reader, feed.public_id, SubscriptionChange(link=f"{server.good.url}/feed")
    )
    with pytest.raises(LeaseLost):
        await server.ingest.handle(task)
    assert await server.titles(reader) == []


async def test_what_shelves_hold_is_forgotten_only_with_the_last(server):
    """An item that no feed holds lives as long as some shelf has it."""
    evil, good = f"{server.evil.url}/feed", f"{server.good.url}/feed"
    followers = [await server.reader(evil), await server.reader(evil)]
    await server.reader(good)
    await server.poll()
    lead(server)
    await server.wait(Millis(13 * HOUR), times=6)
    forgotten = []
    for shelf in followers:
        await server.opened.reading.subscriptions.delete(shelf, (await server.feed_of(shelf)).public_id)
        server.clock.turn(60 * DAY)
        await server.opened.reading.subscriptions.forget_former()
        forgotten.append(await forget_unheld(server.db))
    assert forgotten == [0, 1]
    assert await server.db.read(lambda tx: tx.one(int, q.count_items)) == 1
    assert server.clock.now > NOON
