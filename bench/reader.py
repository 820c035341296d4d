"""What a reader does, against the bare query behind it: `python -m bench.reader [--small|--full]`.

The inbox, unread items, opening one, marking it, search; at 10,000, 100,000 and (`--full`) 1,000,000 items, for a shelf
that has them all and follows 5,000 feeds, and for one of a hundred that share them. The last two lines compare a whole
search with the list's filter for the same word. At the end, for the shelf that has 350,000 (or the most of this run):
what searches and counts compute, in parser processes and by PostgreSQL's backend too. Starts a PostgreSQL of its own.
No time makes it fail.
"""

import argparse
import asyncio
import os
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import msgspec

from bench._library import build, grow
from bench.harness import a_postgres, aim, family, say, seconds_of
from bench.store import MEMORY, postgres_database, sqlite_database
from tests.builders import HERE, NOON
from tests.inbox.builders import an_inbox, items_of
from tests.servers import Postgres
from tsuzuki.db import Database
from tsuzuki.db.fulltext import match
from tsuzuki.db.queries import Query
from tsuzuki.inbox.entries import FAR, EntryFilter
from tsuzuki.inbox.search.hits import q as searches
from tsuzuki.inbox.search.service import Search
from tsuzuki.inbox.store import q as entries
from tsuzuki.model.ids import ItemId, ShelfId
from tsuzuki.model.pages import FROM_THE_TOP, LATEST
from tsuzuki.model.tokens import parse_terms
from tsuzuki.parsing.pool import ParsePool, PoolOptions
from tsuzuki.shelves.limits import q as shelves

PAGE = 50
LONGEST = 15.0
"""Seconds for one verb, once it was called often enough."""
FEWEST = 25

AIMED = 350_000
RARE_MS, COMMON_MS, COUNT_MS = 3, 15, 0.5
"""What is aimed at, with so many items."""
AVERAGES, EACH = 5, 40
"""The least of so many averages counts, each of so many calls: other work only ever adds."""

Call = Callable[[], Awaitable[object]]
Fetch = Callable[[Query, dict[str, Any]], Awaitable[object]]


class Sizes(msgspec.Struct, frozen=True):
    items: tuple[int, ...]
    calls: int


FULL = Sizes(items=(10_000, 100_000, 350_000, 1_000_000), calls=300)
USUAL = Sizes(items=(10_000, 100_000, 350_000), calls=300)
SMALL = Sizes(items=(1_000, 3_000), calls=60)


# -- measuring


class Measured(msgspec.Struct, frozen=True):
    """Seconds of ours and of the bare query, taken in turns."""

    ours: Sequence[float]
    bare: Sequence[float]

    @property
    def median(self) -> float:
        return statistics.median(self.ours)

    def line(self, what: str, smallest: "Measured") -> str:
        """In milliseconds, as ratios to the bare query, and how it grew since the smallest size."""
        bare, p99, bare_p99 = statistics.median(self.bare), _p99(self.ours), _p99(self.bare)
        figures = f"{self.median * 1e3:>9.2f}{p99 * 1e3:>9.2f}{bare * 1e3:>9.2f}{bare_p99 * 1e3:>9.2f}"
        return (
            f"{what:18}{figures}{self.median / bare:>8.2f}{p99 / bare_p99:>8.2f}{self.median / smallest.median:>9.2f}"
        )


HEAD = f"{'':18}{'median':>9}{'p99':>9}{'bare':>9}{'its p99':>9}{'ratio':>8}{'of p99':>8}{'growth':>9}   (ms)"


def _p99(times: Sequence[float]) -> float:
    return sorted(times)[int(len(times) * 0.99) - 1]


async def measured(ours: Call, bare: Call, calls: int) -> Measured:
    times: tuple[list[float], list[float]] = ([], [])
    ends_at = time.perf_counter() + LONGEST
    for number in range(calls + 5):
        if number >= FEWEST and time.perf_counter() > ends_at:
            break
        for call, into in zip((ours, bare), times, strict=True):
            began = time.perf_counter()
            await call()
            into.append(time.perf_counter() - began)
    return Measured(times[0][5:], times[1][5:])


