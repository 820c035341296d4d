"""Numbered migrations, one folder per engine, each applied once in a transaction together with its checksum."""

import asyncio
import hashlib
import re
import time
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from tsuzuki.db.database import DatabaseOptions
from tsuzuki.db.errors import DatabaseUnavailable, SchemaRefused
from tsuzuki.db.queries import Engine

LOCK_KEY = 0x7473757A  # "tsuz"
LOCK_PATIENCE_S = 120
RECREATE = "tsuzuki migrate --recreate"

_LEDGER = """
create table if not exists schema_migration (
  version integer primary key, name text not null, checksum text not null, applied_at bigint not null
)"""
_FILE = re.compile(r"(\d{4})_(\w+)\.sql")


class Migration(msgspec.Struct, frozen=True):
    """One step of the schema."""

    version: int
    name: str
    sql: str
    checksum: str


class Applied(msgspec.Struct, frozen=True):
    """A step that a database remembers."""

    version: int
    checksum: str


class Outcome(msgspec.Struct, frozen=True):
    """What a run did, or with a dry run would do."""

    before: int
    after: int
    steps: tuple[Migration, ...]


def available(engine: Engine) -> list[Migration]:
    """The steps this program brings, in order."""
    folder = files("tsuzuki.db.migrations") / engine
    steps = []
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if match := _FILE.fullmatch(file.name):
            sql = file.read_text("utf-8")
            steps.append(Migration(int(match[1]), match[2], sql, hashlib.sha256(sql.encode()).hexdigest()))
    return steps


def plan(applied: Sequence[Applied], known: Sequence[Migration], *, has_other_tables: bool = False) -> list[Migration]:
    """What is still to be done; SchemaRefused where that cannot be known."""
    if not applied and has_other_tables:
        raise SchemaRefused("This database holds tables that Tsuzuki did not make. Name another one.")
    newest = known[-1].version if known else 0
    done = {step.version: step.checksum for step in applied}
    if done and max(done) > newest:
        raise SchemaRefused(
            f"This database was made by a newer Tsuzuki (schema {max(done)}, this program knows {newest}). "
            "Upgrade the program, or restore a backup from before."
        )
    for step in known:
        if done.get(step.version, step.checksum) != step.checksum:
            raise SchemaRefused(
                f"This database was made from another migration {step.version:04d} than this program brings. "
                f"A development database is recreated, empty, by: {RECREATE}"
            )
    return [step for step in known if step.version not in done]


async def migrate(options: DatabaseOptions, *, now: int, dry_run: bool = False) -> Outcome:
    """Bring the database up to this program's schema. Of several processes that start at once, one does it."""
    if options.url.startswith("sqlite:"):
        from tsuzuki.db.sqlite import path_of

        return await asyncio.to_thread(_migrate_sqlite, path_of(options.url), now, dry_run=dry_run)
    return await _migrate_postgres(options.url, now, dry_run=dry_run)


async def recreate(options: DatabaseOptions, *, now: int) -> str:
    """Put an old database aside (SQLite) or empty it (PostgreSQL), then migrate; says where the old one is."""
    if options.url.startswith("sqlite:"):
        from tsuzuki.db.sqlite import path_of

        kept = await asyncio.to_thread(_put_aside, path_of(options.url), now)
        await migrate(options, now=now)
        return f"the old file is {kept}" if kept else "there was no old file"
    from tsuzuki.db.postgres import connect_once

    connection = await connect_once(options.url)
    try:
        await connection.execute("drop schema public cascade; create schema public")
    finally:
        await connection.close()
    await migrate(options, now=now)
    return "the old tables are gone"


def _outcome(applied: Sequence[Applied], steps: Sequence[Migration], *, dry_run: bool) -> Outcome:
    before = max((step.version for step in applied), default=0)
    after = before if dry_run or not steps else steps[-1].version
    return Outcome(before, after, tuple(steps))


# -- SQLite


def _put_aside(path: Path, now: int) -> Path | None:
    if not path.exists():
        return None
    kept = path.with_name(f"{path.name}.{now}.bak")
    path.rename(kept)
    for suffix in ("-wal", "-shm"):
        beside = path.with_name(path.name + suffix)
        if beside.exists():
            beside.rename(kept.with_name(kept.name + suffix))
    return kept


def _migrate_sqlite(path: Path, now: int, *, dry_run: bool) -> Outcome:
    from tsuzuki.db.sqlite import connect

    known = available("sqlite")
    if dry_run and not path.exists():
        return _outcome([], known, dry_run=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = connect(path)
    try:
        connection.execute("begin immediate")  # other starters wait here
        tables = {name for (name,) in connection.execute("select name from sqlite_schema where type = 'table'")}
        applied = _remembered(connection) if "schema_migration" in tables else []
        strange = bool(tables - {"schema_migration"}) and not applied
        steps = plan(applied, known, has_other_tables=strange)
        if dry_run:
            connection.execute("rollback")
            return _outcome(applied, steps, dry_run=True)
        connection.execute(_LEDGER)
        for step in steps:
            connection.execute(step.sql)
            connection.execute("insert into schema_migration values (?, ?, ?, ?)", _ledger_row(step, now))
        connection.execute("commit")
        return _outcome(applied, steps, dry_run=False)
    finally:
        if connection.in_transaction:
            connection.execute("rollback")
        connection.close()


def _remembered(connection: Any) -> list[Applied]:
    rows = connection.execute("select version, checksum from schema_migration order by version")
    return [Applied(version, checksum) for version, checksum in rows]


def _ledger_row(step: Migration, now: int) -> tuple[int, str, str, int]:
    return (step.version, step.name, step.checksum, now)


# -- PostgreSQL


async def _migrate_postgres(url: str, now: int, *, dry_run: bool) -> Outcome:
    from tsuzuki.db.postgres import connect_once

    connection = await connect_once(url)
    try:
        await _wait_for_lock(connection)
        tables = await connection.fetch("select tablename from pg_tables where schemaname = current_schema()")
        names = {row[0] for row in tables}
        applied = []
        if "schema_migration" in names:
            rows = await connection.fetch("select version, checksum from schema_migration order by version")
            applied = [Applied(*row) for row in rows]
        steps = plan(applied, available("postgres"), has_other_tables=bool(names - {"schema_migration"}))
        if not dry_run:
            await _apply_postgres(connection, steps, now)
        return _outcome(applied, steps, dry_run=dry_run)
    finally:
        await connection.close()


async def _apply_postgres(connection: Any, steps: Sequence[Migration], now: int) -> None:
    await connection.execute(_LEDGER)
    for step in steps:
        async with connection.transaction():
            await connection.execute(step.sql)
            await connection.execute("insert into schema_migration values ($1, $2, $3, $4)", *_ledger_row(step, now))


async def _wait_for_lock(connection: Any) -> None:
    """Polled, not waited for: a waiting lock holds a snapshot and deadlocks with CREATE INDEX CONCURRENTLY."""
    deadline = time.monotonic() + LOCK_PATIENCE_S
    while not await connection.fetchval("select pg_try_advisory_lock($1)", LOCK_KEY):
        if time.monotonic() > deadline:
            raise DatabaseUnavailable("Another process has been migrating this database for two minutes.")
        await asyncio.sleep(0.1)
