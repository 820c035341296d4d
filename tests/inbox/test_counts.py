"""Unread counts are the truth at every moment, whoever marks and delivers at the same time."""

import asyncio
import random

import apsw
import msgspec
import pytest

from tests.builders import NOON, stored_feed, stored_series
from tests.delivery.builders import (
    a_followed_feed,
    a_reader,
    add_group,
    entry_ids,
    follow,
    publish,
    release,
    subscribe,
    unread_truth,
)
from tests.inbox.builders import an_inbox
from tsuzuki.db.queries import load_queries, parse_queries
from tsuzuki.inbox.entries import UnreadSums
from tsuzuki.inbox.service import counts_tx
from tsuzuki.inbox.store import mark_entries_tx
from tsuzuki.model.ids import GroupId

q = parse_queries(
    "tests",
    """
-- name: tally
select shelf_id, kind, of_id, entries, unread from tally order by 1, 2, 3;
-- name: truth
select shelf_id, case when feed_id is null then 'chapter' else 'item' end as kind,
  coalesce(feed_id, series_id) as of_id, count(*) as entries, count(case when unread then 1 end) as unread
from entry group by 1, 2, 3 order by 1, 2, 3;
-- name: tally_rows
select count(*) from tally;
-- name: save_all
update entry set saved = true;
-- name: merge_series
update entry set series_id = :series_id, unread = not unread where series_id is not null and id % 2 = 0;
-- name: drop_some
delete from entry where id % 3 = 0;
-- name: drop_items
delete from item where feed_id = :feed_id;
-- name: drop_shelf
delete from shelf where id = :shelf_id;
-- name: drop_subscriptions
delete from subscription where shelf_id = :shelf_id;
-- name: drop_follows
delete from follow where shelf_id = :shelf_id;
-- name: drop_all
delete from entry;
""",
)


class Row(msgspec.Struct, frozen=True):
    shelf_id: int
    kind: str
    of_id: int
    entries: int
    unread: int


async def counts_of(db, shelf):
    return await db.read(lambda tx: counts_tx(tx, shelf))


async def test_counts_are_by_shelf_feed_series_and_group(db):
    shelf, other = await a_reader(db), await a_reader(db)
    group = await add_group(db, shelf, "Comics")
    papers, blog = await stored_feed(db), await stored_feed(db)
    series = await stored_series(db)
    await subscribe(db, shelf, papers)
    await subscribe(db, shelf, blog, group_id=group)
    await follow(db, shelf, series, group_id=group)
    await subscribe(db, other, blog)
    await publish(db, papers, range(3))
    await publish(db, blog, range(2))
    await release(db, series, range(4))
    counts = await counts_of(db, shelf)
    assert (counts.unread, counts.items, counts.chapters) == (9, 5, 4)
    assert sorted(counts.groups.values()) == [3, 6]
    assert sorted(counts.feeds.values()) == [2, 3]
    assert list(counts.series.values()) == [4]
    assert (await counts_of(db, other)).unread == 2
    sums = await an_inbox(db).sums(shelf)
    assert (sums.unread, sums.items, sums.chapters, sums.groups[GroupId(group)]) == (9, 5, 4, 6)
    assert sorted(sums.groups.values()) == [3, 6]


async def test_read_entries_and_empty_shelves_count_nothing(db):
    feed, [shelf] = await a_followed_feed(db)
    await publish(db, feed, range(5))
    ids = await entry_ids(db, shelf)
    await db.with_tx(lambda tx: mark_entries_tx(tx, shelf, ids[:4], unread=False, now=NOON))
    assert (await counts_of(db, shelf)).unread == 1
    await db.with_tx(lambda tx: mark_entries_tx(tx, shelf, ids, unread=False, now=NOON))
    counts = await counts_of(db, shelf)
    assert (counts.unread, counts.feeds, counts.groups) == (0, {}, {})
    assert await an_inbox(db).sums(shelf) == UnreadSums(unread=0, items=0, chapters=0, groups={})


async def test_rel_19h_counts_stay_true_under_concurrent_marks_and_deliveries(db):
    feed, [shelf] = await a_followed_feed(db)
    await publish(db, feed, range(40))
    rng = random.Random(3)

    async def mark(unread):
        for _ in range(15):
            ids = rng.sample(list(await entry_ids(db, shelf)), 10)
            await db.with_tx(lambda tx: mark_entries_tx(tx, shelf, ids, unread=unread, now=NOON))  # noqa: B023  at once

    async def deliver():
        for number in range(15):
            await publish(db, feed, [f"new {number}"])

    async def count():
        for _ in range(30):
            counts = await counts_of(db, shelf)
            assert counts.unread == counts.items == sum(counts.feeds.values()) == sum(counts.groups.values())

    await asyncio.gather(mark(unread=True), mark(unread=False), mark(unread=False), deliver(), count())
    assert (await counts_of(db, shelf)).unread == await unread_truth(db, shelf)


async def test_rel_19h_the_tally_is_the_truth_whatever_becomes_of_the_entries(db):
    """Marked, moved, pruned, gone with their items or with the whole shelf; the last one leaves no row behind."""
    papers, blog, series = await stored_feed(db), await stored_feed(db), await stored_series(db)
    shelf = await a_reader(db, feeds=[papers, blog], series=[series])
    other = await a_reader(db, feeds=[papers], series=[series])
    await publish(db, papers, range(6))
    await publish(db, papers, range(8))
    await publish(db, blog, range(5))
    await release(db, series, range(4))
    await tally_is_true(db)
    ids = await entry_ids(db, shelf)
    await db.with_tx(lambda tx: mark_entries_tx(tx, shelf, ids[::2], unread=False, now=NOON))
    await tally_is_true(db)
    merged = await stored_series(db)
    for step, values in (
        (q.save_all, {}),
        (q.merge_series, {"series_id": merged}),
        (q.drop_some, {}),
        (q.drop_items, {"feed_id": blog}),
        (q.drop_subscriptions, {"shelf_id": other}),  # as whoever deletes a shelf: they refer to groups
        (q.drop_follows, {"shelf_id": other}),
        (q.drop_shelf, {"shelf_id": other}),
        (q.drop_all, {}),
    ):
        await db.with_tx(lambda tx, step=step, values=values: tx.run(step, **values))
        await tally_is_true(db)
    assert await db.read(lambda tx: tx.one(int, q.tally_rows)) == 0


async def tally_is_true(db):
    kept = await db.read(lambda tx: tx.many(Row, q.tally))
    assert kept == await db.read(lambda tx: tx.many(Row, q.truth))


@pytest.mark.parametrize("name", ["unread_counts", "unread_sums"])
def test_counting_reads_one_row_per_feed_and_series(sqlite_template, name):
    counting = getattr(load_queries("tsuzuki.inbox"), name).sqlite
    with apsw.Connection(str(sqlite_template)) as connection:
        plan = list(connection.execute(f"explain query plan {counting.sql}", [None] * len(counting.params)))
    steps = " / ".join(step[3] for step in plan)
    assert steps.count("SEARCH tally USING PRIMARY KEY (shelf_id=? AND kind=?)") == 2
    assert " entry " not in steps
    assert "SCAN" not in steps
