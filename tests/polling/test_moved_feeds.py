"""REL-32: a feed that moved to where another feed is becomes one with it, and nobody loses anything (I9)."""

import asyncio

import msgspec
import pytest

from tests.builders import NOON, a_new_item, a_public_id, store_items_tx, stored_feed, stored_watch
from tests.delivery.builders import a_reader, events_of, publish, subscribe
from tests.delivery.portion_builders import MOST, step
from tests.polling.builders import Clock, a_feed, a_poller, a_publisher, poll_one, redirecting, state
from tests.shelves.builders import on_plan
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.polling.moved_feeds import merge_moved_tx
from tsuzuki.queue.errors import LeaseLost

q = parse_queries(
    "tests",
    """
-- name: entries
select item.key, entry.unread, entry.saved from entry join item on item.id = entry.item_id
join subscription on subscription.shelf_id = entry.shelf_id and subscription.feed_id = entry.feed_id
where entry.shelf_id = :shelf_id order by item.key;
-- name: mark
update entry set unread = :unread, saved = :saved
where shelf_id = :shelf_id and item_id in (select id from item where feed_id = :feed_id and key = :key);
-- name: links
select link from feed order by link;
-- name: subscriptions
select feed.link from subscription join feed on feed.id = subscription.feed_id where shelf_id = :shelf_id;
-- name: add_bookmark
insert into bookmark (public_id, shelf_id, item_id, feed_id, title, note, created_at)
select :public_id, cast(:shelf_id as bigint), id, feed_id, title, 'mine', 1 from item
where feed_id = :feed_id and key = :key;
-- name: bookmarks
select feed.link, item.key from bookmark
join feed on feed.id = bookmark.feed_id left join item on item.id = bookmark.item_id
where shelf_id = :shelf_id order by item.key;
-- name: tombstones
select key from entry_tombstone where feed_id = :feed_id and shelf_id = :shelf_id order by key;
-- name: add_tombstone
insert into entry_tombstone (shelf_id, feed_id, key, at) values (:shelf_id, :feed_id, :key, 1);
-- name: held
select key from item where feed_id = :feed_id order by key;
-- name: refresh
select refresh_at from watch where feed_id = :feed_id;
-- name: tally
select entries * 1000 + unread from tally where shelf_id = :shelf_id;
-- name: suspend_watch
update watch set suspended_at = 1, suspended_reason = 'everyone who follows it has suspended it'
where feed_id = :feed_id;
-- name: floor
select poll_floor from watch where feed_id = :feed_id;
-- name: suspended
select suspended_at from watch where feed_id = :feed_id;
""",
)

TARGET = "https://example.org/new"
LATER = Millis(NOON + DAY)


class Entry(msgspec.Struct, frozen=True):
    key: str
    unread: bool
    saved: bool


class Bookmark(msgspec.Struct, frozen=True):
    link: str
    key: str | None


@pytest.fixture
async def old(db):
    return await stored_feed(db, "https://example.org/old")


@pytest.fixture
async def new(db):
    feed = await stored_feed(db, TARGET)
    await stored_watch(db, feed, host="new.example", next_check_at=Millis(NOON + HOUR))
    return feed


@pytest.fixture
async def watch(db, old, poller):
    claimed = await poller.lease(await stored_watch(db, old, host="old.example"))
    assert claimed is not None
    return claimed


async def merge(db, watch, old):
    return await db.with_tx(lambda tx: merge_moved_tx(tx, watch, old, TARGET, proxy="", now=LATER))


async def store(db, feed, *keys, now=NOON):
    """Items that nobody gets."""
    await db.with_tx(lambda tx: store_items_tx(tx, feed, [a_new_item(key) for key in keys], now))


async def entries(db, shelf):
    return await db.read(lambda tx: tx.many(Entry, q.entries, shelf_id=shelf))


async def mark(db, shelf, feed, key, *, unread, saved=False):
    values = {"shelf_id": shelf, "feed_id": feed, "key": key, "unread": unread, "saved": saved}
    assert await db.with_tx(lambda tx: tx.run(q.mark, **values)) == 1


