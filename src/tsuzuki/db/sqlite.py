"""SQLite through apsw: one writer thread with group commit, a few readers, and an inline one for the cheapest reads.

Why group commit: `synchronous=FULL` costs an fsync per commit, and nobody may be answered before it. The writer takes
all transactions that wait, runs each in a savepoint of its own, commits once, and only then answers all of them.
See docs/decisions/0002-sqlite-group-commit.md.
"""

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import apsw

from tsuzuki.db.errors import (
    CheckViolation,
    DatabaseError,
    DatabaseUnavailable,
    ForeignKeyViolation,
    MisuseError,
    SchemaRefused,
    UniqueViolation,
)
from tsuzuki.db.queries import Engine
from tsuzuki.db.tx import Answer, Drive, Statement, Work

T = TypeVar("T")

LARGEST_GROUP = 256
BUSY_TIMEOUT_MS = 30_000
STATEMENT_CACHE = 500

_LOST = (apsw.FullError, apsw.IOError, apsw.BusyError, apsw.LockedError, apsw.ReadOnlyError, apsw.CantOpenError)


def path_of(url: str) -> Path:
    """The file that `sqlite:///...` names."""
    return Path(url.removeprefix("sqlite://"))


def has_wal_reset_race(version: str) -> bool:
    """True for every SQLite from 3.7.0 to 3.51.2: a WAL reset may race a reader there and corrupt the file."""
    numbers = tuple(int(part) for part in version.split(".")[:3])
    return (3, 7, 0) <= numbers <= (3, 51, 2)


def connect(path: Path, *, read_only: bool = False, vfs: str | None = None) -> apsw.Connection:
    """A connection set up as every one of ours is: WAL, FULL, foreign keys, patient."""
    if has_wal_reset_race(apsw.sqlite_lib_version()):
        raise SchemaRefused(f"SQLite {apsw.sqlite_lib_version()} can corrupt its WAL; install apsw 3.51.3 or newer.")
    try:
        connection = apsw.Connection(str(path), statementcachesize=STATEMENT_CACHE, vfs=vfs)
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = full")
        connection.execute("pragma foreign_keys = on")
        connection.execute("pragma temp_store = memory")
        connection.execute("pragma cache_size = -16000")
        connection.execute("pragma journal_size_limit = 67108864")
        if read_only:
            connection.execute("pragma query_only = on")
    except apsw.NotADBError:
        raise SchemaRefused(f"{path} is not a SQLite database.") from None
    except _LOST as error:
        raise DatabaseUnavailable(f"The database file {path} cannot be opened: {error}") from error
    return connection


class _Job:
    """A transaction that waits for the writer, and where its answer goes."""

    __slots__ = ("context", "drive", "error", "future", "loop")

    def __init__(self, drive: Drive, future: "asyncio.Future[Any]", loop: asyncio.AbstractEventLoop) -> None:
        self.drive = drive
        self.future = future
        self.loop = loop
        self.context = contextvars.copy_context()
        self.error: BaseException | None = None

    def resolve(self) -> None:
        """Tell the caller; runs on its event loop."""
        if self.future.cancelled():
            return
        if self.error is None:
            self.future.set_result(self.drive.result)
        else:
            self.future.set_exception(self.error)


