"""SQLite through apsw: one writer thread with group commit, a few readers, and an inline one for the cheapest reads.

Why group commit: `synchronous=FULL` costs an fsync per commit, and nobody may be answered before it. The writer takes
all transactions that wait, runs each in a savepoint of its own, commits once, and only then answers all of them.
See docs/decisions/0002-sqlite-group-commit.md.
"""

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import apsw

from tsuzuki.db.database import CLOSED, UseGate
from tsuzuki.db.errors import DatabaseUnavailable, DiskFull
from tsuzuki.db.queries import Engine, Query
from tsuzuki.db.sqlite_file import connect, execute, fetch, path_of, translated
from tsuzuki.db.sqlite_inline import InlineReader, writes
from tsuzuki.db.tx import Answer, Params, Statement, Tx, TxDriver, Work, refuse_inside, refuse_nesting
from tsuzuki.db.vault import NO_KEY, Vault

__all__ = ["SqliteDatabase", "path_of"]

T = TypeVar("T")

LARGEST_GROUP = 256


class _Job:
    """A transaction that waits for the writer, and where its answer goes."""

    __slots__ = ("_writer", "context", "drive", "error", "future", "loop")

    def __init__(self, work: Work[Any], writer: "_WriterThread", vault: Vault) -> None:
        self._writer = writer
        self.drive = TxDriver(work, "sqlite", self.execute, vault=vault)
        self.drive.is_awaited = writer.is_awaited
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.context = contextvars.copy_context()
        self.error: BaseException | None = None

    def execute(self, query: Query, params: Params) -> Answer:
        """Answers at once, unless the caller has been cancelled: then nobody wants the rest."""
        self._stop_if_cancelled()
        return execute(self._writer.cursor, query, params)

    def run(self) -> None:
        """Run the function to its end, in its caller's context."""
        self.context.run(self.drive.start)
        self._stop_if_cancelled()

    def _stop_if_cancelled(self) -> None:
        if self.future.cancelled():
            raise asyncio.CancelledError

    def resolve(self) -> None:
        """Tell the caller; runs on its event loop."""
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.drive.result)
        else:
            self.future.set_exception(self.error)


