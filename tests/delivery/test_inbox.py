"""The inbox is read page by page, newest first, and shows what each entry is about."""

import pytest

from tests.builders import NOON, a_new_item, stored_feed, stored_series
from tests.delivery.builders import a_followed_feed, a_reader, entry_ids, follow, publish, release, subscribe
from tsuzuki.db import Tx
from tsuzuki.delivery.fanout import deliver_items_tx
from tsuzuki.delivery.inbox.service import Inbox
from tsuzuki.delivery.inbox.store import Wanted
from tsuzuki.ingest.store import upsert_items_tx
from tsuzuki.model.errors import Invalid
from tsuzuki.model.times import Millis
from tsuzuki.shelves.store import mark_entries_tx


async def everything(db, shelf, wanted=Wanted(), most=3):  # noqa: B008  frozen
    """All pages: what stands on each, and the totals that they tell."""
    pages, totals, before = [], set(), None
    while True:
        page = await Inbox(db).page(shelf, wanted, before=before, most=most)
        pages.append(page.entries)
        totals.add(page.total)
        before = page.next_cursor
        if before is None:
            return pages, totals


async def a_mixed_shelf(db):
    feed, series, shelf = await stored_feed(db), await stored_series(db, "One"), await a_reader(db)
    await subscribe(db, shelf, feed)
    await follow(db, shelf, series)
    await publish(db, feed, range(4))
    await release(db, series, range(1, 4), now=Millis(NOON + 5))
    return shelf


async def test_pages_hold_every_entry_once_newest_first(db):
    shelf = await a_mixed_shelf(db)
    pages, totals = await everything(db, shelf)
    assert ([len(page) for page in pages], totals) == ([3, 3, 1], {7})
    found = [entry for page in pages for entry in page]
    assert sorted(entry.id for entry in found) == list(await entry_ids(db, shelf))
    assert found == sorted(found, key=lambda entry: (entry.sort_at, entry.id), reverse=True)


async def test_a_full_last_page_is_the_last(db):
    feed, [shelf] = await a_followed_feed(db)
    await publish(db, feed, range(6))
    pages, _ = await everything(db, shelf)
    assert [len(page) for page in pages] == [3, 3]


async def test_an_empty_inbox_is_one_empty_page(db):
    assert await everything(db, await a_reader(db)) == ([[]], {0})


@pytest.mark.parametrize(("kind", "count"), [("item", 4), ("chapter", 3), (None, 7)])
async def test_one_kind_can_be_asked_for(db, kind, count):
    shelf = await a_mixed_shelf(db)
    pages, totals = await everything(db, shelf, Wanted(kind=kind))
    found = [entry for page in pages for entry in page]
    assert (len(found), totals) == (count, {count})
    assert kind is None or all((entry.item_id is None) == (kind == "chapter") for entry in found)


@pytest.mark.parametrize(("unread", "count"), [(True, 5), (False, 2), (None, 7)])
async def test_read_or_unread_can_be_asked_for(db, unread, count):
    shelf = await a_mixed_shelf(db)
    ids = (await entry_ids(db, shelf))[:2]
    await db.with_tx(lambda tx: mark_entries_tx(tx, shelf, ids, unread=False, now=NOON))
    pages, totals = await everything(db, shelf, Wanted(unread=unread))
    found = [entry for page in pages for entry in page]
    assert (len(found), totals) == (count, {count})
    assert unread is None or all(entry.unread is unread for entry in found)


async def test_an_entry_shows_its_item_or_its_chapter(db):
    shelf = await a_mixed_shelf(db)
    [page], _ = await everything(db, shelf, most=10)
    item = next(entry for entry in page if entry.item_id is not None)
    chapter = next(entry for entry in page if entry.chapter_id is not None)
    assert (item.item_title, item.series_id, item.feed_id is not None) == ("Item 3", None, True)
    assert (chapter.series_title, chapter.number, chapter.item_title) == ("One", "3", None)


async def test_items_from_before_1970_have_their_place_too(db):
    feed, [shelf] = await a_followed_feed(db)

    async def ingest(tx: Tx) -> None:
        old = [a_new_item(str(year), sort_at=Millis(-year)) for year in range(1, 6)]
        new = [item.id for item in await upsert_items_tx(tx, feed, old, NOON)]
        await deliver_items_tx(tx, feed, new, is_first_harvest=False, now=NOON)

    await db.with_tx(ingest)
    pages, _ = await everything(db, shelf, most=2)
    assert [entry.sort_at for page in pages for entry in page] == [-1, -2, -3, -4, -5]


@pytest.mark.parametrize("cursor", ["", "1", "a.b", "1.2.3", "9" * 30 + ".1"])
async def test_what_is_no_cursor_is_named(db, cursor):
    with pytest.raises(Invalid) as refused:
        await Inbox(db).page(await a_reader(db), Wanted(), before=cursor, most=3)
    assert refused.value.problems[0].field == "before"
