"""What a reader does, against the bare query behind it: `python -m bench.reader [--small]`.

List unread, open an item, mark it read, search; at growing numbers of items, on one shelf and spread over a hundred.
Starts a PostgreSQL of its own. No time makes it fail.
"""

import argparse
import asyncio
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import msgspec

from bench.harness import say
from bench.store import MEMORY, postgres_database, sqlite_database
from tests.builders import NOON, a_new_item, a_public_id, stored_feed, stored_watch
from tests.delivery.builders import a_reader
from tests.servers import Postgres, shared_folder
from tsuzuki.db import Database, Tx
from tsuzuki.db.fulltext import match
from tsuzuki.db.queries import Query
from tsuzuki.delivery.fanout import deliver_items_tx
from tsuzuki.ingest.store import upsert_items_tx
from tsuzuki.model.ids import FeedId, ItemId, ShelfId
from tsuzuki.model.pages import FROM_THE_TOP
from tsuzuki.model.times import MINUTE, Millis
from tsuzuki.model.tokens import parse_terms
from tsuzuki.shelves.entries import store as entries
from tsuzuki.shelves.entries.service import Entries, Filter
from tsuzuki.shelves.ground import Ground
from tsuzuki.shelves.search.service import Search
from tsuzuki.shelves.store import FAR
from tsuzuki.shelves.store import q as searches

FEEDS = 200
BATCH = 1000
PAGE = 50
WORDS = ["river", "stone", "window", "morning", "letter", "garden", "winter", "engine", "silver", "market"]

Call = Callable[[], Awaitable[object]]
Fetch = Callable[[Query, dict[str, Any]], Awaitable[object]]


class Sizes(msgspec.Struct, frozen=True):
    items: tuple[int, ...]
    calls: int


FULL = Sizes(items=(10_000, 100_000, 1_000_000), calls=300)
SMALL = Sizes(items=(1_000, 3_000), calls=60)


class Quiet:
    """Nothing lies above: only the reader is measured."""

    async def subscribed_tx(self, tx: Tx, shelf_id: ShelfId, feed_id: FeedId, now: Millis) -> None: ...

    async def counts_changed_tx(self, tx: Tx, shelf_id: ShelfId, now: Millis) -> None: ...

    def committed(self) -> None: ...

    def due(self) -> None: ...

    async def ask_refresh(self, watch_id: Any) -> bool:
        return bool(watch_id)

    async def ask_refresh_all(self, shelf_id: ShelfId) -> int:
        return shelf_id

    async def vet(self, url: str, proxy: str | None) -> str:
        return f"{url}{proxy or ''}"


# -- the data


