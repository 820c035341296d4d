"""Who is using a database, so that closing it can wait for them."""

import asyncio
from types import TracebackType

from tsuzuki.db.errors import DatabaseUnavailable

CLOSED = "The database is closed."


class UseGate:
    """`with gate:` while using the database; DatabaseUnavailable once it is closed. For one event loop."""

    def __init__(self) -> None:
        self._inside = 0
        self.is_closed = False
        self._empty = asyncio.Event()

    def __enter__(self) -> None:
        if self.is_closed:
            raise DatabaseUnavailable(CLOSED)
        self._inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inside -= 1
        if self.is_closed and not self._inside:
            self._empty.set()

    async def close(self) -> bool:
        """Let nobody in any more and return when the last has left; False when it was closed before."""
        if self.is_closed:
            return False
        self.is_closed = True
        if self._inside:
            await self._empty.wait()
        return True
