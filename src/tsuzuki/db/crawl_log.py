"""The crawl log by month: partitions (PostgreSQL), and old months exported to files (R52).

A month is one gzipped file of JSON lines, oldest first. A run that was interrupted is simply run again: what is in the
file already is kept, and what is still in the database is merged in.
"""

import asyncio
import contextlib
import gzip
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import structlog

from tsuzuki.db.database import Database
from tsuzuki.db.errors import DatabaseError
from tsuzuki.db.queries import EngineSql, Query, load_queries
from tsuzuki.db.tx import Tx
from tsuzuki.files.disk import digest_of, sync
from tsuzuki.files.stores import FileStore
from tsuzuki.model.times import Millis, from_datetime


class Month(msgspec.Struct, frozen=True, order=True):
    """A month, and what its part of the log is called."""

    year: int
    number: int

    @property
    def start(self) -> Millis:
        """The month's first millisecond."""
        return from_datetime(datetime(self.year, self.number, 1, tzinfo=UTC))

    @property
    def end(self) -> Millis:
        """The first millisecond after the month."""
        return self.plus(1).start

    @property
    def table(self) -> str:
        """The name of its partition."""
        return f"crawl_log_{self.year:04d}_{self.number:02d}"

    @property
    def file(self) -> str:
        """The name of its archive."""
        return f"{self.table}.jsonl.gz"

    def plus(self, months: int) -> "Month":
        """So many months later, or earlier."""
        years, number = divmod(self.number - 1 + months, 12)
        return Month(self.year + years, number + 1)


