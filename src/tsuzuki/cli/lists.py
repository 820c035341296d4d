"""`tsuzuki import opml|reedme`: lists of feeds and databases of before. What both directions need is here too."""

import asyncio
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from tsuzuki.accounts.setup import FIRST_ADMIN
from tsuzuki.cli.start import start

if TYPE_CHECKING:
    from tsuzuki.accounts.nouns import User
    from tsuzuki.bootstrap import Tsuzuki
    from tsuzuki.ingest.reedme.service import Brought
    from tsuzuki.model.ids import ShelfId

T = TypeVar("T")

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
user_option = click.option(
    "--user", "name", default=FIRST_ADMIN, show_default=True, help="Whose shelf; the one that is theirs by default."
)


def with_shelf(name: str, work: "Callable[[Tsuzuki, ShelfId], Awaitable[T]]", *, writes: bool) -> T:
    """Do this with everything open, on the shelf of this person; refused where they only read it and this writes."""
    return with_person(name, lambda opened, _, shelf_id: work(opened, shelf_id), writes=writes)


def with_person(name: str, work: "Callable[[Tsuzuki, User, ShelfId], Awaitable[T]]", *, writes: bool) -> T:
    """The same, for what is the person's too."""
    settings = start()
    from tsuzuki.bootstrap import open_tsuzuki
    from tsuzuki.db.patience import unhurried

    async def run() -> T:
        with unhurried():
            return await do()

    async def do() -> T:
        async with open_tsuzuki(settings) as opened:
            person = await opened.accounts.users.find(name)
            return await work(opened, person, (await opened.accounts.oneself.shelf_of(person, writes=writes)).id)

    return asyncio.run(run())


@click.group("import")
def import_() -> None:
    """Bring along what you have elsewhere."""


@import_.command("opml")
@click.argument("file", type=FILE)
@user_option
def import_opml(file: Path, name: str) -> None:
    """Follow the feeds of an OPML file; what is followed already stays as it is. Exits with 1 when a line failed."""
    body = file.read_bytes()
    report = with_shelf(name, lambda opened, shelf_id: opened.reading.lists.read(shelf_id, body), writes=True)
    for line in report:
        if line.error is not None:
            click.echo(f"{file}:{line.line}: {line.link}: {line.error}", err=True)
    count = Counter(line.outcome for line in report)
    click.echo(f"{count['created']} created, {count['existing']} existing, {count['failed']} failed.")
    if count["failed"]:
        sys.exit(1)


@import_.command("reedme")
@click.argument("file", type=FILE)
@user_option
def import_reedme(file: Path, name: str) -> None:
    """Bring groups, feeds, items and what was read from a database of ReedMe or Fusion.

    A file that is damaged is refused before anything is written. Exits with 1 when something was left out.
    """
    from tsuzuki.ingest.reedme.service import Reedme

    async def bring(opened: "Tsuzuki", shelf_id: "ShelfId") -> "Brought":
        parsers = opened.way.outside.parsers
        return await Reedme(opened.db, opened.clock, opened.new_id, parsers=parsers).bring(file, shelf_id)

    brought = with_shelf(name, bring, writes=True)
    for link in brought.refused:
        click.echo(f"{link}: this address cannot be called.", err=True)
    for note in brought.notes:
        click.echo(f"{file}: {note}.", err=True)
    click.echo(f"{brought.feeds} feeds, {brought.items} items, {brought.bookmarks} bookmarks.")
    if brought.skipped:
        click.echo(f"{brought.skipped} left out.", err=True)
        sys.exit(1)
