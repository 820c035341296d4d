"""Numbered migrations, one folder per engine, each applied once in a transaction together with its checksum."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from tsuzuki.db.database import DatabaseOptions
from tsuzuki.db.errors import Contention
from tsuzuki.db.migration_steps import Migration, MigrationOutcome, available
from tsuzuki.db.sqlite_file import path_of
from tsuzuki.model.times import Millis

__all__ = ["MigrationOutcome", "available", "migrate", "recreate"]


async def migrate(
    options: DatabaseOptions, *, now: int, dry_run: bool = False, known: Sequence[Migration] | None = None
) -> MigrationOutcome:
    """Bring the database up to the `known` steps, by default this program's own.

    Of several processes that start at once, one does it.
    """
    if options.url.startswith("sqlite:"):
        from tsuzuki.db.migrate_sqlite import migrate_file

        steps = available("sqlite") if known is None else known
        return await asyncio.to_thread(migrate_file, path_of(options.url), steps, now=now, dry_run=dry_run)
    from tsuzuki.db.migrate_postgres import migrate_server

    steps = available("postgres") if known is None else known
    outcome = await migrate_server(options.url, steps, now=now, dry_run=dry_run)
    if known is None and not dry_run:
        await _make_partitions(options, Millis(now))
    return outcome


async def _make_partitions(options: DatabaseOptions, now: Millis) -> None:
    """R52: the log has its months from the first job on; where somebody is in the way, the hourly chore makes them."""
    from tsuzuki.db.crawl_log import ensure_partitions
    from tsuzuki.db.engines import open_database

    db = await open_database(options)
    try:
        with suppress(Contention):
            await ensure_partitions(db, now)
    finally:
        await db.close()


async def recreate(options: DatabaseOptions, *, now: int) -> str:
    """Put an old database aside (SQLite) or empty it (PostgreSQL), then migrate; says where the old one is.

    No other process may be using it, and it must be one of ours.
    """
    if options.url.startswith("sqlite:"):
        from tsuzuki.db.migrate_sqlite import put_aside

        kept = await asyncio.to_thread(put_aside, path_of(options.url), now)
        old = f"the old file is {kept}" if kept else "there was no old file"
    else:
        from tsuzuki.db.migrate_postgres import empty_server

        await empty_server(options.url)
        old = "the old tables were deleted"
    await migrate(options, now=now)
    return old
