"""Cached lists and chapter lists against the bare query and its encoding: `python -m bench.catalogue [--small]`.

Ours is what a request does after its sign-in: is it fresh, the rows, what clients see of them, JSON. The bare side is
the one statement that brings the same rows, and their encoding. Both in turns, on each engine. No time makes it fail.
Starts a PostgreSQL of its own.
"""

import argparse
import asyncio
import statistics
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from bench.harness import say
from bench.reader import Fetch, engines, measured
from tests.builders import stored_shelf
from tests.catalogue.fixed import Fixed, a_catalogue, a_source
from tsuzuki.api.catalogue_views import cache_meta, chapter_views, list_meta, manga_view
from tsuzuki.api.views import ListAnswer
from tsuzuki.catalogue.browse import ListRequest, q
from tsuzuki.db import Database


class Sizes(msgspec.Struct, frozen=True):
    series: int
    chapters: tuple[int, ...]
    calls: int


FULL = Sizes(series=30, chapters=(50, 500, 5_000), calls=300)
SMALL = Sizes(series=30, chapters=(50, 500), calls=60)

Call = Callable[[], Awaitable[object]]


async def lists(db: Database, fetch: Fetch, sizes: Sizes) -> None:
    """One page of a list."""
    shelf, source = await stored_shelf(db), await a_source(db)
    browsing = a_catalogue(db, Fixed(series=sizes.series)).browsing
    wish = ListRequest(kind="popular", shelf_id=shelf)
    listed = (await browsing.browse(source, wish)).value.manga

    async def ours() -> bytes:
        answered = await browsing.browse(source, wish)
        meta = list_meta(answered.freshness, page=1, has_next=answered.value.has_next)
        return msgspec.json.encode(ListAnswer([manga_view(manga) for manga in answered.value.manga], meta))

    rows = msgspec.json.encode([{"id": manga.id, "place": place} for place, manga in enumerate(listed)]).decode()

    async def bare() -> bytes:
        return encoded(await fetch(q.list_manga, {"rows": rows, "shelf_id": shelf}))

    await show(f"a list of {len(listed)} series", ours, bare, sizes.calls)


async def chapter_lists(db: Database, fetch: Fetch, count: int, calls: int) -> None:
    """The whole chapter list of a series."""
    shelf, source = await stored_shelf(db), await a_source(db)
    catalogue = a_catalogue(db, Fixed(series=1, chapters=count))
    listed = await catalogue.browsing.browse(source, ListRequest(kind="popular", shelf_id=shelf))
    manga = listed.value.manga[0].id
    await catalogue.chapter_lists.list(manga, shelf)

    async def ours() -> bytes:
        answered = await catalogue.chapter_lists.list(manga, shelf)
        views = chapter_views(answered.value, manga, ())
        return msgspec.json.encode(ListAnswer(views, cache_meta(answered.freshness)))

    async def bare() -> bytes:
        return encoded(await fetch(q.list_releases, {"series_source_id": manga, "shelf_id": shelf}))

    await show(f"a list of {count:,} chapters", ours, bare, calls)


def encoded(rows: Any) -> bytes:
    """As arrays: nobody could send them with less."""
    return msgspec.json.encode([tuple(row) for row in rows])


async def show(what: str, ours: Call, bare: Call, calls: int) -> None:
    times = await measured(ours, bare, calls)
    rates = [1 / statistics.median(each) for each in (times.ours, times.bare)]
    print(f"{what:28}{rates[0]:>12,.0f}{rates[1]:>12,.0f}{rates[0] / rates[1]:>9.2f}", flush=True)


async def measure(engine: str, db: Database, fetch: Fetch, sizes: Sizes) -> None:
    say(f"{engine}: lists and chapter lists")
    print(f"\n{engine}, answers a second\n{'':28}{'ours':>12}{'bare':>12}{'ratio':>9}")
    await lists(db, fetch, sizes)
    for count in sizes.chapters:
        await chapter_lists(db, fetch, count, calls=max(20, sizes.calls // max(1, count // 500)))


async def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a quick run over less data")
    parser.add_argument("--engine", choices=["sqlite", "postgres"], help="only this one")
    chosen = parser.parse_args(arguments)
    sizes = SMALL if chosen.small else FULL
    async for engine, db, fetch in engines(chosen.engine):
        await measure(engine, db, fetch, sizes)


if __name__ == "__main__":
    asyncio.run(main())
