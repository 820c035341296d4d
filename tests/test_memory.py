"""After work, memory is given back."""

import asyncio

import apsw
import pytest

from tsuzuki.app import memory
from tsuzuki.db.queries import parse_queries

MEGABYTE = 1024 * 1024

q = parse_queries(
    "tests",
    """
-- name: make_notes
create table note (body text);
-- name: add_notes
with recursive n (i) as (select 1 union all select i + 1 from n where i < 8000)
insert into note (body) select hex(randomblob(500)) from n;
""",
)


@pytest.fixture
async def notes(db):
    await db.with_tx(lambda tx: tx.run(q.make_notes))
    await db.with_tx(lambda tx: tx.run(q.add_notes))


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_pages_that_were_written_leave_the_memory(db, notes):
    before = apsw.memory_used()
    assert before > 4 * MEGABYTE
    await db.release_memory()
    assert apsw.memory_used() < before - 4 * MEGABYTE


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_memory_is_returned_when_work_is_over(db, notes, monkeypatch):
    monkeypatch.setattr(memory, "LOOK_EVERY_S", 0.05)
    before = apsw.memory_used()
    async with memory.giving_memory_back(db):
        for _ in range(200):
            await asyncio.sleep(0.05)
            if apsw.memory_used() < before - 4 * MEGABYTE:
                return
    raise AssertionError("the pages are still kept")


async def test_a_database_works_on_after_it_released_memory(db):
    await db.release_memory()
    await db.ping()
