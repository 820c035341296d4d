"""Subscriptions come and go at the same time: a shared feed is neither lost nor left behind."""

import asyncio

import pytest

from tests.builders import NOON
from tests.delivery.builders import a_reader, publish
from tests.scale import scaled
from tests.shelves.builders import shelf_deps
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.errors import TsuzukiError
from tsuzuki.model.times import Millis
from tsuzuki.shelves.subscriptions import KEPT, Subscriptions
from tsuzuki.shelves.types import NewSubscription, SubscriptionChange

LINK = "https://example.org/feed"

q = parse_queries(
    "tests",
    """
-- name: feeds
select count(*) from feed;
-- name: watches
select count(*) from watch;
-- name: resting
select count(*) from watch where suspended_at is not null;
""",
)


@pytest.fixture
def subscriptions(db):
    return Subscriptions(shelf_deps(db))


async def count(db, query):
    return await db.read(lambda tx: tx.one(int, query))


@pytest.mark.soak
async def test_whoever_subscribes_while_the_last_one_leaves_has_the_feed(db, subscriptions):
    """R70: content goes only when nobody follows it, however the two meet; no one is told of a broken key."""
    shelves = [await a_reader(db) for _ in range(4)]
    failures: list[BaseException] = []

    async def come_and_go(shelf, times):
        for _ in range(times):
            try:
                made = await subscriptions.add(shelf, NewSubscription(link=LINK))
                await subscriptions.delete(shelf, made.public_id)
            except TsuzukiError as error:
                failures.append(error)

    await asyncio.gather(*(come_and_go(shelf, scaled(10, 200)) for shelf in shelves))
    assert failures == []
    await Subscriptions(shelf_deps(db, lambda: Millis(NOON + KEPT + 1))).forget_former()
    assert (await count(db, q.feeds), await count(db, q.watches)) == (0, 0)
    made = await asyncio.gather(*(subscriptions.add(shelf, NewSubscription(link=LINK)) for shelf in shelves))
    assert len({one.feed_id for one in made}) == 1
    assert await count(db, q.watches) == 1


async def test_a_watch_rests_exactly_while_everyone_has_suspended_it(db, subscriptions):
    first, second = await a_reader(db), await a_reader(db)
    mine = await subscriptions.add(first, NewSubscription(link=LINK, is_suspended=True))
    assert await count(db, q.resting) == 1
    theirs = await subscriptions.add(second, NewSubscription(link=LINK))
    assert await count(db, q.resting) == 0
    await subscriptions.change(second, theirs.public_id, SubscriptionChange(is_suspended=True))
    assert await count(db, q.resting) == 1
    await subscriptions.change(first, mine.public_id, SubscriptionChange(is_suspended=False))
    assert await count(db, q.resting) == 0
    await subscriptions.delete(first, mine.public_id)
    assert await count(db, q.resting) == 1


async def test_content_goes_with_its_last_follower_after_undo_expires(db, subscriptions):
    shelf = await a_reader(db)
    made = await subscriptions.add(shelf, NewSubscription(link=LINK))
    await publish(db, made.feed_id, range(5), first=True)
    assert (await subscriptions.get(shelf, made.public_id)).item_count == 5
    await subscriptions.delete(shelf, made.public_id)
    assert (await count(db, q.feeds), await count(db, q.resting)) == (1, 1)
    await subscriptions.forget_former()
    assert await count(db, q.feeds) == 1
    await Subscriptions(shelf_deps(db, lambda: Millis(NOON + KEPT + 1))).forget_former()
    assert (await count(db, q.feeds), await count(db, q.watches)) == (0, 0)
