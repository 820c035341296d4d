"""Migrating a PostgreSQL database."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

import asyncpg

from tsuzuki.db.errors import DatabaseUnavailable, SchemaRefused
from tsuzuki.db.migration_steps import LEDGER, NOT_OURS, Applied, Migration, MigrationOutcome, outcome, plan
from tsuzuki.db.postgres import READ_ONLY, connect_once, read_only

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

LOCK_KEY = 0x7473757A  # "tsuz"
LOCK_PATIENCE_S = 120


async def migrate_server(url: str, known: Sequence[Migration], *, now: int, dry_run: bool) -> MigrationOutcome:
    """Each step in its transaction, all of them behind one lock, which other starters wait for.

    Where there is nothing to do nothing is locked: behind a pooler the lock of a session would outlive it.
    """
    try:
        async with _connected(url) as connection:
            if not _is_current(await _applied(connection), known):
                await _lock(connection)
            if not dry_run:
                await _refuse_read_only(connection)
            if await is_unfinished(connection):
                raise SchemaRefused(UNFINISHED)
            applied = await _applied(connection)
            others = await _tables(connection)
            steps = plan(applied, known, other_tables=others)
            for step in () if dry_run else steps:
                await _apply(connection, step, now)
            return outcome(applied, steps, dry_run=dry_run)
    except READ_ONLY as error:
        raise read_only(error) from error


async def _refuse_read_only(connection: Connection) -> None:
    """DatabaseUnavailable now, rather than at the first write of whoever starts."""
    if await connection.fetchval("select pg_is_in_recovery()"):
        raise DatabaseUnavailable("This PostgreSQL is a read-only standby: use the address of its primary.")
    if await connection.fetchval("select current_setting('transaction_read_only') = 'on'"):
        raise DatabaseUnavailable(
            "This user can only read from PostgreSQL: default_transaction_read_only is on for the user or the database."
        )


async def _apply(connection: Connection, step: Migration, now: int) -> None:
    try:
        async with connection.transaction():
            await connection.execute(LEDGER)
            removed = await connection.fetchval(step.removes[1]) if step.removes else 0
            await connection.execute(step.sql)
            await connection.execute("insert into schema_migration values ($1, $2, $3, $4)", *step.ledger_row(now))
        step.log_removed(removed)
    except asyncpg.PostgresError as error:
        raise step.failure(error) from error


async def empty_server(url: str) -> None:
    """Drop every table; SchemaRefused when they are not ours."""
    async with _connected(url) as connection:
        await _lock(connection)
        if not await _applied(connection) and await _tables(connection):
            raise SchemaRefused(NOT_OURS)
        await connection.execute("drop schema public cascade; create schema public")


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[Connection]:
    connection = await connect_once(url)
    try:
        yield connection
    finally:
        await connection.close()


async def _lock(connection: Connection) -> None:
    """Take the lock of migrations, which goes with the connection.

    Polled, not waited for: a waiting lock holds a snapshot and deadlocks with CREATE INDEX CONCURRENTLY.
    """
    deadline = time.monotonic() + LOCK_PATIENCE_S
    while not await connection.fetchval("select pg_try_advisory_lock($1)", LOCK_KEY):
        if time.monotonic() > deadline:
            raise DatabaseUnavailable("Another process has been migrating this database for two minutes.")
        await asyncio.sleep(0.1)


def _is_current(applied: Sequence[Applied], known: Sequence[Migration]) -> bool:
    """Whether these are all the steps that there are."""
    return [(done.version, done.checksum) for done in applied] == [(step.version, step.checksum) for step in known]


async def _tables(connection: Connection) -> set[str]:
    rows = await connection.fetch(
        "select tablename from pg_tables where schemaname = current_schema() and tablename <> 'schema_migration'"
    )
    return {row[0] for row in rows}


async def _applied(connection: Connection) -> list[Applied]:
    if await connection.fetchval("select to_regclass('schema_migration')") is None:
        return []
    rows = await connection.fetch("select version, checksum from schema_migration order by version")
    return [Applied(version, checksum) for version, checksum in rows]


UNFINISHED = (
    "A copy into this database was started but not finished. Run `tsuzuki copy-database` again to finish it, "
    "or `tsuzuki migrate --recreate` to begin with an empty one."
)


async def is_unfinished(target: Connection) -> bool:
    """Whether a copy into this database was started but not finished."""
    return await target.fetchval("select to_regclass('database_copy')") is not None
