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
    """Write the SQLite database into the new file TARGET, as it is at one moment. Tsuzuki may go on meanwhile.

    The copy is checked before it gets its name, and nothing is overwritten. To restore it, stop Tsuzuki and put it
    where TSUZUKI_DATABASE_URL points. A PostgreSQL database is backed up by pg_dump.
    """
    settings = start()
    if not settings.database_url.startswith("sqlite:"):
        raise click.ClickException("The database is on a PostgreSQL server: back it up by pg_dump.")
    from tsuzuki.db.backup import back_up
    from tsuzuki.db.sqlite_file import path_of

    size = back_up(path_of(settings.database_url), target)
    click.echo(f"{target}: {size:,} bytes, checked.")


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
    "--recreate", is_flag=True, help="Start with an empty database. SQLite: the old file is kept under another name."
)
@click.option("--yes", is_flag=True, help="With --recreate: do not ask.")
def migrate(*, dry_run: bool, recreate: bool, yes: bool) -> None:
    """Bring the database up to this program's schema. `tsuzuki serve` does it too."""
    if recreate and dry_run:
        raise click.UsageError("--recreate and --dry-run exclude each other.")
    settings = start()
    from tsuzuki.app import bootstrap
    from tsuzuki.db import migrate as steps

    options = bootstrap.database_options(settings)
    now = bootstrap.wall_clock()
    if recreate:
        if not yes:
            click.confirm("Everything in the database will be gone from it. Recreate it?", abort=True)
        bootstrap.make_data_dir(settings)
        click.echo(f"Recreated; {asyncio.run(steps.recreate(options, now=now))}.")
        return
    if not dry_run:
        bootstrap.make_data_dir(settings)
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
    "items": "articles that no shelf has then",
    "jobs": "crawl jobs",
    "audit": "rows of the audit log",
}


@click.command()
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
def prune(*, dry_run: bool) -> None:
    """Remove what is older than the settings keep it, now instead of at night.

    Tsuzuki may go on meanwhile. What is unread, saved or bookmarked stays. See docs/retention.md.
    """
    settings = start()
    if dry_run:
        found = asyncio.run(_preview(settings))
        for each in found:
            click.echo(f"{each.rows:>12,}  {WORDS[each.what]}, about {each.bytes / 2**20:,.1f} MiB")
        click.echo("Nothing was removed.")
        return
    pruned = asyncio.run(_prune(settings))
    for what, rows in pruned.items():
        click.echo(f"{rows:>12,}  {WORDS[what]}")
    click.echo("Removed." if pruned else "There was nothing to remove.")


async def _preview(settings: "Settings") -> "list[RemovableRows]":
    from tsuzuki.app.bootstrap import open_retention

    async with open_retention(settings) as (_, preview):
        return await preview.removable(patience=None)


async def _prune(settings: "Settings") -> "Mapping[str, int]":
    from tsuzuki.app.bootstrap import open_retention

    async with open_retention(settings) as (pruner, _):
        return await pruner.prune()
