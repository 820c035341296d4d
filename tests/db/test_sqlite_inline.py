"""Reads on the event loop: quick ones only, whatever was asked."""

import asyncio
import time
from contextlib import closing

import pytest

from tests.db.builders import SLOW, a_query
from tsuzuki.db.errors import DatabaseError
from tsuzuki.db.sqlite import SqliteDatabase
from tsuzuki.db.sqlite_file import connect
from tsuzuki.db.sqlite_inline import EXCUSED_S, PATIENCE_S, InlineReader

QUICK = a_query("select key from kept order by key")
SHORT = a_query("with recursive n (i) as (select 1 union all select i + 1 from n where i < 300) select max(i) from n")
"""Looked at several times on its way, and over in a fraction of what it may take."""
FIND = a_query("select key from kept where key = :key")


@pytest.fixture
def path(tmp_path):
    with closing(connect(tmp_path / "store.db")) as connection:
        connection.execute("create table kept (key integer primary key)")
        connection.execute("insert into kept values (1), (2)")
    return tmp_path / "store.db"


@pytest.fixture
def reader(path):
    with closing(InlineReader(connect(path, read_only=True))) as made:
        yield made


def test_what_is_quick_is_answered(reader):
    assert reader.read(QUICK, {}) == ([(1,), (2,)], 0)


def test_a_quick_inline_read_is_answered(reader):
    for _ in range(50):  # a busy machine may hold us up for longer than that, once and again
        reader._slow.clear()
        if (answer := reader.read(SHORT, {})) is not None:
            assert answer == ([(300,)], 0)
            return
    pytest.fail("never in time")


def test_a_slow_read_is_left_to_a_thread(reader):
    began = time.thread_time()
    assert reader.read(SLOW, {}) is None
    assert time.thread_time() - began < PATIENCE_S * 5
    began = time.thread_time()
    assert [reader.read(SLOW, {}) for _ in range(10)] == [None] * 10
    assert time.thread_time() - began < PATIENCE_S
    assert reader.read(QUICK, {}) is not None


def test_who_is_late_once_is_tried_again_soon(reader):
    def left_to_threads() -> float:
        """For how long from now, after a read that is late."""
        reader.read(SLOW, {})
        until: float = reader._slow[SLOW.sqlite.sql]
        return until - time.monotonic()

    assert left_to_threads() <= EXCUSED_S
    time.sleep(EXCUSED_S)
    assert left_to_threads() > EXCUSED_S * 2
    for _ in range(50):  # as above
        reader._slow[SHORT.sqlite.sql] = 0.0
        reader.read(SHORT, {})
        if SHORT.sqlite.sql not in reader._slow:
            return
    pytest.fail("never in time")


async def test_both_kinds_bring_the_same_rows(path):
    db = SqliteDatabase(path)
    try:
        assert await db.read(lambda tx: tx.many(int, QUICK)) == [1, 2]
        assert await db.read(lambda tx: tx.one(int, SLOW)) == 200_000
        assert await db.read(lambda tx: tx.one(int, SLOW)) == 200_000
    finally:
        await db.close()


@pytest.mark.parametrize("value", [2**70, "\ud800"])
async def test_a_value_that_sqlite_does_not_take_is_our_error(path, value):
    db = SqliteDatabase(path)
    try:
        with pytest.raises(DatabaseError, match="a value that SQLite does not take"):
            await db.read(lambda tx: tx.many(int, FIND, key=value))
    finally:
        await db.close()


async def test_who_reads_on_and_on_lets_others_have_their_turn(path):
    db = SqliteDatabase(path)
    turns = []

    async def other() -> None:
        for number in range(20):
            turns.append(number)
            await asyncio.sleep(0)

    try:
        running = asyncio.ensure_future(other())
        for _ in range(20):
            await db.read(lambda tx: tx.many(int, QUICK))
        assert len(turns) >= 19
        await running
    finally:
        await db.close()
