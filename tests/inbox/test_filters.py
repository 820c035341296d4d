"""Lines of a shelf: by what one chose to see, page by page, with neighbours; on both engines."""

import pytest

from tests.builders import NOON, a_new_item, store_items_tx, stored_feed, stored_series
from tests.delivery.builders import a_reader, add_group, deliver_items_tx, follow, publish, release, subscribe
from tests.inbox.builders import an_inbox
from tsuzuki.db import Database
from tsuzuki.inbox.entries import Entry, EntryFilter
from tsuzuki.inbox.service import Inbox
from tsuzuki.inbox.store import mark_entries_tx
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import EntryId, FeedId, PublicId, ShelfId
from tsuzuki.model.pages import FROM_THE_TOP, PageCursor
from tsuzuki.model.times import MINUTE, Millis
from tsuzuki.model.titles import first_words, title_of

ALL = EntryFilter(detail="preview")
UNREAD = EntryFilter(unread=True, detail="preview")


async def lines(db: Database, shelf: ShelfId, wanted: EntryFilter = ALL, *, most: int = 50) -> list[Entry]:
    return (await an_inbox(db).page(shelf, wanted, after=FROM_THE_TOP, most=most)).rows


async def newest_of(inbox: Inbox, shelf: ShelfId) -> EntryId:
    return (await inbox.page(shelf, ALL, after=FROM_THE_TOP, most=1)).newest


async def mark(db: Database, shelf: ShelfId, ids: list[EntryId], *, now: Millis = NOON) -> None:
    await db.with_tx(lambda tx: mark_entries_tx(tx, shelf, ids, unread=False, now=now))


async def a_shelf_with_days(db: Database, count: int = 7) -> tuple[ShelfId, FeedId]:
    """One entry a minute, the newest last."""
    feed = await stored_feed(db)
    shelf = await a_reader(db, feeds=[feed])
    new = [a_new_item(str(n), sort_at=Millis(NOON + n * MINUTE), content=f"<p>Text {n}</p>") for n in range(count)]

    async def store(tx):
        stored = await store_items_tx(tx, feed, new, NOON)
        await deliver_items_tx(tx, feed, [one.id for one in stored], is_first_harvest=False, now=NOON)

    await db.with_tx(store)
    return shelf, feed


async def test_items_and_chapters_share_one_list(db):
    feed, series = await stored_feed(db), await stored_series(db, "The Lighthouse")
    shelf = await a_reader(db, feeds=[feed], series=[series])
    await publish(db, feed, ["a"])
    await release(db, series, [7])
    found = {line.item_id is None: line for line in await lines(db, shelf)}
    assert (found[True].series_title, found[True].number, found[True].cover_id) == ("The Lighthouse", "7", None)
    assert found[False].title == "Item a"
    name = found[False].feed_name
    assert name is not None
    assert name.startswith("https://example.org/feed/"), "it has no title of its own yet"


async def test_a_list_is_paged_without_gaps_or_repeats(db):
    shelf, _ = await a_shelf_with_days(db)
    inbox, after, seen = an_inbox(db), FROM_THE_TOP, []
    while True:
        part = await inbox.page(shelf, UNREAD, after=after, most=3)
        seen += [line.title for line in part.rows]
        if part.next_cursor is None:
            break
        after = part.next_cursor
    assert seen == [f"Item {n}" for n in range(6, -1, -1)]


@pytest.mark.parametrize(("kind", "expected"), [("item", 2), ("chapter", 1), (None, 3)])
async def test_a_kind_narrows_the_list(db, kind, expected):
    feed, series = await stored_feed(db), await stored_series(db)
    shelf = await a_reader(db, feeds=[feed], series=[series])
    await publish(db, feed, ["a", "b"])
    await release(db, series, [1])
    assert len(await lines(db, shelf, EntryFilter(kind=kind, unread=True))) == expected


async def test_a_group_holds_its_feeds_and_its_series(db):
    one, other, series = await stored_feed(db), await stored_feed(db), await stored_series(db)
    shelf = await a_reader(db, feeds=[one])
    group = await add_group(db, shelf, "Mine")
    await subscribe(db, shelf, other, group_id=group)
    await follow(db, shelf, series, group_id=group)
    await publish(db, one, ["a"])
    await publish(db, other, ["b"])
    await release(db, series, [1])
    public_id = await _id_of(db, "select public_id from shelf_group where id = :id", group)
    found = await lines(db, shelf, EntryFilter(group=public_id, unread=True))
    assert sorted(line.series_title or line.title for line in found) == ["Item b", "One"]


async def test_i8_another_shelfs_feed_or_group_is_not_found(db):
    shelf, feed = await a_shelf_with_days(db, 1)
    stranger = await a_reader(db)
    public_id = await _id_of(db, "select public_id from subscription where feed_id = :id", feed)
    group = await _id_of(db, "select public_id from shelf_group where shelf_id = :id", shelf)
    for wanted in (EntryFilter(feed=public_id), EntryFilter(group=group)):
        assert await lines(db, shelf, wanted)
        with pytest.raises(NotFound):
            await lines(db, stranger, wanted)