async def verbs(db: Database, fetch: Fetch, shelf: ShelfId, calls: int) -> dict[str, Measured]:
    """Each verb as the API calls it, beside the one statement that it cannot do without."""
    search, inbox = Search(db, HERE), an_inbox(db)
    rng = random.Random(2)
    ids = [row.item_id for row in await items_of(db, shelf) if row.item_id is not None]
    place = {"at": FROM_THE_TOP.at, "id": FROM_THE_TOP.id, "then": LATEST, "most": PAGE + 1, "since": 0}
    named = {
        "shelf_id": shelf,
        "feed_id": None,
        "group_id": None,
        "series_id": None,
        "tag_id": None,
        "unread": True,
        "saved": None,
    }
    unread = EntryFilter(unread=True)
    unread_items = EntryFilter(kind="item", unread=True, by_published=True, detail="item")

    def one() -> ItemId:
        return rng.choice(ids)

    async def mark() -> None:
        item = one()
        await inbox.mark_items(shelf, [item], unread=False)
        await inbox.mark_items(shelf, [item], unread=True)

    async def mark_bare() -> None:
        values = {"shelf_id": shelf, "ids": f"[{one()}]", "read_at": None}
        event = {"rows": f'[[{shelf},"counts","{{}}"]]', "now": NOON}  # open pages are told
        await fetch(entries.mark_items, values | {"unread": False})
        await fetch(shelves.add_events, event)
        await fetch(entries.mark_items, values | {"unread": True})
        await fetch(shelves.add_events, event)

    def search_calls(text: str) -> tuple[Call, Call]:
        words = match(db.engine, parse_terms(text))
        narrow = {"feeds": None, "unread": None, "saved": None, "before": FAR}
        values = {"match": words, "shelf_id": shelf, "most": 20, **narrow}
        return lambda: search.find(shelf, text, 20), lambda: fetch(searches.search_items, values)

    def beside_list(text: str) -> tuple[Call, Call]:
        """The search of feeds, series, chapters and items against the list's own filter for the same word."""
        worded = EntryFilter(kind="item", search=text, by_published=True, detail="item")
        list_them = partial(inbox.list, shelf, worded, after=FROM_THE_TOP, most=20)
        return lambda: search.find(shelf, text, 20), list_them

    cases: dict[str, tuple[Call, Call]] = {
        "inbox page": (
            lambda: inbox.list(shelf, unread, after=FROM_THE_TOP, most=PAGE),
            lambda: fetch(entries.unread_entries, named | place | {"kind": None, "detail": "title"}),
        ),
        "list unread": (
            lambda: inbox.list(shelf, unread_items, after=FROM_THE_TOP, most=PAGE),
            lambda: fetch(entries.unread_entries_published, named | place | {"kind": "item", "detail": "item"}),
        ),
        "open item": (
            lambda: inbox.get_item(shelf, one()),
            lambda: fetch(entries.find_item, {"shelf_id": shelf, "item_id": one(), "detail": "content"}),
        ),
        "mark, unmark": (mark, mark_bare),
        "search, one hit": search_calls("item777"),
        "search, rare": search_calls("rare7 rare70*"),
        "search, common": search_calls("river item7*"),
        "/ list, rare": beside_list("item777"),
        "/ list, common": beside_list("river"),
    }
    return {name: await measured(ours, bare, calls) for name, (ours, bare) in cases.items()}


# -- computing


def computed() -> float:
    """Seconds of this process, of parsers and of PostgreSQL."""
    return time.process_time() + seconds_of(family(os.getpid())[1:])


async def computing(calls: Sequence[Call]) -> list[float]:
    """Milliseconds of computing for each, measured in turns."""
    least = [float("inf")] * len(calls)
    for _ in range(AVERAGES):
        for place, call in enumerate(calls):
            await call()
            began = computed()
            for _ in range(EACH):
                await call()
            least[place] = min(least[place], (computed() - began) * 1e3 / EACH)
    return least


