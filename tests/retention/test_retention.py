"""What is removed, what never is, and that nothing which was removed comes back as new."""

import asyncio

import pytest

from tests.retention.builders import SimulatedServer, q
from tsuzuki.db.queries import parse_queries
from tsuzuki.inbox.entries import MarkScope
from tsuzuki.ingest.housekeeping import KEPT_TOMBSTONES, forget_tombstones
from tsuzuki.model.times import DAY, HOUR, Millis
from tsuzuki.retention.policy import NEWEST_KEPT, RetentionRules, is_due, is_night, kept_for
from tsuzuki.retention.service import Pruner
from tsuzuki.retention.store import (
    EntryRange,
    list_old_entries_tx,
    list_steps_tx,
    prune_entries_tx,
    prune_items_tx,
)
from tsuzuki.shelves.types import SubscriptionChange

MONTH = Millis(30 * DAY)
A = "https://a.example/feed"
B = "https://b.example/feed"

own = parse_queries(
    "tests",
    """
-- name: keep_on_shelf
update shelf set own_retention = :keep where id = :id;
-- name: plan_of_shelf
update shelf set retention = :keep where id = :id;
-- name: bookmark_alone
update entry set saved = false where shelf_id = :id;
-- name: words
select count(*) from item_search;
-- name: finished
update retention_step set finished_at = :at;
""",
)


@pytest.fixture
async def server(db):
    return SimulatedServer(db, RetentionRules(keep_read=MONTH))


def old(count: int, prefix: str = "old") -> list[str]:
    return [f"{prefix}{number:03}" for number in range(count)]


async def test_read_articles_go_when_they_are_old(server):
    """By when they were read: what was published long ago and read today stays."""
    server.publish(A, "1", "2")
    shelf = await server.reader(A)
    await server.poll()
    first, _ = await server.rows(shelf)
    await server.read(shelf, [first.id])
    server.clock.turn(MONTH)
    assert await server.pruner.prune() == {}
    await server.read(shelf)
    server.clock.turn(1)
    assert await server.pruner.prune() == {"entries": 1}
    assert await server.keys(shelf) == ["2"]
    assert await server.is_tallied(shelf)


async def test_unread_saved_and_bookmarked_articles_never_go(server):
    server.publish(A, "unread", "saved", "bookmarked", "read", "last")
    shelf = await server.reader(A)
    await server.poll()
    by_key = {row.key: row.id for row in await server.rows(shelf)}
    await server.read(shelf, [by_key[key] for key in ("saved", "bookmarked", "read")])
    await server.bookmarks.add_item(shelf, by_key["bookmarked"])
    await server.db.with_tx(lambda tx: tx.run(own.bookmark_alone, id=shelf))
    await server.bookmarks.add_item(shelf, by_key["saved"])
    server.clock.turn(100 * MONTH)
    assert await server.pruner.prune() == {"entries": 1}
    assert await server.keys(shelf) == ["bookmarked", "last", "saved", "unread"]
    assert await server.pruner.prune() == {}


@pytest.mark.parametrize(
    ("feed", "shelf", "plan", "days"),
    [
        (None, None, None, 30),
        (None, 0, None, None),
        (None, 10 * DAY, None, 10),
        (0, 10 * DAY, None, None),
        (90 * DAY, 10 * DAY, None, 90),
        (5 * DAY, None, None, 5),
        (90 * DAY, None, 20 * DAY, 20),
        (0, 0, 20 * DAY, 20),
        (5 * DAY, None, 20 * DAY, 5),
    ],
)
async def test_the_nearest_setting_counts_within_the_plan(server, feed, shelf, plan, days):
    """Feed, shelf, server; 0 is for ever. In SQL as in Python."""
    server.publish(A, "1", "last")
    reader = await server.reader(A)
    await server.poll()
    await server.read(reader, [(await server.rows(reader))[0].id])
    [followed] = await server.subscriptions.list(reader)
    await server.subscriptions.change(reader, followed.public_id, SubscriptionChange(retention=feed))
    await server.db.with_tx(lambda tx: tx.run(own.keep_on_shelf, id=reader, keep=shelf))
    await server.db.with_tx(lambda tx: tx.run(own.plan_of_shelf, id=reader, keep=plan))
    kept = kept_for(feed=feed, shelf=shelf, server=MONTH, plan=plan)
    assert kept == (None if days is None else days * DAY)
    server.clock.turn(kept or 1000 * DAY)
    assert await server.pruner.prune() == {}
    server.clock.turn(1)
    assert await server.pruner.prune() == ({} if days is None else {"entries": 1})


