"""The same search finds the same things on both engines."""

import apsw
import pytest

from tests.builders import (
    HERE,
    NOON,
    a_new_chapter,
    a_new_item,
    put_on_shelf,
    store_items_tx,
    stored_feed,
    stored_series,
    stored_series_source,
    stored_shelf,
    stored_source,
    stored_watch,
)
from tests.delivery.builders import a_reader
from tsuzuki.db.queries import load_queries, parse_queries
from tsuzuki.inbox.search.hits import search_items_tx, search_series_tx
from tsuzuki.inbox.search.service import Search
from tsuzuki.inbox.store import mark_entries_tx
from tsuzuki.ingest.chapters import index_series_tx, upsert_chapters_tx
from tsuzuki.model.ids import EntryId
from tsuzuki.model.times import Millis

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
    await db.with_tx(lambda tx: store_items_tx(tx, feed, items, NOON))
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


async def test_a_changed_item_is_found_by_its_new_words_only(db, shelf):
    feed = await stored_feed(db)
    for title in ("Elephant", "Giraffe"):
        await db.with_tx(lambda tx, title=title: store_items_tx(tx, feed, [a_new_item("z", title=title)], NOON))
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
-- name: drop_chapter
delete from chapter where title = :title;
-- name: name_feed
update feed set title = :title where id = :id;
-- name: feeds_of
select feed_id from subscription where shelf_id = :shelf_id;
-- name: leave
delete from subscription where shelf_id = :shelf_id and feed_id in (select id from feed where title = :title);
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


async def test_a_series_is_found_by_any_of_its_titles(db, shelf):
    series = await stored_series(db, "Frieren")
    await stored_series_source(db, series, await stored_source(db))
    await db.with_tx(
        lambda tx: index_series_tx(tx, series, titles=["Frieren", "葬送のフリーレン"], description="An elf walks on.")
    )
    for query in ("frieren", "フリーレン", "送の", "elf"):
        hits = await db.read(lambda tx, query=query: search_series_tx(tx, shelf, query))
        assert ([hit.id for hit in hits], query) == ([series], query)


async def a_series(db, title, chapters):
    """A series whose chapters, by number, have these titles."""
    series = await stored_series(db, title)
    await db.with_tx(lambda tx: index_series_tx(tx, series, titles=[title], description="About an elf."))
    new = [a_new_chapter(number, title=name) for number, name in chapters.items()]
    await db.with_tx(lambda tx: upsert_chapters_tx(tx, series, new, NOON))
    return series


async def found_chapters(db, shelf, text):
    results = await Search(db, HERE).find(shelf, text, 10)
    return [(found.hit.series_title, found.hit.number) for found in results.chapters]


async def test_chapters_are_found_by_title_and_number(db):
    frieren = await a_series(db, "Frieren", {1: "The journey's end", 2: "", 3: "The priest's lie"})
    other = await a_series(db, "One Piece", {1: "Dawn", 3: ""})
    unfollowed = await a_series(db, "Elsewhere", {3: "Journey to the lie"})
    shelf = await a_reader(db, series=[frieren, other])
    for text, expected in (
        ("journey", [("Frieren", "1")]),
        ("jour*", [("Frieren", "1")]),
        ('"the priest"', [("Frieren", "3")]),
        ("the -priest", [("Frieren", "1")]),
        ("frieren 2", [("Frieren", "2")]),
        ("frieren chapter 03", [("Frieren", "3")]),
        ("elf 1", [("One Piece", "1"), ("Frieren", "1")]),
        ("elf -about 1", []),
        ("frieren 9", []),
        ("elsewhere 3", []),
        ("-frieren", []),
    ):
        found = await found_chapters(db, shelf, text)
        assert (sorted(found), text) == (sorted(expected), text)
    assert set(await found_chapters(db, shelf, "3")) == {("Frieren", "3"), ("One Piece", "3")}
    stranger = await a_reader(db, series=[unfollowed])
    assert await found_chapters(db, stranger, "journey") == [("Elsewhere", "3")]
    assert await found_chapters(db, await a_reader(db), "journey") == []


async def test_a_chapters_snippet_names_its_series_and_marks_hits(db):
    series = await a_series(db, "Tom & Jerry", {7: "A <b>mouse</b> trap"})
    shelf = await a_reader(db, series=[series])
    [found] = (await Search(db, HERE).find(shelf, "mouse", 5)).chapters
    assert found.snippet == "Tom &amp; Jerry · 7 · A &lt;b&gt;<mark>mouse</mark>&lt;/b&gt; trap"
    [found] = (await Search(db, HERE).find(shelf, "jerry 7", 5)).chapters
    assert found.snippet.startswith("Tom &amp; <mark>Jerry</mark> · <mark>7</mark> · A")


async def test_changed_or_removed_chapters_leave_no_old_hits(db):
    series = await a_series(db, "Frieren", {1: "Elephant"})
    shelf = await a_reader(db, series=[series])
    new = [a_new_chapter(1, title="Giraffe")]
    await db.with_tx(lambda tx: upsert_chapters_tx(tx, series, new, NOON))
    assert await found_chapters(db, shelf, "elephant") == []
    assert await found_chapters(db, shelf, "giraffe") == [("Frieren", "1")]
    await db.with_tx(lambda tx: tx.run(q.drop_chapter, title="Giraffe"))
    await a_series(db, "Later", {1: ""})  # on SQLite its chapter gets the row that became free
    assert await found_chapters(db, shelf, "giraffe") == []


