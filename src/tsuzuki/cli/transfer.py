"""`tsuzuki export` and `tsuzuki import`: OPML, ReedMe, and a whole shelf as an archive."""

import asyncio
import functools
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click
import msgspec

from tsuzuki.accounts.policy import FIRST_ADMIN
from tsuzuki.cli.start import shown_progress, start

if TYPE_CHECKING:
    from tsuzuki.accounts.types import MemberShelf, User
    from tsuzuki.app.bootstrap import Tsuzuki
    from tsuzuki.model.ids import ShelfId
    from tsuzuki.transfer.archive.format import Manifest
    from tsuzuki.transfer.archive.journal import ImportReport
    from tsuzuki.transfer.imports.types import ShelfImportRow
    from tsuzuki.transfer.reedme.service import ReedmeReport

T = TypeVar("T")

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class ShelfChoice(msgspec.Struct, frozen=True):
    """The shelf that a command is about."""

    name: str
    """The name of a person."""
    shelf: str | None
    """Which of that person's; None for the first that is their own."""


def shelf_options(command: Callable[..., None]) -> Callable[..., None]:
    """`--user` and `--shelf`, given to the command as `choice`."""

    @click.option("--user", "name", default=FIRST_ADMIN, show_default=True, help="The user whose shelf it is.")
    @click.option("--shelf", help="The name of the shelf. Default: the user's own shelf.")
    @functools.wraps(command)
    def with_options(*, name: str, shelf: str | None, **others: object) -> None:
        command(choice=ShelfChoice(name, shelf), **others)

    return with_options


def with_shelf(choice: ShelfChoice, work: "Callable[[Tsuzuki, ShelfId], Awaitable[T]]", *, writes: bool) -> T:
    """Do this with everything open, on this shelf; refused where the person only reads it and this writes."""
    return with_person(choice, lambda opened, _, shelf_id: work(opened, shelf_id), writes=writes)


def with_person(choice: ShelfChoice, work: "Callable[[Tsuzuki, User, ShelfId], Awaitable[T]]", *, writes: bool) -> T:
    """The same, for what is the person's too."""
    settings = start()
    from tsuzuki.accounts.current_user import must_allow
    from tsuzuki.app.bootstrap import open_tsuzuki
    from tsuzuki.db.deadlines import long_deadline

    async def run() -> T:
        with long_deadline():
            return await do()

    async def do() -> T:
        async with open_tsuzuki(settings) as opened:
            person = await opened.accounts.users.find(choice.name)
            shelves = await opened.accounts.current_user.shelves_of(person)
            shelf = own_shelf(shelves, choice)
            must_allow(shelf, writes=writes)
            if choice.shelf is None and len(shelves) > 1:
                click.echo(f"Shelf: {shelf.name} ({choice.name}: {shelf.role})", err=True)
            return await work(opened, person, shelf.id)

    return asyncio.run(run())


def own_shelf(shelves: "list[MemberShelf]", choice: ShelfChoice) -> "MemberShelf":
    """The one that is named, or the first that this person owns; a shared one only where they own none."""
    wanted = [one for one in shelves if choice.shelf in (None, one.name)]
    if not wanted:
        raise click.UsageError(
            f"{choice.name} has no shelf named {choice.shelf}." if choice.shelf else f"{choice.name} has no shelf."
        )
    return next((one for one in wanted if one.role == "owner"), wanted[0])


@click.group("import")
def import_() -> None:
    """Import feeds and articles from elsewhere, or a shelf from an archive."""


@import_.command("opml")
@click.argument("file", type=FILE)
@shelf_options
def import_opml(file: Path, choice: ShelfChoice) -> None:
    """Follow the feeds in an OPML file. Feeds that are already followed are not changed.

    Exits with 1 if a line fails.
    """
    body = file.read_bytes()
    report = with_shelf(choice, lambda opened, shelf_id: opened.lists.read(shelf_id, body), writes=True)
    for line in report:
        if line.error is not None:
            click.echo(f"{file}:{line.line}: {line.link}: {line.error}", err=True)
    count = Counter(line.outcome for line in report)
    click.echo(f"{count['created']} created, {count['existing']} existing, {count['failed']} failed.")
    if count["failed"]:
        sys.exit(1)


