"""A SQLite file: how every connection to it is set up, what a statement brings, and what its errors mean."""

import os
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import apsw

from tsuzuki.db.errors import (
    CheckViolation,
    DatabaseError,
    DatabaseUnavailable,
    DiskFull,
    ForeignKeyViolation,
    SchemaRefused,
    UniqueViolation,
)
from tsuzuki.db.queries import Query
from tsuzuki.db.tx import Answer, Params, arguments

BUSY_TIMEOUT_MS = 30_000
STATEMENT_CACHE = 500
WRITER_CACHE_KB = 16_000
READER_CACHE_KB = 4_000
"""The cache of each of three readers, in front of the machine's own cache of the file."""
KEPT_WAL_BYTES = 64 * 1024 * 1024
CHECKPOINT_PAGES = 4000
"""SQLite's own 1,000 made every other claim of 500 among a million pay for a checkpoint (27 ms against 12)."""

_LOST = (apsw.FullError, apsw.IOError, apsw.BusyError, apsw.LockedError, apsw.ReadOnlyError, apsw.CantOpenError)
UNBINDABLE = (TypeError, ValueError, OverflowError)


def path_of(url: str) -> Path:
    """The file that `sqlite:///...` names."""
    return Path(url.removeprefix("sqlite://"))


def make_private(path: Path) -> None:
    """An empty file that is its owner's alone, where there is none yet: hashes and keys of people go into it.

    SQLite gives its WAL the rights of its file. What cannot be made fails in whoever opens it.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def refuse_read_only(path: Path) -> None:
    """DatabaseUnavailable for a file, or a folder of it, that this user may not write; it names which."""
    if os.access(path.parent, os.F_OK) and not os.access(path.parent, os.W_OK | os.X_OK):
        raise DatabaseUnavailable(f"The folder {path.parent} is read-only: SQLite must be able to write there.")
    if os.access(path, os.F_OK) and not os.access(path, os.W_OK):
        raise DatabaseUnavailable(f"The database file {path} is read-only: this user cannot write to it.")


def refuse_in_use(path: Path) -> None:
    """DatabaseUnavailable while another connection has the file open: in WAL mode each holds a lock to its end."""
    with closing(connect_bare(path)) as connection:
        connection.set_busy_timeout(0)
        connection.execute("pragma locking_mode = exclusive").fetchall()
        try:
            connection.execute("select count(*) from sqlite_schema").fetchall()
        except apsw.BusyError:
            raise DatabaseUnavailable(f"{path} is in use; stop every Tsuzuki first.") from None
        except apsw.NotADBError:
            raise SchemaRefused(f"{path} is not a SQLite database.") from None


def has_wal_reset_race(version: str) -> bool:
    """True for every SQLite from 3.7.0 to 3.51.2: a checkpoint that races a WAL reset may corrupt the file there.

    The few older branches that got the fix as well are refused too: nothing that we ship needs them.
    """
    numbers = tuple(int(part) for part in version.split(".")[:3])
    return (3, 7, 0) <= numbers <= (3, 51, 2)


def check_version(version: str) -> None:
    """SchemaRefused for a SQLite that may corrupt what we entrust to it."""
    if has_wal_reset_race(version):
        raise SchemaRefused(f"SQLite {version} can corrupt its WAL; install apsw 3.51.3 or newer.")


def connect(path: Path, *, read_only: bool = False, vfs: str | None = None) -> apsw.Connection:
    """A connection set up as every one of ours is: WAL, FULL, foreign keys, patient."""
    refuse_read_only(path)
    try:
        connection = connect_bare(path, vfs=vfs)
        _use_wal(connection)
        connection.execute("pragma synchronous = full")
        connection.execute("pragma foreign_keys = on")
        connection.execute("pragma temp_store = memory")
        connection.execute("pragma secure_delete = fast")  # R123: no secret is left where a row was changed
        connection.execute(f"pragma cache_size = -{READER_CACHE_KB if read_only else WRITER_CACHE_KB}")
        connection.execute(f"pragma journal_size_limit = {KEPT_WAL_BYTES}")
        connection.execute(f"pragma wal_autocheckpoint = {CHECKPOINT_PAGES}")
        if read_only:
            connection.execute("pragma query_only = on")
    except apsw.NotADBError:
        raise SchemaRefused(f"{path} is not a SQLite database.") from None
    except _LOST as error:
        raise DatabaseUnavailable(f"The database file {path} cannot be opened: {reason_of(error)}") from error
    return connection


def _use_wal(connection: apsw.Connection) -> None:
    """SQLite does not wait by itself when another process is changing the mode of a new file at the same moment."""
    deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while connection.execute("pragma journal_mode").get != "wal":
        try:
            connection.execute("pragma journal_mode = wal")
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def connect_bare(path: Path, *, vfs: str | None = None) -> apsw.Connection:
    """A patient connection that has not touched the file yet; SchemaRefused with a SQLite that may corrupt it."""
    check_version(apsw.sqlite_lib_version())
    connection = apsw.Connection(str(path), statementcachesize=STATEMENT_CACHE, vfs=vfs)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    # Otherwise SQLite looks at bound values while it plans, and plans a statement anew whenever they are bound again:
    # for some that was nine tenths of their time. No query of ours needs a plan for one value only.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    return connection


def execute(cursor: apsw.Cursor, query: Query, params: Params) -> Answer:
    """Run one statement to its end. The cursor is kept by the caller: making one costs a third of a small read."""
    if not query.writes:
        return fetch(cursor, query, params)
    connection = cursor.connection
    before = connection.total_changes()
    rows, _ = fetch(cursor, query, params)
    # changes() still holds the previous statement's count when this one changed nothing.
    return rows, connection.changes() if connection.total_changes() != before else 0


def fetch(cursor: apsw.Cursor, query: Query, params: Params) -> Answer:
    """The rows of a statement, when it does not matter how many it touched."""
    text = query.sqlite
    values = arguments(query, text, params)
    try:
        return cursor.execute(text.sql, values).fetchall(), 0
    except apsw.Error as error:
        raise translated(error) from error
    except UNBINDABLE as error:
        raise DatabaseError(f"{query.name} was given a value that SQLite does not take: {error}") from error


def translated(error: BaseException) -> BaseException:
    """The engine's error as ours; others stay as they are."""
    if isinstance(error, apsw.ConstraintError):
        return _constraint(error)
    if isinstance(error, _LOST):
        return DiskFull() if _is_full(error) else DatabaseUnavailable(f"The database cannot be used now: {error}")
    if isinstance(error, apsw.Error):
        return DatabaseError(str(error))
    return error


