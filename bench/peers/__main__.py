"""Tsuzuki beside Miniflux, Fusion and yarr: `python -m bench.peers [--small]`.

Each is a server in processes of its own and polls the same feeds of a local publisher, in turns within one run. The
others are built with `go` from checkouts that options or variables name, or from clones; who is missing is said, and
the rest goes on. PostgreSQL is the one of the tests. No time makes this fail.
"""

import argparse
import os
import platform
import shutil
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import msgspec
import uvloop

from bench.harness import a_postgres, say
from bench.peers.build import FUSION, MINIFLUX, YARR, Built, Missing, Recipe, build
from bench.peers.contestants import Contestant, new_database
from bench.peers.measure import Measuring, Sizes, a_site
from bench.peers.others import Fusion, Miniflux, Yarr
from bench.peers.table import aims, ratios, table
from bench.peers.tsuzuki import OnPostgres, OnSqlite
from tests.servers import ServerMissing, shared_folder

SMALL = Sizes(feeds=60, rounds=2, calls=30, hosts=60)
RECIPES = (MINIFLUX, FUSION, YARR)
NO_POSTGRES = "{what} is left out: there is no PostgreSQL ({why})."


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a few minutes; the options below win over it")
    for field in msgspec.structs.fields(Sizes):
        parser.add_argument(f"--{field.name}", type=int, help=f"default {field.default}")
    parser.add_argument("--at-once", type=int, default=32, help="polls at the same time, where that can be set")
    parser.add_argument("--fusion-at-once", type=int, default=10, help="Fusion's; its default, because more lose more")
    parser.add_argument("--only", help="only these, separated by commas: sqlite, postgres, miniflux, fusion, yarr")
    for recipe in RECIPES:
        hint = f"a checkout of {recipe.repository}, or a built program [{recipe.variable}]"
        parser.add_argument(recipe.option, type=Path, default=os.environ.get(recipe.variable), help=hint)
    parser.add_argument("--clone", action="store_true", help="fetch those that are not given from GitHub")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tsuzuki-peers"
    parser.add_argument("--cache", type=Path, default=cache, help="where clones and programs stay")
    return parser.parse_args()


def sizes_of(chosen: argparse.Namespace) -> Sizes:
    given = {field.name: getattr(chosen, field.name) for field in msgspec.structs.fields(Sizes)}
    return msgspec.structs.replace(SMALL if chosen.small else Sizes(), **{k: v for k, v in given.items() if v})


def built(chosen: argparse.Namespace, wanted: Callable[[str], bool], said: list[str]) -> dict[str, Built]:
    """Programs by name; why one is missing goes to `said`."""
    found = {}
    chosen.cache.mkdir(parents=True, exist_ok=True)
    for recipe in RECIPES:
        if not wanted(recipe.name.lower()):
            continue
        try:
            found[recipe.name] = build(recipe, _given(chosen, recipe), chosen.cache, clones=chosen.clone)
        except Missing as missing:
            said.append(str(missing))
    return found


def _given(chosen: argparse.Namespace, recipe: Recipe) -> Path | None:
    given = getattr(chosen, recipe.name.lower())
    return None if given is None else Path(given)


async def contestants(
    folder: Path,
    programs: dict[str, Built],
    server_url: str | None,
    *,
    wanted: Callable[[str], bool],
    chosen: argparse.Namespace,
) -> list[Contestant]:
    """Ours first."""
    at_once: int = chosen.at_once
    found: list[Contestant] = []
    if wanted("sqlite"):
        found.append(OnSqlite(folder, at_once=at_once))
    if server_url is not None and wanted("postgres"):
        found.append(OnPostgres(folder, await new_database(server_url, "peers_tsuzuki"), at_once=at_once))
    if server_url is not None and "Miniflux" in programs:
        url = await new_database(server_url, "peers_miniflux")
        found.append(Miniflux(folder, programs["Miniflux"].binary, url, at_once=at_once))
    if "Fusion" in programs:
        found.append(Fusion(folder, programs["Fusion"].binary, at_once=chosen.fusion_at_once))
    if "yarr" in programs:
        found.append(Yarr(folder, programs["yarr"].binary, at_once=at_once))
    return found


async def compare(found: list[Contestant], sizes: Sizes) -> Measuring:
    """All of it; every process that was started is gone afterwards."""
    async with AsyncExitStack() as stack:
        site = await stack.enter_async_context(a_site(sizes))
        for one in found:
            stack.push_async_callback(one.stop)
        measuring = Measuring(site, found, sizes)
        await measuring.run()
        return measuring


def show(measuring: Measuring, sizes: Sizes, *, said: list[str], versions: str, at_once: int) -> None:
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(
        f"\n{sizes.feeds} feeds of {sizes.items} items on {min(sizes.hosts, sizes.feeds)} addresses, {at_once} polls at"
        f" once, the best of {sizes.rounds} rounds, the median of {sizes.calls} calls; {os.cpu_count()} cores, load at"
        f" the end {load}; Python {platform.python_version()}{versions}\n"
    )
    names, rows = measuring.names, measuring.rows()
    for part in (table(names, rows), ratios(names, rows)):
        if part:
            print(part, end="\n\n")
    if aims(rows):
        print()
    for note in (*said, *measuring.notes, *(one.note for one in measuring.contestants if one.note)):
        print(f"- {note}")


def main() -> None:
    chosen = options()
    sizes, said = sizes_of(chosen), list[str]()
    only = set(chosen.only.split(",")) if chosen.only else None

    def wanted(key: str) -> bool:
        return only is None or key in only

    programs = built(chosen, wanted, said)
    with ExitStack() as stack:
        server_url = None
        if wanted("postgres") or "Miniflux" in programs:
            try:
                server_url = stack.enter_context(a_postgres(memory="256MB")).url
            except ServerMissing as missing:
                said.append(NO_POSTGRES.format(what="Miniflux, and ours on PostgreSQL,", why=missing))
        folder = shared_folder()
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        for sentence in said:
            say(sentence)

        async def run() -> Measuring:
            found = await contestants(folder, programs, server_url, wanted=wanted, chosen=chosen)
            return await compare(found, sizes)

        measuring = uvloop.run(run())
    versions = "".join(f", {name} {program.version}" for name, program in programs.items())
    show(measuring, sizes, said=said, versions=versions, at_once=chosen.at_once)


if __name__ == "__main__":
    main()
