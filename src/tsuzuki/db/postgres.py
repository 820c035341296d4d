"""PostgreSQL through asyncpg: a pool, one connection held for each unit of work."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import asyncpg

from tsuzuki.db.database import DatabaseOptions
from tsuzuki.db.errors import (
    CheckViolation,
    Contention,
    DatabaseError,
    DatabaseUnavailable,
    ForeignKeyViolation,
    MisuseError,
    UniqueViolation,
)
from tsuzuki.db.queries import Engine
from tsuzuki.db.tx import Answer, Drive, Statement, Work

T = TypeVar("T")

CONNECT_TIMEOUT = 10
COMMAND_TIMEOUT = 60
ROLLBACK_TIMEOUT = 5

_LOST = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.CannotConnectNowError,
)


async def connect_once(url: str) -> "asyncpg.Connection[asyncpg.Record]":
    """A connection of its own, outside the pool; DatabaseUnavailable says in one line why there is none."""
    try:
        return await asyncpg.connect(url, timeout=CONNECT_TIMEOUT)
    except (*_LOST, asyncpg.PostgresError, ValueError) as error:
        raise DatabaseUnavailable(f"PostgreSQL does not let us in: {error}") from error


class PostgresDatabase:
    """One PostgreSQL database."""

    engine: Engine = "postgres"

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        self._pool = pool

    @classmethod
    async def connect(cls, options: DatabaseOptions) -> "PostgresDatabase":
        """Open the pool and see that the server answers."""
        await (await connect_once(options.url)).close()
        pool = await asyncpg.create_pool(
            options.url,
            min_size=options.min_connections,
            max_size=options.max_connections,
            timeout=CONNECT_TIMEOUT,
            command_timeout=COMMAND_TIMEOUT,
            # Every unit of work ends its transaction and leaves no session state behind: asyncpg's reset query
            # would cost as much as a point read.
            reset=_nothing_to_reset,
            server_settings={"application_name": "tsuzuki"},
        )
        return cls(pool)

    async def with_tx(self, work: Work[T]) -> T:
        """See `Database`."""
        drive = Drive(work, self.engine)
        try:
            async with self._connection(begin=True) as connection:
                try:
                    result: T = await _run(connection, drive)
                    await _guarded(connection.execute("commit"))
                except BaseException:
                    await _roll_back(connection)
                    raise
        finally:
            drive.close()
        return result

    async def read(self, work: Work[T]) -> T:
        """See `Database`. No transaction is begun: at READ COMMITTED it would add two round trips and no promise."""
        drive = Drive(work, self.engine)
        try:
            async with self._connection(begin=False) as connection:
                result: T = await _run(connection, drive, reads_only=True)
        finally:
            drive.close()
        return result

    async def ping(self) -> None:
        """See `Database`."""
        async with self._connection(begin=False) as connection:
            await _guarded(connection.execute("select 1"))

    async def close(self) -> None:
        """See `Database`."""
        await self._pool.close()

    @asynccontextmanager
    async def _connection(self, *, begin: bool) -> AsyncIterator["asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"]:
        """A pooled connection; one that died since its last use is replaced before any work is done on it."""
        connection = await self._acquire(begin=begin)
        try:
            yield connection
        finally:
            await asyncio.shield(self._release(connection))

    async def _acquire(self, *, begin: bool) -> "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]":
        for attempt in range(self._pool.get_max_size() + 1):
            try:
                connection = await self._pool.acquire(timeout=COMMAND_TIMEOUT)
            except _LOST as error:
                raise DatabaseUnavailable(f"PostgreSQL does not answer: {error or 'timeout'}") from error
            try:
                if begin:
                    await connection.execute("begin")
                return connection
            except _LOST as error:
                connection.terminate()
                await self._release(connection)
                if attempt == self._pool.get_max_size():
                    raise DatabaseUnavailable(f"PostgreSQL does not answer: {error}") from error
            except BaseException:
                connection.terminate()
                await asyncio.shield(self._release(connection))
                raise
        raise DatabaseUnavailable("PostgreSQL does not answer.")

    async def _release(self, connection: "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]") -> None:
        try:
            await self._pool.release(connection)
        except _LOST:
            connection.terminate()


async def _nothing_to_reset(_: Any) -> None:
    return None


async def _run(connection: Any, drive: Drive, *, reads_only: bool = False) -> Any:
    statement = drive.start()
    while statement is not None:
        try:
            if reads_only and statement.query.writes:
                raise MisuseError(f"{statement.query.name} writes; call it in with_tx")
            answer = await _guarded(_execute(connection, statement))
        except DatabaseUnavailable:
            raise
        except Exception as error:  # noqa: BLE001  handed to the function, which may not swallow it
            statement = drive.fail(error)
        else:
            statement = drive.answer(answer)
    return drive.result


async def _execute(connection: Any, statement: Statement) -> Answer:
    text = statement.query.postgres
    arguments = statement.arguments(text.params)
    if statement.query.returns_rows:
        rows = await connection.fetch(text.sql, *arguments)
        return Answer(rows, len(rows))
    status = await connection.execute(text.sql, *arguments)
    return Answer([], int(status.rpartition(" ")[2]))


async def _roll_back(connection: Any) -> None:
    """Undo, also while we are being cancelled; a connection that cannot even do that is thrown away."""
    undo = asyncio.ensure_future(connection.execute("rollback"))
    try:
        await asyncio.wait_for(asyncio.shield(undo), ROLLBACK_TIMEOUT)
    except BaseException as error:
        undo.add_done_callback(_forget)
        connection.terminate()
        if not isinstance(error, Exception):
            raise


def _forget(done: "asyncio.Future[Any]") -> None:
    if not done.cancelled():
        done.exception()


async def _guarded(awaitable: Any) -> Any:
    """Await a driver's call; its errors come out as ours."""
    try:
        return await awaitable
    except asyncpg.UniqueViolationError as error:
        raise UniqueViolation(_unique_on(error)) from error
    except asyncpg.ForeignKeyViolationError as error:
        raise ForeignKeyViolation(str(error)) from error
    except asyncpg.IntegrityConstraintViolationError as error:
        raise CheckViolation(str(error)) from error
    except (asyncpg.DeadlockDetectedError, asyncpg.SerializationError) as error:
        raise Contention(str(error)) from error
    except _LOST as error:
        raise DatabaseUnavailable(f"PostgreSQL was lost: {error}") from error
    except asyncpg.InterfaceError as error:
        if "closed" in str(error):
            raise DatabaseUnavailable(f"PostgreSQL was lost: {error}") from error
        raise DatabaseError(str(error)) from error
    except asyncpg.PostgresError as error:
        raise DatabaseError(str(error)) from error


def _unique_on(error: asyncpg.UniqueViolationError) -> str:
    """`Key (slug, lang)=(a, b) already exists.` -> `source.slug,lang`; an expression index by its name."""
    match = re.match(r"Key \(([\w, ]+)\)=", error.detail or "")
    if match is None:
        return error.constraint_name or ""
    return f"{error.table_name}.{match.group(1).replace(' ', '')}"
