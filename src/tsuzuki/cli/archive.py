"""`tsuzuki export` and `tsuzuki import shelf`: what a reader has, out of one server and into another."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tsuzuki.cli.lists import FILE, ShelfChoice, import_, shelf_options, with_person, with_shelf
from tsuzuki.cli.progress import shown_progress

if TYPE_CHECKING:
    from tsuzuki.accounts.nouns import User
    from tsuzuki.app.bootstrap import Tsuzuki
    from tsuzuki.model.ids import ShelfId
    from tsuzuki.transfer.archive.format import Manifest
    from tsuzuki.transfer.archive.journal import ImportReport

__all__ = ["export", "import_"]


@click.command()
@click.option(
    "--format",
    "kind",
    type=click.Choice(["opml", "archive"]),
    default="opml",
    show_default=True,
    help="The list of feeds, or the shelf with all its state.",
)
@shelf_options
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A new file; an OPML list goes to stdout without it, an archive to NAME-shelf.zip.",
)
def export(kind: str, whose: ShelfChoice, output: Path | None) -> None:
    """Write the followed feeds as OPML 2.0, or a shelf with everything on it as an archive.

    `tsuzuki import shelf` reads the archive. It holds no passwords and tokens, but all that its reader has read: keep
    it as you keep letters.
    """
    if kind == "archive":
        _export_archive(whose, output or Path(f"{whose.name}-shelf.zip"))
        return
    body = with_shelf(whose, lambda opened, shelf_id: opened.lists.write(shelf_id), writes=False)
    if output is None:
        sys.stdout.buffer.write(body)
        return
    from tsuzuki.transfer.archive.container import new_file

    with new_file(output) as file:
        file.write(body)


def _export_archive(whose: ShelfChoice, output: Path) -> None:
    from tsuzuki.transfer.archive.writing import ShelfExport

    with shown_progress() as watch:

        async def write(opened: "Tsuzuki", user: "User", shelf_id: "ShelfId") -> "Manifest":
            return await ShelfExport(opened.db, opened.clock).write(output, shelf_id, user.id, watch)

        manifest = with_person(whose, write, writes=False)
    lines = {part.removesuffix(".jsonl"): said.lines for part, said in manifest.parts.items()}
    told = ", ".join(f"{lines[part]:,} {part}" for part in ("feeds", "items", "series", "chapters", "bookmarks"))
    click.echo(f"{output}: {told}.")


@import_.command("shelf")
@click.argument("file", type=FILE)
@shelf_options
def import_shelf(file: Path, whose: ShelfChoice) -> None:
    """Put all that an archive of a shelf holds onto a shelf; what is there already stays.

    The whole file is checked before anything is written, and a repeat changes nothing. Exits with 1 when something was
    left out.
    """
    from tsuzuki.transfer.archive.reading import ShelfImport

    with shown_progress() as watch:

        async def bring(opened: "Tsuzuki", user: "User", shelf_id: "ShelfId") -> "ImportReport":
            parsers = opened.pipeline.fetching.parsers
            bringer = ShelfImport(opened.reading.subscriptions, opened.crawling.sources, parsers)
            return await bringer.bring(file, shelf_id, user, watch)

        brought = with_person(whose, bring, writes=True)
    for note in brought.notes:
        click.echo(f"{file}: {note}", err=True)
    if brought.more:
        click.echo(f"{file}: and {brought.more:,} lines more like these.", err=True)
    for part, counts in brought.parts.items():
        said = f"{counts.created:,} created, {counts.existing:,} existing, {counts.left_out:,} left out"
        click.echo(f"{part.removesuffix('.jsonl')}: {said}.")
    if any(counts.left_out for counts in brought.parts.values()):
        sys.exit(1)
