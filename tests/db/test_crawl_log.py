"""R52: the log by months, two months ahead, and out into the archive after six."""

import asyncio
import gzip
import json
from functools import partial

import pytest
from structlog.testing import capture_logs

from tests.builders import a_public_id
from tests.db.builders import a_query
from tests.files.builders import NOBODY_THERE, a_store, keys
from tsuzuki.db import DatabaseOptions, crawl_log, open_database
from tsuzuki.db.crawl_log import (
    Month,
    archive_month,
    archive_months,
    count_logs_tx,
    drop_partition_tx,
    ensure_partitions,
    maintain_partitions,
    month_of,
    partitions,
    read_archive,
    rows_without_partition,
)
from tsuzuki.db.errors import DatabaseError
from tsuzuki.db.migrate import migrate
from tsuzuki.files.stores import ARCHIVE
from tsuzuki.model.errors import Unavailable
from tsuzuki.model.times import DAY, Millis, from_iso

NOW = from_iso("2026-11-15T12:00:00Z")
NOVEMBER = Month(2026, 11)
COUNT = a_query("select count(*) from crawl_log")
ADD = a_query("""
insert into crawl_log (id, job_id, level, message, meta, created_at)
values (:id, :job_id, 'info', :message, :meta, :at)""")


async def stored_logs(db, *, at, count=1, message="m", meta=None):
    async def work(tx):
        for number in range(count):
            moment = Millis(at + number)
            await tx.run(ADD, id=a_public_id(moment), job_id=number, message=message, meta=meta, at=moment)

    await db.with_tx(work)


async def how_many(db, month=None):
    if month is None:
        return await db.read(lambda tx: tx.one(int, COUNT))
    return await db.read(partial(count_logs_tx, month=month))


@pytest.fixture(params=["folder", "s3"])
def files(request, tmp_path):
    """Where archives go."""
    url = request.getfixturevalue("s3_url") if request.param == "s3" else None
    return a_store(url, tmp_path, ARCHIVE)


async def archived(files, done):
    async with files.local(done.file) as file:
        return list(read_archive(file))


# -- months


@pytest.mark.parametrize(
    ("month", "more", "then"),
    [
        (Month(2026, 11), 2, Month(2027, 1)),
        (Month(2026, 1), -1, Month(2025, 12)),
        (Month(2026, 6), -6, Month(2025, 12)),
        (Month(2026, 12), 1, Month(2027, 1)),
        (Month(2026, 5), 0, Month(2026, 5)),
    ],
)
def test_months_are_counted_over_the_end_of_the_year(month, more, then):
    assert month.plus(more) == then


@pytest.mark.parametrize(
    ("moment", "month"),
    [
        ("2026-11-01T00:00:00Z", Month(2026, 11)),
        ("2026-11-30T23:59:59.999Z", Month(2026, 11)),
        ("2026-12-01T00:00:00Z", Month(2026, 12)),
        ("2028-02-29T10:00:00Z", Month(2028, 2)),
    ],
)
def test_a_moment_lies_within_its_month(moment, month):
    assert month_of(from_iso(moment)) == month
    assert month.start <= from_iso(moment) < month.end
    assert month.end == month.plus(1).start


# -- partitions, which only PostgreSQL has

on_postgres = pytest.mark.parametrize("engine", ["postgres"])


@pytest.fixture
async def db(db):
    """Without the partitions that a migrated database has by today."""
    for month in await partitions(db):
        await db.with_tx(partial(drop_partition_tx, month=month))
    return db


@on_postgres
async def test_a_fresh_database_has_the_partitions_of_its_month(empty_database_url):
    """Before any worker has run."""
    options = DatabaseOptions(empty_database_url)
    await migrate(options, now=NOW)
    fresh = await open_database(options)
    try:
        assert await partitions(fresh) == [NOVEMBER, Month(2026, 12), Month(2027, 1)]
        await stored_logs(fresh, at=NOW)
        assert await rows_without_partition(fresh) == 0
    finally:
        await fresh.close()


@on_postgres
async def test_this_month_and_the_next_two_get_a_partition_once(db):
    made = await ensure_partitions(db, NOW)
    assert made == [NOVEMBER, Month(2026, 12), Month(2027, 1)]
    assert await ensure_partitions(db, NOW) == []
    assert await ensure_partitions(db, Millis(NOW + 31 * DAY)) == [Month(2027, 2)]
    assert await partitions(db) == [NOVEMBER, Month(2026, 12), Month(2027, 1), Month(2027, 2)]


@on_postgres
async def test_processes_that_make_partitions_at_once_make_each_once(db, database_url):
    others = [await open_database(DatabaseOptions(database_url)) for _ in range(3)]
    made = await asyncio.gather(*(ensure_partitions(each, NOW) for each in (db, *others) for _ in range(2)))
    assert sorted(month for months in made for month in months) == await partitions(db)
    for other in others:
        await other.close()


@on_postgres
async def test_rows_that_came_before_their_partition_are_moved_into_it(db):
    await stored_logs(db, at=NOW, count=5)
    await stored_logs(db, at=Month(2030, 1).start, count=2)
    assert await rows_without_partition(db) == 7
    await ensure_partitions(db, NOW)
    assert await rows_without_partition(db) == 2
    assert await how_many(db) == 7
    await stored_logs(db, at=NOW + 1000, count=5)
    assert await rows_without_partition(db) == 2