async def ask(db, kind, query, **params):
    return await db.read(lambda tx: tx.many(kind, query, **params))


async def test_pending_portions_are_delivered_before_feeds_merge(db, watch, old, new):
    readers = [await a_reader(db, feeds=[feed]) for feed in (old, old, old, new, new, new)]
    for feed, keys in ((old, "ab"), (new, "xy")):
        await publish(db, feed, keys, most=MOST)
    await step(db)
    await merge(db, watch, old)
    assert await step(db) == 0
    found = [[entry.key for entry in await entries(db, reader)] for reader in readers]
    assert found[3:] == [["x", "y"]] * 3
    assert all({"a", "b"} <= set(keys) for keys in found[:3])


async def test_a_lasting_redirect_to_a_known_feed_merges_both(db):
    clock = Clock()
    async with a_publisher(redirecting(301, a_feed("2", "1"))) as publisher, a_poller(db, clock) as poller:
        feed = await stored_feed(db, f"{publisher.url}/old")
        watch = await stored_watch(db, feed, host="127.0.0.1")
        target = await stored_feed(db, f"{publisher.url}/new")
        await stored_watch(db, target, host="127.0.0.1", next_check_at=Millis(NOON + 90 * DAY))
        shelf = await a_reader(db, feeds=[feed])
        await publish(db, feed, ["1"])
        for _ in range(4):
            clock.now = max(Millis(clock.now + 12 * HOUR), (await state(db, watch)).next_check_at)
            await poll_one(poller)
        assert await ask(db, str, q.links) == [f"{publisher.url}/new", f"{publisher.url}/old"]
        clock.now = max(Millis(clock.now + 12 * HOUR), (await state(db, watch)).next_check_at)
        assert (await poll_one(poller)).outcome == "unchanged"
        assert await ask(db, str, q.links) == [f"{publisher.url}/new"]
        assert (await poll_one(poller)).found == 2  # the feed that is left is called at once
    assert await entries(db, shelf) == [Entry("1", unread=True, saved=False)]


async def test_a_left_feed_is_polled_at_its_fastest_readers_pace(db, old, new, watch):
    fast, slow = await a_reader(db, feeds=[old]), await a_reader(db, feeds=[new])
    await on_plan(db, slow, "free")
    await on_plan(db, fast, "growth")
    await merge(db, watch, old)
    assert await ask(db, int, q.floor, feed_id=new) == [15 * MINUTE]


async def test_followers_of_the_old_address_move_with_their_entries(db, old, new, watch):
    shelf = await a_reader(db, feeds=[old])
    await publish(db, old, ["both", "only old", "read"])
    await mark(db, shelf, old, "read", unread=False)
    await mark(db, shelf, old, "both", unread=False, saved=True)
    await store(db, new, "both", "read")
    await store(db, new, "since", now=LATER)
    await store(db, new, "before", now=Millis(NOON - 1))
    assert await merge(db, watch, old) is not None
    assert await entries(db, shelf) == [
        Entry("both", unread=False, saved=True),
        Entry("only old", unread=True, saved=False),
        Entry("read", unread=False, saved=False),
        Entry("since", unread=True, saved=False),
    ]
    assert await ask(db, str, q.subscriptions, shelf_id=shelf) == [TARGET]
    assert await ask(db, int, q.tally, shelf_id=shelf) == [4002]
    assert [event.kind for event in await events_of(db, shelf)][-1] == "counts"
    assert await ask(db, int, q.refresh, feed_id=new) == [LATER]


async def test_following_both_keeps_one_with_either_read_state(db, old, new, watch):
    shelf = await a_reader(db, feeds=[old, new])
    for feed in (old, new):
        await publish(db, feed, ["1", "2", "3"])
    await mark(db, shelf, old, "1", unread=False)
    await mark(db, shelf, new, "2", unread=False)
    await mark(db, shelf, old, "3", unread=True, saved=True)
    await merge(db, watch, old)
    assert await entries(db, shelf) == [
        Entry("1", unread=False, saved=False),
        Entry("2", unread=False, saved=False),
        Entry("3", unread=True, saved=True),
    ]
    assert await ask(db, str, q.subscriptions, shelf_id=shelf) == [TARGET]
    assert await ask(db, int, q.tally, shelf_id=shelf) == [3001]


