"""What the program takes of a machine: `python -m bench.footprint [--small] [--engine sqlite] [--feeds 500]`.

It runs `tsuzuki serve` on SQLite, and `tsuzuki work` on PostgreSQL, on a database with feeds of a publisher on this
machine, 30 items each. It prints the computing of a start (user and system time, which other programs disturb least),
the memory of all its processes (PSS: what they share is counted once) and the size of the database. One case, which
`--small` leaves out, is a library of 200,000 entries that grows to 350,000 by polls of 5,000 feeds. The reference for
starts and memory is a bare server (`bench._bare_server`), for the disk what was published. No figure makes this fail.
"""

import argparse
import asyncio
import contextlib
import os
import re
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import aiohttp
import msgspec

from bench._library import build, grow
from bench._polls import a_publisher
from bench._publisher import MANY, feed
from bench.harness import a_postgres, aim, family, opened, say, seconds_of
from tests import databases
from tests.app import in_settings
from tests.builders import stored_feed, stored_watch
from tests.delivery.builders import a_reader
from tsuzuki.db import DatabaseOptions
from tsuzuki.db.migrate import migrate
from tsuzuki.db.queries import parse_queries
from tsuzuki.db.sqlite_file import connect
from tsuzuki.model.times import Millis

STARTS = 5
SETTLED_S = 45
"""After work or a start: long enough for what is let go after a while."""
LIBRARY = 200_000
"""Entries that were there before 5,000 feeds bring 150,000 more."""
READY_S, IDLE_MB, AFTER_MB, LARGE_MB, WORKER_MB, ITEM_KB = 0.35, 60, 100, 120, 70, 2.5
"""What is aimed at."""
BARE = ("bench._bare_server",)

q = parse_queries(
    "bench",
    """
-- name: count_polled
select count(*) from watch where last_checked_at is not null;
-- name: count_tasks
select count(*) from task where queue = 'item-ingest' and status in ('queued', 'running');
-- name: count_items
select count(*) from item;
-- name: drop_watches
-- Those of the library: nobody publishes its feeds, and nobody else is ever called.
delete from watch where host = 'example.org';
""",
)


class Footprint(msgspec.Struct, frozen=True):
    """Of a process and its children, in MB."""

    shared_once: float
    resident: float
    """Of the process alone, with all that it shares."""
    children: int

    def __str__(self) -> str:
        return f"{self.shared_once:6.1f} MB (RSS of the process {self.resident:.1f}), {self.children} children"


def footprint(pid: int) -> Footprint:
    sizes = []
    for each in family(pid):
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            sizes.append(Path(f"/proc/{each}/smaps_rollup").read_text())
    return Footprint(sum(_figure(size, "Pss") for size in sizes), _figure(sizes[0], "Rss"), len(sizes) - 1)


