"""`tsuzuki files`."""

import asyncio
from typing import TYPE_CHECKING

import click

from tsuzuki.cli.start import environment, load_settings, shown_progress, start

if TYPE_CHECKING:
    from tsuzuki.files.move import MovedFiles
    from tsuzuki.files.stores import Area
    from tsuzuki.settings import Settings


@click.group()
def files() -> None:
    """Images, downloaded chapters and archived logs."""


@files.command()
@click.option("--from", "source", required=True, metavar="STORE", help="Where the files are.")
@click.option("--to", "target", required=True, metavar="STORE", help="Where they should be.")
def move(source: str, target: str) -> None:
    """Move all files from one STORE to another.

    A STORE is `folder` (the data folder), `configured` (what TSUZUKI_FILES_URL names), or an address as that setting
    takes it. Stop Tsuzuki first. Each file is read back from its new place and compared before it is deleted from the
    old one. If a move is interrupted, run the same command again to continue.
    """
    settings = start()
    from tsuzuki.app import bootstrap
    from tsuzuki.app.pipeline import files_of
    from tsuzuki.files.stores import AREAS

    here, there = _settings_for(source), _settings_for(target)
    if files_of(here, AREAS[0]).name == files_of(there, AREAS[0]).name:
        raise click.UsageError("--from and --to are the same store.")
    bootstrap.make_data_dir(settings)
    moved = {area.name: asyncio.run(_move(here, there, area)) for area in AREAS}
    for name, each in moved.items():
        click.echo(f"{name}: {each.files:,} files moved, {each.bytes / 2**20:,.1f} MiB, compared.")
        for key in each.damaged:
            click.echo(f"{name}/{key} is damaged and was left where it is.", err=True)
        for key in each.differing:
            click.echo(f"{name}/{key} is different in the two stores, so both were kept.", err=True)
    if any(each.damaged or each.differing for each in moved.values()):
        raise click.ClickException("Some files were not moved.")


def _settings_for(store: str) -> "Settings":
    if store == "configured":
        return load_settings(environment())
    return load_settings(environment(files_url="" if store == "folder" else store))  # read as the setting would be


async def _move(here: "Settings", there: "Settings", area: "Area") -> "MovedFiles":
    from tsuzuki.app.pipeline import files_of
    from tsuzuki.files.move import FileMove

    with shown_progress(in_logs=True) as show:
        moving = FileMove(files_of(here, area), files_of(there, area), area)
        return await moving.run(lambda done, total: show(f"move {area.name}", done, total))
