"""What an engine offers, and the choice between the two."""

from typing import Protocol, TypeVar

import msgspec

from tsuzuki.db.queries import Engine
from tsuzuki.db.tx import Work

T = TypeVar("T")


class DatabaseOptions(msgspec.Struct, frozen=True):
    """Where the database is, and how many connections to it."""

    url: str
    """`sqlite:///absolute/path` or `postgresql://...`."""
    min_connections: int = 2
    max_connections: int = 10


class Database(Protocol):
    """One database. Every method may raise `DatabaseUnavailable`."""

    engine: Engine

    async def with_tx(self, work: Work[T]) -> T:
        """Run `work(tx)` in a transaction: committed when it returns, rolled back when it raises.

        The answer comes after the commit is safe on disk. `work` may await only the verbs of its `tx`.
        """
        ...

    async def read(self, work: Work[T]) -> T:
        """Run `work(tx)` outside any transaction: every statement sees what is committed when it runs.

        A statement that writes is refused.
        """
        ...

    async def ping(self) -> None:
        """Return when the database answers."""
        ...

    async def close(self) -> None:
        """Finish what was begun, then let go of every connection."""
        ...


async def open_database(options: DatabaseOptions) -> Database:
    """Connect and check the engine; migrating is `migrate`'s."""
    if options.url.startswith("sqlite:"):
        from tsuzuki.db.sqlite import SqliteDatabase, path_of

        return SqliteDatabase(path_of(options.url), readers=options.min_connections)
    from tsuzuki.db.postgres import PostgresDatabase

    return await PostgresDatabase.connect(options)
