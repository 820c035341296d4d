"""Files of ReedMe and Fusion that are not what they should be: a sentence or a line left out, never a traceback."""

from contextlib import closing

import apsw
import pytest

from tests.app import settings_for
from tests.builders import HERE, NOON, a_new_item, a_public_id, store_items_tx
from tests.delivery.builders import a_reader, publish
from tests.inbox.builders import items_of
from tests.shelves.builders import shelf_deps
from tests.transfer.reedme_files import a_legacy_file, a_newer_file
from tsuzuki.app.bootstrap import open_tsuzuki
from tsuzuki.db.errors import SchemaRefused
from tsuzuki.db.legacy import MAX_TEXT
from tsuzuki.db.queries import parse_queries
from tsuzuki.parsing.pool import ParsePool, PoolOptions
from tsuzuki.shelves.subscriptions import Subscriptions
from tsuzuki.shelves.types import NewSubscription
from tsuzuki.transfer.reedme.sanitiser import clean_items
from tsuzuki.transfer.reedme.service import Reedme, ReedmeReport

q = parse_queries(
    "tests",
    """
-- name: count_feeds
select count(*) from feed;
-- name: count_entries
select count(*) from entry;
-- name: feed
select id from feed where link = 'https://example.org/1';
""",
)


def changed(file, *statements):
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute("pragma journal_mode = delete").fetchall()
        for statement in statements:
            connection.execute(statement).fetchall()
    return file


async def run_import(db, file, shelf, parsers=HERE):
    return await Reedme(db, lambda: NOON, a_public_id, parsers=parsers).run(file, shelf)


LATIN = "cast(x'43616665e9' as text)"  # "Café", as Latin-1 has it


@pytest.mark.parametrize(
    "statement",
    [
        f"update items set title = {LATIN}, content = {LATIN}, guid = {LATIN} where id = 1",
        f"update feeds set name = {LATIN}, site = {LATIN} where id = 1",
        f"update groups set name = {LATIN}",
        "update items set pub_date = 9e999",
        "update items set pub_date = -9e999",
        "update items set pub_date = 9223372036854775807",
        "update items set pub_date = '99999-99-99 99:99:99'",
        "update items set pub_date = x'00ff'",
        "update items set title = 12, content = 3.5, guid = id, link = 7, unread = 'no', bookmark = 'yes'",
        "update items set feed_id = '1' where feed_id = 1",
        "update items set content = null, title = null, link = null, guid = id",
        "update feeds set suspended = 'x', group_id = 'none', req_proxy = 0",
    ],
)
async def test_a_value_of_any_sqlite_type_is_read(db, tmp_path, statement):
    file = changed(a_legacy_file(tmp_path / "f.db"), "alter table feeds add column site text", statement)
    shelf = await a_reader(db)
    for _ in range(2):
        brought = await run_import(db, file, shelf)
        assert (brought.feeds, brought.items, brought.skipped) == (2, 10, 0)
    assert len(await items_of(db, shelf)) == 10


async def test_ids_of_several_types_find_each_other(db, tmp_path):
    file = a_newer_file(tmp_path / "f.db")
    untyped = [
        f"create table {name}_2 as select * from {name}; drop table {name}; alter table {name}_2 rename to {name}"
        for name in ("groups", "feeds", "items", "bookmarks")
    ]
    changed(
        file,
        *untyped,
        "update groups set id = 'two' where id = 2",
        "update feeds set group_id = 'two', id = '1' where id = 1",
        "update items set id = cast(id as text)",
        "update bookmarks set item_id = cast(item_id as real)",
    )
    shelf = await a_reader(db)
    brought = await run_import(db, file, shelf)
    assert brought == ReedmeReport(feeds=1, items=3, bookmarks=4, refused=("nonsense",))
    [feed] = await Subscriptions(shelf_deps(db)).list(shelf)
    assert (feed.item_count, feed.name) == (3, "Feed 1")


async def test_a_too_large_row_is_left_out_and_named(db, tmp_path):
    file = changed(
        a_legacy_file(tmp_path / "f.db"), f"update items set content = zeroblob({MAX_TEXT + 1}) where id in (2, 7)"
    )
    shelf = await a_reader(db)
    brought = await run_import(db, file, shelf)
    assert (brought.items, brought.skipped) == (8, 2)
    assert brought.notes == ("row 2 of items is too large", "row 7 of items is too large")


