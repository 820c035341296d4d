"""`tsuzuki poll` and `tsuzuki source try`: fetch an address or try a definition, without a database."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tsuzuki.cli.start import start
from tsuzuki.model.errors import NotAFeed, TsuzukiError
from tsuzuki.settings import Settings

if TYPE_CHECKING:
    from tsuzuki.polling.addresses import TriedAddress

SHOWN = 20


@click.command()
@click.argument("url")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def poll(url: str, *, as_json: bool) -> None:
    """Fetch URL once and show the result: items, validators, freshness, and when it would be fetched next.

    For a web page, shows its feeds. Nothing is stored. Exits with 1 if the request fails or no feed is found.
    """
    settings = start()
    try:
        tried = asyncio.run(_try(settings, url))
    except TsuzukiError as error:
        if as_json:
            _print_json({"error": {"code": error.code, "message": str(error)}})
        else:
            click.echo(f"{error.code}: {error}", err=True)
        sys.exit(1)
    if as_json:
        _print_json(_shown(tried))
    else:
        _print_table(tried)


async def _try(settings: Settings, url: str) -> "TriedAddress":
    from tsuzuki.app.fetching import open_fetching
    from tsuzuki.app.opening import wall_clock

    async with open_fetching(settings, clock=wall_clock) as outside:
        tried = await outside.trier.try_url(url, wall_clock())
    if tried.kind == "page" and not tried.found:
        from tsuzuki.connectors.discovery import describe_guesses

        raise NotAFeed(f"This is a web page that links to no feed. {describe_guesses(tried.guessed)}".strip())
    return tried


@click.group()
def source() -> None:
    """Try sources of comics."""


@source.command("try")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--search", "text", help="Search for this text instead of using the source's list.")
@click.option("--series", "series_url", help="The address of a series to use instead of the first in the list.")
def try_source(file: Path, text: str | None, series_url: str | None) -> None:
    """Check the definition in FILE, then fetch from the source and show the result.

    Shows one list, the details and chapters of its first series, and the pages of the newest chapter. Exits with 1 if a
    step fails.
    """
    settings = start()
    lines, is_good = asyncio.run(_try_source(settings, (str(file), file.read_text("utf-8")), text, series_url))
    for line in lines:
        click.echo(line)
    sys.exit(0 if is_good else 1)


async def _try_source(
    settings: Settings, definition: tuple[str, str], text: str | None, series_url: str | None
) -> tuple[list[str], bool]:
    from tsuzuki.app.fetching import open_fetching
    from tsuzuki.app.opening import wall_clock
    from tsuzuki.connectors.config import decode_config
    from tsuzuki.connectors.selectors.connector import SelectorsSource
    from tsuzuki.connectors.selectors.reader import load_definition
    from tsuzuki.connectors.selectors.trial import describe_try
    from tsuzuki.connectors.selectors.trial import try_source as trial_of
    from tsuzuki.model.requests import SourceIdentity

    name, written = definition
    connector = SelectorsSource(load_definition(written, name))
    info = connector.info
    config = decode_config(info.config, {})
    async with open_fetching(settings, clock=wall_clock) as outside:
        origin = SourceIdentity(
            source=info.id,
            home_url=info.api_url or info.base_url,
            ratelimit=info.ratelimit,
            keeps_cookies=True,
        )
        trial = await outside.driver.run(trial_of(connector, config, text=text, series_url=series_url), origin)
    return describe_try(connector, trial), trial.is_good


def _print_json(value: Any) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value)).decode())


def _shown(tried: "TriedAddress") -> dict[str, Any]:
    """Times as clients see them."""
    import msgspec

    from tsuzuki.model.times import iso

    def times(values: dict[str, Any]) -> dict[str, Any]:
        return {
            name: iso(value) if name.endswith("_at") and value is not None else value for name, value in values.items()
        }

    state = times(msgspec.structs.asdict(tried.fetch_state))
    state["retry_after_until"] = None if state["retry_after_until"] is None else iso(state["retry_after_until"])
    return {
        "kind": tried.kind,
        "title": tried.title,
        "found": [times(msgspec.structs.asdict(each)) for each in tried.found],
        "fetch_state": state,
        "next_check": {"at": iso(tried.next_check.at), "why": tried.next_check.why},
    } | ({} if tried.problem is None else {"problem": tried.problem})


def _print_table(tried: "TriedAddress") -> None:
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    from tsuzuki.model.times import iso

    console = Console()
    if tried.problem is not None:
        console.print(f"{tried.problem} This site has these feeds:", highlight=False, markup=False)
    console.print(f"{tried.kind}: {tried.title} ({len(tried.found)} found)", highlight=False, markup=False)
    table = Table(Column("published", no_wrap=True), "title", Column("address", overflow="fold"))
    for each in tried.found[:SHOWN]:
        published = "" if each.published_at is None else iso(each.published_at)
        table.add_row(published, Text(each.title), Text(each.url or ""))
    console.print(table)
    if len(tried.found) > SHOWN:
        console.print(f"... and {len(tried.found) - SHOWN} more")
    facts = Table("response", "", show_header=False)
    for name, value in _shown(tried)["fetch_state"].items():
        if value is not None:
            facts.add_row(name, Text(str(value)))
    facts.add_row("next check", f"{iso(tried.next_check.at)}: {tried.next_check.why}")
    console.print(facts)
