"""SQLite's writer: many transactions share one fsync, and each of them is alone all the same."""

import asyncio
import gc
import threading
import weakref
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.db.builders import SLOW, a_query
from tests.db.disks import Note, Sync, Write, watched
from tests.scale import examples
from tsuzuki.db.errors import CheckViolation, DatabaseUnavailable, MisuseError, SchemaRefused, UniqueViolation
from tsuzuki.db.sqlite import LARGEST_GROUP, SqliteDatabase, path_of
from tsuzuki.db.sqlite_file import check_version, connect, has_wal_reset_race

PUT = a_query("insert into kept (key, value) values (:key, :value) on conflict (key) do update set value = :value")
ADD = a_query("insert into kept (key, value) values (:key, :value)")
ALL = a_query("select key, value from kept order by key")
CLEAR = a_query("delete from kept")
SCHEMA = "create table kept (key integer primary key, value text not null check (value <> ''))"


class Pair(msgspec.Struct, frozen=True):
    key: int
    value: str


@asynccontextmanager
async def store(folder, vfs=None):
    path = folder / "store.db"
    with closing(connect(path)) as connection:
        connection.execute(SCHEMA)
    db = SqliteDatabase(path, vfs=vfs)
    try:
        yield db
    finally:
        await db.close()


@pytest.fixture
async def db(tmp_path):
    async with store(tmp_path) as db:
        yield db


@pytest.fixture
async def watched_db(tmp_path):
    """A store, and the disk below it."""
    with watched() as (disk, vfs):
        async with store(tmp_path, vfs) as db:
            yield db, disk
            disk.refuse = lambda _: None


async def kept(db):
    return {pair.key: pair.value for pair in await db.read(lambda tx: tx.many(Pair, ALL))}


async def add_tx(tx, key, value="x"):
    await tx.run(ADD, key=key, value=value)
    return key


async def as_one_group(db, works):
    """Their results or errors; the writer finds them all waiting."""
    begun, go_on = threading.Event(), threading.Event()

    async def hold(tx):
        begun.set()
        assert go_on.wait(10)

    holding = asyncio.ensure_future(db.with_tx(hold))
    await asyncio.to_thread(begun.wait, 10)
    waiting = [asyncio.ensure_future(db.with_tx(work)) for work in works]
    await asyncio.sleep(0)
    go_on.set()
    await holding
    return await asyncio.gather(*waiting, return_exceptions=True)


# -- one fsync


async def test_transactions_that_wait_share_one_fsync(watched_db):
    db, disk = watched_db
    await db.with_tx(partial(add_tx, key=1000))
    before = disk.syncs("-wal")
    assert await as_one_group(db, [partial(add_tx, key=n) for n in range(64)]) == list(range(64))
    assert disk.syncs("-wal") - before == 1
    for n in range(64, 68):
        await db.with_tx(partial(add_tx, key=n))
    assert disk.syncs("-wal") - before == 5


async def test_a_long_queue_is_taken_in_groups_that_end(watched_db):
    db, disk = watched_db
    count = LARGEST_GROUP * 2 + 10
    assert await as_one_group(db, [partial(add_tx, key=n) for n in range(count)]) == list(range(count))
    assert disk.syncs("-wal") <= 4
    assert len(await kept(db)) == count


async def test_nobody_is_answered_before_the_fsync(watched_db):
    db, disk = watched_db

    async def one(number):
        async def work(tx):
            await add_tx(tx, number)
            disk.note(Note("ran", number))

        await db.with_tx(work)
        disk.note(Note("answered", number))

    for first in range(0, 60, 12):
        await asyncio.gather(*(one(number) for number in range(first, first + 12)))
    for number in range(60):
        ran, answered = disk.events.index(Note("ran", number)), disk.events.index(Note("answered", number))
        between = disk.events[ran:answered]
        written = [at for at, event in enumerate(between) if isinstance(event, Write)]
        synced = [at for at, event in enumerate(between) if event == Sync("store.db-wal")]
        assert written
        assert synced
        assert synced[-1] > min(written)


# -- each alone


async def fine_tx(tx, key, value):
    await tx.run(PUT, key=key, value=value)


async def raises_tx(tx, key, value):
    await tx.run(PUT, key=key, value=value)
    raise LookupError(value)


async def violates_tx(tx, key, value):
    await tx.run(PUT, key=key, value=value)
    await tx.run(PUT, key=key + 1, value="")


async def repeats_tx(tx, key, value):
    await tx.run(PUT, key=key, value=value)
    await tx.run(ADD, key=key, value=value)


