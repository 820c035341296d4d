"""The same search finds the same things on both engines."""

import pytest

from tests.builders import NOON, a_new_item, put_on_shelf, stored_feed, stored_series, stored_shelf
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.store import index_series_tx, upsert_items_tx
from tsuzuki.model.ids import EntryId
from tsuzuki.model.times import Millis
from tsuzuki.shelves.store import mark_entries_tx, search_items_tx, search_series_tx

ITEMS = {
    "fish": ("Fish and chips", "<p>The best in town.</p>"),
    "town": ("A walk through town", "<p>We met a <b>fish</b> monger, then ate chips.</p>"),
    "cafe": ("Café Müller", "<p>Tanz</p>"),
    "manga": ("続きもの第12話", "<p>今週の漫画家インタビュー</p>"),
    "korean": ("만화책", "<p>한국 만화</p>"),
    "quote": ('It\'s "quoted"', "<p>back\\slash & ampersand * star</p>"),
}

SEARCHES = [
    ("fish", {"fish", "town"}),
    ("FISH", {"fish", "town"}),
    ("fish town", {"fish", "town"}),
    ('"fish and chips"', {"fish"}),
    ('"fish chips"', set()),
    ("fish -walk", {"fish"}),
    ('fish -"best in town"', {"town"}),
    ("-fish", set()),
    ("fis*", {"fish", "town"}),
    ("fis", set()),
    ("cafe", {"cafe"}),
    ("CAFÉ", {"cafe"}),
    ("muller", {"cafe"}),
    ("続き", {"manga"}),
    ("きも", {"manga"}),
    ("漫画家", {"manga"}),
    ("画家", {"manga"}),
    ("漫家", set()),
    ("漫", {"manga"}),
    ("만화", {"korean"}),
    ("12", {"manga"}),
    ("quoted", {"quote"}),
    ("it's", {"quote"}),
    ("back\\slash", {"quote"}),
    ("'; drop table item; --", set()),
    ('chips" OR "town', set()),  # OR is a word here
    ("NOT AND OR", set()),
    ("", set()),
    ("()*:^", set()),
]


@pytest.fixture
async def shelf(db):
    feed = await stored_feed(db)
    items = [a_new_item(key, title=title, content=content) for key, (title, content) in ITEMS.items()]
    await db.with_tx(lambda tx: upsert_items_tx(tx, feed, items, NOON))
    shelf_id = await stored_shelf(db)
    await put_on_shelf(db, shelf_id, feed)
    return shelf_id


async def test_r74_words_phrases_prefixes_and_cjk_are_found(db, shelf):
    by_title = {title: key for key, (title, _) in ITEMS.items()}
    for query, expected in SEARCHES:
        hits = await db.read(lambda tx, query=query: search_items_tx(tx, shelf, query))
        assert ({by_title[hit.title] for hit in hits}, query) == (expected, query)


async def test_a_word_in_the_title_weighs_more(db, shelf):
    hits = await db.read(lambda tx: search_items_tx(tx, shelf, "fish"))
    assert [hit.title for hit in hits] == ["Fish and chips", "A walk through town"]


async def test_i8_a_shelf_finds_only_its_own(db, shelf):
    other = await stored_shelf(db)
    assert await db.read(lambda tx: search_items_tx(tx, other, "fish")) == []


async def test_an_item_that_changed_is_found_by_its_new_words_only(db, shelf):
    feed = await stored_feed(db)
    for title in ("Elephant", "Giraffe"):
        await db.with_tx(lambda tx, title=title: upsert_items_tx(tx, feed, [a_new_item("z", title=title)], NOON))
    await put_on_shelf(db, shelf, feed)
    assert await db.read(lambda tx: search_items_tx(tx, shelf, "elephant")) == []
    assert len(await db.read(lambda tx: search_items_tx(tx, shelf, "giraffe"))) == 1


q = parse_queries(
    "tests",
    """
-- name: index_state
select (select count(*) from item_search_data) * 1000000 + coalesce(sum(length(block)), 0) from item_search_data;
-- name: entries
select id from entry where shelf_id = :shelf_id;
-- name: drop_item
delete from item where title = :title;
""",
    """
-- name: index_state
select cast(sum(cast(cast(xmin as text) as bigint)) as bigint) from item_search;
""",
)


async def test_marking_read_does_not_touch_the_index(db, shelf):
    before = await db.read(lambda tx: tx.one(int, q.index_state))
    ids = [EntryId(each) for each in await db.read(lambda tx: tx.many(int, q.entries, shelf_id=shelf))]
    changed = await db.with_tx(lambda tx: mark_entries_tx(tx, shelf, ids, unread=False, now=Millis(NOON + 1)))
    again = await db.with_tx(lambda tx: mark_entries_tx(tx, shelf, ids, unread=False, now=Millis(NOON + 2)))
    assert (changed, again) == (len(ITEMS), 0)
    assert await db.read(lambda tx: tx.one(int, q.index_state)) == before
    assert not any(hit.unread for hit in await db.read(lambda tx: search_items_tx(tx, shelf, "fish")))


async def test_a_deleted_item_leaves_the_index(db, shelf):
    await db.with_tx(lambda tx: tx.run(q.drop_item, title="Fish and chips"))
    assert len(await db.read(lambda tx: search_items_tx(tx, shelf, "fish"))) == 1


async def test_a_series_is_found_by_any_of_its_titles(db):
    series = await stored_series(db, "Frieren")
    await db.with_tx(
        lambda tx: index_series_tx(tx, series, titles=["Frieren", "葬送のフリーレン"], description="An elf walks on.")
    )
    for query in ("frieren", "フリーレン", "送の", "elf"):
        hits = await db.read(lambda tx, query=query: search_series_tx(tx, query))
        assert ([hit.id for hit in hits], query) == ([series], query)