async def test_an_article_goes_with_its_last_shelf_but_the_newest(server):
    """R8: who comes later gets the newest. Its words leave the index, and its key stays."""
    server.publish(A, *old(NEWEST_KEPT + 3))
    one, two = await server.reader(A), await server.reader(A)
    await server.poll()
    await server.read(one)
    server.clock.turn(2 * MONTH)
    assert await server.pruner.prune() == {"entries": NEWEST_KEPT + 3}
    await server.read(two)
    server.publish(A, "new")
    await server.poll()
    server.clock.turn(2 * MONTH)
    assert await server.pruner.prune() == {"entries": NEWEST_KEPT + 3, "items": 4}
    counts = await server.counts()
    assert (counts.items, counts.tombstones) == (NEWEST_KEPT, 4)
    assert await server.db.read(lambda tx: tx.one(int, own.words)) == NEWEST_KEPT
    later = await server.reader(A)
    assert await server.keys(later) == ["new", *old(NEWEST_KEPT + 3)[4:]]


async def test_rel_39d_what_was_removed_is_no_news(server):
    """While it is listed, when it changes, and when it comes again a year later."""
    server.publish(A, *old(NEWEST_KEPT + 5))
    shelf = await server.reader(A)
    await server.poll()
    await server.read(shelf)
    server.clock.turn(2 * MONTH)
    await server.pruner.prune()
    assert (await server.counts()).tombstones == 5
    gone = server.press.listed[A]
    server.press.listed[A] = [(key, "Other words") for key, _ in gone]
    server.publish(A, "new")
    await server.poll()
    assert [row.key for row in await server.rows(shelf) if row.unread] == ["new"]
    server.press.listed[A] = [("new", "Words of new")]
    await server.poll()
    server.clock.turn(12 * MONTH)
    server.press.listed[A] = [("again", "Words"), *gone]
    await server.poll()
    await server.pruner.prune()
    assert [row.key for row in await server.rows(shelf) if row.unread] == ["new", "again"]
    assert (await server.counts()).tombstones == 7


async def test_a_batch_that_was_found_before_brings_nothing_back(server):
    """The poll found a change, and retention removed the item before that was stored."""
    server.publish(A, *old(NEWEST_KEPT + 1))
    shelf = await server.reader(A)
    await server.poll()
    await server.read(shelf)
    server.clock.turn(2 * MONTH)
    server.press.listed[A] = [(key, "Changed") for key, _ in server.press.listed[A]]
    await server.db.with_tx(lambda tx: tx.run(q.all_due, now=server.clock.now))
    for watch in await server.poller.claim(9, {}):
        await server.poller.poll(watch)
    await server.pruner.prune()
    await server.poll()
    counts = await server.counts()
    assert (counts.entries, counts.items, counts.tombstones) == (1, NEWEST_KEPT, 1)


async def test_tombstones_stay_while_the_publisher_lists_them(server):
    """Through 400 days: also of a document that never changes, and of one that always does."""
    for link in (A, B):
        server.publish(link, *old(NEWEST_KEPT + 2))
    shelf = await server.reader(A, B)
    await server.poll()
    await server.read(shelf)
    server.clock.turn(2 * MONTH)
    await server.pruner.prune()
    assert (await server.counts()).tombstones == 4
    for month in range(20):
        server.clock.turn(MONTH)
        server.publish(B, f"new{month}")
        await server.poll()
        await server.read(shelf)
        await forget_tombstones(server.db, server.clock.now)
    assert (await server.counts()).tombstones == 4
    server.publish(A, "late")
    await server.poll()
    assert [row.key for row in await server.rows(shelf) if row.unread] == ["late"]


async def test_tombstones_are_forgotten_400_days_after_the_last_listing(server):
    server.publish(A, *old(NEWEST_KEPT + 2))
    shelf = await server.reader(A)
    await server.poll()
    await server.read(shelf)
    server.clock.turn(2 * MONTH)
    await server.pruner.prune()
    server.press.listed[A] = [("other", "Words")]
    server.clock.turn(2 * MONTH)
    await server.poll()
    server.clock.turn(KEPT_TOMBSTONES - 2 * MONTH)
    assert await forget_tombstones(server.db, server.clock.now) == 0
    server.clock.turn(1)
    assert await forget_tombstones(server.db, server.clock.now) == 2