async def filled(db: Database, items: int, shelves: int) -> list[ShelfId]:
    """Items evenly in 200 feeds, each followed by one of the shelves; all are unread."""
    feeds = [await stored_feed(db) for _ in range(FEEDS)]
    for feed in feeds:
        await stored_watch(db, feed)
    readers = [await a_reader(db, feeds=feeds[number::shelves]) for number in range(shelves)]
    dice = random.Random(1)
    for start in range(0, items, BATCH):
        feed = feeds[(start // BATCH) % FEEDS]
        numbers = range(start, min(start + BATCH, items))
        await db.with_tx(partial(_batch_tx, feed=feed, numbers=numbers, dice=dice))
    return readers


async def _batch_tx(tx: Tx, *, feed: FeedId, numbers: range, dice: random.Random) -> None:
    new = [
        a_new_item(
            str(number),
            title=" ".join(dice.choices(WORDS, k=4)),
            content=f"<p>{' '.join(dice.choices(WORDS, k=40))} item{number}</p>",
            sort_at=Millis(NOON + number * MINUTE),
        )
        for number in numbers
    ]
    stored = await upsert_items_tx(tx, feed, new, NOON)
    ids = [item.id for item in stored]
    await deliver_items_tx(tx, feed, ids, is_first_harvest=True, now=NOON)


# -- measuring


async def measured(call: Call, calls: int) -> list[float]:
    times = []
    for _ in range(calls):
        began = time.perf_counter()
        await call()
        times.append(time.perf_counter() - began)
    return sorted(times)


async def compared(what: str, ours: Call, bare: Call, calls: int) -> str:
    await ours()
    await bare()
    mine, other = await measured(ours, calls), await measured(bare, calls)
    middle, ground = statistics.median(mine), statistics.median(other)
    p99 = mine[int(len(mine) * 0.99) - 1]
    return f"{what:16}{middle * 1e3:>10.2f}{p99 * 1e3:>10.2f}{ground * 1e3:>10.2f}{middle / ground:>8.2f}"


async def verbs(db: Database, fetch: Fetch, readers: Sequence[ShelfId], calls: int) -> list[str]:
    """Each verb as the API calls it, beside the one statement that it cannot do without."""
    ground = Ground(db, lambda: NOON, a_public_id, Quiet())
    service, search = Entries(ground), Search(db)
    dice = random.Random(2)
    shelf = readers[0]
    page = await service.list(shelf, Filter(), after=FROM_THE_TOP, most=100)
    ids = [row.id for row in page.rows]
    top = {"at": FROM_THE_TOP.at, "id": FROM_THE_TOP.id, "most": PAGE + 1}
    flags = {"unread": True, "saved": None, "with_content": False}
    words = match(db.engine, parse_terms("river item7*"))
    narrow = {"feeds": None, "unread": None, "saved": None, "before": FAR}

    def one() -> ItemId:
        return dice.choice(ids)

    async def mark() -> None:
        item = one()
        await service.mark_items(shelf, [item], unread=False)
        await service.mark_items(shelf, [item], unread=True)

    async def mark_bare() -> None:
        values = {"shelf_id": shelf, "ids": f"[{one()}]", "read_at": None}
        await fetch(entries.q.mark_items, values | {"unread": False})
        await fetch(entries.q.mark_items, values | {"unread": True})

    cases: dict[str, tuple[Call, Call]] = {
        "list unread": (
            lambda: service.list(shelf, Filter(unread=True), after=FROM_THE_TOP, most=PAGE),
            lambda: fetch(entries.q.list_unread_items, {"shelf_id": shelf, **top, **flags}),
        ),
        "open item": (
            lambda: service.get(shelf, one()),
            lambda: fetch(entries.q.find_item, {"shelf_id": shelf, "item_id": one(), "with_content": True}),
        ),
        "mark, unmark": (mark, mark_bare),
        "search": (
            lambda: search.find(shelf, "river item7*", 20),
            lambda: fetch(searches.search_items, {"match": words, "shelf_id": shelf, "most": 20, **narrow}),
        ),
    }
    return [await compared(name, ours, bare, calls) for name, (ours, bare) in cases.items()]


# -- the engines


def bare_sqlite(path: Path) -> Fetch:
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(30_000)

    async def fetch(query: Query, values: dict[str, Any]) -> object:
        return connection.execute(query.sqlite.sql, [values[name] for name in query.sqlite.params]).fetchall()

    return fetch


async def bare_postgres(url: str) -> Fetch:
    connection = await asyncpg.connect(url)
    await connection.execute("vacuum analyze")

    async def fetch(query: Query, values: dict[str, Any]) -> object:
        return await connection.fetch(query.postgres.sql, *(values[name] for name in query.postgres.params))

    return fetch


async def on_sqlite(sizes: Sizes, items: int, shelves: int) -> list[str]:
    folder = Path(tempfile.mkdtemp(prefix="tsuzuki-bench-"))
    try:
        async with sqlite_database(folder, "reader") as db:
            readers = await filled(db, items, shelves)
            return await verbs(db, bare_sqlite(folder / "reader.db"), readers, sizes.calls)
    finally:
        shutil.rmtree(folder)


async def on_postgres(sizes: Sizes, items: int, shelves: int, *, server: Postgres) -> list[str]:
    name = f"reader_{items}_{shelves}"
    async with postgres_database(server, name) as db:
        readers = await filled(db, items, shelves)
        fetch = await bare_postgres(server.url.rpartition("/")[0] + f"/{name}")
        return await verbs(db, fetch, readers, sizes.calls)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a quick run over less data")
    parser.add_argument("--engine", choices=["sqlite", "postgres"], help="only this one")
    chosen = parser.parse_args()
    sizes = SMALL if chosen.small else FULL
    folder = shared_folder()
    server = Postgres(folder, durable=True, memory=MEMORY).start()
    engines: dict[str, Callable[[Sizes, int, int], Awaitable[list[str]]]] = {
        "sqlite": on_sqlite,
        "postgres": partial(on_postgres, server=server),
    }
    try:
        print(f"{'':16}{'median':>10}{'p99':>10}{'bare':>10}{'ratio':>8}   (ms)")
        for engine, measure in engines.items():
            if chosen.engine not in (None, engine):
                continue
            for items in sizes.items:
                for shelves in (1, 100):
                    say(f"{engine}: {items:,} items on {shelves} shelves")
                    lines = await measure(sizes, items, shelves)
                    print(f"\n{engine}, {items:,} items, shelves: {shelves}", *lines, sep="\n", flush=True)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    asyncio.run(main())
