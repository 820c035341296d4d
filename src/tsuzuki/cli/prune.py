"""`tsuzuki prune`"""

import asyncio
from typing import TYPE_CHECKING

import click

from tsuzuki.cli.start import start

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tsuzuki.retention.preview import Removable
    from tsuzuki.settings import Settings

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


async def _preview(settings: "Settings") -> "list[Removable]":
    from tsuzuki.app.bootstrap import open_retention

    async with open_retention(settings) as (_, preview):
        return await preview.removable(patience=None)


async def _prune(settings: "Settings") -> "Mapping[str, int]":
    from tsuzuki.app.bootstrap import open_retention

    async with open_retention(settings) as (pruner, _):
        return await pruner.prune()
