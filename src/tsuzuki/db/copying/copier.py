"""The copy itself. The source is read in one snapshot; what a crash interrupts is continued by the next run."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import apsw
import asyncpg
import msgspec

from tsuzuki.db.copying import ledger
from tsuzuki.db.copying.checksums import Sum, Summing
from tsuzuki.db.copying.tables import Table, converter, tables_of
from tsuzuki.db.copying.words import copy_words
from tsuzuki.db.errors import DatabaseError
from tsuzuki.db.postgres import connect_once
from tsuzuki.db.sqlite_file import connect
from tsuzuki.db.unfinished import is_unfinished

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Row = tuple[Any, ...]

CHUNK = 2_000


class CopyStep(msgspec.Struct, frozen=True):
    """Something that was done: for whoever watches."""

    verb: str
    """`copy` or `compare`."""
    table: str
    rows: int
    of: int


Watch = Callable[[CopyStep], None]


class Differs(DatabaseError):
    """The two databases do not hold the same."""


class Copied(msgspec.Struct, frozen=True):
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

    async def copy(self) -> Copied:
        """Copy what is not there yet; the rows are in when this returns, the copy is not yet whole."""
        tables = await tables_of(self._source, self._target)
        resumed = await is_unfinished(self._target)
        if not resumed:
            async with self._target.transaction():
                await ledger.begin(self._target, tables)
                await self._set_triggers(tables, "disable")
        rows = 0
        for table in tables:
            rows += await self._copy_table(table)
        await copy_words(self._source, self._target)
        return Copied(len(tables), rows, resumed)

    async def finish(self) -> None:
        """Compare both sides, number on from where the source stands, and call it whole; `Differs` names tables."""
        tables = await tables_of(self._source, self._target)
        wrong = [table.name for table in tables if await self._sum_source(table) != await self._sum_target(table)]
        if wrong:
            raise Differs(
                f"After the copy these tables differ: {', '.join(wrong)}. Was something still writing to the source? "
                "Stop every Tsuzuki that uses it, empty the target by `tsuzuki migrate --recreate`, and copy again."
            )
        async with self._target.transaction():
            for table in tables:
                await self._number_on(table)
            await self._set_triggers(tables, "enable")
            await ledger.end(self._target)

    async def _copy_table(self, table: Table) -> int:
        total = self._source.execute(f"select count(*) from {table.name}").get  # noqa: S608  a table's name
        done = await ledger.progress_of(self._target, table)
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
                await ledger.advance(self._target, table, last, len(chunk))
            copied += len(chunk)
            self._watch(CopyStep("copy", table.name, copied, total))
        return copied

    def _chunk(self, table: Table, after: Sequence[Any] | None) -> list[Row]:
        key = ", ".join(table.key)
        beyond = f"where ({key}) > ({', '.join('?' * len(table.key))})" if after else ""
        text = f"select {_columns(table)} from {table.name} {beyond} order by {key} limit {CHUNK}"  # noqa: S608  names of our schema
        return self._source.execute(text, tuple(after or ())).fetchall()

    async def _sum_source(self, table: Table) -> Sum:
        summing = Summing(table)
        last: list[Any] | None = None
        places = [table.columns.index(column) for column in table.key]
        while chunk := await asyncio.to_thread(self._chunk, table, last):
            last = [chunk[-1][place] for place in places]
            await asyncio.to_thread(summing.add, chunk)
        return summing.result()

    async def _sum_target(self, table: Table) -> Sum:
        summing = Summing(table)
        async with self._target.transaction():
            text = f"select {_columns(table)} from {table.name}"  # noqa: S608  names of our schema
            cursor = await self._target.cursor(text)
            while rows := await cursor.fetch(CHUNK):
                await asyncio.to_thread(summing.add, map(tuple, rows))
        self._watch(CopyStep("compare", table.name, summing.result().rows, summing.result().rows))
        return summing.result()

    async def _number_on(self, table: Table) -> None:
        """Let new rows be numbered after every row that ever was: also those that are gone."""
        if table.identity is None:
            return
        ever = self._source.execute("select max(seq) from sqlite_sequence where name = ?", (table.name,)).get or 0
        now = self._source.execute(f"select coalesce(max({table.identity}), 0) from {table.name}").get  # noqa: S608  names of our schema
        if most := max(ever, now):
            named = await self._target.fetchval("select pg_get_serial_sequence($1, $2)", table.name, table.identity)
            await self._target.execute("select setval($1, $2)", named, most)

    async def _set_triggers(self, tables: Sequence[Table], verb: str) -> None:
        """What triggers would derive is copied itself."""
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
