"""A shelf goes out of one server and into another, and out again: the same content."""

import contextlib
import shutil
from collections.abc import AsyncIterator

import pytest
from hypothesis import given

from tests.databases import migrated
from tests.scale import examples
from tests.transfer.archive.builders import a_reader, an_archive, count, parts_of, told
from tests.transfer.archive.thought_up import thought_up
from tsuzuki.db import Database, DatabaseOptions, open_database


@contextlib.asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    database = await open_database(DatabaseOptions(url))
    try:
        yield database
    finally:
        await database.close()


@pytest.fixture
async def both(postgres_url, sqlite_template, tmp_path) -> AsyncIterator[tuple[Database, Database, Database]]:
    """SQLite, PostgreSQL, and SQLite again."""
    files = [tmp_path / name for name in ("first.db", "last.db")]
    for file in files:
        shutil.copy(sqlite_template, file)
    async with (
        opened(f"sqlite://{files[0]}") as first,
        migrated(postgres_url) as url,
        opened(url) as second,
        opened(f"sqlite://{files[1]}") as last,
    ):
        yield first, second, last


@examples(200, share=10)
@given(shelf=thought_up())
async def test_any_shelf_survives_moving_between_servers(both, tmp_path, shelf):
    path = an_archive(tmp_path, shelf)
    for db in both:
        reader = await a_reader(db, tmp_path)
        brought = await reader.import_archive(path)
        assert brought.notes == ()
        assert {name: counts.created + counts.existing for name, counts in brought.parts.items()} == {
            name: len(lines) for name, lines in shelf.items() if lines
        }
        path = await reader.export()
        assert parts_of(path) == told(shelf)


@examples(100, share=20)
@given(shelf=thought_up())
async def test_a_repeat_changes_nothing(db, tmp_path, shelf):
    path = an_archive(tmp_path, shelf)
    reader = await a_reader(db, tmp_path)
    await reader.import_archive(path)
    before = await count(db, "count_all")
    again = await reader.import_archive(path)
    assert [counts for counts in again.parts.values() if counts.created or counts.left_out] == []
    assert await count(db, "count_all") == before
    assert parts_of(await reader.export()) == told(shelf)
