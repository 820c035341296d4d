"""R92: the inbox stands in the order of arrival; the publishers' dates are another way to sort it."""

import re

import apsw
import asyncpg
import pytest

from tests.builders import (
    HERE,
    NOON,
    a_new_chapter,
    a_new_item,
    store_items_tx,
    stored_feed,
    stored_series,
    stored_watch,
)
from tests.delivery.builders import a_reader, deliver_items_tx, publish
from tests.inbox.builders import an_inbox
from tests.ingest.builders import a_task
from tests.polling.builders import Clock
from tsuzuki.db.queries import load_queries, parse_queries
from tsuzuki.delivery.fanout import deliver_chapters_tx
from tsuzuki.inbox.entries import EntryFilter
from tsuzuki.ingest.chapters import upsert_chapters_tx
from tsuzuki.ingest.items import ITEMS, FeedItems, ItemBatch
from tsuzuki.ingest.service import Ingest
from tsuzuki.model.harvest import FoundItem
from tsuzuki.model.pages import FROM_THE_TOP, LATEST
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis

IN_2019 = Millis(1_550_000_000_000)

q = parse_queries(
    "tests",
    """
-- name: harvested
update watch set first_harvest_at = :at where id = :id;
-- name: fill
insert into item (feed_id, key, title, sort_at, content_hash, created_at)
select cast(:feed_id as bigint), cast(value as text), 'Item', cast(value as bigint), unhex('00'), 0
from json_each(cast(:rows as text));
-- name: fill_entries
insert into entry (shelf_id, feed_id, item_id, unread, sort_at, created_at)
select cast(:shelf_id as bigint), feed_id, id, id % 50 = 0, sort_at, 4000 - sort_at from item;
""",
)


async def titles(db, shelf, *, most=50, **wanted):
    """What the list shows, page by page."""
    page = await an_inbox(db).page(shelf, EntryFilter(**wanted), after=FROM_THE_TOP, most=most)
    rows = page.rows
    while page.next_cursor is not None:
        page = await an_inbox(db).page(shelf, EntryFilter(**wanted), after=page.next_cursor, most=most)
        rows += page.rows
    return [entry.number or entry.title for entry in rows]


async def api_titles(db, shelf, *, most=50, **wanted):
    page = await an_inbox(db).list(shelf, EntryFilter(**wanted), after=FROM_THE_TOP, most=most)
    rows = page.rows
    while page.next_cursor is not None:
        page = await an_inbox(db).list(shelf, EntryFilter(**wanted), after=page.next_cursor, most=most)
        rows += page.rows
    return [entry.number or entry.title for entry in rows]


async def bring(db, feed, *items, now):
    async def work(tx):
        stored = await store_items_tx(tx, feed, items, now)
        await deliver_items_tx(tx, feed, [one.id for one in stored], is_first_harvest=False, now=now)

    await db.with_tx(work)


@pytest.fixture
async def shelf_with_old_news(db):
    """Two posts of yesterday; and what was found an hour later: a chapter and a post that are dated 2019."""
    feed, series = await stored_feed(db), await stored_series(db, "The Lighthouse")
    shelf = await a_reader(db, feeds=[feed], series=[series])
    yesterday = [
        a_new_item(name, title=name, sort_at=Millis(NOON - DAY + n)) for n, name in enumerate(("First", "Second"))
    ]
    await bring(db, feed, *yesterday, now=NOON)
    later = Millis(NOON + HOUR)
    await bring(db, feed, a_new_item("Late", title="Late", sort_at=IN_2019), now=later)

    async def release(tx):
        new = await upsert_chapters_tx(tx, series, [a_new_chapter(7, published_at=Millis(IN_2019 - 1))], later)
        await deliver_chapters_tx(tx, series, [one.id for one in new], is_first_harvest=False, now=Millis(later + 1))

    await db.with_tx(release)
    return shelf


ARRIVED = ["7", "Late", "Second", "First"]
PUBLISHED = ["Second", "First", "Late", "7"]


@pytest.mark.parametrize("most", [1, 2, 3, 50])
@pytest.mark.parametrize("show", [{}, {"unread": True}])
async def test_r92_what_is_found_today_stands_at_the_top(db, shelf_with_old_news, most, show):
    assert await titles(db, shelf_with_old_news, most=most, **show) == ARRIVED
    assert await titles(db, shelf_with_old_news, most=most, by_published=True, **show) == PUBLISHED