async def test_bookmarks_stay_and_point_to_what_is_left(db, old, new, watch):
    shelf = await a_reader(db, feeds=[old, new])
    await store(db, old, "a", "b", "c")
    await store(db, new, "b", "c")
    for feed, key in ((old, "a"), (old, "b"), (old, "c"), (new, "c")):
        values = {"public_id": a_public_id(), "shelf_id": shelf, "feed_id": feed, "key": key}
        await db.with_tx(lambda tx, values=values: tx.run(q.add_bookmark, **values))
    await merge(db, watch, old)
    found = await ask(db, Bookmark, q.bookmarks, shelf_id=shelf)
    assert sorted(found, key=str) == sorted(
        [Bookmark(TARGET, "a"), Bookmark(TARGET, "b"), Bookmark(TARGET, "c"), Bookmark(TARGET, None)], key=str
    )


async def test_rel_39d_what_a_shelf_pruned_before_stays_pruned(db, old, new, watch):
    """Only there: another shelf, and those who come later, get it when the feed brings it."""
    shelf, other = await a_reader(db, feeds=[old]), await a_reader(db, feeds=[new])
    await db.with_tx(lambda tx: tx.run(q.add_tombstone, shelf_id=shelf, feed_id=old, key="gone"))
    await merge(db, watch, old)
    assert await ask(db, str, q.tombstones, feed_id=new, shelf_id=shelf) == ["gone"]
    await publish(db, new, ["gone"])
    assert await entries(db, shelf) == []
    assert [entry.key for entry in await entries(db, other)] == ["gone"]


async def test_a_suspended_subscription_stays_so_and_gets_nothing_new(db, old, new, watch):
    shelf = await a_reader(db)
    await subscribe(db, shelf, old, suspended_at=NOON)
    await store(db, new, "since", now=LATER)
    await merge(db, watch, old)
    assert await entries(db, shelf) == []


async def test_a_target_that_nobody_waited_for_is_called_again(db, old, new, watch):
    await a_reader(db, feeds=[old])
    await db.with_tx(lambda tx: tx.run(q.suspend_watch, feed_id=new))
    await merge(db, watch, old)
    assert await ask(db, int, q.suspended, feed_id=new) == [None]


async def test_an_address_that_no_other_feed_has_merges_nothing(db, old, watch):
    assert await merge(db, watch, old) is None
    assert len(await ask(db, str, q.links)) == 1


async def test_i4_whoever_lost_the_watch_merges_nothing(db, old, new, watch):
    stale = msgspec.structs.replace(watch, lease_token=watch.lease_token - 1)
    with pytest.raises(LeaseLost):
        await merge(db, stale, old)
    assert len(await ask(db, str, q.links)) == 2


async def test_merging_during_reads_and_ingest_loses_nothing(db, poller):
    """Whatever comes first: in the end every reader follows the one that is left and has each item once."""
    for trial in range(6):
        target = f"https://example.org/{trial}/new"
        old, new = await stored_feed(db, f"https://example.org/{trial}/old"), await stored_feed(db, target)
        await stored_watch(db, new, host=f"new{trial}.example", next_check_at=Millis(NOON + HOUR))
        watch = await poller.lease(await stored_watch(db, old, host=f"old{trial}.example"))
        shelves = [await a_reader(db, feeds=feeds) for feeds in ([old], [new], [old, new])]
        await asyncio.gather(
            publish(db, new, ["1", "2"]),
            publish(db, old, ["1", "2"]),
            db.with_tx(
                lambda tx, watch=watch, old=old, target=target: merge_moved_tx(
                    tx, watch, old, target, proxy="", now=LATER
                )
            ),
            return_exceptions=True,  # what is stored too late finds no feed
        )
        await publish(db, new, ["1", "2", "3"])
        for shelf in shelves:
            assert await ask(db, str, q.subscriptions, shelf_id=shelf) == [target]
            assert [entry.key for entry in await entries(db, shelf)] == ["1", "2", "3"]
