"""The data layer against the bare drivers used the same way: `python -m bench.store [--small]`.

Starts a PostgreSQL of its own. Each figure is the best of interleaved rounds; no time makes it fail.
"""

import argparse
import asyncio
import json
import random
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import asyncpg
import msgspec

from bench._bare import Bare, BarePostgres, BareSqlite, Chapter
from bench.harness import Line, a_postgres, compare, interleaved, median, say, show
from tests.builders import (
    NOON,
    a_new_chapter,
    a_new_item,
    put_on_shelf,
    store_items_tx,
    stored_feed,
    stored_series,
    stored_shelf,
)
from tests.servers import Postgres
from tsuzuki.db import Database, DatabaseOptions, Tx, open_database
from tsuzuki.db.migrate import migrate
from tsuzuki.db.queries import parse_queries
from tsuzuki.inbox.search.hits import search_items_tx
from tsuzuki.ingest.chapters import upsert_chapters_tx
from tsuzuki.ingest.items import NewItem
from tsuzuki.model.ids import FeedId, SeriesId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.polling.store import claim_due_watches_tx

COROUTINES = 64
CLAIM = 500
BATCH = 1000
MEMORY = "1GB"  # as a server that holds a million watches would have
FIRST = 100_000_000  # ids that no other part of this run uses


class Sizes(msgspec.Struct, frozen=True):
    rounds: int
    reads: int
    watches: int
    items: int


FULL = Sizes(rounds=15, reads=400, watches=1_000_000, items=200_000)
SMALL = Sizes(rounds=7, reads=200, watches=50_000, items=5_000)


q = parse_queries(
    "bench",
    """
-- fragment: columns
id, series_id, key, number, title, published_at, first_seen_at
-- name: find_chapter
-- inline: one row by its key
select {columns} from chapter where id = :id
-- name: list_chapters
-- inline: fifty rows by an index
select {columns} from chapter where series_id = :series_id order by number_sort desc limit 50
-- name: add_feed
insert into feed (link, created_at, updated_at) values (:link, 0, 0)
""",
)


# -- reading