async def test_a_row_that_costs_too_much_is_left_out_alone(db, tmp_path):
    """In a real parser process, which ends of it: the others of its batch come."""
    costly = "<p>words and <b>more</b> of them</p>" * (MAX_TEXT // 40)
    file = changed(a_legacy_file(tmp_path / "f.db"), f"update items set content = '{costly}' where id = 3")
    parsers = ParsePool(PoolOptions(processes=1, cpu_seconds=0.06, cpu_seconds_per_megabyte=0.0))
    shelf = await a_reader(db)
    try:
        brought = await run_import(db, file, shelf, parsers)
    finally:
        await parsers.close()
    assert (brought.items, brought.skipped) == (9, 1)
    assert [note.partition(":")[0] for note in brought.notes] == ["one of the items cannot be cleaned"]


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
@pytest.mark.parametrize("how", ["cut", "overwritten"])
async def test_a_damaged_file_is_refused_before_anything_is_written(db, tmp_path, share, how):
    file = changed(a_legacy_file(tmp_path / "f.db", items=400))
    raw = file.read_bytes()
    middle = int(len(raw) * share)
    file.write_bytes(raw[:middle] if how == "cut" else raw[:middle] + b"\xa5" * 4096 + raw[middle + 4096 :])
    shelf = await a_reader(db)
    with pytest.raises(SchemaRefused, match=r"f\.db is (damaged|no database)"):
        await run_import(db, file, shelf)
    assert await db.read(lambda tx: tx.one(int, q.count_feeds)) == 0


@pytest.mark.parametrize(("table", "column"), [("items", "feed_id"), ("feeds", "link"), ("groups", "id")])
async def test_a_file_without_what_is_needed_says_what(db, tmp_path, table, column):
    file = changed(a_legacy_file(tmp_path / "f.db"), f"alter table {table} rename column {column} to other")
    with pytest.raises(SchemaRefused, match=f"its {table} have no {column}"):
        await run_import(db, file, await a_reader(db))


async def test_a_damaged_database_stops_the_start_and_stays(tmp_path):
    """It is neither adopted nor thrown away."""
    file = changed(a_legacy_file(tmp_path / "tsuzuki.db", items=400))
    raw = file.read_bytes()
    damaged = raw[: len(raw) // 2] + b"\xa5" * 4096 + raw[len(raw) // 2 + 4096 :]
    file.write_bytes(damaged)
    with pytest.raises(SchemaRefused, match="damaged"):
        async with open_tsuzuki(settings_for(tmp_path)):
            pass
    assert file.read_bytes() == damaged


async def test_leaving_a_feed_during_its_import_gets_nothing(db, tmp_path):
    """The shelf leaves while a parser process cleans its items."""
    shelf = await a_reader(db)
    feeds = Subscriptions(shelf_deps(db))

    class Leaving:
        async def run(self, function, arguments):
            for feed in await feeds.list(shelf) if function is clean_items else ():
                await feeds.delete(shelf, feed.public_id)
            return function(*arguments)

    await run_import(db, a_legacy_file(tmp_path / "f.db"), shelf, Leaving())
    assert await db.read(lambda tx: tx.one(int, q.count_entries)) == 0


async def test_what_is_imported_is_nobody_elses(db, tmp_path):
    """Neither those who follow the feed already nor those who come later see it; real posts reach them all."""
    feeds = Subscriptions(shelf_deps(db))
    early, later = await a_reader(db), await a_reader(db)
    await feeds.add(early, NewSubscription(link="https://example.org/1"))
    feed = await db.read(lambda tx: tx.one(int, q.feed))
    await db.with_tx(lambda tx: store_items_tx(tx, feed, [a_new_item("1-0", title="Real")], NOON))
    importer = await a_reader(db)
    await run_import(db, a_legacy_file(tmp_path / "f.db"), importer)
    await feeds.add(later, NewSubscription(link="https://example.org/1"))
    assert await items_of(db, early) == []
    assert [item.title for item in await items_of(db, later)] == ["Real"]
    mine = {item.key: item for item in await items_of(db, importer)}
    assert (mine["1-0"].title, mine["1-0"].unread, mine["1-1"].title) == ("Real", False, "Item 1")

    await publish(db, feed, ["1-1", "1-2"])
    for shelf in (early, later):
        new = [item for item in await items_of(db, shelf) if item.key != "1-0"]
        assert [(item.key, item.unread) for item in new] == [("1-2", True), ("1-1", True)]
    after = {item.key: item for item in await items_of(db, importer)}
    assert len(after) == 10
    assert (after["1-1"].saved, after["1-1"].title) == (True, "Item 1-1")
