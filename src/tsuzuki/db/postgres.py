"""PostgreSQL through asyncpg: a pool, one connection held for each unit of work."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, closing
from typing import Any, TypeAlias, TypeVar

import asyncpg

from tsuzuki.db.database import DatabaseOptions, UseGate
from tsuzuki.db.deadlines import deadline
from tsuzuki.db.errors import (
    CheckViolation,
    Contention,
    DatabaseError,
    DatabaseUnavailable,
    DiskFull,
    ForeignKeyViolation,
    MisuseError,
    UniqueViolation,
)
from tsuzuki.db.queries import Engine
from tsuzuki.db.tx import Answer, Statement, TxDriver, Work, arguments

T = TypeVar("T")
Connection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"

CONNECT_TIMEOUT = 5
ACQUIRE_TIMEOUT = 10
BEGIN_TIMEOUT = 3
CLEAN_UP_TIMEOUT = 2
"""For what is owed to a connection after a failure; one that cannot even do that is thrown away."""
CLOSE_TIMEOUT = 5
ATTEMPTS = 3
SILENT_ATTEMPTS = 2
"""A connection that does not answer may be half open, two of them are a server that hangs."""

READ_ONLY = (asyncpg.ReadOnlySQLTransactionError, asyncpg.InsufficientPrivilegeError)
_LOST = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.InternalClientError,  # a connection that was ended a moment ago and has not noticed yet
)
_TOO_MUCH = (TimeoutError, asyncpg.QueryCanceledError, asyncpg.InsufficientResourcesError)
_REFUSED = (*_LOST, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError)
_PROOF = "create temporary table proof on commit drop as select repeat('x', 8000) from generate_series(1, 100)"
"""Takes room on the server's disk and gives it back."""
_KEY = re.compile(r'\(([\w, "]+)\)=\(')


async def connect_once(url: str) -> "asyncpg.Connection[asyncpg.Record]":
    """A connection of its own, outside the pool; DatabaseUnavailable says in one line why there is none."""
    try:
        return await asyncpg.connect(url, timeout=CONNECT_TIMEOUT)
    except _REFUSED as error:
        raise _unreachable(error) from error


