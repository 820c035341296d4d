"""REL-19d: whoever locks several feeds takes them by their ids, and holds none while it waits for the first."""

import asyncio

import asyncpg
import pytest

from tests.builders import stored_feed
from tests.databases import until_blocked
from tsuzuki.delivery.fanout import lock_feeds_shared_tx
from tsuzuki.ingest.items import lock_items_tx

LOCKS = {
    "ingest": (lambda tx, feeds: lock_items_tx(tx, *feeds), "hashtextextended('feed-' || cast($1 as bigint), 0)"),
    "delivery": (lock_feeds_shared_tx, "1, cast($1 as integer)"),
}


@pytest.mark.parametrize("engine", ["postgres"])  # SQLite has one writer
@pytest.mark.parametrize("lock", LOCKS)
async def test_feeds_are_locked_by_their_ids_whatever_the_order_they_are_named_in(db, database_url, lock):
    take, key = LOCKS[lock]
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