async def sleeps_tx(tx, key, value):
    await tx.run(PUT, key=key, value=value)
    await asyncio.sleep(0)


class Halt(BaseException):
    """Not an Exception, yet nothing that ends the event loop."""


async def halts_tx(tx, key, value):
    await tx.run(CLEAR)
    raise Halt(value)


ENDS: dict[Any, type[BaseException | None]] = {
    fine_tx: type(None),
    raises_tx: LookupError,
    violates_tx: CheckViolation,
    repeats_tx: UniqueViolation,
    sleeps_tx: MisuseError,
    halts_tx: Halt,
}
jobs = st.lists(st.tuples(st.sampled_from(list(ENDS)), st.integers(0, 5), st.text(min_size=1, max_size=3)), max_size=12)


@examples(500)
@given(groups=st.lists(jobs, max_size=4))
def test_any_mixture_of_ends_leaves_what_the_successes_alone_would(tmp_path_factory, groups):
    text = [[(end, key, value.encode("ascii", "replace").decode()) for end, key, value in group] for group in groups]

    async def run():
        async with store(tmp_path_factory.mktemp("store")) as db:
            model = {}
            for group in text:
                results = await as_one_group(db, [partial(end, key=key, value=value) for end, key, value in group])
                for (end, key, value), result in zip(group, results, strict=True):
                    assert isinstance(result, ENDS[end])
                    if end is fine_tx:
                        model[key] = value
                assert await kept(db) == model

    asyncio.run(run())


async def test_a_transaction_sees_what_those_before_it_in_the_group_did(db):
    async def look(tx):
        return [pair.key for pair in await tx.many(Pair, ALL)]

    works = [partial(add_tx, key=1), look, partial(raises_tx, key=2, value="x"), look]
    results = await as_one_group(db, works)
    assert (results[1], results[3]) == ([1], [1])


async def test_callers_that_are_cancelled_while_they_wait_are_skipped(db):
    ran = []

    async def slow(tx):
        await add_tx(tx, 1)
        begun.set()
        assert go_on.wait(10)

    async def unwanted(tx):
        ran.append("unwanted")

    begun, go_on = threading.Event(), threading.Event()
    first = asyncio.ensure_future(db.with_tx(slow))
    await asyncio.to_thread(begun.wait, 10)
    waiting = [asyncio.ensure_future(db.with_tx(unwanted)) for _ in range(3)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    go_on.set()
    await first
    assert (await kept(db), ran) == ({1: "x"}, [])


async def test_readers_that_are_cancelled_while_all_threads_are_busy_are_closed(db):
    busy, closed = threading.Event(), []

    async def hold(tx):
        await tx.many(int, SLOW)
        assert busy.wait(10)

    async def wait(tx):
        try:
            await tx.many(int, SLOW)
        finally:
            closed.append(1)

    holding = [asyncio.ensure_future(db.read(hold)) for _ in range(4)]
    waiting = [asyncio.ensure_future(db.read(wait)) for _ in range(3)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert len(closed) == 3
    busy.set()
    await asyncio.gather(*holding)


async def test_a_caller_that_is_cancelled_before_its_function_returns_stores_nothing(db):
    loop = asyncio.get_running_loop()
    cancelled = threading.Event()

    async def work(tx):
        await add_tx(tx, 1)
        loop.call_soon_threadsafe(task.cancel)
        loop.call_soon_threadsafe(cancelled.set)
        assert cancelled.wait(10)

    task = asyncio.ensure_future(db.with_tx(work))
    with pytest.raises(asyncio.CancelledError):
        await task
    await db.with_tx(partial(add_tx, key=2))
    assert await kept(db) == {2: "x"}


async def test_a_transaction_is_forgotten_once_it_is_answered(db):
    """Not only when the garbage collector comes by: its result may be large."""

    class Result:
        pass

    async def work(tx):
        await add_tx(tx, 1)
        return Result()

    gc.disable()
    try:
        result = weakref.ref(await db.with_tx(work))
        await db.with_tx(partial(add_tx, key=2))
        await asyncio.sleep(0)
        assert result() is None
    finally:
        gc.enable()


# -- when the disk fails


def once(error, *, kind, file):
    """Refuse one event of this kind on this file."""
    left = [error]

    def refuse(event):
        if left and isinstance(event, kind) and event.file == file:
            raise left.pop()

    return refuse


@pytest.mark.parametrize("kind", [Write, Sync])
@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError])
async def test_a_commit_that_fails_fails_everyone_in_it_and_the_writer_goes_on(watched_db, kind, error):
    db, disk = watched_db
    await db.with_tx(partial(add_tx, key=1))
    disk.refuse = once(error("planted"), kind=kind, file="store.db-wal")
    works = [partial(add_tx, key=2), partial(raises_tx, key=3, value="x"), partial(add_tx, key=4)]
    results = await as_one_group(db, [*works, partial(add_tx, key=5)])
    # The transaction that held the queue had nothing to write, so the fault met the group behind it.
    assert [type(result) for result in results] == [
        DatabaseUnavailable,
        LookupError,
        DatabaseUnavailable,
        DatabaseUnavailable,
    ]
    assert await kept(db) == {1: "x"}
    await db.with_tx(partial(add_tx, key=2))
    assert await kept(db) == {1: "x", 2: "x"}