async def test_a_feed_of_another_group_is_not_found(db):
    shelf, feed = await a_shelf_with_days(db, 1)
    other = await _id_of(db, "select public_id from shelf_group where id = :id", await add_group(db, shelf, "Other"))
    public_id = await _id_of(db, "select public_id from subscription where feed_id = :id", feed)
    own = await _id_of(db, "select public_id from shelf_group where shelf_id = :id and is_default", shelf)
    assert await lines(db, shelf, EntryFilter(feed=public_id, group=own))
    with pytest.raises(NotFound, match="feed in this group"):
        await lines(db, shelf, EntryFilter(feed=public_id, group=other))


async def _id_of(db: Database, sql: str, row_id: int) -> PublicId:
    from tsuzuki.db.queries import parse_queries

    query = parse_queries("tests", f"-- name: find\n{sql};").find
    return await db.read(lambda tx: tx.one(PublicId, query, id=row_id))


# -- neighbours


async def test_neighbours_of_an_unread_list_ignore_later_marks(db):
    shelf, _ = await a_shelf_with_days(db, 5)
    found = await lines(db, shelf)
    newest, second, middle, fourth, oldest = found
    await mark(db, shelf, [fourth.id], now=Millis(NOON - MINUTE))  # read long before
    await mark(db, shelf, [second.id, middle.id], now=NOON)
    inbox = an_inbox(db)
    plain = await inbox.neighbours(shelf, UNREAD, middle.place(EntryFilter()))
    assert (plain.newer, plain.older) == (await _line(db, shelf, newest.id), await _line(db, shelf, oldest.id))
    since = await inbox.neighbours(
        shelf, EntryFilter(unread=True, read_since=NOON, detail="preview"), middle.place(EntryFilter())
    )
    assert since.newer is not None
    assert since.older is not None
    assert (since.newer.id, since.older.id) == (second.id, oldest.id)
    ends = await inbox.neighbours(shelf, ALL, newest.place(EntryFilter()))
    assert (ends.newer, ends.older and ends.older.id) == (None, second.id)


async def _line(db: Database, shelf: ShelfId, entry_id: EntryId) -> Entry:
    return next(line for line in await lines(db, shelf) if line.id == entry_id)


# -- marking and saving


async def test_a_mass_mark_covers_only_what_was_visible(db):
    shelf, feed = await a_shelf_with_days(db, 3)
    inbox = an_inbox(db)
    newest = await newest_of(inbox, shelf)
    await publish(db, feed, ["later"], now=Millis(NOON - MINUTE))
    assert (await inbox.mark_list_read(shelf, ALL, newest)).changed == 3
    assert (await inbox.mark_list_read(shelf, ALL, await newest_of(inbox, shelf))).changed == 1
    assert await newest_of(inbox, await a_reader(db)) == 0


async def test_states_are_told_of_ones_own_entries_only(db):
    shelf, _ = await a_shelf_with_days(db, 2)
    stranger, _ = await a_shelf_with_days(db, 1)
    ids = [line.id for line in (*await lines(db, shelf), *await lines(db, stranger))]
    await mark(db, shelf, ids[:1])
    states = await an_inbox(db).states(shelf, ids)
    assert sorted((state.id, state.unread) for state in states) == sorted([(ids[0], False), (ids[1], True)])


async def test_the_entry_of_a_chapter_is_saved_and_let_go(db):
    series = await stored_series(db)
    shelf = await a_reader(db, series=[series])
    await release(db, series, [1, 2])
    first = (await lines(db, shelf))[0].id
    inbox = an_inbox(db)
    await inbox.save_chapter(shelf, first, saved=True)
    assert [line.id for line in await lines(db, shelf, EntryFilter(saved=True))] == [first]
    await inbox.mark_list_read(shelf, EntryFilter(saved=True), await newest_of(inbox, shelf))
    assert [line.id for line in await lines(db, shelf) if not line.unread] == [first]
    await inbox.save_chapter(shelf, first, saved=False)
    assert await lines(db, shelf, EntryFilter(saved=True)) == []
    stranger = await a_reader(db)
    with pytest.raises(NotFound):
        await inbox.save_chapter(stranger, first, saved=True)


async def test_a_place_beyond_the_end_is_an_empty_page(db):
    shelf, _ = await a_shelf_with_days(db, 2)
    part = await an_inbox(db).page(shelf, ALL, after=PageCursor(Millis(0), 0), most=5)
    assert (part.rows, part.next_cursor) == ([], None)


async def test_a_line_shows_substitutes_for_missing_title_and_picture(db):
    """R103, R104: also where much markup comes before the first word, and where a page is all the picture there is."""
    feed = await stored_feed(db)
    shelf = await a_reader(db, feeds=[feed])
    markup = '<img src="https://example.org/i" srcset="' + "https://example.org/i 1w, " * 100 + '" loading="lazy">'
    new = [
        a_new_item("a", title="", content=f"{markup}<p>First words</p>", sort_at=Millis(NOON + 2)),
        a_new_item("b", page_urls=["https://example.org/p1", "https://example.org/p2"], sort_at=Millis(NOON + 1)),
        a_new_item("c", image_url="https://example.org/t", page_urls=["https://example.org/p"], summary="x<y & z"),
    ]

    async def store(tx):
        stored = await store_items_tx(tx, feed, new, NOON)
        await deliver_items_tx(tx, feed, [one.id for one in stored], is_first_harvest=False, now=NOON)

    await db.with_tx(store)
    found = await lines(db, shelf)
    assert title_of(found[0].title, found[0].beginning) == "First words"
    assert [line.image_url for line in found] == [None, "https://example.org/p1", "https://example.org/t"]
    assert first_words(found[2].beginning or "", 80) == "x<y & z"
