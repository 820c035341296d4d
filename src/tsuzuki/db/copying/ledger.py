"""How far a copy has come, kept in the target beside the rows: written in the transaction of each chunk."""

from typing import Any, TypeAlias

import asyncpg
import msgspec

from tsuzuki.db.copying.tables import Table
from tsuzuki.db.errors import SchemaRefused

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

_LEDGER = """
create table database_copy (
  table_name text primary key,
  last_key text,
  rows bigint not null default 0
)
"""
_ADVANCE = """
insert into database_copy (table_name, last_key, rows) values ($1, $2, $3)
on conflict (table_name) do update set last_key = excluded.last_key, rows = database_copy.rows + excluded.rows
"""


class CopyProgress(msgspec.Struct, frozen=True):
    """What of a table has been copied."""

    last_key: list[Any] | None = None
    """The key of the last row, as SQLite has it; bytes as hex."""
    rows: int = 0


async def begin(target: Connection, tables: list[Table]) -> None:
    """Note that a copy begins; SchemaRefused when the database has content of its own."""
    for table in tables:
        if await target.fetchval(f"select exists (select 1 from {table.name})"):  # noqa: S608  a table's name
            raise SchemaRefused(
                f"The target has rows in {table.name} already. Copy into an empty database, or empty this one by "
                "`tsuzuki migrate --recreate` with TSUZUKI_DATABASE_URL set to it."
            )
    await target.execute(_LEDGER)


async def progress_of(target: Connection, table: Table) -> CopyProgress:
    """How far this table has come."""
    row = await target.fetchrow("select last_key, rows from database_copy where table_name = $1", table.name)
    return CopyProgress() if row is None else CopyProgress(_read_key(row["last_key"]), row["rows"])


async def advance(target: Connection, table: Table, last_key: list[Any], rows: int) -> None:
    """Note a chunk; in its transaction."""
    await target.execute(_ADVANCE, table.name, msgspec.json.encode(_shown_key(last_key)).decode(), rows)


async def end(target: Connection) -> None:
    """Forget the ledger: the copy is whole."""
    await target.execute("drop table database_copy")


def _shown_key(key: list[Any]) -> list[Any]:
    return [{"hex": part.hex()} if isinstance(part, bytes) else part for part in key]


def _read_key(text: str | None) -> list[Any] | None:
    if text is None:
        return None
    return [bytes.fromhex(part["hex"]) if isinstance(part, dict) else part for part in msgspec.json.decode(text)]
