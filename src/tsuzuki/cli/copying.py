"""`tsuzuki copy-database`"""

import asyncio
from typing import TYPE_CHECKING

import click

from tsuzuki.cli.progress import shown_progress
from tsuzuki.cli.start import environment, load_settings, start

if TYPE_CHECKING:
    from tsuzuki.db import Database, DatabaseOptions
    from tsuzuki.db.copying.copier import Copied, CopyStep
    from tsuzuki.model.times import Millis


@click.command("copy-database")
@click.argument("target")
def copy_database(target: str) -> None:
    """Copy the SQLite database into the empty PostgreSQL database TARGET (postgresql://...).

    Stop Tsuzuki first. A copy that was interrupted is continued by the same command. At the end both are compared, row
    by row; the SQLite file stays as it is. Then set TSUZUKI_DATABASE_URL to TARGET and start again.
    """
    settings = start()
    from tsuzuki.app import bootstrap

    there = load_settings(environment(database_url=target))  # TARGET is read as the setting would be
    source, to = bootstrap.database_options(settings), bootstrap.database_options(there)
    copied = asyncio.run(_copy(source, to, bootstrap.wall_clock()))
    click.echo(
        f"{copied.rows:,} rows in {copied.tables} tables were copied and compared: both databases hold the same."
    )
    click.echo("Set TSUZUKI_DATABASE_URL to the new one, and start Tsuzuki again.")


async def _copy(source: "DatabaseOptions", target: "DatabaseOptions", now: "Millis") -> "Copied":
    from tsuzuki.db.copying import service
    from tsuzuki.ingest.housekeeping import index_items
    from tsuzuki.parsing.pool import ParsePool, PoolOptions

    with shown_progress(in_logs=True) as show:

        def watch(step: "CopyStep") -> None:
            if step.of:
                show(f"{step.verb} {step.table}", step.rows, step.of)

        async def index(db: "Database") -> None:
            async with ParsePool(PoolOptions()) as parsers:
                await index_items(db, parsers, lambda done, total: show("index items", done, total))

        return await service.copy_database(source, target, now=now, index=index, watch=watch)
