"""Everything of a SQLite file is in PostgreSQL afterwards, also when the copy was interrupted."""

from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from tests.databases import empty
from tests.db.copy_builders import NOW, filled
from tests.scale import scaled
from tsuzuki.db import Database, DatabaseOptions, open_database
from tsuzuki.db import copy_database as copier_module
from tsuzuki.db import copy_tables as words_module
from tsuzuki.db.copy_database import CopyMismatch, CopyStep, copy_database, open_copier
from tsuzuki.db.copy_tables import in_order, tables_of
from tsuzuki.db.errors import DatabaseUnavailable, SchemaRefused
from tsuzuki.db.migrate import migrate
from tsuzuki.db.sqlite_file import connect

pytestmark = pytest.mark.soak
ITEMS = scaled(3_000, 100_000)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tsuzuki.db"


@pytest.fixture
async def source(file) -> DatabaseOptions:
    return await filled(file, ITEMS, NOW)


@pytest.fixture
async def target(postgres_url) -> AsyncIterator[DatabaseOptions]:
    async with empty(postgres_url) as url:
        yield DatabaseOptions(url)


async def no_index(_db: Database) -> None:
    """There is nothing to search in this test."""


def unseen(_step: CopyStep) -> None:
    """Nobody watches."""


async def copy(source: DatabaseOptions, target: DatabaseOptions, watch: Any = unseen) -> Any:
    return await copy_database(source, target, now=NOW, index=no_index, watch=watch)


async def values(target: DatabaseOptions, sql: str) -> list[tuple[Any, ...]]:
    connection = await asyncpg.connect(target.url)
    try:
        return [tuple(row) for row in await connection.fetch(sql)]
    finally:
        await connection.close()


def rows(file: Path, sql: str) -> Iterator[tuple[Any, ...]]:
    connection = connect(file)
    yield from connection.execute(sql).fetchall()
    connection.close()


async def test_every_row_of_every_table_arrives_as_it_was(source, target, file):
    steps: list[CopyStep] = []
    copied = await copy(source, target, steps.append)
    assert not copied.was_resumed
    texts = "select key, title, content, sort_at, content_hash from item order by id"
    assert await values(target, texts) == list(rows(file, texts))
    assert await values(target, "select uid, config::text from source") == [
        (9223372036854775807, '{"a": null, "b": [1, 2.5]}')
    ]
    assert await values(target, "select is_nsfw from series") == [(True,)]
    assert await values(target, "select count(*) from entry where unread") == [(334,)]
    assert await values(target, "select message from crawl_log") == [("hi",)]
    names = rows(file, "select distinct tbl_name from sqlite_schema where type = 'table'")
    assert {step.table for step in steps if step.verb == "compare"} == {name for (name,) in names if _is_ours(name)}
    assert [(step.rows, step.of) for step in steps if step.table == "item"][-2] == (ITEMS, ITEMS)


def _is_ours(name: str) -> bool:
    return not name.startswith("sqlite_") and "_search" not in name and name != "schema_migration"


async def test_a_copy_continues_numbers_and_counts(source, target, file):
    before = [entries for (entries,) in rows(file, "select unread from tally where kind = 'item'")]
    await copy(source, target)
    assert await values(target, "select unread from tally where kind = 'item'") == [(before[0],)]
    added = "insert into {} returning id"
    task = "task (queue, key, payload, run_at, created_at) values ('q', 'k', '{}', 1, 1)"
    assert await values(target, added.format(task)) == [(2,)]  # the first one was deleted, and is not given again
    item = "item (feed_id, key, title, sort_at, content_hash, created_at) values (5, 'new', 'New', 1, '', 1)"
    assert await values(target, added.format(item)) == [(ITEMS + 1,)]
    await values(
        target, f"insert into entry (shelf_id, feed_id, item_id, sort_at, created_at) values (8, 5, {ITEMS + 1}, 1, 1)"
    )
    assert await values(target, "select unread from tally where kind = 'item'") == [(before[0] + 1,)]


