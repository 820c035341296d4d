"""`tsuzuki migrate`"""

import asyncio
from typing import TYPE_CHECKING

import click

from tsuzuki.cli.start import start

if TYPE_CHECKING:
    from tsuzuki.db.migrate import MigrationOutcome


@click.command()
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--recreate", is_flag=True, help="Begin with an empty database. SQLite: the old file is kept beside it.")
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
    click.echo(_said(asyncio.run(steps.migrate(options, now=now, dry_run=dry_run)), dry_run=dry_run))


def _said(outcome: "MigrationOutcome", *, dry_run: bool) -> str:
    names = ", ".join(f"{step.version:04d}_{step.name}" for step in outcome.steps)
    if not names:
        return f"Schema {outcome.before}: nothing to do."
    if dry_run:
        return f"Schema {outcome.before}: would apply {names}."
    return f"Schema {outcome.before} -> {outcome.after}: applied {names}."