@pytest.mark.parametrize(
    ("area", "name"), [("tsuzuki.inbox.search", "search_items"), ("tsuzuki.inbox", "search_entries")]
)
def test_a_search_starts_with_the_matches(sqlite_template, area, name):
    """At a million items the other way takes a thousand times as long; that a clock says so is no test."""
    query = getattr(load_queries(area), name).sqlite
    with apsw.Connection(str(sqlite_template)) as connection:
        plan = list(connection.execute(f"explain query plan {query.sql}", [None] * len(query.params)))
    steps = [str(step[3]) for step in plan]
    assert any("SEARCH entry USING INDEX entry_item (item_id=? AND shelf_id=?)" in step for step in steps)
    assert not [step for step in steps if "entry_order" in step or "entry_unread" in step or "SCAN entry" in step]


async def a_shelf_of(db, *names):
    """A shelf that follows feeds of these titles, and the subscriptions by title."""
    feeds = {title: await stored_feed(db, link) for title, link in names}
    shelf = await a_reader(db, feeds=feeds.values())
    for title, feed in feeds.items():
        await stored_watch(db, feed)
        await db.with_tx(lambda tx, title=title, feed=feed: tx.run(q.name_feed, title=title, id=feed))
    return shelf


NAMED = (
    ("The Daily News", "https://example.org/a"),
    ("Café Müller", "https://example.org/b"),
    ("ＷＩＤＥ letters", "https://example.org/c"),
    ("週刊漫画", "https://example.org/d"),
    ("100% under_score", "https://example.org/e"),
    ("", "https://example.org/Daily.xml"),
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("daily", ["The Daily News", ""]),
        ("DAILY", ["The Daily News", ""]),
        ("dai*", ["The Daily News", ""]),
        ("dai", []),
        ('"daily news"', ["The Daily News"]),
        ("news -daily", []),
        ("news example", ["The Daily News"]),
        ("cafe", ["Café Müller"]),
        ("MÜLLER", ["Café Müller"]),
        ("wide", ["ＷＩＤＥ letters"]),
        ("漫画", ["週刊漫画"]),
        ("画", []),
        ("週", ["週刊漫画"]),
        ("100", ["100% under_score"]),
        ("score", ["100% under_score"]),
        ("und_er", []),
        ("e%l", []),
    ],
)
async def test_feeds_are_found_by_name_and_address(db, text, found):
    shelf = await a_shelf_of(db, *NAMED)
    results = await Search(db, HERE).find(shelf, text, 10)
    assert [feed.hit.title for feed in results.feeds] == found


@pytest.mark.parametrize(
    ("name", "found"),
    [("DAILY", 2), ("aily n", 1), ("é", 1), ("cafe", 0), ("刊", 1), ("%", 1), ("_", 1), ("-", 0), ("ﬁ", 0), ("ory", 0)],
)
async def test_an_operator_names_any_part_of_a_feeds_name(db, name, found):
    """It is compared letter by letter, unlike words; whatever SQL would make of a sign is only a sign."""
    shelf = await a_shelf_of(db, *NAMED)
    for feed in await db.read(lambda tx: tx.many(int, q.feeds_of, shelf_id=shelf)):
        await db.with_tx(lambda tx, feed=feed: store_items_tx(tx, feed, [a_new_item("one", title="gull")], NOON))
        await put_on_shelf(db, shelf, feed)
    for text in (f'feed:"{name}"', f'gull feed:"{name}"'):
        assert len((await Search(db, HERE).find(shelf, text, 10)).items) == found


async def test_i8_a_feed_of_another_shelf_is_not_found(db):
    await a_shelf_of(db, *NAMED)
    assert (await Search(db, HERE).find(await a_reader(db), "daily cafe", 10)).feeds == []


class Leaving:
    """Parsers during whose work the shelf leaves a feed."""

    def __init__(self, db, shelf):
        self.db, self.shelf = db, shelf

    async def run(self, function, arguments):
        await self.db.with_tx(lambda tx: tx.run(q.leave, shelf_id=self.shelf, title="The Daily News"))
        return function(*arguments)


async def test_a_feed_left_during_a_search_is_only_missing(db):
    shelf = await a_shelf_of(db, *NAMED)
    results = await Search(db, Leaving(db, shelf)).find(shelf, "daily", 10)
    assert [feed.hit.title for feed in results.feeds] == [""]


class Counting:
    """Parsers that say how many names they were given."""

    names = 0

    async def run(self, function, arguments):
        self.names += len(arguments[1])
        return function(*arguments)


async def test_only_feeds_whose_names_may_match_are_looked_at(db):
    """A shelf may follow thousands: what cannot match is left in the database."""
    shelf = await a_shelf_of(db, *((f"Feed n{number}", f"https://example.org/{number}") for number in range(30)))
    parsers = Counting()
    assert len((await Search(db, parsers).find(shelf, "N17", 10)).feeds) == 1
    assert parsers.names == 1