class SqliteDatabase:
    """One SQLite file, used from one event loop."""

    engine: Engine = "sqlite"

    def __init__(self, path: Path, *, readers: int = 2, vfs: str | None = None, vault: Vault = NO_KEY) -> None:
        self._path = path
        self._vault = vault
        self._vfs = vfs
        self._gate = UseGate()
        self._writer = _WriterThread(path, vfs)
        self._inline = InlineReader(connect(path, read_only=True, vfs=vfs))
        self._inline_reading = self._inline.read  # bound once
        self._local = threading.local()
        self._reader_connections: list[apsw.Connection] = []
        self._readers = ThreadPoolExecutor(
            max_workers=readers, thread_name_prefix="tsuzuki-read", initializer=_without_event_loop
        )
        self._writer.start()

    async def with_tx(self, work: Work[T]) -> T:
        """See `Database`. A caller that is cancelled while it waits is skipped; one that has begun is rolled back."""
        refuse_nesting()
        with self._gate:
            job = _Job(work, self._writer, self._vault)
            self._writer.waiting.put(job)
            result: T = await job.future
        return result

    async def read(self, work: Work[T]) -> T:
        """See `Database`. What is quick is answered here, the rest by the reader threads."""
        if self._gate.is_closed:
            raise DatabaseUnavailable(CLOSED)
        drive = TxDriver(work, "sqlite", self._inline_reading, vault=self._vault)
        statement = drive.start()
        if statement is not None:
            with self._gate:
                await self._read_on(drive, statement)
        elif self._inline.has_worked:
            self._inline.has_worked = False
            await asyncio.sleep(0)
        result: T = drive.result
        return result

    read_replica = read

    async def ping(self) -> None:
        """See `Database`. What could not be stored, as on a full disk, must be seen to work again first."""
        with self._gate:
            await self._on_reader(lambda cursor: cursor.execute("select 1").get)
        if self._writer.has_lost:
            self._writer.has_lost = False  # it says so again if that is still so
            await self.with_tx(self._writer.prove_tx)

    async def release_memory(self) -> None:
        """See `Database`: the writer's pages, and those that were read here. Reader threads keep their few."""
        await self.with_tx(self._writer.release_memory_tx)
        self._inline.release_memory()

    async def close(self) -> None:
        """See `Database`. What waits is still run."""
        if not await self._gate.close():
            return
        await asyncio.to_thread(self._writer.stop)
        await asyncio.to_thread(self._readers.shutdown)
        for connection in self._reader_connections:
            connection.close()
        self._inline.close()

    # -- reading

    async def _read_on(self, drive: TxDriver, statement: Statement) -> None:
        """Have a thread run the function to its end, from this statement on: one way there and back, however many."""
        rest = _ThreadedRead(drive)
        running = self._readers.submit(contextvars.copy_context().run, rest.run, statement, self._reader)
        rest.end = asyncio.wrap_future(running)
        try:
            await rest.end
        except asyncio.CancelledError:
            if running.cancel():
                drive.close()  # no thread has begun with it
            raise

    async def _on_reader(self, use: Callable[[apsw.Cursor], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, lambda: use(self._reader()))

    def _reader(self) -> apsw.Cursor:
        cursor: apsw.Cursor | None = getattr(self._local, "cursor", None)
        if cursor is None:
            connection = connect(self._path, read_only=True, vfs=self._vfs)
            self._reader_connections.append(connection)
            cursor = self._local.cursor = connection.cursor()
        return cursor


class _ThreadedRead:
    """What is left of a read's function once it asked for more than the event loop may do; a thread's from then on."""

    def __init__(self, drive: TxDriver) -> None:
        self._drive = drive
        self.end: asyncio.Future[None] | None = None
        """What the caller waits for, if it does already; once that is cancelled no statement is run for nobody."""

    def run(self, statement: Statement, reader: Callable[[], apsw.Cursor]) -> None:
        """Answer this statement and all that follow; raises what the function raises."""

        def execute(query: Query, params: Params) -> Answer:
            if self.end is not None and self.end.cancelled():
                raise asyncio.CancelledError
            if query.writes:
                raise writes(query)
            return fetch(reader(), query, params)

        with closing(self._drive):
            self._drive.answer_by(execute)
            try:
                answer = execute(statement.query, statement.params)
            except Exception as error:  # noqa: BLE001  handed to the function, which may not swallow it
                self._drive.fail(error)
            else:
                self._drive.answer(answer)


class _WriterThread:
    """The thread that writes, and its connection."""

    def __init__(self, path: Path, vfs: str | None) -> None:
        self.waiting: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self.connection = connect(path, vfs=vfs)
        self.cursor = self.connection.cursor()
        self._is_sound = True
        self._group = 0
        self._has_asked = False
        self.has_lost = False
        """True when a group was undone by the disk, until somebody sees that one is stored."""
        self._path = path
        self._vfs = vfs
        self._thread = threading.Thread(target=self._write_for_ever, name="tsuzuki-write", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Return when all that waited is done and the file is let go."""
        self.waiting.put(None)
        self._thread.join()
        self.connection.close()

    async def prove_tx(self, _: Tx) -> None:
        """Write a page with the bytes that it had: nothing else shows whether the disk takes one."""
        self.connection.execute("pragma user_version = 0")  # which we do not use

    async def release_memory_tx(self, _: Tx) -> None:
        """Let go of the pages that were read or written; a connection is its thread's own."""
        self.connection.release_memory()

    def is_awaited(self) -> bool:
        """Whether anyone but the job that runs waits for the commit, or for what comes after it."""
        self._has_asked = True
        return self._group > 1 or not self.waiting.empty()

    def _write_for_ever(self) -> None:
        _without_event_loop()
        while (job := self.waiting.get()) is not None:
            jobs = [] if _is_unwanted(job) else [job]
            self._write_group([*jobs, *self._waiting_jobs(LARGEST_GROUP - 1)])

    def _waiting_jobs(self, most: int) -> list[_Job]:
        """Up to so many of those who wait now, without those who have given up."""
        found: list[_Job] = []
        while len(found) < most and not self.waiting.empty():
            if (job := self.waiting.get()) is None:
                self.waiting.put(None)
                break
            found.append(job)
        return [job for job in found if not _is_unwanted(job)]

    def _write_group(self, jobs: list[_Job]) -> None:
        """Run each in its savepoint, and those for whom one of them paused; commit once, then answer all."""
        if not jobs:
            return
        first, self._has_asked = len(jobs), False
        try:
            self._begin()
            for number, job in enumerate(jobs, 1):
                self._group = len(jobs)
                self._write_one(job)
                if not self.connection.in_transaction:
                    # A full disk or an I/O error undid the whole group so far: nobody in it may get a success.
                    self.has_lost = True
                    _fail(jobs[:number], job.error)
                    self._begin()
                if number == first and self._has_asked:
                    jobs += self._waiting_jobs(LARGEST_GROUP - first)
            self.connection.execute("commit")
        except BaseException as error:  # noqa: BLE001  the writer must answer whatever happens
            # Whether SQLite has rolled back, and what it still holds in its cache, differs by error: start afresh.
            self._is_sound = False
            self.has_lost = True
            _fail(jobs, translated(error))
        _answer(jobs)

    def _begin(self) -> None:
        if not self._is_sound:
            self.connection.close(force=True)
            self.connection = connect(self._path, vfs=self._vfs)
            self.cursor = self.connection.cursor()
            self._is_sound = True
        self.connection.execute("begin immediate")

    def _write_one(self, job: _Job) -> None:
        try:
            self.connection.execute("savepoint job")
            job.run()
            self.connection.execute("release job")
        except BaseException as error:  # noqa: BLE001  it is the caller's, including a SystemExit
            job.error = translated(error)
            if self.connection.in_transaction:
                self.connection.execute("rollback to job")
                self.connection.execute("release job")
        finally:
            job.drive.close()


def _without_event_loop() -> None:
    """Makes code that needs an event loop (sleep, sockets, tasks) fail with the reason: it is in a transaction."""
    asyncio._set_running_loop(_NoLoop())  # type: ignore[arg-type]  # noqa: SLF001  only this can stand in for one


class _NoLoop:
    """Stands where an event loop is looked for while a thread of ours runs a transaction's function."""

    def __getattr__(self, name: str) -> Any:
        refuse_inside(f"a transaction awaits only its own verbs (something called {name} on the event loop)")
        raise AttributeError(name)


def _is_unwanted(job: _Job) -> bool:
    """True for a caller that was cancelled while it waited."""
    if job.future.cancelled():
        job.drive.close()
        return True
    return False


def _fail(jobs: Sequence[_Job], cause: BaseException | None) -> None:
    """Fail those who have no error yet: nothing of theirs is stored, whether they ran or not."""
    for job in jobs:
        job.drive.close()
        if job.error is None:
            is_full = isinstance(cause, DiskFull)
            job.error = DiskFull() if is_full else DatabaseUnavailable(f"The transaction was rolled back: {cause}")
            job.error.__cause__ = cause


def _answer(jobs: Sequence[_Job]) -> None:
    """One wake-up for all of them, not one for each."""
    try:
        jobs[0].loop.call_soon_threadsafe(_resolve_all, jobs)
    except RuntimeError:
        return  # the loop is closed: nobody waits any more


def _resolve_all(jobs: Sequence[_Job]) -> None:
    for job in jobs:
        job.resolve()