class PostgresDatabase:
    """One PostgreSQL database, used from one event loop."""

    engine: Engine = "postgres"

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]", options: DatabaseOptions) -> None:
        self._pool = pool
        self._options = options
        self._gate = UseGate()
        self._is_full = False

    @classmethod
    async def connect(cls, options: DatabaseOptions) -> "PostgresDatabase":
        """Open the pool and see that the server answers: it opens one connection first, then the others."""
        patience = min(CONNECT_TIMEOUT, options.command_timeout)
        deps = _ConnectionOpener()
        opening = asyncpg.create_pool(
            options.url,
            connect=deps.open,
            min_size=options.min_connections,
            max_size=options.max_connections,
            timeout=patience,
            command_timeout=options.command_timeout,
            # Every unit of work ends its transaction and leaves no session state behind: asyncpg's reset query
            # would cost as much as a point read.
            reset=_nothing_to_reset,
            server_settings={"application_name": "tsuzuki"},
        )
        try:
            return cls(await opening, options)
        except BaseException as error:
            deps.is_shut = True
            if isinstance(error, _REFUSED):
                raise _unreachable(error) from error
            raise

    async def with_tx(self, work: Work[T]) -> T:
        """See `Database`."""
        with closing(TxDriver(work, self.engine, vault=self._options.vault)) as drive, self._gate:
            try:
                async with self._transaction() as connection:
                    statement = drive.start()
                    while statement is not None:
                        statement = await _next(drive, self._ask(connection, statement))
            except DiskFull:
                self._is_full = True
                raise
            result: T = drive.result
        return result

    async def read(self, work: Work[T]) -> T:
        """See `Database`. No transaction is begun: at READ COMMITTED it would add two round trips and no promise."""
        with closing(TxDriver(work, self.engine, vault=self._options.vault)) as drive, self._gate:
            statement = drive.start()
            if statement is not None:
                held = _Held(await self._acquire())
                try:
                    while statement is not None:
                        statement = await _next(drive, self._read_one(held, statement))
                except BaseException:
                    await self._release(held.connection, patience=CLEAN_UP_TIMEOUT)
                    raise
                await self._release(held.connection)
            result: T = drive.result
        return result

    read_replica = read

    async def ping(self) -> None:
        """See `Database`. After a full disk it must be seen that there is room again."""
        with self._gate:
            async with self._transaction() as connection:
                if self._is_full:
                    await _ours(connection.execute(_PROOF))
            self._is_full = False

    async def release_memory(self) -> None:
        """See `Database`. The server has the pages."""

    async def close(self) -> None:
        """See `Database`."""
        if not await self._gate.close():
            return
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    # -- connections

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Connection]:
        held = _Held(await self._acquire())
        try:
            await self._begin(held)
            yield held.connection
            await _ours(held.connection.execute("commit"))
        except BaseException as error:
            if _is_silence(error):
                _throw_away(held.connection)
            await _roll_back(held.connection)
            await self._release(held.connection, patience=CLEAN_UP_TIMEOUT)
            raise
        await self._release(held.connection)

    async def _begin(self, held: "_Held") -> None:
        """Begin on a connection that lives: nothing has been done yet, so one that has died is simply replaced."""
        timeout = min(BEGIN_TIMEOUT, self._options.command_timeout)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                await held.connection.execute("begin", timeout=timeout)
                return
            except (*_LOST, asyncpg.InterfaceError) as error:
                if attempt >= (SILENT_ATTEMPTS if isinstance(error, TimeoutError) else ATTEMPTS):
                    raise _unreachable(error) from error
                await self._replace(held)

    async def _read_one(self, held: "_Held", statement: Statement) -> Answer:
        """Outside a transaction a read may be asked again, of another connection."""
        if statement.query.writes:
            raise MisuseError(f"{statement.query.name} writes; call it in with_tx")
        for _ in range(1, ATTEMPTS if self._options.asks_again else 1):
            try:
                return await self._ask(held.connection, statement)
            except DatabaseUnavailable as error:
                if isinstance(error.__cause__, _TOO_MUCH):  # asking again would make that worse
                    await self._expire(held.connection)
                    raise
                await self._replace(held)
        return await self._ask(held.connection, statement)

    async def _ask(self, connection: Connection, statement: Statement) -> Answer:
        text, timeout = statement.query.postgres, deadline(self._options.command_timeout)
        values = arguments(statement.query, text, statement.params)
        if statement.query.returns_rows:
            rows = await _ours(connection.fetch(text.sql, *values, timeout=timeout))
            return rows, len(rows) if statement.query.writes else 0
        status: str = await _ours(connection.execute(text.sql, *values, timeout=timeout))
        touched = status.rpartition(" ")[2]  # "UPDATE 3", "CREATE TABLE"
        return [], int(touched) if touched.isdecimal() else 0

    async def _acquire(self) -> Connection:
        # A timeout costs a task and a timer, so it is set only where one has to wait.
        patience = None if self._pool.get_idle_size() else min(ACQUIRE_TIMEOUT, self._options.command_timeout)
        try:
            return await self._pool.acquire(timeout=patience)
        except _REFUSED as error:
            raise _unreachable(error) from error

    async def _release(self, connection: Connection, patience: float | None = None) -> None:
        """The pool shields it: a caller that is cancelled once more does not keep the connection.

        `patience` costs a timer; without it nothing may be under way on the connection.
        """
        try:
            await self._pool.release(connection, timeout=patience)
        except (*_LOST, asyncpg.InterfaceError):
            _throw_away(connection)

    async def _replace(self, held: "_Held") -> None:
        """Replace a dead connection."""
        await self._expire(held.connection)
        await self._release(held.connection)
        held.connection = await self._acquire()

    async def _expire(self, connection: Connection) -> None:
        """Use neither this connection again nor the others of its age: what killed it killed them."""
        _throw_away(connection)
        await self._pool.expire_connections()


