"""Readers who come and go while a poll of the same feed is saved: it holds the watch, then writes on the feed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import asyncpg
import pytest

from tests.builders import NOON
from tests.databases import until_blocked
from tests.delivery.builders import a_reader
from tests.shelves.builders import a_ground
from tsuzuki.shelves.subscriptions.nouns import Change, Wish
from tsuzuki.shelves.subscriptions.service import Subscriptions

LINK = "https://example.org/feed"
OTHER = "https://example.org/other"

pytestmark = pytest.mark.parametrize("engine", ["postgres"])  # SQLite has one writer


@asynccontextmanager
async def saving(database_url: str, feed_id: int) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A poll that is being saved and has written its watch."""
    poll = await asyncpg.connect(database_url)
    try:
        async with poll.transaction():
            await poll.execute("set local deadlock_timeout = '5s'")  # of two, the reader notices first, and is undone
            await poll.execute("select id from watch where feed_id = $1 for update", feed_id)
            yield poll
    finally:
        await poll.close()


async def _leave(feeds: Subscriptions, shelf, made):
    await feeds.delete(shelf, made.public_id)


async def _return(feeds: Subscriptions, shelf, _):
    await feeds.add(shelf, Wish(link=LINK))


async def _suspend(feeds: Subscriptions, shelf, made):
    await feeds.change(shelf, made.public_id, Change(is_suspended=True))


@pytest.mark.parametrize("act", [_leave, _return, _suspend])
async def test_whoever_waits_for_a_poll_does_not_keep_it_waiting(db, database_url, act):
    """Neither waits for a deadlock to be found, which takes a second, and nobody is undone."""
    feeds, shelf = Subscriptions(a_ground(db)), await a_reader(db)
    made = await feeds.add(shelf, Wish(link=LINK))
    if act is _return:
        await feeds.delete(shelf, made.public_id)
    onlooker = await asyncpg.connect(database_url)
    async with saving(database_url, made.feed_id) as poll:
        acting = asyncio.create_task(act(feeds, shelf, made))
        await until_blocked(onlooker, acting)
        await poll.execute("select id from feed where id = $1 for no key update nowait", made.feed_id)
    await acting
    await onlooker.close()


async def test_whoever_meets_a_deadlock_is_not_told_but_done(db, database_url):
    """A feed that only this reader follows gets another address: that is written on its row, then on its watch."""
    feeds, shelf = Subscriptions(a_ground(db)), await a_reader(db)
    made = await feeds.add(shelf, Wish(link=LINK))
    onlooker = await asyncpg.connect(database_url)
    async with saving(database_url, made.feed_id) as poll:
        acting = asyncio.create_task(feeds.change(shelf, made.public_id, Change(link=OTHER)))
        await until_blocked(onlooker, acting)
        with suppress(asyncpg.DeadlockDetectedError):  # on a busy machine it may be the poll that is undone
            await poll.execute("update feed set title = 'Told by a poll' where id = $1", made.feed_id)
    assert (await acting).link == OTHER
    await onlooker.close()


async def test_whoever_comes_back_while_something_is_delivered_has_it_too(db, database_url):
    """It is stored for those who followed when it began, and they are not among them."""
    feeds, shelf = Subscriptions(a_ground(db)), await a_reader(db)
    made = await feeds.add(shelf, Wish(link=LINK))
    await feeds.add(await a_reader(db), Wish(link=LINK))  # so that it stays when the first leaves
    await feeds.delete(shelf, made.public_id)
    onlooker, delivering = await asyncpg.connect(database_url), await asyncpg.connect(database_url)
    async with delivering.transaction():
        await delivering.execute("select pg_advisory_xact_lock_shared(1, $1)", made.feed_id)
        item = await delivering.fetchval(
            "insert into item (feed_id, key, title, sort_at, content_hash, created_at)"
            " values ($1, 'k', 't', $2, '', $2) returning id",
            made.feed_id,
            NOON + 1,
        )
        coming = asyncio.create_task(feeds.add(shelf, Wish(link=LINK)))
        await until_blocked(onlooker, coming)
    await coming
    entries = await onlooker.fetch("select shelf_id from entry where item_id = $1", item)
    assert [entry["shelf_id"] for entry in entries] == [shelf]
    await onlooker.close()
    await delivering.close()
