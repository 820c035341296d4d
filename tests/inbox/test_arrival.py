"""Arrival, for apps, is when an entry appeared on this shelf, also where the inbox shows it at an earlier place."""

import msgspec

from tests.builders import NOON, a_hash, a_new_item
from tests.delivery.builders import a_followed_feed, a_followed_series, a_reader, entries_of, publish, release
from tests.delivery.portion_builders import LATER, MOST, deliver_all
from tests.inbox.builders import a_sync_inbox
from tests.shelves.builders import shelf_deps
from tsuzuki.db import Database, Tx
from tsuzuki.db.fulltext import split_words
from tsuzuki.inbox.sync import SyncFilter
from tsuzuki.ingest.detached import ImportedItem, import_items_tx
from tsuzuki.model.ids import FeedId, ShelfId
from tsuzuki.model.times import DAY, Millis
from tsuzuki.shelves.subscriptions import Subscriptions
from tsuzuki.shelves.types import NewSubscription

LINK = "https://example.org/feed"
BEFORE = Millis(LATER - 1)
"""When an app looked last."""


async def new_to_apps(db: Database, shelf: ShelfId, since: Millis = BEFORE) -> int:
    """How many an app is told of that asks for what arrived since then; each way of asking says the same."""
    sync = a_sync_inbox(db)
    arrived = await sync.refs(shelf, SyncFilter(arrived_from=Millis(since + 1)), most=100)
    changed = await sync.refs(shelf, SyncFilter(changed_from=since), most=100)
    before = await sync.refs(shelf, SyncFilter(arrived_until=since), most=100)
    every = await sync.refs(shelf, SyncFilter(), most=100)
    assert {ref.id for ref in arrived} == {ref.id for ref in changed} == {ref.id for ref in every if ref not in before}
    assert all(ref.arrived_at > since for ref in arrived)
    entries = await sync.entries(shelf, [ref.id for ref in every], None)
    assert [one.details.arrived_at for one in entries] == [ref.arrived_at for ref in every]
    return len(arrived)


async def test_what_is_delivered_in_portions_arrives_with_its_portion(db):
    feed, readers = await a_followed_feed(db, readers=5)
    await publish(db, feed, "ab", most=MOST)
    series, followers = await a_followed_series(db, readers=5)
    await release(db, series, [1, 2], most=MOST)
    assert await new_to_apps(db, readers[4]) == 0
    await deliver_all(db)
    for shelf in (readers[4], followers[4]):
        assert [entry.created_at for entry in await entries_of(db, shelf)] == [NOON] * 2
        assert await new_to_apps(db, shelf) == 2
        assert await new_to_apps(db, shelf, LATER) == 0


async def test_what_is_restored_arrives_again(db):
    shelf = await a_reader(db)
    made = await Subscriptions(shelf_deps(db)).add(shelf, NewSubscription(link=LINK))
    await publish(db, made.feed_id, "ab")
    assert await new_to_apps(db, shelf, NOON) == 0
    later = Subscriptions(shelf_deps(db, lambda: LATER))
    await later.delete(shelf, made.public_id)
    await later.restore(shelf, made.public_id)
    assert [entry.created_at for entry in await entries_of(db, shelf)] == [NOON] * 2
    assert await new_to_apps(db, shelf) == 2


async def test_what_an_archive_brings_arrives_when_it_is_imported(db):
    feed, [shelf] = await a_followed_feed(db)
    await bring(db, shelf, feed, created_at=NOON - DAY)
    assert [entry.created_at for entry in await entries_of(db, shelf)] == [NOON - DAY]
    assert await new_to_apps(db, shelf) == 1
    await bring(db, shelf, feed, created_at=NOON - DAY, now=Millis(LATER + DAY))
    assert await new_to_apps(db, shelf, LATER) == 0, "a repeat is no news"


async def bring(db: Database, shelf: ShelfId, feed: FeedId, *, created_at: int, now: Millis = LATER) -> None:
    """An article of years ago, as somebody's archive has it."""
    item = msgspec.structs.asdict(a_new_item("old", title="Old", sort_at=0))
    item |= {"content_hash": a_hash("old").hex(), "created_at": created_at, "updated_at": None}
    state = {"unread": True, "saved": False, "sort_at": 0, "read_at": None, "created_at": created_at}

    async def store(tx: Tx) -> None:
        [words] = split_words(tx.engine, [("Old", "")])
        await import_items_tx(tx, shelf, feed, [ImportedItem("old", item, state, words)], now=now)

    await db.with_tx(store)
