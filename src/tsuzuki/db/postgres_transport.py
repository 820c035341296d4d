"""Wake-ups through LISTEN and NOTIFY, on a connection of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import asyncpg

from tsuzuki.coord.wakeup import CHANNEL, WireBroken
from tsuzuki.db.errors import DatabaseUnavailable
from tsuzuki.db.postgres import connect_once

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

SEND_TIMEOUT = 10
"""Seconds."""

_BROKEN = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError)


class PostgresTransport:
    """Wake-ups through one database, for installations without Redis."""

    def __init__(self, url: str) -> None:
        self._url = url

    @asynccontextmanager
    async def open(self) -> AsyncIterator["PostgresConnection"]:
        """See `WakeupTransport`."""
        try:
            connection = await connect_once(self._url)
        except DatabaseUnavailable as error:
            raise WireBroken(str(error)) from error
        line = PostgresConnection(connection)
        try:
            await line.listen()
            yield line
        finally:
            # Not `close`: that would wait for an answer, and a line is usually left because there is none.
            connection.terminate()


class PostgresConnection:
    """See `WakeupConnection`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._said: asyncio.Queue[str | None] = asyncio.Queue()
        connection.add_termination_listener(lambda _: self._said.put_nowait(None))

    async def listen(self) -> None:
        """Begin to receive."""
        try:
            await self._connection.add_listener(CHANNEL, self._hear)
        except _BROKEN as error:
            raise WireBroken(str(error)) from error

    async def send(self, text: str) -> None:
        """See `WakeupConnection`."""
        try:
            await self._connection.execute("select pg_notify($1, $2)", CHANNEL, text, timeout=SEND_TIMEOUT)
        except _BROKEN as error:
            raise WireBroken(str(error)) from error

    async def receive(self) -> str:
        """See `WakeupConnection`."""
        said = await self._said.get()
        if said is None:
            raise WireBroken("PostgreSQL closed the connection.")
        return said

    def _hear(self, _connection: Any, _pid: int, _channel: str, payload: object) -> None:
        self._said.put_nowait(str(payload))
