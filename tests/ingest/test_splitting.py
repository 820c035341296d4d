"""What cannot be stored is given up alone and once, what came with it is stored, and a flood stays a flood."""

import msgspec
import pytest

from tests.builders import HERE, NOON, stored_feed, stored_series, stored_watch
from tests.delivery.builders import a_channel, a_reader, entries_of, task_keys
from tests.ingest.builders import a_mapping, a_task, chapter_batch, item_batch, q, work_off
from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.db.queries import parse_queries
from tsuzuki.delivery.fanout import FLOOD
from tsuzuki.ingest.chapters import CHAPTERS, SeriesChapters
from tsuzuki.ingest.items import ITEMS, FeedItems
from tsuzuki.ingest.service import Ingest
from tsuzuki.model.harvest import FoundItem
from tsuzuki.queue.policy import INGEST
from tsuzuki.queue.service import Tasks

look = parse_queries(
    "tests",
    """
-- name: titles
select title from item order by title;
-- name: count_chapters
select count(*) from chapter;
-- name: move_chapters
update chapter set series_id = :into where series_id = :series;
-- name: move_mappings
update series_source set series_id = :into where series_id = :series;
""",
)

POISON = FoundItem(key="poison", title="Poison")


@pytest.fixture
def items(db):
    return Ingest(db, FeedItems(HERE), clock=lambda: NOON, after_commit=lambda *_: None)


@pytest.fixture
def chapters(db):
    return Ingest(db, SeriesChapters(), clock=lambda: NOON, after_commit=lambda *_: None)


@pytest.fixture
async def feed(db):
    return await stored_feed(db)


@pytest.fixture
async def watch(db, feed):
    return await stored_watch(db, feed)


def poisoned(batch):
    return msgspec.structs.replace(batch, items=(*batch.items, POISON))


def letters(db):
    return Tasks(db, MemoryWakeup(), lambda: NOON).letters()


async def test_a_poisonous_item_is_split_off(db, items, feed, watch):
    await db.with_tx(lambda tx: tx.run(q.refuse_poison))
    await items.handle(await a_task(db, ITEMS, poisoned(item_batch(watch, feed, "1", "2", "3"))))
    assert await task_keys(db, "item-ingest") == ["k", *(f"ingest-{watch}-{key}" for key in ("1", "2", "3", "poison"))]
    assert await work_off(db, items) == [f"ingest-{watch}-poison"]
    assert await db.read(lambda tx: tx.many(str, look.titles)) == ["Item 1", "Item 2", "Item 3"]


@pytest.mark.parametrize("alone", [True, False])
async def test_an_unstorable_item_is_one_dead_letter_for_ever(db, items, feed, watch, alone):
    """REL-08: each poll finds it again, and hands it on under a key of its own."""
    await db.with_tx(lambda tx: tx.run(q.refuse_poison))
    for poll in range(3):
        others = () if alone else (f"{poll}-1", f"{poll}-2")
        await items.handle(
            await a_task(db, ITEMS, poisoned(item_batch(watch, feed, *others)), f"ingest-{watch}-{poll}-0")
        )
        assert await work_off(db, items) == [f"ingest-{watch}-poison"]
    [letter] = await letters(db)
    assert (letter.key, letter.attempts) == (f"ingest-{watch}-poison", 3)


async def test_an_unstorable_release_is_one_dead_letter(db, chapters):
    series = await stored_series(db)
    mapping, watch = await a_mapping(db, series)
    await db.with_tx(lambda tx: tx.run(q.refuse_poisonous_chapters))
    for poll in range(3):
        batch = chapter_batch(watch, series, mapping, "1", "2", poison="2")
        await chapters.handle(await a_task(db, CHAPTERS, batch, f"ingest-{watch}-{poll}-0"))
        await work_off(db, chapters)
    assert len(await letters(db)) == 1
    assert await db.read(lambda tx: tx.one(int, look.count_chapters)) == 1


async def test_a_later_successful_poll_settles_the_letter(db, items, feed, watch):
    await db.with_tx(lambda tx: tx.run(q.refuse_poison))
    await items.handle(await a_task(db, ITEMS, poisoned(item_batch(watch, feed))))
    await work_off(db, items)
    [letter] = await letters(db)
    await db.with_tx(lambda tx: tx.run(q.allow_poison))
    task = await a_task(db, ITEMS, poisoned(item_batch(watch, feed)), f"ingest-{watch}-poison")
    await items.handle(task)
    assert await letters(db) == []
    assert (await Tasks(db, MemoryWakeup(), lambda: NOON).letter(letter.id)).replayed_as == task.id


async def test_r8_a_flood_that_is_split_is_told_once(db, items, feed, watch):
    shelf = await a_reader(db, feeds=[feed])
    await a_channel(db, shelf)
    await db.with_tx(lambda tx: tx.run(q.refuse_poison))
    keys = [str(number) for number in range(FLOOD + 5)]
    await items.handle(await a_task(db, ITEMS, poisoned(item_batch(watch, feed, *keys))))
    await work_off(db, items)
    assert len(await entries_of(db, shelf)) == FLOOD + 5
    assert [key.startswith(f"notify-item-{feed}-flood-") for key in await task_keys(db, "notifications")] == [True]


async def test_r8_a_split_batch_with_little_news_tells_each_of_them(db, items, feed, watch):
    """What was known before does not make a flood, though it is in the batch."""
    shelf = await a_reader(db, feeds=[feed])
    keys = [str(number) for number in range(FLOOD + 5)]
    await items.handle(await a_task(db, ITEMS, item_batch(watch, feed, *keys, first=True)))
    await a_channel(db, shelf)
    await db.with_tx(lambda tx: tx.run(q.refuse_poison))
    await items.handle(await a_task(db, ITEMS, poisoned(item_batch(watch, feed, *keys, "new", "newer", author="A"))))
    await work_off(db, items)
    assert len(await task_keys(db, "notifications")) == 2


async def test_r8_a_split_batch_of_a_merged_series_knows_both(db, chapters):
    """Found before the merge, stored after it: the chapters are known as the other's by then."""
    series, into = await stored_series(db), await stored_series(db)
    mapping, watch = await a_mapping(db, series)
    numbers = [str(number) for number in range(FLOOD + 5)]
    await chapters.handle(await a_task(db, CHAPTERS, chapter_batch(watch, series, mapping, *numbers, first=True)))
    shelf = await a_reader(db, series=[into])
    await a_channel(db, shelf)
    await db.with_tx(lambda tx: tx.run(q.refuse_poisonous_chapters))
    batch = chapter_batch(watch, series, mapping, *numbers, "100", "101", "102", group="G", poison="102")
    await db.with_tx(lambda tx: tx.run(look.move_mappings, series=series, into=into))
    await db.with_tx(lambda tx: tx.run(look.move_chapters, series=series, into=into))
    await chapters.handle(await a_task(db, CHAPTERS, batch))
    await work_off(db, chapters)
    assert len(await task_keys(db, "notifications")) == 2


async def test_r42_a_batch_that_killed_its_workers_is_split_first(db, items, feed, watch):
    task = await a_task(db, ITEMS, item_batch(watch, feed, "1", "2"))
    task.losses = INGEST.suspect_losses
    await items.handle(task)
    assert await db.read(lambda tx: tx.many(str, look.titles)) == []
    assert await work_off(db, items) == []
    assert await db.read(lambda tx: tx.many(str, look.titles)) == ["Item 1", "Item 2"]
