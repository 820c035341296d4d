"""What `bench.scale` stands on: entries in hash partitions by shelf, and every statement as it is."""

import pytest

from bench._readers import partition_entries
from tests import databases
from tests.builders import NOON
from tests.delivery.builders import a_followed_feed, a_followed_series, entry_ids, publish, release, unread_truth
from tests.delivery.portion_builders import MOST, deliver_all
from tests.inbox.builders import an_inbox, items_of
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.db.queries import parse_queries
from tsuzuki.inbox.service import counts_tx
from tsuzuki.inbox.store import mark_entries_tx

PARTITIONS = 4
READERS = 8

q = parse_queries("tests", "-- name: filled\nselect count(distinct tableoid) from entry;")


@pytest.fixture
async def partitioned(postgres_url):
    async with databases.migrated(postgres_url) as url:
        await partition_entries(url, PARTITIONS)
        db = await open_database(DatabaseOptions(url))
        yield db
        await db.close()


async def test_i2_entries_in_partitions_are_delivered_once_listed_and_counted(partitioned):
    feed, readers = await a_followed_feed(partitioned, readers=READERS)
    for _ in range(2):
        await publish(partitioned, feed, "ab", most=MOST)
    await deliver_all(partitioned)
    assert await partitioned.read(lambda tx: tx.one(int, q.filled)) > 1
    for reader in readers:
        assert len(await items_of(partitioned, reader)) == 2
        assert (await partitioned.read(lambda tx, reader=reader: counts_tx(tx, reader))).unread == 2


async def test_marks_and_chapters_are_counted_across_partitions(partitioned):
    series, [reader, other] = await a_followed_series(partitioned, readers=2)
    await release(partitioned, series, [1, 2, 3])
    first = (await entry_ids(partitioned, reader))[:1]
    await partitioned.with_tx(lambda tx: mark_entries_tx(tx, reader, first, unread=False, now=NOON))
    for shelf, unread in ((reader, 2), (other, 3)):
        assert (await an_inbox(partitioned).sums(shelf)).unread == await unread_truth(partitioned, shelf) == unread
