"""The inbox is read page by page, newest first, and shows what each entry is about."""

import pytest

from tests.builders import NOON, stored_feed, stored_series
from tests.delivery.builders import a_followed_feed, a_reader, entry_ids, follow, publish, release, subscribe
from tests.inbox.builders import an_inbox
from tsuzuki.inbox.entries import EntryFilter
from tsuzuki.inbox.store import mark_entries_tx
from tsuzuki.model.pages import FROM_THE_TOP
from tsuzuki.model.times import Millis


async def everything(db, shelf, wanted=EntryFilter(), most=3):  # noqa: B008  frozen
    """All pages: what stands on each, and the totals that they tell."""
    pages, totals, place = [], set(), FROM_THE_TOP
    while True:
        page = await an_inbox(db).list(shelf, wanted, after=place, most=most)
        pages.append(page.rows)
        totals.add(page.total)
        if page.next_cursor is None:
            return pages, totals
        place = page.next_cursor


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
    pages, totals = await everything(db, shelf, EntryFilter(kind=kind))
    found = [entry for page in pages for entry in page]
    assert (len(found), totals) == (count, {count})
    assert kind is None or all((entry.item_id is None) == (kind == "chapter") for entry in found)


@pytest.mark.parametrize(("unread", "count"), [(True, 5), (False, 2), (None, 7)])
async def test_read_or_unread_can_be_asked_for(db, unread, count):
    shelf = await a_mixed_shelf(db)
    ids = (await entry_ids(db, shelf))[:2]
    await db.with_tx(lambda tx: mark_entries_tx(tx, shelf, ids, unread=False, now=NOON))
    pages, totals = await everything(db, shelf, EntryFilter(unread=unread))
    found = [entry for page in pages for entry in page]
    assert (len(found), totals) == (count, {count})
    assert unread is None or all(entry.unread is unread for entry in found)


async def test_an_entry_shows_its_item_or_its_chapter(db):
    shelf = await a_mixed_shelf(db)
    [page], _ = await everything(db, shelf, most=10)
    item = next(entry for entry in page if entry.item_id is not None)
    chapter = next(entry for entry in page if entry.chapter_id is not None)
    assert (item.title, item.series_public_id, item.feed_id is not None) == ("Item 3", None, True)
    assert (chapter.series_title, chapter.number, chapter.link) == ("One", "3", None)


@pytest.mark.parametrize(
    "asked",
    [{}, {"unread": True}, {"unread": False}, {"kind": "item"}, {"kind": "chapter", "unread": True}, {"saved": False}],
)
@pytest.mark.parametrize("by_published", [False, True])
async def test_a_list_and_a_page_hold_the_same_entries(db, asked, by_published):
    """The API and the pages read through one service: by any filter, in either order, and the total is true."""
    shelf = await a_mixed_shelf(db)
    ids = (await entry_ids(db, shelf))[:3]
    await db.with_tx(lambda tx: mark_entries_tx(tx, shelf, ids, unread=False, now=NOON))
    wanted, inbox = EntryFilter(**asked, by_published=by_published), an_inbox(db)
    listed = await inbox.list(shelf, wanted, after=FROM_THE_TOP, most=50)
    page = await inbox.page(shelf, wanted, after=FROM_THE_TOP, most=50)
    assert listed.rows == page.rows
    assert listed.total == len(listed.rows) > 0
    assert page.newest == max(await entry_ids(db, shelf))
