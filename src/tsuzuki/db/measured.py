"""A database that measures its transactions."""

import time
from collections.abc import Callable
from typing import TypeVar

from tsuzuki.db.database import Database
from tsuzuki.db.queries import Engine
from tsuzuki.db.tx import Work

T = TypeVar("T")

Timed = Callable[[bool, float], None]
"""Called with whether a transaction was committed, and the seconds it took from the request to its end."""


class MeasuredDatabase:
    """A `Database` that reports how long each transaction took."""

    def __init__(self, inner: Database, timed: Timed) -> None:
        self.engine: Engine = inner.engine
        self.read = inner.read
        self.read_replica = inner.read_replica
        self.ping = inner.ping
        self.release_memory = inner.release_memory
        self.close = inner.close
        self._inner = inner
        self._timed = timed

    async def with_tx(self, work: Work[T]) -> T:
        """See `Database`."""
        began = time.perf_counter()
        committed = False
        try:
            result = await self._inner.with_tx(work)
            committed = True
        finally:
            self._timed(committed, time.perf_counter() - began)
        return result