@import_.command("reedme")
@click.argument("file", type=FILE)
@shelf_options
def import_reedme(file: Path, choice: ShelfChoice) -> None:
    """Import groups, feeds, articles and their read state from a ReedMe or Fusion database.

    A damaged file is rejected before anything is written. Exits with 1 if something was skipped.
    """
    from tsuzuki.transfer.reedme.service import Reedme

    async def run_import(opened: "Tsuzuki", shelf_id: "ShelfId") -> "ReedmeReport":
        parsers = opened.pipeline.fetching.parsers
        return await Reedme(opened.db, opened.clock, opened.new_id, parsers=parsers).run(file, shelf_id)

    brought = with_shelf(choice, run_import, writes=True)
    for link in brought.refused:
        click.echo(f"{link}: this address cannot be fetched.", err=True)
    for note in brought.notes:
        click.echo(f"{file}: {note}.", err=True)
    click.echo(f"{brought.feeds} feeds, {brought.items} items, {brought.bookmarks} bookmarks.")
    if brought.skipped:
        click.echo(f"{brought.skipped} skipped.", err=True)
        sys.exit(1)


@import_.command("file")
@click.argument("file", type=FILE)
@click.option("--preview", "is_preview", is_flag=True, help="Only show what is in the file.")
@shelf_options
def import_file(file: Path, choice: ShelfChoice, *, is_preview: bool) -> None:
    """Import a file of another program: a backup of Mihon (.tachibk), OPML, JSON or XML. It says what the file is.

    The page /import takes the same files. Exits with 1 if something was skipped.
    """
    body = file.read_bytes()

    async def look(opened: "Tsuzuki", user: "User", shelf_id: "ShelfId") -> "ShelfImportRow":
        return await opened.imports.show(shelf_id, user.id, file.name, body)

    _import_shown(choice, look, is_preview=is_preview)


@import_.command("server")
@click.argument("kind", type=click.Choice(["miniflux", "suwayomi", "komga", "kavita"]))
@click.argument("url")
@click.option("--username", default="", help="Not needed for Miniflux and Kavita.")
@click.password_option(
    "--password", envvar="TSUZUKI_IMPORT_PASSWORD", confirmation_prompt=False, help="Or the API key."
)
@click.option("--preview", "is_preview", is_flag=True, help="Only show what is there.")
@shelf_options
def import_server(*, kind: str, url: str, username: str, password: str, choice: ShelfChoice, is_preview: bool) -> None:
    """Import from a running server. The password, or API key, is used once and not stored.

    Exits with 1 if something was skipped.
    """
    from tsuzuki.transfer.servers.kinds import ServerLogin

    login = ServerLogin(kind=kind, url=url, username=username, password=password)

    async def look(opened: "Tsuzuki", user: "User", shelf_id: "ShelfId") -> "ShelfImportRow":
        return await opened.imports.show_server(shelf_id, user.id, login)

    _import_shown(choice, look, is_preview=is_preview)


def _import_shown(
    choice: ShelfChoice,
    look: "Callable[[Tsuzuki, User, ShelfId], Awaitable[ShelfImportRow]]",
    *,
    is_preview: bool,
) -> None:
    async def run_import(opened: "Tsuzuki", user: "User", shelf_id: "ShelfId") -> "ShelfImportRow":
        shown = await look(opened, user, shelf_id)
        _print_preview(shown)
        if is_preview:
            await opened.imports.drop(shelf_id, shown.public_id)
            return shown
        return await opened.imports.import_now(shelf_id, shown.public_id)

    done = with_person(choice, run_import, writes=True)
    if done.error is not None:
        raise click.ClickException(done.error)
    if done.report is None:
        return
    for note in done.report.notes:
        click.echo(note, err=True)
    for part, counts in done.report.parts.items():
        said = f"{counts.created:,} created, {counts.existing:,} existing, {counts.left_out:,} skipped"
        if counts.created or counts.existing or counts.left_out:
            click.echo(f"{part}: {said}.")
    if any(counts.left_out for counts in done.report.parts.values()):
        sys.exit(1)