def reason_of(error: apsw.Error) -> str:
    """What is wrong, for people; SQLite's own words where we have none."""
    return str(DiskFull() if _is_full(error) else error)


def _is_full(error: apsw.Error) -> bool:
    """True also where SQLite speaks of I/O: beside the file it needs another of 32 KB."""
    return isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE


def _constraint(error: apsw.ConstraintError) -> Exception:
    kinds: dict[int, Callable[[str], Exception]] = {
        apsw.SQLITE_CONSTRAINT_UNIQUE: lambda text: UniqueViolation(_unique_on(text)),
        apsw.SQLITE_CONSTRAINT_PRIMARYKEY: lambda text: UniqueViolation(_unique_on(text)),
        apsw.SQLITE_CONSTRAINT_ROWID: lambda text: UniqueViolation(_unique_on(text)),
        apsw.SQLITE_CONSTRAINT_FOREIGNKEY: ForeignKeyViolation,
        apsw.SQLITE_CONSTRAINT_TRIGGER: ForeignKeyViolation,  # ON DELETE RESTRICT
    }
    return kinds.get(getattr(error, "extendedresult", 0), CheckViolation)(str(error))


def _unique_on(text: str) -> str:
    """`UNIQUE constraint failed: source.slug, source.lang` -> `source.slug,lang`; an expression index by its name."""
    failed = text.partition("constraint failed: ")[2]
    if failed.startswith("index '"):
        return failed.removeprefix("index '").removesuffix("'")
    columns = [part.strip() for part in failed.split(",")]
    table = columns[0].partition(".")[0]
    return f"{table}.{','.join(column.partition('.')[2] for column in columns)}"