class _ConnectionOpener:
    """Opens a pool's connections, and closes those that come after one of the first has failed."""

    is_shut = False

    async def open(self, *arguments: Any, **options: Any) -> "asyncpg.Connection[asyncpg.Record]":
        connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(*arguments, **options)
        if self.is_shut:
            connection.terminate()
            raise ConnectionAbortedError("the pool was given up")
        return connection


class _Held:
    """The connection that a unit of work holds at the moment."""

    __slots__ = ("connection",)

    def __init__(self, connection: Connection) -> None:
        self.connection = connection


def _is_gone(connection: Connection) -> bool:
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:  # the pool took it back by itself when it died
        return True


def _throw_away(connection: Connection) -> None:
    if not _is_gone(connection):
        connection.terminate()


async def _nothing_to_reset(_: Any) -> None:
    return None


async def _next(drive: TxDriver, answer: Awaitable[Answer]) -> Statement | None:
    """The function's next statement, after it got the result of this one."""
    try:
        brought = await answer
    except DatabaseUnavailable:
        raise  # the function cannot do anything about it
    except Exception as error:  # noqa: BLE001  handed to the function, which may not swallow it
        return drive.fail(error)
    return drive.answer(brought)


async def _roll_back(connection: Connection) -> None:
    """Undo, also while we are being cancelled; a connection that cannot even do that is thrown away."""
    if _is_gone(connection):
        return
    undo = asyncio.ensure_future(connection.execute("rollback"))
    try:
        await asyncio.wait_for(asyncio.shield(undo), CLEAN_UP_TIMEOUT)
    except BaseException as error:
        undo.add_done_callback(_forget)
        _throw_away(connection)
        if not isinstance(error, Exception):
            raise


def _is_silence(error: BaseException) -> bool:
    """Whether the server did not answer in time: it would not answer to a rollback either."""
    return isinstance(error, DatabaseUnavailable) and isinstance(error.__cause__, TimeoutError)


def _forget(done: "asyncio.Future[Any]") -> None:
    if not done.cancelled():
        done.exception()


async def _ours(call: Awaitable[T]) -> T:
    """Await a driver's call; its errors come out as ours."""
    try:
        return await call
    except asyncpg.UniqueViolationError as error:
        raise UniqueViolation(_unique_on(error)) from error
    except (asyncpg.ForeignKeyViolationError, asyncpg.RestrictViolationError) as error:
        raise ForeignKeyViolation(str(error)) from error
    except asyncpg.IntegrityConstraintViolationError as error:
        raise CheckViolation(str(error)) from error
    except (asyncpg.DeadlockDetectedError, asyncpg.SerializationError, asyncpg.LockNotAvailableError) as error:
        raise Contention(str(error)) from error
    except asyncpg.DiskFullError as error:
        raise DiskFull from error
    except READ_ONLY as error:
        raise read_only(error) from error
    except _LOST as error:
        raise DatabaseUnavailable(f"The connection to PostgreSQL was lost: {_reason(error)}") from error
    except (asyncpg.PostgresError, ValueError) as error:  # asyncpg says ValueError of a parameter it cannot send
        raise DatabaseError(str(error)) from error
    except asyncpg.InterfaceError as error:  # what remains is a connection that was closed
        raise DatabaseUnavailable(f"The connection to PostgreSQL was lost: {_reason(error)}") from error


def read_only(error: Exception) -> DatabaseUnavailable:
    """A standby, a database that is set to be read only, or a user without the right to write."""
    return DatabaseUnavailable(f"This user can only read from PostgreSQL: {_reason(error)}")


def _unreachable(error: Exception) -> DatabaseUnavailable:
    return DatabaseUnavailable(f"Cannot connect to PostgreSQL: {_reason(error)}")


def _reason(error: Exception) -> str:
    """One line; a timeout has no text of its own."""
    return " ".join(str(error).split()) or "it does not answer"


def _unique_on(error: asyncpg.UniqueViolationError) -> str:
    """`Key (slug, lang)=(a, b) already exists.` -> `source.slug,lang`; an expression index by its name."""
    match = _KEY.search(error.detail or "")
    if match is None:
        return error.constraint_name or ""
    columns = re.sub(r'[ "]', "", match.group(1))
    return f"{error.table_name}.{columns}"