def _print_preview(shown: "ShelfImportRow") -> None:
    preview = shown.preview
    counts = ", ".join(f"{count:,} {part}" for part, count in preview.counts.items())
    click.echo(f"{shown.name} ({shown.kind}): {counts}.")
    for name, count in preview.unlinked.items():
        click.echo(f"Without a source here: {name}, {count:,} series.", err=True)
    for left in preview.left_out:
        click.echo(f"Not imported: {left.count:,} {left.what}. {left.why}", err=True)


@click.command()
@click.option(
    "--format",
    "kind",
    type=click.Choice(["opml", "archive", "mihon"]),
    default="opml",
    show_default=True,
    help="opml: the list of feeds; archive: the whole shelf; mihon: the series as a .tachibk.",
)
@shelf_options
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A new file. Default: stdout for OPML, USER-shelf.zip for an archive, app.mihon_DATE.tachibk for Mihon.",
)
def export(kind: str, choice: ShelfChoice, output: Path | None) -> None:
    """Export the followed feeds as OPML 2.0, a shelf with everything on it as an archive, or its series for Mihon.

    Import the archive with `tsuzuki import shelf`. It contains no passwords or tokens, but everything that its reader
    has read, so keep it private.
    """
    if kind == "archive":
        _export_archive(choice, output or Path(f"{choice.name}-shelf.zip"))
        return
    if kind == "mihon":
        _export_backup(choice, output)
        return
    body = with_shelf(choice, lambda opened, shelf_id: opened.lists.write(shelf_id), writes=False)
    if output is None:
        sys.stdout.buffer.write(body)
        return
    from tsuzuki.transfer.archive.container import new_file

    with new_file(output) as file:
        file.write(body)


def _export_backup(choice: ShelfChoice, output: Path | None) -> None:
    from tsuzuki.transfer.archive.container import new_file

    backup = with_shelf(choice, lambda opened, shelf_id: opened.mihon_export.write(shelf_id), writes=False)
    path = output or Path(backup.name)
    with new_file(path) as file:
        file.write(backup.body)
    click.echo(f"{path}")


def _export_archive(choice: ShelfChoice, output: Path) -> None:
    from tsuzuki.transfer.archive.shelf_export import ShelfExport

    with shown_progress() as watch:

        async def write(opened: "Tsuzuki", user: "User", shelf_id: "ShelfId") -> "Manifest":
            return await ShelfExport(opened.db, opened.clock).write(output, shelf_id, user.id, watch)

        manifest = with_person(choice, write, writes=False)
    lines = {part.removesuffix(".jsonl"): said.lines for part, said in manifest.parts.items()}
    counts = ", ".join(f"{lines[part]:,} {part}" for part in ("feeds", "items", "series", "chapters", "bookmarks"))
    click.echo(f"{output}: {counts}.")


@import_.command("shelf")
@click.argument("file", type=FILE)
@shelf_options
def import_shelf(file: Path, choice: ShelfChoice) -> None:
    """Import everything in an archive into a shelf. What is already there is not changed.

    The whole file is checked before anything is written. Importing it again changes nothing. Exits with 1 if something
    was skipped.
    """
    from tsuzuki.transfer.archive.shelf_import import ShelfImport

    with shown_progress() as watch:

        async def run_import(opened: "Tsuzuki", user: "User", shelf_id: "ShelfId") -> "ImportReport":
            parsers = opened.pipeline.fetching.parsers
            shelf_import = ShelfImport(opened.reading.subscriptions, opened.crawling.sources, parsers)
            return await shelf_import.run(file, shelf_id, user, watch)

        brought = with_person(choice, run_import, writes=True)
    for note in brought.notes:
        click.echo(f"{file}: {note}", err=True)
    if brought.more:
        click.echo(f"{file}: and {brought.more:,} more lines like these.", err=True)
    for part, counts in brought.parts.items():
        said = f"{counts.created:,} created, {counts.existing:,} existing, {counts.left_out:,} skipped"
        click.echo(f"{part.removesuffix('.jsonl')}: {said}.")
    if any(counts.left_out for counts in brought.parts.values()):
        sys.exit(1)