class SqliteDatabase:
    """One SQLite file."""

    engine: Engine = "sqlite"

    def __init__(self, path: Path, *, readers: int = 2, vfs: str | None = None) -> None:
        self._path = path
        self._vfs = vfs
        self._waiting: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = False
        self._connection = connect(path, vfs=vfs)
        self._inline = connect(path, read_only=True, vfs=vfs)
        self._inline.set_busy_timeout(0)
        self._local = threading.local()
        self._reader_connections: list[apsw.Connection] = []
        self._readers = ThreadPoolExecutor(max_workers=readers, thread_name_prefix="tsuzuki-read")
        self._writer = threading.Thread(target=self._write_for_ever, name="tsuzuki-write", daemon=True)
        self._writer.start()

    # -- what callers see

    async def with_tx(self, work: Work[T]) -> T:
        """See `Database`. A caller that is cancelled while it waits is skipped; one that has begun is finished."""
        loop = asyncio.get_running_loop()
        job = _Job(Drive(work, self.engine), loop.create_future(), loop)
        if self._closed:
            job.drive.close()
            raise DatabaseUnavailable("The database is closed.")
        self._waiting.put(job)
        result: T = await job.future
        return result

    async def read(self, work: Work[T]) -> T:
        """See `Database`. Queries marked inline are answered here, the others by the reader threads."""
        drive = Drive(work, self.engine)
        try:
            statement = drive.start()
            while statement is not None:
                statement = await self._read_one(drive, statement)
        finally:
            drive.close()
        result: T = drive.result
        return result

    async def ping(self) -> None:
        """See `Database`."""
        await asyncio.get_running_loop().run_in_executor(self._readers, lambda: self._reader().execute("select 1").get)

    async def close(self) -> None:
        """See `Database`. What waits is still run."""
        if self._closed:
            return
        self._closed = True
        self._waiting.put(None)
        await asyncio.to_thread(self._writer.join)
        await asyncio.to_thread(self._readers.shutdown)
        for connection in (*self._reader_connections, self._inline, self._connection):
            connection.close()

    # -- reading

    async def _read_one(self, drive: Drive, statement: Statement) -> Statement | None:
        try:
            if statement.query.writes:
                raise MisuseError(f"{statement.query.name} writes; call it in with_tx")
            answer = self._read_inline(statement) if statement.query.inline else None
            if answer is None:
                loop = asyncio.get_running_loop()
                answer = await loop.run_in_executor(self._readers, lambda: _execute(self._reader(), statement))
        except Exception as error:  # noqa: BLE001  handed to the function, which may not swallow it
            return drive.fail(error)
        return drive.answer(answer)

    def _read_inline(self, statement: Statement) -> Answer | None:
        """None when the file is busy at this moment: a thread may wait for it, the event loop may not."""
        try:
            return _execute(self._inline, statement)
        except DatabaseUnavailable:
            return None

    def _reader(self) -> apsw.Connection:
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = connect(self._path, read_only=True, vfs=self._vfs)
            self._reader_connections.append(connection)
        return connection

    # -- writing: everything below runs on the writer thread

    def _write_for_ever(self) -> None:
        while (job := self._waiting.get()) is not None:
            group = [job]
            stop = False
            while len(group) < LARGEST_GROUP:
                try:
                    following = self._waiting.get_nowait()
                except queue.Empty:
                    break
                if following is None:
                    stop = True
                    break
                group.append(following)
            self._write_group(group)
            if stop:
                return

    def _write_group(self, group: list[_Job]) -> None:
        """Run each in its savepoint, commit once, then answer all."""
        waiting = [job for job in group if not _skip_cancelled(job)]
        try:
            self._connection.execute("begin immediate")
            for number, job in enumerate(waiting):
                self._write_one(job)
                if not self._connection.in_transaction:
                    # A full disk or an I/O error undid the whole group so far: nobody in it may be told otherwise.
                    self._fail(waiting[: number + 1], job.error or DatabaseUnavailable("The transaction was undone."))
                    self._connection.execute("begin immediate")
            self._connection.execute("commit")
        except BaseException as error:  # noqa: BLE001  the writer must answer whatever happens
            self._undo()
            self._fail(waiting, _translate(error))
        _answer(waiting)

    def _write_one(self, job: _Job) -> None:
        try:
            self._connection.execute("savepoint job")
            job.context.run(self._drive, job.drive)
            self._connection.execute("release job")
        except BaseException as error:  # noqa: BLE001  it is the caller's, including a SystemExit
            job.error = _translate(error)
            if self._connection.in_transaction:
                self._connection.execute("rollback to job")
                self._connection.execute("release job")

    def _drive(self, drive: Drive) -> None:
        try:
            statement = drive.start()
            while statement is not None:
                try:
                    answer = _execute(self._connection, statement)
                except DatabaseUnavailable:
                    raise
                except Exception as error:  # noqa: BLE001  handed to the function, which may not swallow it
                    statement = drive.fail(error)
                else:
                    statement = drive.answer(answer)
        finally:
            drive.close()

    def _undo(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("rollback")

    @staticmethod
    def _fail(jobs: list[_Job], error: BaseException) -> None:
        for job in jobs:
            job.error = job.error or error


def _skip_cancelled(job: _Job) -> bool:
    if job.future.cancelled():
        job.drive.close()
        return True
    return False


def _answer(jobs: list[_Job]) -> None:
    """One wake-up per event loop, not one per transaction."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, answered in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve_all, answered)
        except RuntimeError:
            continue  # the loop is closed: nobody is left to be told


def _resolve_all(jobs: list[_Job]) -> None:
    for job in jobs:
        job.resolve()


def _execute(connection: apsw.Connection, statement: Statement) -> Answer:
    text = statement.query.sqlite
    arguments = statement.arguments(text.params)
    try:
        before = connection.total_changes()
        rows = connection.execute(text.sql, arguments).fetchall()
        touched = connection.changes() if connection.total_changes() != before else 0
        return Answer(rows, touched)
    except apsw.Error as error:
        raise _translate(error) from error


def _translate(error: BaseException) -> BaseException:
    """The engine's error as ours; others stay as they are."""
    if isinstance(error, apsw.ConstraintError):
        return _constraint(error)
    if isinstance(error, _LOST):
        return DatabaseUnavailable(f"The database cannot be used now: {error}")
    if isinstance(error, apsw.Error):
        return DatabaseError(str(error))
    return error


def _constraint(error: apsw.ConstraintError) -> Exception:
    kinds: dict[int, Callable[[str], Exception]] = {
        apsw.SQLITE_CONSTRAINT_UNIQUE: lambda text: UniqueViolation(_unique_on(text)),
        apsw.SQLITE_CONSTRAINT_PRIMARYKEY: lambda text: UniqueViolation(_unique_on(text)),
        apsw.SQLITE_CONSTRAINT_ROWID: lambda text: UniqueViolation(_unique_on(text)),
        apsw.SQLITE_CONSTRAINT_FOREIGNKEY: ForeignKeyViolation,
        apsw.SQLITE_CONSTRAINT_TRIGGER: ForeignKeyViolation,
    }
    return kinds.get(error.extendedresult, CheckViolation)(str(error))


def _unique_on(text: str) -> str:
    """`UNIQUE constraint failed: source.slug, source.lang` -> `source.slug,lang`; an expression index by its name."""
    failed = text.partition("constraint failed: ")[2]
    if failed.startswith("index '"):
        return failed.removeprefix("index '").removesuffix("'")
    columns = [part.strip() for part in failed.split(",")]
    table = columns[0].partition(".")[0]
    return f"{table}.{','.join(column.partition('.')[2] for column in columns)}"
