"""A PostgreSQL database that `tsuzuki copy-database` has not finished is not used."""

from typing import TypeAlias

import asyncpg

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

UNFINISHED = (
    "A copy into this database was begun and not finished. Run `tsuzuki copy-database` again to finish it, "
    "or `tsuzuki migrate --recreate` to begin with an empty one."
)


async def is_unfinished(target: Connection) -> bool:
    """Whether a copy into this database was begun and not finished."""
    return await target.fetchval("select to_regclass('database_copy')") is not None