@on_postgres
async def test_rows_outside_partitions_are_reported_until_moved(db):
    await stored_logs(db, at=NOW, count=5)
    await stored_logs(db, at=Month(2030, 1).start, count=2)
    with capture_logs() as logs:
        assert NOVEMBER in await maintain_partitions(db, NOW)
        assert await maintain_partitions(db, Month(2030, 1).start)
    assert [(line["log_level"], line["event"], line["rows"]) for line in logs] == [
        ("warning", "log_rows_without_partition", 2)
    ]


@on_postgres
async def test_rows_may_be_written_while_partitions_are_made(db):
    writing = [asyncio.ensure_future(stored_logs(db, at=NOW + n * 10, count=3)) for n in range(20)]
    await ensure_partitions(db, NOW)
    await asyncio.gather(*writing)
    assert (await how_many(db, NOVEMBER), await rows_without_partition(db)) == (60, 0)


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_sqlite_needs_no_partitions(db):
    assert (await ensure_partitions(db, NOW), await partitions(db), await rows_without_partition(db)) == ([], [], 0)


# -- the archive


async def test_months_before_the_last_six_move_into_files(db, files):
    for month in (Month(2026, 3), Month(2026, 4), Month(2026, 5), NOVEMBER):
        await ensure_partitions(db, month.start)
        await stored_logs(db, at=month.start, count=3, message=f"续 {month.table}", meta={"a": [1, None]})
    done = await archive_months(db, files, now=NOW)
    assert [(each.month, each.rows) for each in done] == [(Month(2026, 3), 3), (Month(2026, 4), 3)]
    assert [await how_many(db, Month(2026, number)) for number in (3, 4, 5, 11)] == [0, 0, 3, 3]
    assert Month(2026, 3) not in await partitions(db)
    assert await keys(files) == ["crawl_log_2026_03.jsonl.gz", "crawl_log_2026_04.jsonl.gz"]
    async with files.local(done[0].file) as file:
        with gzip.open(file) as lines:
            first = json.loads(next(lines))
    assert first["message"] == "续 crawl_log_2026_03"
    assert (first["meta"], first["created_at"], len(first["id"])) == ({"a": [1, None]}, Month(2026, 3).start, 32)
    assert await archive_months(db, files, now=NOW) == []


async def test_more_rows_than_a_page_are_archived_in_order(db, files):
    await stored_logs(db, at=Month(2026, 1).start, count=50)
    done = await archive_month(db, Month(2026, 1), files, page=7)
    times = [line.created_at for line in await archived(files, done)]
    assert times == [Month(2026, 1).start + number for number in range(50)]
    assert await how_many(db) == 0


async def test_rows_of_the_same_millisecond_are_all_archived(db, files):
    for _ in range(10):
        await stored_logs(db, at=Month(2026, 1).start)
    done = await archive_month(db, Month(2026, 1), files, page=3)
    assert len({line.id for line in await archived(files, done)}) == 10


async def test_rows_that_come_late_are_merged_into_the_file(db, files):
    """Also how an archiving that was interrupted between the file and the deletion goes on."""
    january = Month(2026, 1)
    await stored_logs(db, at=january.start, count=5)
    await archive_month(db, january, files)
    await stored_logs(db, at=january.start + 2, count=1)
    done = await archive_month(db, january, files)
    lines = await archived(files, done)
    assert [line.created_at - january.start for line in lines] == [0, 1, 2, 2, 3, 4]
    assert await how_many(db) == 0


async def test_an_interrupted_archiving_finishes_without_duplicates(db, files):
    january = Month(2026, 1)
    await stored_logs(db, at=january.start, count=20)
    await crawl_log._export(db, january, files, 100)
    assert await how_many(db) == 20
    done = await archive_month(db, january, files)
    assert len(await archived(files, done)) == 20
    assert await how_many(db) == 0


async def test_an_unwritable_archive_file_keeps_every_row(db, tmp_path):
    january = Month(2026, 1)
    await stored_logs(db, at=january.start, count=5)
    (tmp_path / "archive").write_text("a file where the folder should be")
    with pytest.raises(OSError, match="archive"):
        await archive_month(db, january, a_store(None, tmp_path, ARCHIVE))
    assert await how_many(db) == 5


async def test_an_unreachable_store_keeps_every_row(db, tmp_path):
    january = Month(2026, 1)
    await stored_logs(db, at=january.start, count=5)
    with pytest.raises(Unavailable):
        await archive_month(db, january, a_store(NOBODY_THERE, tmp_path, ARCHIVE))
    assert await how_many(db) == 5


@on_postgres
async def test_a_partition_that_grew_since_it_was_exported_is_kept(db, files):
    january = Month(2026, 1)
    await ensure_partitions(db, january.start)
    await stored_logs(db, at=january.start, count=6)
    with pytest.raises(DatabaseError, match="changed while it was archived: 5 rows, then 6"):
        await db.with_tx(partial(crawl_log._drop_tx, month=january, exported=5))
    assert await how_many(db, january) == 6
    assert len(await archived(files, await archive_month(db, january, files))) == 6


@on_postgres
async def test_an_old_partition_without_rows_just_goes(db, files):
    await ensure_partitions(db, Month(2026, 1).start)
    done = await archive_months(db, files, now=NOW)
    assert [(each.month, each.file) for each in done] == [(Month(2026, number), None) for number in (1, 2, 3)]
    assert await partitions(db) == []
    assert await keys(files) == []