@pytest.mark.parametrize("stage", ["copy", "compare"])
async def test_an_interrupted_copy_is_resumed_before_it_is_served(source, target, monkeypatch, stage):
    monkeypatch.setattr(copier_module, "CHUNK", 300)

    def fail(step: CopyStep) -> None:
        if step.verb == stage and step.table in ("item", "entry") and step.rows >= 900:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await copy(source, target, fail)
    with pytest.raises(SchemaRefused, match="was started but not finished"):
        await migrate(target, now=NOW)
    steps: list[CopyStep] = []
    copied = await copy(source, target, steps.append)
    assert copied.was_resumed
    assert next(step.rows for step in steps if step.table == "item") >= 900
    assert await values(target, "select count(*), count(distinct key) from item") == [(ITEMS, ITEMS)]
    await migrate(target, now=NOW)


async def test_series_are_found_by_alternative_titles(source, target, file, monkeypatch):
    monkeypatch.setattr(words_module, "CHUNK", 1)
    connection = connect(file)
    connection.execute("insert into series_search (rowid, title, body) values (3, 'one ワン', 'first of all first')")
    connection.execute("insert into chapter_search (rowid, title, body) values (11, 'the end', '')")
    connection.execute("insert into chapter (id, series_id, key, first_seen_at, updated_at) values (12, 3, 'x', 1, 1)")
    connection.execute("insert into chapter_search (rowid, title, body) values (12, 'after the end', '')")
    connection.close()
    await copy(source, target)
    assert await values(target, "select document::text from series_search") == [
        ("'all':6 'first':4,7 'of':5 'one':1A 'ワン':2A",)
    ]
    assert await values(target, "select chapter_id, document::text from chapter_search order by 1") == [
        (11, "'end':2A 'the':1A"),
        (12, "'after':1A 'end':3A 'the':2A"),
    ]


async def test_a_row_that_differs_afterwards_is_found(source, target, file):
    await migrate(target, now=NOW)
    async with open_copier(file, target.url, unseen) as copier:
        await copier.copy()
        await values(target, "update item set title = 'Other' where id = 17")
        await values(target, "delete from source_meta")
        with pytest.raises(CopyMismatch, match=r"these tables differ: .*source_meta.*item|item.*source_meta"):
            await copier.finish()


async def test_rows_that_are_written_meanwhile_do_not_tear_the_copy(source, target, file):
    def write(step: CopyStep) -> None:
        with closing(connect(file)) as writer:
            writer.execute("update item set title = 'Later' where id = (select max(id) from item)")

    await copy(source, target, write)
    assert await values(target, "select count(*) from item where title = 'Later'") == [(0,)]


async def test_a_target_with_content_is_not_touched(source, target):
    await migrate(target, now=NOW)
    await values(target, "insert into feed (link, created_at, updated_at) values ('mine', 1, 1)")
    with pytest.raises(SchemaRefused, match="already has rows in feed"):
        await copy(source, target)
    assert await values(target, "select link from feed") == [("mine",)]
    await migrate(target, now=NOW)


async def test_what_cannot_be_copied_is_refused_with_a_sentence(source, target, tmp_path):
    with pytest.raises(SchemaRefused, match="from SQLite to PostgreSQL"):
        await copy(target, source)
    with pytest.raises(SchemaRefused, match="There is no database at"):
        await copy(DatabaseOptions(f"sqlite://{tmp_path}/none.db"), target)


async def test_a_source_database_in_use_is_refused(source, target):
    served = await open_database(source)
    with pytest.raises(DatabaseUnavailable, match="is in use; stop every Tsuzuki first"):
        await copy(source, target)
    await served.close()
    assert await values(target, "select 1 from pg_tables where schemaname = 'public'") == []


async def test_tables_come_after_those_that_they_refer_to(source, target, file):
    await migrate(target, now=NOW)
    connection, server = connect(file), await asyncpg.connect(target.url)
    names = [table.name for table in await tables_of(connection, server)]
    _assert_in_order(connection, names)
    connection.close()
    await server.close()


def _assert_in_order(connection: apsw.Connection, names: list[str]) -> None:
    for place, name in enumerate(names):
        referred = {row[0] for row in connection.execute('select "table" from pragma_foreign_key_list(?)', (name,))}
        assert referred - {name} <= set(names[:place])


def test_a_table_may_refer_to_itself():
    assert in_order({"b": ["a", "b"], "a": []}) == ["a", "b"]
