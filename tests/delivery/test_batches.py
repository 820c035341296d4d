"""New items of several feeds through one delivery: each shelf gets, and is told of, what it would have got of each."""

import pytest

from tests.builders import NOON, stored_feed
from tests.delivery.builders import a_channel, a_reader, entries_of, events_of, items_tx, task_keys
from tsuzuki.db.queries import parse_queries
from tsuzuki.delivery.fanout import FLOOD, NOTHING, NewBatch, deliver_feeds_tx

q = parse_queries(
    "tests",
    """
-- name: newest
select max(id) as newest from entry where shelf_id = :shelf_id group by feed_id order by newest;
""",
)


@pytest.fixture
async def feeds(db):
    return [await stored_feed(db) for _ in range(3)]


async def deliver(db, *lots):
    """Of each: the feed, its keys, and whether they are no news."""

    async def work(tx):
        items = {}
        for place, (feed, keys, _) in sorted(enumerate(lots), key=lambda each: each[1][0]):  # in the order of locks
            items[place] = tuple(await items_tx(tx, feed, keys, NOON))
        made = [NewBatch("item", feed, items[place], is_quiet) for place, (feed, _, is_quiet) in enumerate(lots)]
        return await deliver_feeds_tx(tx, made, NOON)

    return await db.with_tx(work)


async def test_each_shelf_gets_its_entries_and_one_event_per_feed(db, feeds):
    one, two, three = feeds
    all_of_them, last, nobody = await a_reader(db, feeds=feeds), await a_reader(db, feeds=[three]), await a_reader(db)
    delivered = await deliver(db, (three, "abc", False), (one, "a", False), (two, "ab", True))
    assert delivered.entries == 6 + 3
    counts = {shelf: [event.payload["count"] for event in await events_of(db, shelf)] for shelf in (all_of_them, last)}
    assert counts == {all_of_them: [3, 1, 2], last: [3]}
    newest = [int(event.payload["newest"]) for event in await events_of(db, all_of_them)]
    assert sorted(newest) == await db.read(lambda tx: tx.many(int, q.newest, shelf_id=all_of_them))
    assert (await entries_of(db, nobody), await events_of(db, nobody)) == ([], [])


async def test_r8_quiet_and_new_items_of_a_feed_are_two_events(db, feeds):
    feed, *_ = feeds
    shelf = await a_reader(db, feeds=[feed])
    await a_channel(db, shelf)
    await deliver(db, (feed, "ab", True), (feed, "c", False))
    events = [(event.payload["count"], event.payload.get("is_quiet", False)) for event in await events_of(db, shelf)]
    assert events == [(2, True), (1, False)]
    assert len(await task_keys(db, "notifications")) == 1


async def test_r8_a_flood_of_one_feed_does_not_silence_the_others(db, feeds):
    shelf = await a_reader(db, feeds=feeds)
    await a_channel(db, shelf)
    one, two, three = feeds
    await deliver(db, (one, range(FLOOD + 1), False), (two, range(FLOOD), False), (three, range(FLOOD + 1), True))
    keys = await task_keys(db, "notifications")
    assert [key for key in keys if "flood" in key] == [f"notify-item-{one}-flood-{NOON}"]
    assert len(keys) == 1 + FLOOD


async def test_a_shelf_is_notified_only_of_feeds_it_chose(db, feeds):
    one, two, _ = feeds
    await a_channel(db, await a_reader(db, feeds=[one]))
    await a_reader(db, feeds=[two])
    await deliver(db, (one, "a", False), (two, "a", False))
    assert [key.startswith(f"notify-item-{one}-") for key in await task_keys(db, "notifications")] == [True]


async def test_nothing_new_and_nobody_who_follows_are_nothing_at_all(db, feeds):
    assert await deliver(db, (feeds[0], "", False)) == NOTHING
    assert await deliver(db, (feeds[0], "a", False), (feeds[1], "a", True)) == NOTHING
