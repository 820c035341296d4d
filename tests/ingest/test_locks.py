"""REL-19d: whoever locks several feeds takes them by their ids, and holds none while it waits for the first.

Whoever waits keeps a connection, and leaves some for others.
"""

import asyncio

import asyncpg
import pytest

from tests.builders import stored_feed
from tests.databases import until_blocked
from tests.ingest.item_builders import followed_feeds, working
from tsuzuki.db.locks import FEED, ITEMS, lock_feeds_shared_tx, lock_items_tx
from tsuzuki.ingest.service import MOST_TRANSACTIONS
from tsuzuki.queue.policy import INGEST

BLOCKED = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"

LOCKS = {
    "ingest": (lambda tx, feeds: lock_items_tx(tx, *feeds), ITEMS),
    "delivery": (lock_feeds_shared_tx, FEED),
}


@pytest.mark.parametrize("engine", ["postgres"])  # SQLite has one writer
@pytest.mark.parametrize("lock", LOCKS)
async def test_feeds_are_locked_in_the_order_of_ids(db, database_url, lock):
    take, kind = LOCKS[lock]
    key = f"{kind.number}, cast($1 as integer)"
    feeds = [await stored_feed(db) for _ in range(12)]  # 10 comes after 9, and before it as text
    holder, stranger = [await asyncpg.connect(database_url) for _ in range(2)]
    await holder.execute(f"select pg_advisory_lock({key})", feeds[0])
    waiting = asyncio.create_task(db.with_tx(lambda tx: take(tx, feeds[::-1])))
    await until_blocked(stranger, waiting)
    free = [await stranger.fetchval(f"select pg_try_advisory_lock({key})", feed) for feed in feeds]
    await stranger.close()
    await holder.close()
    await waiting
    assert free == [False] + [True] * 11


@pytest.mark.parametrize("engine", ["postgres"])
async def test_batches_waiting_for_a_feed_leave_connections_to_readers(db, database_url):
    followed = await followed_feeds(db, feeds=1)
    [(_, feed)] = followed.feeds
    batches = [followed.batch(0, str(number)) for number in range(INGEST.batch * INGEST.concurrency)]
    await followed.hand_on(*batches)
    holder = await asyncpg.connect(database_url)
    await holder.execute(f"select pg_advisory_lock({ITEMS.number}, cast($1 as integer))", feed)
    async with working(db):
        while await holder.fetchval(BLOCKED) < MOST_TRANSACTIONS:  # noqa: ASYNC110  a lock wakes nobody
            await asyncio.sleep(0.01)
        async with asyncio.timeout(10):
            assert await followed.items() == []
        await holder.close()
        await followed.until_done()
    assert len(await followed.items()) == len(batches)