@pytest.mark.parametrize("most", [1, 3])
async def test_r92_the_api_lists_by_arrival_too(db, shelf_with_old_news, most):
    for unread in (None, True):
        assert await api_titles(db, shelf_with_old_news, most=most, unread=unread) == ARRIVED
        assert await api_titles(db, shelf_with_old_news, most=most, unread=unread, by_published=True) == PUBLISHED


async def test_r92_neighbours_follow_the_order_of_their_list(db, shelf_with_old_news):
    inbox = an_inbox(db)
    for wanted, order in ((EntryFilter(), ARRIVED), (EntryFilter(by_published=True), PUBLISHED)):
        rows = (await inbox.page(shelf_with_old_news, wanted, after=FROM_THE_TOP, most=9)).rows
        near = await inbox.neighbours(shelf_with_old_news, wanted, rows[1].place(wanted))
        assert [entry and (entry.number or entry.title) for entry in (near.newer, near.older)] == [order[0], order[2]]


async def test_r92_a_first_harvest_keeps_the_publishers_order(db):
    """Its batches may be stored in any order, and something newer may come between them."""
    feed, other = await stored_feed(db), await stored_feed(db)
    shelf, watch = await a_reader(db, feeds=[feed, other]), await stored_watch(db, feed)
    await db.with_tx(lambda tx: tx.run(q.harvested, id=watch, at=NOON))
    moments = [NOON + MINUTE, NOON + 3 * MINUTE, NOON + 5 * MINUTE]
    found = [FoundItem(key=str(n), title=f"Post {n}", published_at=Millis(NOON - n * DAY)) for n in range(6)]
    for part in (found[2:4], found[4:], found[:2]):
        now = Millis(moments.pop(0))
        ingest = Ingest(db, FeedItems(HERE), clock=Clock(now), after_commit=lambda *_: None)
        batch = ItemBatch(watch_id=watch, feed_id=feed, items=tuple(part), is_first_harvest=True)
        await ingest.handle(await a_task(db, ITEMS, batch))
        await publish(db, other, [f"after {len(moments)}"], now=Millis(now + MINUTE))
    first_harvest = [f"Post {n}" for n in range(6)]
    assert await titles(db, shelf, most=2) == ["Item after 0", "Item after 1", "Item after 2", *first_harvest]


# -- how it is read


@pytest.fixture
async def long_shelf(db):
    feed = await stored_feed(db)
    shelf = await a_reader(db, feeds=[feed])
    await db.with_tx(lambda tx: tx.run(q.fill, feed_id=feed, rows=list(range(4000))))
    await db.with_tx(lambda tx: tx.run(q.fill_entries, shelf_id=shelf))
    return shelf


LISTS = {
    "all_entries": "entry_arrival",
    "unread_entries": "entry_unread_arrival",
    "newer_entries": "entry_arrival",
    "newer_unread_entries": "entry_unread_arrival",
    "all_entries_published": "entry_order",
    "unread_entries_published": "entry_unread",
}


def sqlite_plan(database_url, text, values):
    with apsw.Connection(database_url.removeprefix("sqlite://")) as connection:
        steps = connection.execute(f"explain query plan {text.sql}", [values[name] for name in text.params])
        return "\n".join(str(step[3]) for step in steps)


async def postgres_plan(database_url, text, values):
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute("analyze")
        rows = await connection.fetch(f"explain {text.sql}", *[values[name] for name in text.params])
        return "\n".join(row[0] for row in rows)
    finally:
        await connection.close()


@pytest.mark.parametrize("name", LISTS)
async def test_r92_each_list_is_read_along_an_index(db, engine, database_url, long_shelf, name):
    """However long the shelf is: the page's rows are read in their order, and no more of them."""
    query = getattr(load_queries("tsuzuki.inbox"), name)
    values = {"shelf_id": long_shelf, "at": 2000, "then": LATEST, "id": 0, "most": 10, "since": 0, "detail": "preview"}
    values |= dict.fromkeys(("kind", "feed_id", "series_id", "group_id", "tag_id", "unread", "saved"))
    if engine == "sqlite":
        order = "sort_at>? AND sort_at<?" if "published" in name else "created_at>? AND (created_at,sort_at)<(?,?)"
        order = "(created_at,sort_at)>(?,?)" if "newer" in name else order
        plan = sqlite_plan(database_url, query.sqlite, values)
        assert f"SEARCH entry USING INDEX {LISTS[name]} (shelf_id=? AND {order}" in plan
    else:
        plan = await postgres_plan(database_url, query.postgres, values)
        assert re.search(rf"Limit .*\n *->  Index Scan (Backward )?using {LISTS[name]} on entry ", plan), plan
