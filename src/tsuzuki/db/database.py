"""The interface of a database engine."""

import asyncio
from types import TracebackType
from typing import Protocol, TypeVar

import msgspec

from tsuzuki.db.errors import DatabaseUnavailable
from tsuzuki.db.queries import Engine
from tsuzuki.db.tx import Work
from tsuzuki.db.vault import NO_KEY, Vault

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


T = TypeVar("T")


class DatabaseOptions(msgspec.Struct, frozen=True):
    """Where the database is, and how many connections to it."""

    url: str
    """`sqlite:///absolute/path` or `postgresql://...`."""
    min_connections: int = 2
    max_connections: int = 10
    command_timeout: float = 20
    """Seconds until a PostgreSQL that does not answer a statement counts as lost; `db.patience` gives more."""
    asks_again: bool = True
    """Whether a read that lost its connection to PostgreSQL is asked again, of another."""
    vault: Vault = NO_KEY
    """What secrets are sealed with; without a key they are stored as they are."""


class Database(Protocol):
    """One database, used from one event loop. Every method may raise `DatabaseUnavailable`."""

    engine: Engine

    async def with_tx(self, work: Work[T]) -> T:
        """Run `work(tx)` in a transaction: committed when it returns, rolled back when it raises.

        The answer comes after the commit is safe on disk. `work` awaits only the verbs of its `tx`; a caller that is
        cancelled meanwhile rolls back, unless the commit was under way already.
        """
        ...

    async def read(self, work: Work[T]) -> T:
        """Run `work(tx)` outside any transaction: every statement sees what is committed when it runs.

        A statement that writes is refused.
        """
        ...

    async def read_replica(self, work: Work[T]) -> T:
        """Run `work(tx)` as `read` does, on a replica if there is one that has all that is committed by now.

        For lists and search: small reads cost more to ask for there. Nothing may depend on locks or running
        transactions, of which a replica knows nothing. `work` may be run again, by the first database.
        """
        ...

    async def ping(self) -> None:
        """Return when the database answers."""
        ...

    async def release_memory(self) -> None:
        """Let go of what is kept only to be quicker, after much work."""
        ...

    async def close(self) -> None:
        """Finish what was begun or waits, then let go of every connection; later calls raise `DatabaseUnavailable`."""
        ...