async def reading(db: Database, bare: Bare, sizes: Sizes) -> list[Line]:
    series_id = await stored_series(db)
    chapters = [a_new_chapter(number, title=f"Chapter {number}") for number in range(1000)]
    stored = await db.with_tx(lambda tx: upsert_chapters_tx(tx, series_id, chapters, NOON))
    ids = [chapter.id for chapter in stored]
    calls = sizes.reads if db.engine == "postgres" else sizes.reads * 5

    async def find_chapter(chapter_id: int) -> Chapter:
        return await db.read(lambda tx: tx.one(Chapter, q.find_chapter, id=chapter_id))

    async def list_chapters(series_id: SeriesId) -> list[Chapter]:
        return await db.read(lambda tx: tx.many(Chapter, q.list_chapters, series_id=series_id))

    async def point(find: Callable[[int], Awaitable[Chapter]]) -> None:
        for number in range(calls):
            await find(ids[number % 1000])

    async def fifty(find: Callable[[SeriesId], Awaitable[list[Chapter]]]) -> None:
        for _ in range(calls // 5):
            await find(series_id)

    return [
        await compare(
            "typed point read",
            partial(point, find_chapter),
            partial(point, bare.find_chapter),
            rounds=sizes.rounds,
            calls=calls,
            most=1.3,
        ),
        await compare(
            "typed list of 50",
            partial(fifty, list_chapters),
            partial(fifty, bare.list_chapters),
            rounds=sizes.rounds,
            calls=calls // 5,
            most=1.3,
        ),
    ]


# -- writing


async def upserting(db: Database, bare: Bare, sizes: Sizes) -> list[Line]:
    chapters = [a_new_chapter(number, title=f"Chapter {number}") for number in range(BATCH)]
    spare = iter([await stored_series(db) for _ in range(2 * sizes.rounds + 2)])

    async def ours() -> None:
        series_id = next(spare)
        assert len(await db.with_tx(lambda tx: upsert_chapters_tx(tx, series_id, chapters, NOON))) == BATCH

    async def theirs() -> None:
        assert await bare.upsert_chapters(next(spare), chapters, NOON) == BATCH

    what = f"batch upsert of {BATCH:,} chapters"
    return [await compare(what, ours, theirs, rounds=sizes.rounds, calls=1, most=1.5)]


async def committing(db: Database, bare: Bare, sizes: Sizes) -> list[Line]:
    numbers = iter(range(10**9))

    async def one() -> None:
        link = f"https://example.org/{next(numbers)}"
        await db.with_tx(lambda tx: tx.run(q.add_feed, link=link))

    async def together() -> None:
        await asyncio.gather(*(one() for _ in range(COROUTINES)))

    async def each_alone() -> None:
        for _ in range(COROUTINES):
            await bare.add_feed(f"https://example.org/{next(numbers)}")

    times = await interleaved({"ours": together, "bare": each_alone}, sizes.rounds)
    ours, theirs = min(times["ours"]) / COROUTINES, min(times["bare"]) / COROUTINES
    what = f"{COROUTINES} concurrent one-row transactions"
    if db.engine == "postgres":
        return [Line(what, ours, theirs, theirs / ours, "(times faster)")]
    return [Line(what, ours, theirs, theirs / ours, "at least 6", theirs / ours >= 6)]


# -- claiming


async def claiming(few: Database, many: Database, sizes: Sizes) -> list[Line]:
    small = 10_000
    await _fill_watches(few, small)
    await _fill_watches(many, sizes.watches)

    async def claim(db: Database) -> None:
        claimed = await db.with_tx(lambda tx: claim_due_watches_tx(tx, {2: CLAIM}, now=NOON, lease=Millis(30_000)))
        assert len(claimed) == CLAIM

    times = await interleaved({"few": partial(claim, few), "many": partial(claim, many)}, rounds=8)
    one, other = median(times["many"]), median(times["few"])
    what = f"claim {CLAIM} due of {sizes.watches:,} / of {small:,}"
    return [Line(what, one, other, one / other, "under 1.5", one / other < 1.5)]


async def _fill_watches(db: Database, count: int) -> None:
    say(f"  {db.engine}: {count:,} watches")
    numbers = {
        "sqlite": "with recursive n(n) as (select 1 union all select n + 1 from n where n < :count) ",
        "postgres": "with n(n) as (select generate_series(1, cast(:count as bigint))) ",
    }[db.engine]
    fill = parse_queries(
        "bench",
        f"""
-- name: feeds
{numbers} insert into feed (id, link, created_at, updated_at)
select n + {FIRST}, 'https://example.org/feed/' || n, 0, 0 from n
-- name: watches
{numbers} insert into watch (id, feed_id, host, priority, next_check_at, created_at)
select n + {FIRST}, n + {FIRST}, 'host' || (n % 1000), 2, {NOON} + ((n * 7919) % 20011 - 10005) * 1000, 0 from n
-- name: analyze
analyze
""",
    )

    async def work(tx: Tx) -> None:
        await tx.run(fill.feeds, count=count)
        await tx.run(fill.watches, count=count)

    await db.with_tx(work)
    await db.with_tx(lambda tx: tx.run(fill.analyze))


# -- searching

SEARCHES = {
    "one word (in a fifth of all)": "w7",
    "one word (rare)": "r77",
    "two words": "w7 r7",
    "prefix": "w12*",
    "CJK, two characters": "漫画",
    "CJK, four characters": "漫画続き",
}


async def searching(db: Database, sizes: Sizes) -> list[Line]:
    shelf_id = await _fill_items(db, sizes.items)
    lines = []
    for what, query in SEARCHES.items():
        times = []
        hits = 0

        async def search(query: str = query) -> None:
            nonlocal hits
            hits = len(await db.read(lambda tx: search_items_tx(tx, shelf_id, query)))

        times = (await interleaved({"ours": search}, max(5, sizes.rounds)))["ours"]
        lines.append(Line(f"search: {what}", median(times), target=f"{hits} shown"))
    return lines


async def _fill_items(db: Database, count: int) -> ShelfId:
    say(f"  {db.engine}: {count:,} items")
    rng = random.Random(7)
    shelf_id, feed_id = await stored_shelf(db), await stored_feed(db)
    for first in range(0, count, 500):
        batch = [_an_item(number, rng) for number in range(first, min(first + 500, count))]
        await db.with_tx(partial(_add_items_tx, feed_id=feed_id, batch=batch))
    await put_on_shelf(db, shelf_id, feed_id)
    await db.with_tx(lambda tx: tx.run(parse_queries("bench", "-- name: analyze\nanalyze").analyze))
    return shelf_id


async def _add_items_tx(tx: Tx, feed_id: FeedId, batch: list[NewItem]) -> None:
    await store_items_tx(tx, feed_id, batch, NOON)


def _an_item(number: int, rng: random.Random) -> NewItem:
    """Common words, rare ones, and in one of five titles some Japanese."""
    title = " ".join(f"w{rng.randint(0, 60)}" for _ in range(6))
    if number % 5 == 0:
        title += rng.choice((" 漫画続き第一話", " 新刊発売", " 週刊少年", " 月の光"))
    body = " ".join(f"w{rng.randint(0, 200)}" for _ in range(20)) + f" r{rng.randint(0, 2000)}"
    return a_new_item(str(number), title=title, content=f"<p>{body}</p>", sort_at=Millis(NOON + number))


# -- both engines


@asynccontextmanager
async def sqlite_database(folder: Path, name: str) -> AsyncIterator[Database]:
    options = DatabaseOptions(f"sqlite://{folder / name}.db")
    await migrate(options, now=0)
    db = await open_database(options)
    yield db
    await db.close()


@asynccontextmanager
async def postgres_database(server: Postgres, name: str) -> AsyncIterator[Database]:
    admin = await asyncpg.connect(server.url)
    await admin.execute(f"create database {name} template template0")
    await admin.close()
    options = DatabaseOptions(server.url.rpartition("/")[0] + f"/{name}")
    await migrate(options, now=0)
    db = await open_database(options)
    yield db
    await db.close()


async def measure(db: Database, bare: Bare, many: Database, sizes: Sizes) -> None:
    say(f"{db.engine}: reading and writing")
    lines = await reading(db, bare, sizes)
    lines += await upserting(db, bare, sizes)
    lines += await committing(db, bare, sizes)
    show(f"{db.engine}, per call", ("ours", "bare"), lines)
    show(f"{db.engine}, claiming (median)", ("of many", "of few"), await claiming(db, many, sizes))
    what = f"{db.engine}, searching {sizes.items:,} items (median)"
    show(what, ("", ""), await searching(many, sizes))


async def on_sqlite(sizes: Sizes) -> None:
    folder = Path(tempfile.mkdtemp(prefix="tsuzuki-bench-"))
    try:
        async with (
            sqlite_database(folder, "few") as db,
            sqlite_database(folder, "many") as many,
            BareSqlite.opened(folder / "few.db") as bare,
        ):
            await measure(db, bare, many, sizes)
    finally:
        shutil.rmtree(folder)


async def on_postgres(sizes: Sizes) -> None:
    with a_postgres(memory=MEMORY) as server:
        async with (
            postgres_database(server, "few") as db,
            postgres_database(server, "many") as many,
            BarePostgres.opened(server.url.rpartition("/")[0] + "/few") as bare,
        ):
            await measure(db, bare, many, sizes)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a quick run over less data")
    parser.add_argument("--engine", choices=["sqlite", "postgres"], help="only this one")
    chosen = parser.parse_args()
    sizes = SMALL if chosen.small else FULL
    print(json.dumps(msgspec.to_builtins(sizes)))
    if chosen.engine != "postgres":
        await on_sqlite(sizes)
    if chosen.engine != "sqlite":
        await on_postgres(sizes)


if __name__ == "__main__":
    asyncio.run(main())