@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError])
async def test_a_transaction_lost_midway_fails_exactly_those_who_are_not_stored(watched_db, error):
    """A full cache is written out before the commit: there the disk may fail while others of the group still wait."""
    db, disk = watched_db
    db._writer.connection.execute("pragma cache_size = 4")

    async def large_tx(tx, key):
        for more in range(60):
            await add_tx(tx, key + more, "y" * 3000)
        return key

    disk.refuse = once(error("planted"), kind=Write, file="store.db-wal")
    works = [partial(add_tx, key=1), partial(large_tx, key=100), partial(add_tx, key=2), partial(add_tx, key=3)]
    results = await as_one_group(db, works)
    assert [type(result) for result in results] == [DatabaseUnavailable, DatabaseUnavailable, int, int]
    assert set(await kept(db)) == {2, 3}
    assert await db.with_tx(partial(large_tx, key=100)) == 100


async def test_a_full_database_refuses_what_does_not_fit_and_stores_what_does(db):
    """SQLite undoes the whole transaction then: those before it in the group are told so, those after it go on."""
    connection = db._writer.connection
    pages = connection.execute("pragma page_count").get
    connection.execute(f"pragma max_page_count = {pages + 2}")
    works = [partial(add_tx, key=1), partial(add_tx, key=2, value="y" * 50_000), partial(add_tx, key=3)]
    results = await as_one_group(db, works)
    assert [type(result) for result in results] == [DatabaseUnavailable, DatabaseUnavailable, int]
    assert "full" in str(results[0])
    assert set(await kept(db)) == {3}
    await db.with_tx(partial(add_tx, key=1))


async def test_a_file_that_cannot_be_opened_again_fails_callers_until_it_can(watched_db, tmp_path):
    db, disk = watched_db
    disk.refuse = once(apsw.IOError("planted"), kind=Sync, file="store.db-wal")
    with pytest.raises(DatabaseUnavailable):
        await db.with_tx(partial(add_tx, key=1))
    hidden = (tmp_path / "store.db").rename(tmp_path / "hidden.db")
    (tmp_path / "store.db").mkdir()
    with pytest.raises(DatabaseUnavailable):
        await db.with_tx(partial(add_tx, key=2))
    (tmp_path / "store.db").rmdir()
    hidden.rename(tmp_path / "store.db")
    await db.with_tx(partial(add_tx, key=3))
    assert set(await kept(db)) == {3}


# -- which SQLite


@pytest.mark.parametrize(
    ("version", "races"),
    [
        ("3.6.23", False),
        ("3.7.0", True),
        ("3.7.17", True),
        ("3.40.1", True),
        ("3.44.6", True),
        ("3.50.4", True),
        ("3.51.0", True),
        ("3.51.2", True),
        ("3.51.3", False),
        ("3.52.0", False),
        ("3.54.1", False),
        ("4.0.0", False),
    ],
)
def test_a_sqlite_that_can_corrupt_its_wal_is_known_by_its_version(version, races):
    assert has_wal_reset_race(version) is races


def test_the_start_refuses_such_a_sqlite_and_takes_ours():
    with pytest.raises(SchemaRefused, match=r"SQLite 3\.40\.1 can corrupt its WAL; install apsw"):
        check_version("3.40.1")
    check_version(apsw.sqlite_lib_version())


def test_connections_are_set_up_to_lose_nothing(tmp_path):
    with closing(connect(tmp_path / "store.db")) as connection:
        settings = {
            name: connection.execute(f"pragma {name}").get for name in ("journal_mode", "synchronous", "foreign_keys")
        }
        assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


def test_the_path_of_a_url_is_kept_whole():
    assert path_of("sqlite:///var/lib/a b.db") == Path("/var/lib/a b.db")