def _figure(size: str, name: str) -> float:
    found = re.search(rf"^{name}: +(\d+) kB", size, re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024 / 1e6


@contextlib.asynccontextmanager
async def a_process(folder: Path, url: str, command: Sequence[str], **more: str) -> AsyncIterator[tuple[Process, str]]:
    """A command of ours, or a module of this folder, that runs on, with more settings by name; and its first line."""
    ours = {"DATA_DIR": folder, "DATABASE_URL": url, "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8", "ICONS": "off"}
    env = {name: value for name, value in os.environ.items() if not name.startswith("TSUZUKI_")}
    env |= {f"TSUZUKI_{name}": str(value) for name, value in {**ours, **more, "LOG_LEVEL": "error"}.items()}
    what = command if command[0].startswith("bench.") else ("tsuzuki", *command)
    child = await asyncio.create_subprocess_exec(sys.executable, "-m", *what, stdout=PIPE, stderr=DEVNULL, env=env)
    assert child.stdout is not None
    try:
        yield child, (await child.stdout.readline()).decode()
    finally:
        child.terminate()
        await child.wait()


async def starts(folder: Path, url: str) -> None:
    """The least of some starts, ours and a bare server's in turns: until it is ready, and until it answered a page."""
    ours, bare = Starts(), Starts()
    for _ in range(STARTS):
        await ours.add(folder, url, ("serve", "--port", "0"), page="/sign-in")
        await bare.add(folder, url, BARE, page="/")
    print(f"start: {ours.ready:.2f} s of computing until ready, {ours.wall:.2f} s by the clock")
    print(f"start, and a page: {ours.paged:.2f} s of computing; a bare server {bare.paged:.2f} s")
    aim("a start until ready, computing", ours.ready, "s", most=READY_S, beside=("a bare server", bare.ready))
    aim("a start until ready, by the clock", ours.wall, "s", most=READY_S, beside=("a bare server", bare.wall))


class Starts:
    """Seconds, the least of several."""

    def __init__(self) -> None:
        self.ready = self.wall = self.paged = float("inf")

    async def add(self, folder: Path, url: str, command: Sequence[str], *, page: str) -> None:
        began = time.perf_counter()
        async with a_process(folder, url, command) as (child, line):
            self.wall = min(self.wall, time.perf_counter() - began)
            self.ready = min(self.ready, seconds_of([child.pid]))
            await get(line, page)
            self.paged = min(self.paged, seconds_of([child.pid]))


async def bare_memory(folder: Path) -> float:
    """Of a bare server that answered one request, in MB."""
    async with a_process(folder, "", BARE) as (child, line):
        await get(line, "/")
        return footprint(child.pid).shared_once


async def get(line: str, path: str) -> None:
    found = re.search(r"http://[\d.]+:\d+", line)
    assert found is not None, line
    async with aiohttp.ClientSession() as session, session.get(found[0] + path) as response:
        await response.read()


async def memory(folder: Path, url: str, command: Sequence[str], *, base: str, feeds: int, bare: float) -> None:
    """Idle, then after its polls."""
    name, beside = command[0], ("a bare server", bare)
    is_worker = name == "work"
    async with a_process(folder, in_settings(url), command) as (child, line):
        await asyncio.sleep(SETTLED_S)
        idle = footprint(child.pid)
        print(f"{name}, idle{'':34}{idle}")
        if name == "serve":
            await get(line, "/sign-in")
            print(f"{name}, a page was asked for{'':18}{footprint(child.pid)}")
    await add_feeds(url, [f"{base}/many/{number}" for number in range(feeds)])
    after, later = await after_polls(folder, url, command, feeds=feeds)
    print(f"{name}, just after {feeds} feeds of {MANY} items{'':5}{after}")
    print(f"{name}, {SETTLED_S} s later{'':27}{later}")
    most = WORKER_MB if is_worker else AFTER_MB
    aim(f"{name}: idle", idle.shared_once, "MB", most=WORKER_MB if is_worker else IDLE_MB, beside=beside)
    aim(f"{name}: just after {feeds} feeds of {MANY} items", after.shared_once, "MB", most=most, beside=beside)
    aim(f"{name}: {SETTLED_S} s later", later.shared_once, "MB", most=most, beside=beside)


async def after_polls(folder: Path, url: str, command: Sequence[str], *, feeds: int) -> tuple[Footprint, Footprint]:
    """Just after so many watches were polled, and a while later."""
    async with a_process(folder, in_settings(url), command) as (child, _):
        await until_polled(url, feeds)
        after = footprint(child.pid)
        await asyncio.sleep(SETTLED_S)
        return after, footprint(child.pid)


async def large(folder: Path, base: str, *, feeds: int, library: int, bare: float) -> None:
    """One process with a large library, and 5,000 feeds that it polls."""
    url = f"sqlite://{folder}/large.db"
    await migrate(DatabaseOptions(url), now=0)
    say(f"SQLite: {library:,} entries, and {feeds:,} feeds of {MANY} items")
    async with opened(url) as db:
        users = await build(db)
        await grow(db, users, 1, library + 1)
        await db.with_tx(lambda tx: tx.run(q.drop_watches))
    await add_feeds(url, [f"{base}/many/large-{number}" for number in range(feeds)])
    after, later = await after_polls(folder, url, ("serve", "--port", "0"), feeds=feeds)
    what = f"serve: {feeds:,} feeds and {library + feeds * MANY:,} entries"
    aim(f"{what}, just after", after.shared_once, "MB", most=LARGE_MB, beside=("a bare server", bare))
    aim(f"{what}, {SETTLED_S} s later", later.shared_once, "MB", most=LARGE_MB, beside=("a bare server", bare))


async def add_feeds(url: str, links: Sequence[str]) -> None:
    """Feeds that are due, each on a host of its own as far as claims know, and one reader of all."""
    async with opened(url) as db:
        ids = [await stored_feed(db, link) for link in links]
        for number, feed in enumerate(ids):
            await stored_watch(db, feed, host=f"h{number}", next_check_at=Millis(1))
        await a_reader(db, feeds=ids)


async def until_polled(url: str, feeds: int) -> None:
    async with opened(url) as db:
        while await db.read(lambda tx: tx.one(int, q.count_polled)) < feeds:  # noqa: ASYNC110  nothing tells when it is done
            await asyncio.sleep(1)
        while await db.read(lambda tx: tx.one(int, q.count_tasks)):  # noqa: ASYNC110  nothing tells when it is done
            await asyncio.sleep(1)


async def disk(engine: str, url: str, size: Callable[[], Awaitable[int]], empty: int) -> None:
    async with opened(url) as db:
        items = await db.read(lambda tx: tx.one(int, q.count_items))
    each, published = (await size() - empty) / items / 1000, len(feed("many", 0, MANY)) / MANY / 1000
    print(f"disk: {each:.2f} kB an item ({items:,} items)")
    aim(f"disk for each item, {engine}", each, "kB", most=ITEM_KB, beside=("what was published", published))


async def on_sqlite(base: str, feeds: int, *, is_small: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, url = Path(name), f"sqlite://{name}/tsuzuki.db"

        async def size() -> int:
            connection = connect(folder / "tsuzuki.db")
            connection.execute("pragma wal_checkpoint(truncate)").fetchall()
            pages, free, of = (
                connection.execute(f"pragma {name}").get for name in ("page_count", "freelist_count", "page_size")
            )
            connection.close()
            return int(pages - free) * int(of)

        await migrate(DatabaseOptions(url), now=0)
        await starts(folder, in_settings(url))
        empty, bare = await size(), await bare_memory(folder)
        await memory(folder, url, ("serve", "--port", "0"), base=base, feeds=feeds, bare=bare)
        await disk("SQLite", url, size, empty)
        if not is_small:
            await large(folder, base, feeds=10 * feeds, library=LIBRARY, bare=bare)


async def on_postgres(server_url: str, base: str, feeds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        url = databases.named(server_url, await databases.make(server_url, "template0"))

        async def size() -> int:
            await databases.ask(url, "vacuum full")
            return int(await databases.ask(url, "select pg_database_size(current_database())"))

        await migrate(DatabaseOptions(url), now=0)
        empty, bare = await size(), await bare_memory(Path(name))
        await memory(Path(name), url, ("work",), base=base, feeds=feeds, bare=bare)
        await disk("PostgreSQL", url, size, empty)


async def main(*, feeds: int, engine: str | None, is_small: bool) -> None:
    async with a_publisher() as base:
        if engine != "postgres":
            print("SQLite")
            await on_sqlite(base, feeds, is_small=is_small)
        if engine != "sqlite":
            with a_postgres() as server:
                print("PostgreSQL")
                await on_postgres(server.url, base, feeds)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # it is a TextIOWrapper
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--feeds", type=int, default=500)
    parser.add_argument("--small", action="store_true", help="without the large library")
    parser.add_argument("--engine", choices=["sqlite", "postgres"], help="only this one")
    said = parser.parse_args()
    asyncio.run(main(feeds=said.feeds, engine=said.engine, is_small=said.small))
