"""Locks are taken in one order, or the transaction says so."""

import pytest
from structlog.testing import capture_logs

from tests.builders import stored_feed
from tsuzuki.db import locks
from tsuzuki.db.errors import MisuseError
from tsuzuki.db.locks import (
    ORDER,
    lock_feed_tx,
    lock_feeds_shared_tx,
    lock_items_tx,
    lock_people_tx,
    lock_series_merges_shared_tx,
    lock_series_merges_tx,
    lock_series_tx,
)
from tsuzuki.model.ids import FeedId, SeriesId

ONE, TWO = SeriesId(1), SeriesId(2)


def test_the_order_is_that_of_the_numbers():
    assert list(ORDER) == sorted(ORDER, key=lambda lock: lock.number)
    assert len({lock.number for lock in ORDER}) == len({lock.name for lock in ORDER}) == len(ORDER)


async def test_locks_in_order_are_taken_and_taken_again(db):
    feed = await stored_feed(db)

    async def work(tx):
        await lock_people_tx(tx)
        await lock_series_merges_shared_tx(tx)
        await lock_series_tx(tx, ONE)
        await lock_series_tx(tx, TWO)
        await lock_items_tx(tx, FeedId(feed + 1), feed)  # sorted by their ids
        await lock_feed_tx(tx, feed)
        await lock_feeds_shared_tx(tx, [feed])  # held alone already
        await lock_series_merges_shared_tx(tx)
        await lock_series_tx(tx, ONE)
        return True

    assert await db.with_tx(work)


async def people_after_series(tx):
    await lock_series_tx(tx, ONE)
    await lock_people_tx(tx)


async def two_series_backwards(tx):
    await lock_series_tx(tx, TWO)
    await lock_series_tx(tx, ONE)


async def shared_and_then_alone(tx):
    await lock_series_merges_shared_tx(tx)
    await lock_series_merges_tx(tx)


async def items_after_their_feed(tx):
    await lock_feeds_shared_tx(tx, [FeedId(1)])
    await lock_items_tx(tx, FeedId(1))


@pytest.mark.parametrize(
    "work", [people_after_series, two_series_backwards, shared_and_then_alone, items_after_their_feed]
)
async def test_a_lock_out_of_order_is_refused_in_tests(db, work):
    with pytest.raises(MisuseError, match="was taken while"):
        await db.with_tx(work)


async def test_a_running_server_logs_each_pair_once(db, monkeypatch):
    monkeypatch.setattr(locks, "on_disorder", locks.warn)
    locks.warn.cache_clear()
    with capture_logs() as logged:
        for work in (people_after_series, people_after_series, items_after_their_feed):
            await db.with_tx(work)
    told = [(line["held"], line["wanted"]) for line in logged if line["event"] == "locks_out_of_order"]
    assert told == [("series", "people"), ("feed", "items")]
    assert {line["log_level"] for line in logged} == {"warning"}
