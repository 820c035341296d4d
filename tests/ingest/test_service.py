"""Batches become rows and entries, once."""

import pytest

from tests.builders import HERE, NOON, stored_feed, stored_series, stored_watch
from tests.delivery.builders import a_channel, a_reader, entries_of, task_keys
from tests.ingest.builders import a_mapping, a_task, chapter_batch, claimed, item_batch
from tsuzuki.db.queries import parse_queries
from tsuzuki.delivery.portions import Deliverer
from tsuzuki.delivery.tasks import DELIVERIES, PORTION
from tsuzuki.ingest.chapters import CHAPTERS, SeriesChapters
from tsuzuki.ingest.items import ITEMS, FeedItems
from tsuzuki.ingest.service import LARGEST_BATCH, Ingest
from tsuzuki.model.times import DAY, Millis
from tsuzuki.queue.errors import LeaseLost
from tsuzuki.queue.store import TaskFailure, fail_tx
from tsuzuki.shelves.events import EVENTS_WAKEUP

q = parse_queries(
    "tests",
    """
-- name: statuses
select status from task order by id;
-- name: titles
select title from item order by title;
-- name: authors
select author from item;
-- name: latest
select latest_number from series where id = :id;
-- name: appearances
select count(*) from appearance;
-- name: drop_feed
delete from feed where id = :id;
-- name: unsubscribe
delete from subscription;
-- name: release_times
select last_release_at from watch;
""",
)


@pytest.fixture
def woken():
    """Who was woken after each commit."""
    return []


@pytest.fixture
def after_commit(woken):
    return lambda *wakeups: woken.append(wakeups)


@pytest.fixture
def items(db, after_commit):
    return Ingest(db, FeedItems(HERE), clock=lambda: NOON, after_commit=after_commit)


@pytest.fixture
def chapters(db, after_commit):
    return Ingest(db, SeriesChapters(), clock=lambda: NOON, after_commit=after_commit)


@pytest.fixture
async def feed(db):
    return await stored_feed(db)


@pytest.fixture
async def watch(db, feed):
    return await stored_watch(db, feed)


async def test_i1_i2_new_items_become_entries_once_however_often_handed_on(db, items, woken, feed, watch):
    shelf = await a_reader(db, feeds=[feed])
    for _ in range(2):
        await items.handle(await a_task(db, ITEMS, item_batch(watch, feed, "1", "2")))
    assert len(await entries_of(db, shelf)) == 2
    assert await db.read(lambda tx: tx.many(str, q.statuses)) == ["done"] * 2
    assert woken == [(EVENTS_WAKEUP,), ()]
    assert await db.read(lambda tx: tx.one(int, q.release_times)) == NOON


async def test_r1_a_large_delivery_is_stored_with_its_task(db, items, woken, after_commit, feed, watch):
    readers = [await a_reader(db, feeds=[feed]) for _ in range(26)]
    await items.handle(await a_task(db, ITEMS, item_batch(watch, feed, *map(str, range(LARGEST_BATCH)))))
    assert [await entries_of(db, reader) for reader in readers] == [[]] * 26
    assert woken == [(DELIVERIES.name,)]
    deliverer = Deliverer(db, lambda: NOON, after_commit=after_commit)
    await deliverer.handle(await claimed(db, DELIVERIES))
    assert PORTION // 2 < sum([len(await entries_of(db, reader)) for reader in readers]) <= PORTION
    assert woken[-1] == (EVENTS_WAKEUP, DELIVERIES.name)
    await deliverer.handle(await claimed(db, DELIVERIES))
    assert [len(await entries_of(db, reader)) for reader in readers] == [LARGEST_BATCH] * 26
    assert woken.count((EVENTS_WAKEUP, DELIVERIES.name)) == 1
    assert woken[-1] == (EVENTS_WAKEUP,)


