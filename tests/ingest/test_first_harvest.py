"""R8: what a first harvest found is no news, whichever poll's batch is stored first."""

import asyncio

import pytest

from tests.builders import HERE, NOON, stored_feed, stored_series, stored_watch
from tests.delivery.builders import a_channel, a_reader, entries_of, events_of, task_keys
from tests.ingest.builders import a_mapping, chapter_batch, claimed_all, item_batch
from tests.net.builders import answer
from tests.polling.builders import Clock, a_feed, a_poller, a_publisher
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.chapters import CHAPTERS, SeriesChapters
from tsuzuki.ingest.items import ITEMS, FeedItems
from tsuzuki.ingest.service import Ingest
from tsuzuki.queue.store import TaskFailure, fail_tx
from tsuzuki.queue.tasks import enqueue_tx

own = parse_queries("tests", "-- name: forget_digests\ndelete from feed_digest;")


def quiet(*_):
    return None


@pytest.fixture
def items(db):
    return Ingest(db, FeedItems(HERE), clock=lambda: NOON, after_commit=quiet)


@pytest.fixture
def chapters(db):
    return Ingest(db, SeriesChapters(), clock=lambda: NOON, after_commit=quiet)


async def hand_on(db, queue, *batches):
    """As polls do, one after the other; the tasks."""
    for number, batch in enumerate(batches):
        key = f"ingest-{batch.watch_id}-{number}-0"
        await db.with_tx(lambda tx, key=key, batch=batch: enqueue_tx(tx, queue, key, batch, now=NOON))
    return await claimed_all(db, queue)


@pytest.fixture
async def told(db):
    """A feed with its watch, and a reader who wants to hear of everything."""
    feed = await stored_feed(db)
    shelf = await a_reader(db, feeds=[feed])
    await a_channel(db, shelf)
    return await stored_watch(db, feed), feed, shelf


async def test_a_refresh_before_the_first_harvest_announces_only_later_items(db, items, told):
    watch, feed, shelf = told
    first, second = await hand_on(
        db, ITEMS, item_batch(watch, feed, "1", "2", first=True), item_batch(watch, feed, "1", "2", "3")
    )
    await items.handle(second)
    await items.handle(first)
    assert len(await entries_of(db, shelf)) == 3
    assert len(await task_keys(db, "notifications")) == 1
    assert [event.payload.get("is_quiet", False) for event in await events_of(db, shelf)] == [True, False]


async def test_a_first_harvest_found_again_is_still_no_news(db, items, told):
    watch, feed, shelf = told
    [first] = await hand_on(db, ITEMS, item_batch(watch, feed, "1", "2", first=True))
    await db.with_tx(lambda tx: fail_tx(tx, first, TaskFailure(error="no", code="x"), now=NOON))
    [again] = await hand_on(db, ITEMS, item_batch(watch, feed, "1", "2"))
    await items.handle(again)
    assert len(await entries_of(db, shelf)) == 2
    assert await task_keys(db, "notifications") == []


async def test_another_watchs_first_harvest_silences_nothing(db, items, told):
    """Its id begins with the same digits."""
    watch, feed, _ = told
    other = await stored_feed(db)
    while (neighbour := await stored_watch(db, other)) // 10 != watch:
        other = await stored_feed(db)
    _, news = await hand_on(db, ITEMS, item_batch(neighbour, other, "1", first=True), item_batch(watch, feed, "1"))
    await items.handle(news)
    assert len(await task_keys(db, "notifications")) == 1


async def test_batches_of_a_first_harvest_never_make_entries(db, chapters):
    series = await stored_series(db)
    shelf = await a_reader(db, series=[series])
    mapping, watch = await a_mapping(db, series)
    first, second = await hand_on(
        db,
        CHAPTERS,
        chapter_batch(watch, series, mapping, "1", "2", first=True),
        chapter_batch(watch, series, mapping, "1", "2", "3"),
    )
    await chapters.handle(second)
    await chapters.handle(first)
    assert len(await entries_of(db, shelf)) == 1


async def test_both_at_the_same_moment_tell_of_nothing_old(db, items, told):
    """On PostgreSQL one waits for the other at the lock of ingest, and sees what became of it."""
    watch, feed, shelf = told
    for trial in range(10):
        old = [f"{trial}-{number}" for number in range(3)]
        tasks = await hand_on(db, ITEMS, item_batch(watch, feed, *old, first=True), item_batch(watch, feed, *old))
        await asyncio.gather(*(items.handle(task) for task in (tasks if trial % 2 else tasks[::-1])))
    assert len(await entries_of(db, shelf)) == 30
    assert await task_keys(db, "notifications") == []


async def test_a_manual_refresh_before_ingest_announces_no_back_catalogue(db, items, told):
    """The whole way: two polls, then ingest, the second poll's batch first. Between them an update voids digests."""
    _, _, shelf = told
    async with a_publisher() as publisher, a_poller(db, Clock()) as poller:
        feed = await stored_feed(db, f"{publisher.url}/feed")
        watch = await stored_watch(db, feed, host="127.0.0.1")
        reader = await a_reader(db, feeds=[feed])
        await a_channel(db, reader)
        for keys in (("2", "1"), ("3", "2", "1")):
            publisher.response = answer(200, a_feed(*keys))
            await poller.ask_refresh(watch)
            claimed = await poller.lease(watch)
            assert claimed is not None
            assert (await poller.poll(claimed)).found == len(keys)
            await db.with_tx(lambda tx: tx.run(own.forget_digests))
    for task in reversed(await claimed_all(db, ITEMS)):
        await items.handle(task)
    assert len(await entries_of(db, reader)) == 3
    assert len(await task_keys(db, "notifications")) == 1
    assert await entries_of(db, shelf) == []