def month_of(moment: Millis) -> Month:
    """The month that a moment lies in."""
    day = datetime.fromtimestamp(moment // 1000, UTC)
    return Month(day.year, day.month)


q = load_queries("tsuzuki.db.crawl_log")


class StoredLogRow(msgspec.Struct, frozen=True):
    """A row of the log."""

    id: bytes
    job_id: int
    level: str
    message: str
    meta: Any
    created_at: Millis


async def oldest_log_tx(tx: Tx) -> Millis | None:
    """When the oldest row was written; None without rows."""
    return await tx.one(Millis | None, q.oldest_log)  # type: ignore[arg-type]  # a type of one column may be optional


async def count_logs_tx(tx: Tx, month: Month) -> int:
    """How many rows the month has."""
    return await tx.one(int, q.count_logs, start=month.start, stop=month.end)


async def page_logs_tx(tx: Tx, month: Month, after: StoredLogRow | None, most: int) -> list[StoredLogRow]:
    """The month's next rows by time and id."""
    after_time, after_id = (after.created_at, after.id) if after else (month.start - 1, b"")
    return await tx.many(
        StoredLogRow,
        q.page_logs,
        start=month.start,
        stop=month.end,
        after_time=after_time,
        after_id=after_id,
        most=most,
    )


async def remove_logs_tx(tx: Tx, month: Month, ids: Sequence[str]) -> int:
    """Delete rows of the month by their ids in hex digits; how many there were."""
    return await tx.run(q.remove_logs, start=month.start, stop=month.end, ids=ids)


class ArchivedLogLine(msgspec.Struct, frozen=True):
    """A row of the log as a line; the id in hex digits."""

    created_at: Millis
    id: str
    job_id: int
    level: str
    message: str
    meta: Any = None

    @property
    def place(self) -> tuple[Millis, str]:
        """What lines are ordered by, and known by."""
        return self.created_at, self.id


def read_archive(file: Path) -> Iterator[ArchivedLogLine]:
    """The lines of an archive."""
    decoder = msgspec.json.Decoder(ArchivedLogLine)
    with gzip.open(file, "rb") as lines:
        yield from map(decoder.decode, lines)


class LogArchiveWriter:
    """Writes beside the file and takes its place only once it is whole, on disk, and was read back."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        for left_over in file.parent.glob(f"{file.name}.*.part"):
            left_over.unlink()
        self._file = file
        self._old = read_archive(file) if file.exists() else iter(())
        self._held = next(self._old, None)
        descriptor, name = tempfile.mkstemp(prefix=f"{file.name}.", suffix=".part", dir=file.parent)
        self._part = Path(name)
        self._raw = os.fdopen(descriptor, "wb")
        self._gzip = gzip.GzipFile(filename="", fileobj=self._raw, mode="wb")
        self._digest = hashlib.sha256()

    def add(self, rows: Iterable[StoredLogRow]) -> None:
        """The next rows, later than all before; lines of the old file are put in where they belong."""
        for row in rows:
            new = ArchivedLogLine(row.created_at, row.id.hex(), row.job_id, row.level, row.message, row.meta)
            self._write_old(before=new)
            if self._held is not None and self._held.place == new.place:
                self._held = next(self._old, None)
            self._write(new)

    def finish(self) -> None:
        """Close the file and put it in the archive's place."""
        self._write_old()
        self._gzip.close()
        self._raw.flush()
        os.fsync(self._raw.fileno())
        with gzip.open(self._part, "rb") as content:
            if hashlib.file_digest(content, "sha256").digest() != self._digest.digest():
                raise DatabaseError(f"{self._part} could not be read back as it was written")
        self._part.replace(self._file)
        sync(self._file.parent)

    def close(self) -> None:
        """Let go of everything; an unfinished file vanishes."""
        with self._raw, contextlib.suppress(OSError):  # a full disk refuses even the end of the file
            self._gzip.close()
        self._part.unlink(missing_ok=True)

    def _write_old(self, before: ArchivedLogLine | None = None) -> None:
        while self._held is not None and (before is None or self._held.place < before.place):
            self._write(self._held)
            self._held = next(self._old, None)

    def _write(self, line: ArchivedLogLine) -> None:
        data = msgspec.json.encode(line) + b"\n"
        self._digest.update(data)
        self._gzip.write(data)


MONTHS_AHEAD = 2
REST = "crawl_log_rest"
LOCK_PATIENCE = "10s"

_log = structlog.stdlib.get_logger("tsuzuki.db")


async def maintain_partitions(db: Database, now: Millis) -> list[Month]:
    """`ensure_partitions`, and a warning while rows lie in none of them."""
    made = await ensure_partitions(db, now)
    if rows := await rows_without_partition(db):
        _log.warning("log_rows_without_partition", table=REST, rows=rows, why="a clock was wrong, or no worker ran")
    return made


async def ensure_partitions(db: Database, now: Millis) -> list[Month]:
    """Make the partitions of this month and the next two where they are missing; those that were made.

    Safe at any time and from any number of processes; rows of such a month that lie in the rest are moved. Contention
    when a transaction that wrote to the log does not end: try again later.
    """
    if db.engine == "sqlite":
        return []
    months = [month_of(now).plus(more) for more in range(MONTHS_AHEAD + 1)]
    return [month for month in months if await db.with_tx(partial(_make_tx, month=month))]


async def rows_without_partition(db: Database) -> int:
    """How many rows found no partition; anything but 0 means that `ensure_partitions` came too late."""
    return 0 if db.engine == "sqlite" else await db.read(lambda tx: tx.one(int, _COUNT_REST))


async def partitions(db: Database) -> list[Month]:
    """The months that have a partition, oldest first."""
    if db.engine == "sqlite":
        return []
    names = await db.read(lambda tx: tx.many(str, _PARTITIONS))
    return sorted(Month(int(name[-7:-3]), int(name[-2:])) for name in names if name != REST)


async def drop_partition_tx(tx: Tx, month: Month) -> None:
    """Drop the month's partition, and with it its rows."""
    await tx.run(statement(f"alter table crawl_log detach partition {month.table}"))
    await tx.run(statement(f"drop table {month.table}"))


async def lock_partition_tx(tx: Tx, month: Month) -> bool:
    """Keep everyone else from its rows until the transaction ends; False when there is no such partition."""
    if not await _exists_tx(tx, month):
        return False
    await tx.run(statement(f"lock table {month.table} in access exclusive mode"))
    return True


async def _exists_tx(tx: Tx, month: Month) -> bool:
    """Holds off everyone else who would make or drop one, but nobody who reads or writes rows."""
    await tx.run(statement(f"set local lock_timeout = '{LOCK_PATIENCE}'"))  # those who queue behind us have none
    await tx.run(statement("lock table crawl_log in share update exclusive mode"))
    return await tx.one(bool, question(f"select to_regclass('{month.table}') is not null"))


async def _make_tx(tx: Tx, month: Month) -> bool:
    if await _exists_tx(tx, month):
        return False
    bounds = f"created_at >= {month.start} and created_at < {month.end}"
    moved = f"delete from {REST} where {bounds} returning *"  # noqa: S608  our own names and numbers
    for sql in (
        # Writers wait for the whole of it: a row that had been sent to the rest before would be refused there after.
        "lock table crawl_log in access exclusive mode",
        f"create table {month.table} (like crawl_log including all)",
        f"with moved as ({moved}) insert into {month.table} select * from moved",  # noqa: S608  as above
        f"alter table crawl_log attach partition {month.table} for values from ({month.start}) to ({month.end})",
    ):
        await tx.run(statement(sql))
    return True


def statement(sql: str) -> Query:
    """SQL that names a partition, which no parameter can; only our own names and numbers are put in."""
    text = EngineSql(sql, ())
    return Query("partition", text, text, writes=True, returns_rows=False, inline=False)


def question(sql: str) -> Query:
    """As `statement`, for SQL that returns rows."""
    text = EngineSql(sql, ())
    return Query("partition", text, text, writes=False, returns_rows=True, inline=False)


_COUNT_REST = question(f"select count(*) from {REST}")  # noqa: S608  our own name
_PARTITIONS = question("select inhrelid::regclass::text from pg_inherits where inhparent = 'crawl_log'::regclass")


MONTHS_KEPT = 6
PAGE = 2000
"""Rows in one read and in one deletion: a deletion of that many holds SQLite's writer for about 10 ms."""


class ArchivedMonth(msgspec.Struct, frozen=True):
    """One month that was archived."""

    month: Month
    file: str | None
    """Its key in the store; None when it held no row."""
    rows: int


async def archive_months(db: Database, files: FileStore, *, now: Millis) -> list[ArchivedMonth]:
    """Move every month before the last six into files; what was done, oldest first."""
    months = await _months_before(db, month_of(now).plus(-MONTHS_KEPT))
    return [await archive_month(db, month, files) for month in months]


async def archive_month(db: Database, month: Month, files: FileStore, page: int = PAGE) -> ArchivedMonth:
    """Move one month into its file, and out of the database only what can be read back from there."""
    exported = await _export(db, month, files, page)
    if db.engine == "postgres":
        await db.with_tx(partial(_drop_tx, month=month, exported=exported))
    if await db.read(partial(count_logs_tx, month=month)):
        await _remove(db, month, files, page)
    return ArchivedMonth(month, month.file if exported else None, exported)


async def _months_before(db: Database, first_kept: Month) -> list[Month]:
    """Those that have a partition, and those from the oldest row on."""
    months = {month for month in await partitions(db) if month < first_kept}
    oldest = await db.read(oldest_log_tx)
    if oldest is not None:
        month = month_of(oldest)
        while month < first_kept:
            months.add(month)
            month = month.plus(1)
    return sorted(months)


async def _export(db: Database, month: Month, files: FileStore, page: int) -> int:
    """Write the month's rows to its file; how many there were. Without rows the file stays as it is."""
    rows = await db.read(partial(page_logs_tx, month=month, after=None, most=page))
    if not rows:
        return 0
    async with files.local(month.file) as file:
        exported = await _write(db, month, file, rows=rows, page=page)
        digest = await asyncio.to_thread(digest_of, file)
        await files.put(month.file, file, digest=digest)
        if await files.digest(month.file) != digest:
            raise DatabaseError(f"{month.file} could not be read back from {files.name} as it was written")
    return exported


async def _write(db: Database, month: Month, file: Path, *, rows: Sequence[StoredLogRow], page: int) -> int:
    """Merge the month's rows, of which these are the first, into the file; how many there were."""
    exported = 0
    writer = await asyncio.to_thread(LogArchiveWriter, file)
    try:
        while rows:
            exported += len(rows)
            await asyncio.to_thread(writer.add, rows)
            rows = await db.read(partial(page_logs_tx, month=month, after=rows[-1], most=page))
        await asyncio.to_thread(writer.finish)
    finally:
        await asyncio.to_thread(writer.close)
    return exported


async def _drop_tx(tx: Tx, month: Month, exported: int) -> None:
    """Drop the month's partition, provided that nothing was added to it since it was exported."""
    if not await lock_partition_tx(tx, month):
        return
    there = await count_logs_tx(tx, month)
    if there != exported:
        raise DatabaseError(
            f"{month.table} changed while it was archived: {exported} rows, then {there}. Run it again."
        )
    await drop_partition_tx(tx, month)


async def _remove(db: Database, month: Month, files: FileStore, page: int) -> None:
    """Delete in small steps what the file holds."""
    async with files.local(month.file) as file:
        lines = read_archive(file)
        while ids := await asyncio.to_thread(lambda: [line.id for line in islice(lines, page)]):
            await db.with_tx(partial(remove_logs_tx, month=month, ids=ids))
