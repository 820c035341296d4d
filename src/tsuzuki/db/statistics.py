"""The planners' statistics."""

from tsuzuki.db.database import Database
from tsuzuki.db.queries import EngineSql, Query


async def refresh_statistics(db: Database) -> None:
    """Have the engine look at its tables anew, as far as they changed; it bounds the work itself.

    Free space needs nothing of us: PostgreSQL vacuums by itself, and SQLite uses free pages again.
    """
    await db.with_tx(lambda tx: tx.run(_REFRESH))


_REFRESH = Query(
    "refresh_statistics",
    EngineSql("pragma optimize", ()),
    EngineSql("analyze", ()),
    writes=True,
    returns_rows=False,
    inline=False,
)
