"""A whole copy, from the two addresses to the comparison."""

from collections.abc import Awaitable, Callable

from tsuzuki.db.copying.copier import Copied, Watch, open_copier
from tsuzuki.db.database import Database, DatabaseOptions
from tsuzuki.db.errors import SchemaRefused
from tsuzuki.db.migrate import migrate
from tsuzuki.db.opening import open_database
from tsuzuki.db.patience import unhurried
from tsuzuki.db.postgres import connect_once
from tsuzuki.db.sqlite_file import path_of, refuse_in_use
from tsuzuki.db.unfinished import is_unfinished

Index = Callable[[Database], Awaitable[None]]
"""Makes the target's search index from its rows; it lies above this package, so it is passed in."""


async def copy_database(
    source: DatabaseOptions, target: DatabaseOptions, *, now: int, index: Index, watch: Watch
) -> Copied:
    """Copy a SQLite file into an empty PostgreSQL database, or finish such a copy."""
    if not source.url.startswith("sqlite:") or target.url.startswith("sqlite:"):
        raise SchemaRefused("A database is copied from SQLite to PostgreSQL: `sqlite:///...` to `postgresql://...`.")
    if not path_of(source.url).is_file():
        raise SchemaRefused(f"There is no database at {path_of(source.url)}.")
    refuse_in_use(path_of(source.url))  # what is written meanwhile would be missing
    await migrate(source, now=now)
    if not await _is_begun(target.url):
        await migrate(target, now=now)
    async with open_copier(path_of(source.url), target.url, watch) as copier:
        copied = await copier.copy()
        db = await open_database(target)
        try:
            with unhurried():
                await index(db)
        finally:
            await db.close()
        await copier.finish()
    return copied


async def _is_begun(url: str) -> bool:
    connection = await connect_once(url)
    try:
        return await is_unfinished(connection)
    finally:
        await connection.close()
