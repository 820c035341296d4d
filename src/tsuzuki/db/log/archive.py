"""Old months of the log leave the database for a file (R52): exported, checked, and only then removed.

A month is one gzipped file of JSON lines, oldest first. A run that was interrupted is simply run again: what is in the
file already is kept, and what is still in the database is merged in.
"""

import asyncio
from functools import partial
from itertools import islice
from pathlib import Path

import msgspec

from tsuzuki.db.database import Database
from tsuzuki.db.errors import DatabaseError
from tsuzuki.db.log.files import LogArchiveWriter, read_archive
from tsuzuki.db.log.months import Month, month_of
from tsuzuki.db.log.partitions import drop_partition_tx, lock_partition_tx, partitions
from tsuzuki.db.log.store import count_logs_tx, oldest_log_tx, page_logs_tx, remove_logs_tx
from tsuzuki.db.tx import Tx
from tsuzuki.model.times import Millis

MONTHS_KEPT = 6
PAGE = 2000
"""Rows in one read and in one deletion: a deletion of that many holds SQLite's writer for about 10 ms."""


class Archived(msgspec.Struct, frozen=True):
    """What became of one month."""

    month: Month
    file: Path | None
    """None when it held no row."""
    rows: int


async def archive_months(db: Database, folder: Path, *, now: Millis) -> list[Archived]:
    """Move every month before the last six into `folder`; what was done, oldest first."""
    months = await _months_before(db, month_of(now).plus(-MONTHS_KEPT))
    return [await archive_month(db, month, folder) for month in months]


async def archive_month(db: Database, month: Month, folder: Path, page: int = PAGE) -> Archived:
    """Move one month into its file, and out of the database only what can be read back from there."""
    file = folder / f"{month.table}.jsonl.gz"
    exported = await _export(db, month, file, page)
    if db.engine == "postgres":
        await db.with_tx(partial(_drop_tx, month=month, exported=exported))
    if await db.read(partial(count_logs_tx, month=month)):
        await _remove(db, month, file, page)
    return Archived(month, file if exported else None, exported)


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


async def _export(db: Database, month: Month, file: Path, page: int) -> int:
    """Write the month's rows to its file; how many there were. Without rows the file stays as it is."""
    rows = await db.read(partial(page_logs_tx, month=month, after=None, most=page))
    if not rows:
        return 0
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


async def _remove(db: Database, month: Month, file: Path, page: int) -> None:
    """Delete in small steps what the file holds."""
    lines = read_archive(file)
    while ids := await asyncio.to_thread(lambda: [line.id for line in islice(lines, page)]):
        await db.with_tx(partial(remove_logs_tx, month=month, ids=ids))