async def test_rel_31_an_undated_item_keeps_its_first_seen_place(db, feed, watch):
    shelf = await a_reader(db, feeds=[feed])
    moments = [NOON, Millis(NOON + DAY)]
    items = Ingest(db, FeedItems(HERE), clock=lambda: moments[0], after_commit=lambda *_: None)
    for author in ("A", "B"):
        await items.handle(await a_task(db, ITEMS, item_batch(watch, feed, "1", author=author)))
        moments.reverse()
    assert await db.read(lambda tx: tx.many(str, q.authors)) == ["B"]
    assert [entry.sort_at for entry in await entries_of(db, shelf)] == [NOON]


async def test_r8_a_first_harvest_brings_entries_and_no_notice(db, items, feed, watch):
    shelf = await a_reader(db, feeds=[feed])
    await items.handle(await a_task(db, ITEMS, item_batch(watch, feed, "1", "2", first=True)))
    assert len(await entries_of(db, shelf)) == 2
    assert await task_keys(db, "notifications") == []


async def test_i4_a_worker_that_lost_its_lease_stores_and_delivers_nothing(db, items, feed, watch):
    shelf = await a_reader(db, feeds=[feed])
    task = await a_task(db, ITEMS, item_batch(watch, feed, "1"))
    lost = TaskFailure(error="gone", code="lost", run_at=NOON)
    await db.with_tx(lambda tx: fail_tx(tx, task, lost, now=NOON))
    await claimed(db, ITEMS)
    with pytest.raises(LeaseLost):
        await items.handle(task)
    assert await entries_of(db, shelf) == []
    assert await db.read(lambda tx: tx.many(str, q.titles)) == []


async def test_r58_a_task_whose_watch_is_gone_ends_as_skipped(db, items, woken, feed, watch):
    task = await a_task(db, ITEMS, item_batch(watch, feed, "1"))
    await db.with_tx(lambda tx: tx.run(q.drop_feed, id=feed))
    await items.handle(task)
    assert await db.read(lambda tx: tx.many(str, q.statuses)) == ["skipped"]
    assert woken == [()]


# -- chapters


@pytest.fixture
async def series(db):
    return await stored_series(db)


async def test_rel_02_one_chapter_of_two_sources_makes_one_entry(db, chapters, series):
    """And is announced once."""
    shelf = await a_reader(db, series=[series])
    await a_channel(db, shelf)
    for _ in range(2):
        mapping, watch = await a_mapping(db, series)
        await chapters.handle(await a_task(db, CHAPTERS, chapter_batch(watch, series, mapping, "1")))
    assert len(await entries_of(db, shelf)) == 1
    assert await db.read(lambda tx: tx.one(int, q.appearances)) == 2
    assert len(await task_keys(db, "notifications")) == 1


async def test_r8_a_series_back_catalogue_makes_no_entries(db, chapters, series):
    shelf = await a_reader(db, series=[series])
    mapping, watch = await a_mapping(db, series)
    await chapters.handle(await a_task(db, CHAPTERS, chapter_batch(watch, series, mapping, "1", "2", first=True)))
    assert await entries_of(db, shelf) == []
    await chapters.handle(await a_task(db, CHAPTERS, chapter_batch(watch, series, mapping, "3")))
    assert len(await entries_of(db, shelf)) == 1


async def test_r6_the_latest_is_the_highest_number_ever_new(db, chapters, series):
    mapping, watch = await a_mapping(db, series)
    for numbers in (("9", "10", "10.5"), ("2",), ("10.4",)):
        await chapters.handle(await a_task(db, CHAPTERS, chapter_batch(watch, series, mapping, *numbers)))
    assert await db.read(lambda tx: tx.one(str, q.latest, id=series)) == "10.5"


async def test_two_groups_releases_of_one_chapter_are_one_chapter(db, chapters, series):
    shelf = await a_reader(db, series=[series])
    mapping, watch = await a_mapping(db, series)
    for group in ("A", "B"):
        await chapters.handle(await a_task(db, CHAPTERS, chapter_batch(watch, series, mapping, "1", group=group)))
    assert len(await entries_of(db, shelf)) == 1
