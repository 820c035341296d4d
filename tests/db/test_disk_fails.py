"""SQLite's writer when the disk fails: exactly those who are not stored are told so, and it goes on."""

from functools import partial

import apsw
import pytest

from tests.db.disks import Sync, Write
from tests.db.small_store import add_tx, as_one_group, kept, raises_tx, store
from tsuzuki.db.errors import DatabaseUnavailable, DiskFull
from tsuzuki.db.sqlite_file import reason_of


@pytest.fixture
async def db(tmp_path):
    async with store(tmp_path) as db:
        yield db


def once(error, *, kind, file):
    """Refuse one event of this kind on this file."""
    left = [error]

    def refuse(event):
        if left and isinstance(event, kind) and event.file == file:
            raise left.pop()

    return refuse


def as_ours(error):
    return DiskFull if error is apsw.FullError else DatabaseUnavailable


@pytest.mark.parametrize("kind", [Write, Sync])
@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError])
async def test_a_failed_commit_fails_its_group_only(watched_db, kind, error):
    db, disk = watched_db
    await db.with_tx(partial(add_tx, key=1))
    disk.refuse = once(error("planted"), kind=kind, file="store.db-wal")
    works = [partial(add_tx, key=2), partial(raises_tx, key=3, value="x"), partial(add_tx, key=4)]
    results = await as_one_group(db, [*works, partial(add_tx, key=5)])
    # The transaction that held the queue had nothing to write, so the fault met the group behind it.
    lost = as_ours(error)
    assert [type(result) for result in results] == [lost, LookupError, lost, lost]
    assert await kept(db) == {1: "x"}
    await db.with_tx(partial(add_tx, key=2))
    assert await kept(db) == {1: "x", 2: "x"}


@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError])
async def test_a_lost_transaction_fails_exactly_those_not_stored(watched_db, error):
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
    assert [type(result) for result in results] == [as_ours(error), as_ours(error), int, int]
    assert set(await kept(db)) == {2, 3}
    assert await db.with_tx(partial(large_tx, key=100)) == 100


async def test_a_full_database_stores_what_still_fits(db):
    """SQLite undoes the whole transaction then: those before it in the group are told so, those after it go on."""
    connection = db._writer.connection
    pages = connection.execute("pragma page_count").get
    connection.execute(f"pragma max_page_count = {pages + 2}")
    works = [partial(add_tx, key=1), partial(add_tx, key=2, value="y" * 50_000), partial(add_tx, key=3)]
    results = await as_one_group(db, works)
    assert [type(result) for result in results] == [DiskFull, DiskFull, int]
    assert set(await kept(db)) == {3}
    await db.with_tx(partial(add_tx, key=1))


async def test_a_file_that_cannot_be_reopened_fails_its_callers(watched_db, tmp_path):
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


@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError])
async def test_a_database_that_cannot_store_is_not_ready(watched_db, error):
    """Reading goes on meanwhile; transactions that write nothing do not tell."""
    db, disk = watched_db
    await db.with_tx(partial(add_tx, key=1))
    await db.ping()
    wal = [event for event in disk.events if isinstance(event, Write)]
    await db.ping()
    assert [event for event in disk.events if isinstance(event, Write)] == wal, "a ping writes only after a loss"

    def refuse(event):
        if isinstance(event, Write):
            raise error("planted")

    disk.refuse = refuse
    with pytest.raises(DatabaseUnavailable):
        await db.with_tx(partial(add_tx, key=2))
    for _ in range(2):
        with pytest.raises(DatabaseUnavailable):
            await db.ping()
        assert await kept(db) == {1: "x"}
    disk.refuse = lambda _: None
    await db.ping()
    await db.with_tx(partial(add_tx, key=2))
    assert await kept(db) == {1: "x", 2: "x"}


@pytest.mark.parametrize(
    ("code", "is_full"),
    [
        (apsw.SQLITE_FULL, True),
        (apsw.SQLITE_IOERR_SHMSIZE, True),  # what a start on a full disk meets
        (apsw.SQLITE_IOERR_READ, False),
        (apsw.SQLITE_READONLY, False),
    ],
)
def test_a_full_disk_is_recognised_everywhere_in_sqlite(code, is_full):
    error = apsw.exception_for(code)
    assert isinstance(error, apsw.Error)
    assert (reason_of(error) == str(DiskFull())) is is_full