async def test_the_last_listing_counts_for_an_unchanged_document(server):
    """Eight months of the same document, then another; a year later the first things are listed again."""
    server.publish(A, *old(NEWEST_KEPT + 2))
    shelf = await server.reader(A)
    await server.poll()
    await server.read(shelf)
    server.clock.turn(2 * MONTH)
    await server.pruner.prune()
    listed = server.press.listed[A]
    for _ in range(6):
        server.clock.turn(MONTH)
        await server.poll()
    server.press.listed[A] = [("other", "Words")]
    await server.poll()
    server.clock.turn(12 * MONTH)
    assert await forget_tombstones(server.db, server.clock.now) == 0
    server.press.listed[A] = listed
    await server.poll()
    assert [row.key for row in await server.rows(shelf) if row.unread] == ["other"]


async def test_resuming_a_feed_brings_only_what_was_missed(server):
    server.publish(A, "read", "late")
    shelf, other = await server.reader(A), await server.reader(A)
    await server.poll()
    await server.read(shelf)
    server.clock.turn(2 * MONTH)
    await server.pruner.prune()
    [feed] = await server.subscriptions.list(shelf)
    await server.subscriptions.change(shelf, feed.public_id, SubscriptionChange(is_suspended=True))
    server.clock.turn(HOUR)
    server.publish(A, "missed")
    await server.poll()
    await server.subscriptions.change(shelf, feed.public_id, SubscriptionChange(is_suspended=False))
    assert await server.keys(shelf) == ["missed"]
    assert await server.keys(other) == ["late", "missed", "read"]


async def test_what_was_left_can_still_be_had_back(server):
    """I9: the entries of a feed that was left hold their items for a month."""
    server.publish(A, *old(NEWEST_KEPT + 5))
    shelf, _other = await server.reader(A), await server.reader(A)
    await server.poll()
    await server.read(_other)
    [feed] = await server.subscriptions.list(shelf)
    server.clock.turn(2 * MONTH)
    await server.subscriptions.delete(shelf, feed.public_id)
    assert await server.pruner.prune() == {"entries": NEWEST_KEPT + 4}
    await server.subscriptions.restore(shelf, feed.public_id)
    assert len(await server.keys(shelf)) == NEWEST_KEPT + 5


async def test_undo_of_a_mass_mark_outlives_the_night(server):
    server.publish(A, "1", "2")
    shelf = await server.reader(A)
    await server.poll()
    server.clock.turn(10 * MONTH)
    marked = await server.inbox.mark_scope(shelf, MarkScope(), unread=False)
    await server.night()
    await server.inbox.undo(shelf, marked.at)
    assert [row.unread for row in await server.rows(shelf)] == [True, True]


async def test_what_changed_since_it_was_found_stays(server):
    """Found without a lock: somebody may mark it unread, save it or read it again before it is removed."""
    server.publish(A, "unread", "saved", "read again", "old", "old too", "last")
    shelf = await server.reader(A)
    await server.poll()
    await server.read(shelf)
    server.clock.turn(2 * MONTH)
    now = server.clock.now
    within = EntryRange(0, 10**6, now, MONTH)
    found = await server.db.read(lambda tx: list_old_entries_tx(tx, within, most=9))
    assert len(found) == 6
    by_key = {row.key: row.id for row in await server.rows(shelf)}
    await server.inbox.mark_items(shelf, [by_key["unread"], by_key["read again"]], unread=True)
    await server.read(shelf, [by_key["read again"]])
    await server.bookmarks.add_item(shelf, by_key["saved"])
    assert await server.db.with_tx(lambda tx: prune_entries_tx(tx, found, now=now, keep_read=MONTH)) == 2
    assert await server.keys(shelf) == ["last", "read again", "saved", "unread"]
    [feed] = await server.subscriptions.list(shelf)
    pruned = await server.db.with_tx(  # as if all of them were spare
        lambda tx: prune_items_tx(tx, feed.feed_id, list(by_key.values()), before=now, now=now)
    )
    assert pruned == 2
    assert await server.keys(shelf) == ["last", "read again", "saved", "unread"]


