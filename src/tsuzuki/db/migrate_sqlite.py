"""Migrating a SQLite file."""

import itertools
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import apsw

from tsuzuki.db.errors import DatabaseUnavailable, SchemaRefused
from tsuzuki.db.migration_steps import LEDGER, NOT_OURS, Applied, Migration, MigrationOutcome, outcome, plan
from tsuzuki.db.sqlite_file import connect_bare, make_private, reason_of, refuse_read_only


def migrate_file(path: Path, known: Sequence[Migration], *, now: int, dry_run: bool) -> MigrationOutcome:
    """All steps in one transaction, which other starters wait for."""
    if dry_run and not path.exists():
        return outcome([], known, dry_run=True)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatabaseUnavailable(f"The folder {path.parent} cannot be created: {error.strerror}.") from error
    refuse_read_only(path)
    make_private(path)
    try:
        # Bare: a file that is not ours stays as it is, and a step may rebuild a table that others point to.
        with closing(connect_bare(path)) as connection:
            connection.execute("begin immediate")
            applied = _applied(connection)
            steps = plan(applied, known, other_tables=_tables(connection))
            if steps and not dry_run:
                _apply(connection, steps, now)
            connection.execute("rollback" if dry_run else "commit")
            return outcome(applied, steps, dry_run=dry_run)
    except apsw.NotADBError:
        raise SchemaRefused(f"{path} is not a SQLite database.") from None
    except (apsw.BusyError, apsw.CantOpenError, apsw.FullError, apsw.IOError, apsw.ReadOnlyError) as error:
        raise DatabaseUnavailable(f"The database file {path} cannot be migrated: {reason_of(error)}") from error


def _apply(connection: apsw.Connection, steps: Sequence[Migration], now: int) -> None:
    connection.execute(LEDGER)
    for step in steps:
        try:
            removed = connection.execute(step.removes[1]).fetchall()[0][0] if step.removes else 0
            connection.execute(step.sql).fetchall()  # to the end: a statement that gives rows would stop it there
            for orphan in connection.execute("pragma foreign_key_check"):
                raise step.failure(ValueError(f"it leaves {orphan[0]} pointing to nothing in {orphan[2]}"))
        except apsw.Error as error:
            raise step.failure(error) from error
        connection.execute("insert into schema_migration values (?, ?, ?, ?)", step.ledger_row(now))
        step.log_removed(removed)


def _tables(connection: apsw.Connection) -> set[str]:
    rows = connection.execute("select name from sqlite_schema where type = 'table' and name <> 'schema_migration'")
    return {str(name) for (name,) in rows}


def _applied(connection: apsw.Connection) -> list[Applied]:
    if not connection.execute("select 1 from sqlite_schema where name = 'schema_migration'").fetchall():
        return []
    rows = connection.execute("select version, checksum from schema_migration order by version")
    return [Applied(version, checksum) for version, checksum in rows]


def put_aside(path: Path, now: int) -> Path | None:
    """Rename the file, after its WAL was folded in: SQLite does that only where nobody else has it open.

    SchemaRefused when it is not ours.
    """
    if not path.exists():
        return None
    try:
        with closing(connect_bare(path)) as connection:
            connection.set_busy_timeout(0)
            if not _applied(connection) and _tables(connection):
                raise SchemaRefused(NOT_OURS)
            connection.execute("pragma journal_mode = delete")
    except apsw.BusyError:
        raise DatabaseUnavailable(f"{path} is in use; stop every Tsuzuki first.") from None
    except apsw.NotADBError:
        raise SchemaRefused(f"{path} is not a SQLite database.") from None
    numbered = (path.with_name(f"{path.name}.{now + more}.bak") for more in itertools.count())
    return path.rename(next(kept for kept in numbered if not kept.exists()))
