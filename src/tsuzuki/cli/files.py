"""`tsuzuki files`."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tsuzuki.cli.start import environment, load_settings, shown_progress, start

if TYPE_CHECKING:
    from tsuzuki.books.export import ExportReport
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
    from tsuzuki.app import opening
    from tsuzuki.app.pipeline import files_of
    from tsuzuki.files.stores import AREAS

    if settings.files_url is None and "configured" in (source, target):
        raise click.UsageError("TSUZUKI_FILES_URL is not set, so no store is configured.")
    here, there = _settings_for(source), _settings_for(target)
    if files_of(here, AREAS[0]).name == files_of(there, AREAS[0]).name:
        raise click.UsageError("--from and --to are the same store.")
    opening.make_data_dir(settings)
    moved = {area.name: asyncio.run(_move(here, there, area)) for area in AREAS}
    for name, each in moved.items():
        click.echo(f"{name}: {each.files:,} files moved, {each.bytes / 2**20:,.1f} MiB, compared.")
        for key in each.damaged:
            click.echo(f"{name}/{key} is damaged and was left where it is.", err=True)
        for key in each.differing:
            click.echo(f"{name}/{key} is different in the two stores, so both were kept.", err=True)
    if any(each.damaged or each.differing for each in moved.values()):
        raise click.ClickException("Some files were not moved.")


@files.command("export")
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder. Default: what TSUZUKI_EXPORT_FOLDER names.",
)
def export_chapters(folder: Path | None) -> None:
    """Write every downloaded chapter into a folder as a CBZ file, and remove those that are downloaded no more.

    Files that Tsuzuki did not write there are left alone. Exits with 1 if a chapter could not be written.
    """
    settings = start()
    from tsuzuki.app.bootstrap import folder_export, open_tsuzuki
    from tsuzuki.db.deadlines import long_deadline

    async def run() -> "ExportReport":
        with long_deadline():
            async with open_tsuzuki(settings) as opened:
                return await folder_export(opened, folder).work(most=None)

    report = asyncio.run(run())
    for path, why in report.refused.items():
        click.echo(f"{path}: {why}", err=True)
    click.echo(f"{report.written:,} chapters written, {report.removed:,} removed.")
    if report.refused:
        raise click.ClickException("Some files were not written, or not removed.")


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
