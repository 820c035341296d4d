"""Readers who come and go while a poll of the same feed is saved: it holds the watch, then writes on the feed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import asyncpg
import pytest

from tests.builders import NOON
from tests.databases import until_blocked
from tests.delivery.builders import a_followed_feed, a_reader, publish
from tests.inbox.builders import a_sync_inbox, items_of
from tests.shelves.builders import shelf_deps
from tsuzuki.db import Database
from tsuzuki.db.locks import FEED
from tsuzuki.inbox.entries import Entry
from tsuzuki.model.ids import ItemId, ShelfId
from tsuzuki.shelves.bookmarks import Bookmarks
from tsuzuki.shelves.subscriptions import Subscriptions
from tsuzuki.shelves.types import NewSubscription, SubscriptionChange

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
    await feeds.add(shelf, NewSubscription(link=LINK))


async def _suspend(feeds: Subscriptions, shelf, made):
    await feeds.change(shelf, made.public_id, SubscriptionChange(is_suspended=True))


@pytest.mark.parametrize("act", [_leave, _return, _suspend])
async def test_whoever_waits_for_a_poll_does_not_keep_it_waiting(db, database_url, act):
    """Neither waits for a deadlock to be found, which takes a second, and nobody is undone."""
    feeds, shelf = Subscriptions(shelf_deps(db)), await a_reader(db)
    made = await feeds.add(shelf, NewSubscription(link=LINK))
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
    feeds, shelf = Subscriptions(shelf_deps(db)), await a_reader(db)
    made = await feeds.add(shelf, NewSubscription(link=LINK))
    onlooker = await asyncpg.connect(database_url)
    async with saving(database_url, made.feed_id) as poll:
        acting = asyncio.create_task(feeds.change(shelf, made.public_id, SubscriptionChange(link=OTHER)))
        await until_blocked(onlooker, acting)
        with suppress(asyncpg.DeadlockDetectedError):  # on a busy machine it may be the poll that is undone
            await poll.execute("update feed set title = 'Told by a poll' where id = $1", made.feed_id)
    assert (await acting).link == OTHER
    await onlooker.close()


@asynccontextmanager
async def delivering(database_url: str, feed_id: int, *shelves: int) -> AsyncIterator[None]:
    """An item that is being stored and delivered to these, who followed when that began."""
    ingest = await asyncpg.connect(database_url)
    try:
        async with ingest.transaction():
            await ingest.execute(f"select pg_advisory_xact_lock_shared({FEED.number}, $1)", feed_id)
            item = await ingest.fetchval(
                "insert into item (feed_id, key, title, sort_at, content_hash, created_at)"
                " values ($1, 'k', 't', $2, '', $2) returning id",
                feed_id,
                NOON + 1,
            )
            for shelf in shelves:
                await ingest.execute(
                    "insert into entry (shelf_id, feed_id, item_id, sort_at, created_at) values ($1, $2, $3, $4, $4)",
                    shelf,
                    feed_id,
                    item,
                    NOON + 1,
                )
            yield
    finally:
        await ingest.close()


@pytest.mark.parametrize("act", [_return, _leave])
async def test_following_or_leaving_during_delivery_is_consistent(db, database_url, act):
    feeds, shelf = Subscriptions(shelf_deps(db)), await a_reader(db)
    made = await feeds.add(shelf, NewSubscription(link=LINK))
    await feeds.add(await a_reader(db), NewSubscription(link=LINK))  # so that it stays when the first leaves
    if act is _return:
        await feeds.delete(shelf, made.public_id)
    onlooker = await asyncpg.connect(database_url)
    async with delivering(database_url, made.feed_id, *([shelf] if act is _leave else [])):
        acting = asyncio.create_task(act(feeds, shelf, made))
        await until_blocked(onlooker, acting)
    await acting
    entries = await onlooker.fetch("select shelf_id from entry")
    assert [entry["shelf_id"] for entry in entries] == ([shelf] if act is _return else [])
    await onlooker.close()


async def _save_on_a_page(db: Database, shelf: ShelfId, entry: Entry) -> None:
    await Bookmarks(shelf_deps(db)).add_item(shelf, ItemId(entry.item_id or 0))


async def _read_and_save_in_an_app(db: Database, shelf: ShelfId, entry: Entry) -> None:
    await a_sync_inbox(db).mark(shelf, [entry.id], None, unread=False, saved=True)


@pytest.mark.parametrize("save", [_save_on_a_page, _read_and_save_in_an_app])
async def test_concurrent_saving_and_releasing_do_not_deadlock(db, database_url, save):
    """A bookmark comes before its entry, wherever both are changed."""
    feed, [shelf] = await a_followed_feed(db)
    await publish(db, feed, "a")
    [entry] = await items_of(db, shelf)
    elsewhere, onlooker = await asyncpg.connect(database_url), await asyncpg.connect(database_url)
    await elsewhere.execute(
        "insert into bookmark (public_id, shelf_id, item_id, link, title, feed_name, created_at)"
        " select uuid_send(gen_random_uuid()), $1, id, coalesce(link, ''), title, '', 0 from item",
        shelf,
    )
    async with elsewhere.transaction():
        await elsewhere.execute("delete from bookmark where shelf_id = $1", shelf)
        saving = asyncio.create_task(save(db, shelf, entry))
        await until_blocked(onlooker, saving)
        await elsewhere.execute("set local lock_timeout = '1ms'")
        await elsewhere.execute("update entry set saved = false where shelf_id = $1", shelf)
    await saving
    assert [row["saved"] for row in await onlooker.fetch("select saved from entry")] == [True]
    for connection in (elsewhere, onlooker):
        await connection.close()


async def test_a_subscription_moves_to_a_feed_that_is_older(db):
    """Both are locked by their ids, whichever the reader has now."""
    feeds, shelf, other = Subscriptions(shelf_deps(db)), await a_reader(db), await a_reader(db)
    older = await feeds.add(other, NewSubscription(link=LINK))
    for reader in (shelf, other):
        await feeds.add(reader, NewSubscription(link=OTHER))
    [mine] = await feeds.list(shelf)
    moved = await feeds.change(shelf, mine.public_id, SubscriptionChange(link=LINK))
    assert moved.feed_id == older.feed_id < mine.feed_id
