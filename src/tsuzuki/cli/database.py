"""`tsuzuki backup`, `tsuzuki copy-database`, `tsuzuki migrate` and `tsuzuki prune`."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tsuzuki.cli.start import environment, load_settings, shown_progress, start

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tsuzuki.db import Database, DatabaseOptions
    from tsuzuki.db.copy_database import CopyResult, CopyStep
    from tsuzuki.db.migrate import MigrationOutcome
    from tsuzuki.model.times import Millis
    from tsuzuki.retention.preview import RemovableRows
    from tsuzuki.settings import Settings


@click.command()
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
def backup(target: Path) -> None:
    """Back up the SQLite database to the new file TARGET. Tsuzuki may keep running.

    The backup is a consistent snapshot and is checked before it gets its name; an existing file is not overwritten. To
    restore it, stop Tsuzuki and put it where TSUZUKI_DATABASE_URL points. For PostgreSQL, use pg_dump.
    """
    settings = start()
    if not settings.database_url.startswith("sqlite:"):
        raise click.ClickException("The database is on a PostgreSQL server: back it up with pg_dump.")
    from tsuzuki.db.backup import back_up
    from tsuzuki.db.sqlite_file import path_of

    size = back_up(path_of(settings.database_url), target)
    click.echo(f"Backed up to {target}: {size:,} bytes, checked.")


@click.command("copy-database")
@click.argument("target")
def copy_database(target: str) -> None:
    """Copy the SQLite database into the empty PostgreSQL database TARGET (postgresql://...).

    Stop Tsuzuki first. If a copy is interrupted, run the same command again to continue. At the end both databases are
    compared row by row; the SQLite file is not changed. Then set TSUZUKI_DATABASE_URL to TARGET and start Tsuzuki.
    """
    settings = start()
    from tsuzuki.app import opening
    from tsuzuki.settings import BadSetting

    try:
        there = load_settings(environment(database_url=target))  # TARGET is read as the setting would be
    except BadSetting as error:
        raise BadSetting(str(error).replace("TSUZUKI_DATABASE_URL", "TARGET")) from error
    source, to = opening.database_options(settings), opening.database_options(there)
    copied = asyncio.run(_copy(source, to, opening.wall_clock()))
    click.echo(
        f"{copied.rows:,} rows in {copied.tables} tables were copied and compared: both databases are identical."
    )
    click.echo("Set TSUZUKI_DATABASE_URL to the new database, then start Tsuzuki.")


async def _copy(source: "DatabaseOptions", target: "DatabaseOptions", now: "Millis") -> "CopyResult":
    from tsuzuki.db.copy_database import copy_database
    from tsuzuki.ingest.housekeeping import index_items
    from tsuzuki.parsing.pool import ParsePool, PoolOptions

    with shown_progress(in_logs=True) as show:

        def watch(step: "CopyStep") -> None:
            if step.of:
                show(f"{step.verb} {step.table}", step.rows, step.of)

        async def index(db: "Database") -> None:
            async with ParsePool(PoolOptions()) as parsers:
                await index_items(db, parsers, lambda done, total: show("index items", done, total))

        return await copy_database(source, target, now=now, index=index, watch=watch)


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would be done, without doing it.")
@click.option(
    "--recreate", is_flag=True, help="Start with an empty database. With SQLite, the old file is renamed, not deleted."
)
@click.option("--yes", is_flag=True, help="With --recreate: do not ask for confirmation.")
def migrate(*, dry_run: bool, recreate: bool, yes: bool) -> None:
    """Update the database to the schema of this version. `tsuzuki serve` does this too."""
    if recreate and dry_run:
        raise click.UsageError("Use either --recreate or --dry-run, not both.")
    settings = start()
    from tsuzuki.app import opening
    from tsuzuki.db import migrate as steps

    options = opening.database_options(settings)
    now = opening.wall_clock()
    if recreate:
        if not yes:
            click.confirm("All data will be removed from the database. Recreate it?", abort=True)
        opening.make_data_dir(settings)
        click.echo(f"Recreated; {asyncio.run(steps.recreate(options, now=now))}.")
        return
    if not dry_run:
        opening.make_data_dir(settings)
    click.echo(_outcome_text(asyncio.run(steps.migrate(options, now=now, dry_run=dry_run)), dry_run=dry_run))


def _outcome_text(outcome: "MigrationOutcome", *, dry_run: bool) -> str:
    names = ", ".join(f"{step.version:04d}_{step.name}" for step in outcome.steps)
    if not names:
        return f"Schema {outcome.before}: nothing to do."
    if dry_run:
        return f"Schema {outcome.before}: would apply {names}."
    return f"Schema {outcome.before} -> {outcome.after}: applied {names}."


WORDS = {
    "entries": "read articles on shelves",
    "chapters": "read chapters in inboxes",
    "items": "articles that are then on no shelf",
    "jobs": "crawl jobs",
    "audit": "audit log entries",
}


@click.command()
@click.option("--dry-run", is_flag=True, help="Only show what would be deleted.")
def prune(*, dry_run: bool) -> None:
    """Delete old data according to the settings, now instead of at night.

    Tsuzuki may keep running. Unread, saved and bookmarked articles are never deleted. See docs/retention.md.
    """
    settings = start()
    if dry_run:
        found = asyncio.run(_preview(settings))
        for each in found:
            click.echo(f"{each.rows:>12,}  {WORDS[each.what]}, about {each.bytes / 2**20:,.1f} MiB")
        click.echo("Nothing was deleted.")
        return
    pruned = asyncio.run(_prune(settings))
    for what, rows in pruned.items():
        click.echo(f"{rows:>12,}  {WORDS[what]}")
    click.echo("Deleted." if pruned else "There was nothing to delete.")


async def _preview(settings: "Settings") -> "list[RemovableRows]":
    from tsuzuki.app.opening import open_retention

    async with open_retention(settings) as (_, preview):
        return await preview.removable(patience=None)


async def _prune(settings: "Settings") -> "Mapping[str, int]":
    from tsuzuki.app.opening import open_retention

    async with open_retention(settings) as (pruner, _):
        return await pruner.prune()