async def aims(engine: str, db: Database, fetch: Fetch, shelf: ShelfId, *, count: int) -> None:
    """Whole searches, with what they show of each hit, beside the statement that finds the items; and the counts of
    every page beside one row of them.
    """
    async with a_pool() as pool:
        search, inbox = Search(db, pool), an_inbox(db)

        def bare(text: str) -> Call:
            words = match(db.engine, parse_terms(text))
            narrow = {"feeds": None, "unread": None, "saved": None, "before": FAR}
            values = {"match": words, "shelf_id": shelf, "most": 20, **narrow}
            return lambda: fetch(searches.search_items, values)

        one = {"shelf_id": shelf, "kind": "item", "feed_id": 1, "series_id": None, "group_id": None}
        words = {
            "a word of one item": ("item777", RARE_MS),
            "a beginning that few have": ("item777*", RARE_MS),
            "a word of one in a hundred": ("rare7", COMMON_MS),
            "a common word": ("river", COMMON_MS),
        }
        cases: dict[str, tuple[float, Call, Call]] = {
            f"search, {what}": (most, partial(search.find, shelf, text, 20), bare(text))
            for what, (text, most) in words.items()
        }
        cases["the unread counts of a page"] = (
            COUNT_MS,
            lambda: inbox.sums(shelf),
            lambda: fetch(entries.tallied, one),
        )
        found = await computing([call for _, ours, bare_call in cases.values() for call in (ours, bare_call)])
    for (name, (most, _, __)), mine, beside in zip(cases.items(), found[::2], found[1::2], strict=True):
        title = f"{name}, {count:,} items, {engine}, computing"
        aim(title, mine, "ms", most=most, beside=("the statement", beside), is_full=count >= AIMED)


@asynccontextmanager
async def a_pool() -> AsyncIterator[ParsePool]:
    pool = ParsePool(PoolOptions())
    try:
        yield pool
    finally:
        await pool.close()


# -- the engines


def bare_sqlite(path: Path) -> Fetch:
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(30_000)

    async def fetch(query: Query, values: dict[str, Any]) -> object:
        return connection.execute(query.sqlite.sql, [values[name] for name in query.sqlite.params]).fetchall()

    return fetch


async def bare_postgres(url: str) -> Fetch:
    connection = await asyncpg.connect(url)

    async def fetch(query: Query, values: dict[str, Any]) -> object:
        return await connection.fetch(query.postgres.sql, *(values[name] for name in query.postgres.params))

    return fetch


@asynccontextmanager
async def on_sqlite() -> AsyncIterator[tuple[Database, Fetch]]:
    folder = Path(tempfile.mkdtemp(prefix="tsuzuki-bench-"))
    try:
        async with sqlite_database(folder, "reader") as db:
            yield db, bare_sqlite(folder / "reader.db")
    finally:
        shutil.rmtree(folder)


@asynccontextmanager
async def on_postgres(server: Postgres) -> AsyncIterator[tuple[Database, Fetch]]:
    async with postgres_database(server, "reader") as db:
        yield db, await bare_postgres(server.url.rpartition("/")[0] + "/reader")


async def measure(engine: str, db: Database, fetch: Fetch, sizes: Sizes) -> None:
    case = await build(db)
    shelves = {"1 shelf has all of them": case.one, "100 shelves share them": case.some}
    smallest: dict[str, dict[str, Measured]] = {}
    for first, until in pairwise((0, *sizes.items)):
        say(f"{engine}: making {until - first:,} items")
        await grow(db, case, first, until)
        for name, shelf in shelves.items():
            found = await verbs(db, fetch, shelf, sizes.calls)
            before = smallest.setdefault(name, found)
            lines = [one.line(what, before[what]) for what, one in found.items()]
            print(f"\n{engine}, {until:,} items, {name}", HEAD, *lines, sep="\n", flush=True)
        if until == min(AIMED, sizes.items[-1]):
            print()
            await aims(engine, db, fetch, case.one, count=until)


async def engines(only: str | None = None) -> AsyncIterator[tuple[str, Database, Fetch]]:
    """SQLite, then a PostgreSQL of its own, each while it is measured; or one of them."""
    if only != "postgres":
        async with on_sqlite() as (db, fetch):
            yield "sqlite", db, fetch
    if only == "sqlite":
        return
    with a_postgres(memory=MEMORY) as server:
        async with on_postgres(server) as (db, fetch):
            yield "postgres", db, fetch


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a quick run over less data")
    parser.add_argument("--full", action="store_true", help="up to a million items; takes some minutes")
    parser.add_argument("--engine", choices=["sqlite", "postgres"], help="only this one")
    chosen = parser.parse_args()
    sizes = SMALL if chosen.small else FULL if chosen.full else USUAL
    async for engine, db, fetch in engines(chosen.engine):
        await measure(engine, db, fetch, sizes)


if __name__ == "__main__":
    asyncio.run(main())
