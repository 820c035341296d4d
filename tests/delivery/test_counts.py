"""Unread counts are the truth at every moment, whoever marks and delivers at the same time."""

import asyncio
import random

import apsw

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
from tsuzuki.db.queries import load_queries
from tsuzuki.delivery.counts import counts_tx
from tsuzuki.shelves.store import mark_entries_tx


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


async def test_what_is_read_is_not_counted_and_an_empty_shelf_counts_nothing(db):
    feed, [shelf] = await a_followed_feed(db)
    await publish(db, feed, range(5))
    ids = await entry_ids(db, shelf)
    await db.with_tx(lambda tx: mark_entries_tx(tx, shelf, ids[:4], unread=False, now=NOON))
    assert (await counts_of(db, shelf)).unread == 1
    await db.with_tx(lambda tx: mark_entries_tx(tx, shelf, ids, unread=False, now=NOON))
    counts = await counts_of(db, shelf)
    assert (counts.unread, counts.feeds, counts.groups) == (0, {}, {})


async def test_rel_19h_marking_delivering_and_counting_at_once_leave_the_count_equal_to_the_truth(db):
    feed, [shelf] = await a_followed_feed(db)
    await publish(db, feed, range(40))
    dice = random.Random(3)

    async def mark(unread):
        for _ in range(15):
            ids = dice.sample(list(await entry_ids(db, shelf)), 10)
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


def test_counting_reads_nothing_but_what_it_counts(sqlite_template):
    """100,000 unread entries are counted in about 10 ms like this; that a clock says so is no test."""
    counting = load_queries("tsuzuki.delivery").unread_counts.sqlite
    with apsw.Connection(str(sqlite_template)) as connection:
        plan = list(connection.execute(f"explain query plan {counting.sql}", [None] * len(counting.params)))
    steps = " / ".join(step[3] for step in plan)
    assert "entry USING COVERING INDEX entry_unread_feed (shelf_id=?" in steps
    assert "entry USING COVERING INDEX entry_unread_series (shelf_id=?" in steps