async def test_everybody_goes_on_while_it_removes(server):
    """Polls, marks, whoever comes and whoever goes; nobody meets an error, and the counts are right."""
    links = [f"https://{number}.example/feed" for number in range(3)]
    for link in links:
        server.publish(link, *old(NEWEST_KEPT + 30))
    shelf, other = await server.reader(*links), await server.reader(*links)
    await server.poll()
    await server.read(shelf)
    await server.read(other)
    server.clock.turn(2 * MONTH)

    async def come_and_go() -> None:
        for link in links:
            guest = await server.reader(link)
            assert len(await server.keys(guest)) >= NEWEST_KEPT
            [feed] = await server.subscriptions.list(guest)
            await server.subscriptions.delete(guest, feed.public_id)

    async def mark() -> None:
        for unread in (True, False, True):
            await server.inbox.mark_items(shelf, [row.id for row in await server.rows(shelf)][::7], unread=unread)

    for link in links:
        server.publish(link, "new")
    await asyncio.gather(server.pruner.prune(), server.poll(), come_and_go(), mark(), server.pruner.prune())
    for each in (shelf, other):
        assert sum(row.key == "new" for row in await server.rows(each)) == 3
        assert await server.is_tallied(each)
    assert server.pruned["entries"] > 2 * NEWEST_KEPT


# -- at night, in portions


async def test_the_work_is_done_at_night_and_once(db):
    server = SimulatedServer(db, RetentionRules(keep_read=MONTH, hours=(2, 6)))
    hour = 12
    pruner = Pruner(db, server.clock, RetentionRules(keep_read=MONTH), hour_of=lambda _: hour)
    server.publish(A, "1", "2", "last")
    shelf = await server.reader(A)
    await server.poll()
    await server.read(shelf)
    server.clock.turn(2 * MONTH)
    assert await pruner.work() == {}
    assert {step.finished_at for step in await server.preview.steps()} == {0}
    hour = 3
    assert await pruner.work() == {"entries": 2}
    before = await db.read(list_steps_tx)
    server.clock.turn(HOUR)
    assert await pruner.work() == {}
    assert await db.read(list_steps_tx) == before
    server.clock.turn(DAY)
    await pruner.work()
    assert await db.read(list_steps_tx) != before


async def test_a_server_that_sleeps_at_night_does_it_by_day(db):
    server = SimulatedServer(db, RetentionRules())
    pruner = Pruner(db, server.clock, RetentionRules(keep_read=MONTH), hour_of=lambda _: 12)
    server.publish(A, "1", "last")
    shelf = await server.reader(A)
    await server.poll()
    await server.read(shelf)
    server.clock.turn(2 * MONTH)
    await pruner.work()
    server.clock.turn(2 * DAY)
    assert await pruner.work() == {}
    server.clock.turn(DAY)
    assert await pruner.work() == {"entries": 1}


async def test_work_stops_in_time_and_goes_on_there(db):
    """A step is a few milliseconds here; the run may take three of them."""
    moments = iter(range(10_000))
    rules = RetentionRules(keep_read=MONTH)
    server = SimulatedServer(db, rules)
    pruner = Pruner(
        db, server.clock, rules, hour_of=lambda _: 3, pause=server._pause, steady=lambda: next(moments) * 8.0
    )
    links = [f"https://{number}.example/feed" for number in range(4)]
    for link in links:
        server.publish(link, *old(NEWEST_KEPT + 2))
    shelf = await server.reader(*links)
    await server.poll()
    await server.read(shelf)
    server.clock.turn(2 * MONTH)
    total: dict[str, int] = {}
    runs = 0
    while total.get("items") != 8 and runs < 40:
        runs += 1
        for what, rows in (await pruner.work()).items():
            total[what] = total.get(what, 0) + rows
    assert total == {"entries": 4 * (NEWEST_KEPT + 2) - 1, "items": 8}
    assert runs > 3
    assert server.pauses


def test_hours_may_go_over_midnight():
    assert [hour for hour in range(24) if is_night(hour, (2, 6))] == [2, 3, 4, 5]
    assert [hour for hour in range(24) if is_night(hour, (22, 2))] == [0, 1, 22, 23]
    assert all(is_night(hour, (0, 24)) for hour in range(24))


def test_a_clock_that_went_back_stops_nothing():
    assert is_due(Millis(100 * DAY), Millis(DAY), night=True)
    assert not is_due(Millis(100 * DAY), Millis(100 * DAY + HOUR), night=True)
