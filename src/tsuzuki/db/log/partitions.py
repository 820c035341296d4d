"""The partitions of `crawl_log` on PostgreSQL, one for each month (R52); on SQLite the table is plain.

A row that finds no partition of its month lands in `crawl_log_rest`: nothing is lost, but that one should stay empty.
"""

from functools import partial

import structlog

from tsuzuki.db.database import Database
from tsuzuki.db.log.months import Month, month_of
from tsuzuki.db.queries import EngineSql, Query
from tsuzuki.db.tx import Tx
from tsuzuki.model.times import Millis

MONTHS_AHEAD = 2
REST = "crawl_log_rest"
LOCK_PATIENCE = "10s"

_log = structlog.stdlib.get_logger("tsuzuki.db")


async def look_after_partitions(db: Database, now: Millis) -> list[Month]:
    """`ensure_partitions`, and a warning for as long as rows lie in none of them."""
    made = await ensure_partitions(db, now)
    if rows := await rows_in_rest(db):
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


async def rows_in_rest(db: Database) -> int:
    """How many rows found no partition; anything but 0 means that `ensure_partitions` came too late."""
    return 0 if db.engine == "sqlite" else await db.read(lambda tx: tx.one(int, _COUNT_REST))


async def partitions(db: Database) -> list[Month]:
    """The months that have a partition, oldest first."""
    if db.engine == "sqlite":
        return []
    names = await db.read(lambda tx: tx.many(str, _PARTITIONS))
    return sorted(Month(int(name[-7:-3]), int(name[-2:])) for name in names if name != REST)


async def drop_partition_tx(tx: Tx, month: Month) -> None:
    """Its rows go with it."""
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
    """What names a partition, which no parameter can; only our own names and numbers are put in."""
    text = EngineSql(sql, ())
    return Query("partition", text, text, writes=True, returns_rows=False, inline=False)


def question(sql: str) -> Query:
    """The same for what gives rows."""
    text = EngineSql(sql, ())
    return Query("partition", text, text, writes=False, returns_rows=True, inline=False)


_COUNT_REST = question(f"select count(*) from {REST}")  # noqa: S608  our own name
_PARTITIONS = question("select inhrelid::regclass::text from pg_inherits where inhparent = 'crawl_log'::regclass")
