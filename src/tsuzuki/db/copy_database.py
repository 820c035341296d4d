"""Copies a SQLite file into a PostgreSQL database: in chunks, resumable, and compared at the end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import apsw
import asyncpg
import msgspec

from tsuzuki.db.copy_tables import ChecksumBuilder, Table, TableChecksum, converter, copy_words, tables_of
from tsuzuki.db.database import Database, DatabaseOptions
from tsuzuki.db.deadlines import long_deadline
from tsuzuki.db.engines import open_database
from tsuzuki.db.errors import DatabaseError, SchemaRefused
from tsuzuki.db.migrate import migrate
from tsuzuki.db.migrate_postgres import is_unfinished
from tsuzuki.db.postgres import connect_once
from tsuzuki.db.sqlite_file import connect, path_of, refuse_in_use

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


async def begin_copy(target: Connection, tables: list[Table]) -> None:
    """Record that a copy begins; SchemaRefused when the database has content of its own."""
    for table in tables:
        if await target.fetchval(f"select exists (select 1 from {table.name})"):  # noqa: S608  a table's name
            raise SchemaRefused(
                f"The target already has rows in {table.name}. Copy into an empty database, or empty this one with "
                "`tsuzuki migrate --recreate` with TSUZUKI_DATABASE_URL set to it."
            )
    await target.execute(_LEDGER)


async def progress_of(target: Connection, table: Table) -> CopyProgress:
    """How far this table has come."""
    row = await target.fetchrow("select last_key, rows from database_copy where table_name = $1", table.name)
    return CopyProgress() if row is None else CopyProgress(_read_key(row["last_key"]), row["rows"])


async def advance_copy(target: Connection, table: Table, last_key: list[Any], rows: int) -> None:
    """Record a chunk, in its transaction."""
    key = [{"hex": part.hex()} if isinstance(part, bytes) else part for part in last_key]
    await target.execute(_ADVANCE, table.name, msgspec.json.encode(key).decode(), rows)


def _read_key(text: str | None) -> list[Any] | None:
    if text is None:
        return None
    return [bytes.fromhex(part["hex"]) if isinstance(part, dict) else part for part in msgspec.json.decode(text)]


Row = tuple[Any, ...]

CHUNK = 2_000


class CopyStep(msgspec.Struct, frozen=True):
    """Progress of a copy, for whoever watches."""

    verb: str
    """`copy` or `compare`."""
    table: str
    rows: int
    of: int


Watch = Callable[[CopyStep], None]


class CopyMismatch(DatabaseError):
    """The two databases do not hold the same."""


class CopyResult(msgspec.Struct, frozen=True):
    """What a finished copy holds."""

    tables: int
    rows: int
    was_resumed: bool


class DatabaseCopier:
    """One copy from a file to a server; both are open until `close`."""

    def __init__(self, source: apsw.Connection, target: Connection, watch: Watch) -> None:
        self._source = source
        self._target = target
        self._watch = watch

    async def copy(self) -> CopyResult:
        """Copy what is not there yet; the rows are in when this returns, the copy is not yet whole."""
        tables = await tables_of(self._source, self._target)
        resumed = await is_unfinished(self._target)
        if not resumed:
            async with self._target.transaction():
                await begin_copy(self._target, tables)
                await self._set_triggers(tables, "disable")
        rows = 0
        for table in tables:
            rows += await self._copy_table(table)
        await copy_words(self._source, self._target)
        return CopyResult(len(tables), rows, resumed)

    async def finish(self) -> None:
        """Compare both sides, set the sequences and mark the copy as finished; `CopyMismatch` names tables."""
        tables = await tables_of(self._source, self._target)
        wrong = [table.name for table in tables if await self._sum_source(table) != await self._sum_target(table)]
        if wrong:
            raise CopyMismatch(
                f"After the copy these tables differ: {', '.join(wrong)}. Was something still writing to the source? "
                "Stop every Tsuzuki that uses it, empty the target with `tsuzuki migrate --recreate`, and copy again."
            )
        async with self._target.transaction():
            for table in tables:
                await self._number_on(table)
            await self._set_triggers(tables, "enable")
            await self._target.execute("drop table database_copy")

    async def _copy_table(self, table: Table) -> int:
        total = self._source.execute(f"select count(*) from {table.name}").get  # noqa: S608  a table's name
        done = await progress_of(self._target, table)
        convert = converter(table)
        places = [table.columns.index(column) for column in table.key]
        copied = done.rows
        self._watch(CopyStep("copy", table.name, copied, total))
        last = done.last_key
        while chunk := await asyncio.to_thread(self._chunk, table, last):
            last = [chunk[-1][place] for place in places]
            async with self._target.transaction():
                await self._target.copy_records_to_table(
                    table.name, records=map(convert, chunk), columns=list(table.columns)
                )
                await advance_copy(self._target, table, last, len(chunk))
            copied += len(chunk)
            self._watch(CopyStep("copy", table.name, copied, total))
        return copied

    def _chunk(self, table: Table, after: Sequence[Any] | None) -> list[Row]:
        key = ", ".join(table.key)
        beyond = f"where ({key}) > ({', '.join('?' * len(table.key))})" if after else ""
        text = f"select {_columns(table)} from {table.name} {beyond} order by {key} limit {CHUNK}"  # noqa: S608  names of our schema
        return self._source.execute(text, tuple(after or ())).fetchall()

    async def _sum_source(self, table: Table) -> TableChecksum:
        summing = ChecksumBuilder(table)
        last: list[Any] | None = None
        places = [table.columns.index(column) for column in table.key]
        while chunk := await asyncio.to_thread(self._chunk, table, last):
            last = [chunk[-1][place] for place in places]
            await asyncio.to_thread(summing.add, chunk)
        return summing.result()

    async def _sum_target(self, table: Table) -> TableChecksum:
        summing = ChecksumBuilder(table)
        async with self._target.transaction():
            text = f"select {_columns(table)} from {table.name}"  # noqa: S608  names of our schema
            cursor = await self._target.cursor(text)
            while rows := await cursor.fetch(CHUNK):
                await asyncio.to_thread(summing.add, map(tuple, rows))
        self._watch(CopyStep("compare", table.name, summing.result().rows, summing.result().rows))
        return summing.result()

    async def _number_on(self, table: Table) -> None:
        """Set the sequence behind every number that was ever used, deleted rows included."""
        if table.identity is None:
            return
        ever = self._source.execute("select max(seq) from sqlite_sequence where name = ?", (table.name,)).get or 0
        now = self._source.execute(f"select coalesce(max({table.identity}), 0) from {table.name}").get  # noqa: S608  names of our schema
        if most := max(ever, now):
            named = await self._target.fetchval("select pg_get_serial_sequence($1, $2)", table.name, table.identity)
            await self._target.execute("select setval($1, $2)", named, most)

    async def _set_triggers(self, tables: Sequence[Table], verb: str) -> None:
        """Triggers are off while copying: what they derive is copied itself."""
        for table in tables:
            await self._target.execute(f"alter table {table.name} {verb} trigger user")


@asynccontextmanager
async def open_copier(source: Path, target_url: str, watch: Watch) -> AsyncIterator[DatabaseCopier]:
    """A copier between this file and this server; the file is seen as it is now, whatever happens to it."""
    file = await asyncio.to_thread(connect, source)
    try:
        server = await connect_once(target_url)
        try:
            with _snapshot(file):
                yield DatabaseCopier(file, server, watch)
        finally:
            await server.close()
    finally:
        file.close()


def _columns(table: Table) -> str:
    return ", ".join(f'"{column}"' for column in table.columns)


@contextmanager
def _snapshot(file: apsw.Connection) -> Iterator[None]:
    file.execute("begin")
    file.execute("select 1 from sqlite_schema").fetchall()  # only the first read takes the snapshot
    try:
        yield
    finally:
        file.execute("rollback")


Index = Callable[[Database], Awaitable[None]]
"""Makes the target's search index from its rows; it lies above this package, so it is passed in."""


async def copy_database(
    source: DatabaseOptions, target: DatabaseOptions, *, now: int, index: Index, watch: Watch
) -> CopyResult:
    """Copy a SQLite file into an empty PostgreSQL database, or finish such a copy."""
    if not source.url.startswith("sqlite:") or target.url.startswith("sqlite:"):
        raise SchemaRefused("A database is copied from SQLite to PostgreSQL: `sqlite:///...` to `postgresql://...`.")
    if not path_of(source.url).is_file():
        raise SchemaRefused(f"There is no database at {path_of(source.url)}.")
    refuse_in_use(path_of(source.url))  # what is written meanwhile would be missing
    await migrate(source, now=now)
    if not await _is_begun(target.url):
        await migrate(target, now=now)
    async with open_copier(path_of(source.url), target.url, watch) as copier:
        copied = await copier.copy()
        db = await open_database(target)
        try:
            with long_deadline():
                await index(db)
        finally:
            await db.close()
        await copier.finish()
    return copied


async def _is_begun(url: str) -> bool:
    connection = await connect_once(url)
    try:
        return await is_unfinished(connection)
    finally:
        await connection.close()
