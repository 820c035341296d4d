"""What is stored of what feeds list, read for many polls at once."""

import asyncio
from typing import Any

from tests.builders import NOON, a_new_item, store_items_tx, stored_feed
from tsuzuki.model.harvest import FoundItem
from tsuzuki.polling.known_items import MOST_BATCHED, FeedListing, KnownItems


class Counting:
    """A database that counts its reads."""

    def __init__(self, db) -> None:
        self.reads = 0
        self._db = db

    async def read(self, work):
        self.reads += 1
        return await self._db.read(work)


def found(key):
    return FoundItem(key=key, title=key, link_key=f"example.org/{key}")


async def test_known_items_of_many_feeds_take_two_reads(db):
    """The first reads alone; the others gather meanwhile. The keys are the same in every feed."""
    feeds = [await stored_feed(db) for _ in range(10)]
    for number, feed in enumerate(feeds):
        items = [a_new_item(str(each), link_key=f"example.org/{each}") for each in range(number)]
        await db.with_tx(lambda tx, feed=feed, items=items: store_items_tx(tx, feed, items, NOON))
    counting: Any = Counting(db)
    known = KnownItems(counting)
    listed = [FeedListing(feed, [found(str(each)) for each in range(12)]) for feed in feeds]
    told = await asyncio.gather(*map(known.of, listed))
    assert [{each.key for each in one} for one in told] == [set(map(str, range(number))) for number in range(10)]
    assert {each.feed_id for one in told for each in one} == set(feeds[1:])
    assert counting.reads <= 2


async def test_a_long_list_is_read_alone_and_says_the_same(db):
    feed = await stored_feed(db)
    await db.with_tx(lambda tx: store_items_tx(tx, feed, [a_new_item("7")], NOON))
    for count in (MOST_BATCHED, MOST_BATCHED + 1):
        told = await KnownItems(db).of(FeedListing(feed, [found(str(each)) for each in range(count)]))
        assert {each.key for each in told} == {"7"}
