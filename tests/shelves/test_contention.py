"""Readers who come and go while a poll of the same feed is saved."""

import asyncio

import asyncpg
import pytest

from tests.databases import until_blocked
from tests.delivery.builders import a_reader
from tests.shelves.builders import a_ground
from tsuzuki.model.errors import NotFound
from tsuzuki.shelves.subscriptions.nouns import Change, Wish
from tsuzuki.shelves.subscriptions.service import Subscriptions

LINK = "https://example.org/feed"


async def _leave(feeds: Subscriptions, shelf, made):
    await feeds.delete(shelf, made.public_id)
    with pytest.raises(NotFound):
        await feeds.get(shelf, made.public_id)


async def _move(feeds: Subscriptions, shelf, made):
    await feeds.change(shelf, made.public_id, Change(link="https://example.org/other"))
    assert (await feeds.get(shelf, made.public_id)).link == "https://example.org/other"


@pytest.mark.parametrize("engine", ["postgres"])  # SQLite has one writer
@pytest.mark.parametrize("act", [_leave, _move])
async def test_whoever_meets_a_deadlock_is_not_told_but_done(db, database_url, act):
    """Somebody holds the watch and wants the feed, which the reader holds who waits for the watch."""
    feeds, shelf = Subscriptions(a_ground(db)), await a_reader(db)
    made = await feeds.add(shelf, Wish(link=LINK))
    poll, onlooker = [await asyncpg.connect(database_url) for _ in range(2)]
    try:
        async with poll.transaction():
            await poll.execute("set local deadlock_timeout = '5s'")  # the reader notices first, and is undone
            await poll.execute("select id from watch where feed_id = $1 for update", made.feed_id)
            acting = asyncio.create_task(act(feeds, shelf, made))
            await until_blocked(onlooker, acting)
            await poll.execute("update feed set title = 'Told by a poll' where id = $1", made.feed_id)
        await acting
        assert await onlooker.fetchval("select title from feed where id = $1", made.feed_id) == "Told by a poll"
    finally:
        await poll.close()
        await onlooker.close()
