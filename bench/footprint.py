"""What the program takes of a machine: `python -m bench.footprint [--postgres] [--feeds 500]`.

It runs `tsuzuki serve` as a process, and with `--postgres` also `tsuzuki work`, on a database with feeds of a publisher
on this machine, 30 items each. It prints the computing of a start (user and system time, which other programs disturb
least), the memory of all its processes (PSS: what they share is counted once) and the size of the database. No figure
makes this fail.
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

from bench._polls import a_publisher
from bench._publisher import MANY
from bench.harness import a_postgres, say
from tests import databases
from tests.app import in_settings
from tests.builders import stored_feed, stored_watch
from tests.delivery.builders import a_reader
from tsuzuki.db import Database, DatabaseOptions, open_database
from tsuzuki.db.migrate import migrate
from tsuzuki.db.queries import parse_queries
from tsuzuki.db.sqlite_file import connect
from tsuzuki.model.times import Millis

STARTS = 5
SETTLED_S = 45
"""After work or a start: long enough for what is let go after a while."""
_TICK = os.sysconf("SC_CLK_TCK")

q = parse_queries(
    "bench",
    """
-- name: count_polled
select count(*) from watch where last_checked_at is not null;
-- name: count_tasks
select count(*) from task where queue = 'item-ingest' and status in ('queued', 'running');
-- name: count_items
select count(*) from item;
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


def family(pid: int) -> list[int]:
    """A process and all below it."""
    below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in below for each in family(int(child)))]


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


def computed(pid: int) -> float:
    """Seconds of user and system time of this process alone."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


@contextlib.asynccontextmanager
async def a_process(folder: Path, url: str, command: Sequence[str], **more: str) -> AsyncIterator[tuple[Process, str]]:
    """A command of ours that runs on, with more settings by name, and its first line."""
    ours = {"DATA_DIR": folder, "DATABASE_URL": url, "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8", "ICONS": "off"}
    env = {name: value for name, value in os.environ.items() if not name.startswith("TSUZUKI_")}
    env |= {f"TSUZUKI_{name}": str(value) for name, value in {**ours, **more, "LOG_LEVEL": "error"}.items()}
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tsuzuki", *command, stdout=PIPE, stderr=DEVNULL, env=env
    )
    assert child.stdout is not None
    try:
        yield child, (await child.stdout.readline()).decode()
    finally:
        child.terminate()
        await child.wait()


async def starts(folder: Path, url: str) -> None:
    """The least of some starts: until it says that it is ready, and until it has answered a page."""
    ready, wall, paged = [], [], []
    for _ in range(STARTS):
        began = time.perf_counter()
        async with a_process(folder, url, ("serve", "--port", "0")) as (child, line):
            wall.append(time.perf_counter() - began)
            ready.append(computed(child.pid))
            await get(line, "/sign-in")
            paged.append(computed(child.pid))
    print(f"start: {min(ready):.2f} s of computing until ready, {min(wall):.2f} s by the clock")
    print(f"start, and a page: {min(paged):.2f} s of computing")


async def get(line: str, path: str) -> None:
    found = re.search(r"http://[\d.]+:\d+", line)
    assert found is not None, line
    async with aiohttp.ClientSession() as session, session.get(found[0] + path) as response:
        await response.read()


async def memory(folder: Path, url: str, command: Sequence[str], *, base: str, feeds: int) -> None:
    """Idle, then after its polls."""
    name = command[0]
    async with a_process(folder, in_settings(url), command) as (child, line):
        await asyncio.sleep(SETTLED_S)
        print(f"{name}, idle{'':34}{footprint(child.pid)}")
        if name == "serve":
            await get(line, "/sign-in")
            print(f"{name}, a page was asked for{'':18}{footprint(child.pid)}")
    await add_feeds(url, [f"{base}/many/{number}" for number in range(feeds)])
    async with a_process(folder, in_settings(url), command) as (child, _):
        await until_polled(url, feeds)
        print(f"{name}, just after {feeds} feeds of {MANY} items{'':5}{footprint(child.pid)}")
        await asyncio.sleep(SETTLED_S)
        print(f"{name}, {SETTLED_S} s later{'':27}{footprint(child.pid)}")


async def add_feeds(url: str, links: Sequence[str]) -> None:
    """Feeds that are due, each on a host of its own as far as claims know, and one reader of all."""
    async with opened(url) as db:
        ids = [await stored_feed(db, link) for link in links]
        for number, feed in enumerate(ids):
            await stored_watch(db, feed, host=f"h{number}", next_check_at=Millis(1))
        await a_reader(db, feeds=ids)


async def until_polled(url: str, feeds: int) -> None:
    async with opened(url) as db:
        while await db.read(lambda tx: tx.one(int, q.count_polled)) < feeds:  # noqa: ASYNC110  a table rings no bell
            await asyncio.sleep(1)
        while await db.read(lambda tx: tx.one(int, q.count_tasks)):  # noqa: ASYNC110  a table rings no bell
            await asyncio.sleep(1)


@contextlib.asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    db = await open_database(DatabaseOptions(url))
    try:
        yield db
    finally:
        await db.close()


async def disk(url: str, size: Callable[[], Awaitable[int]], empty: int) -> None:
    async with opened(url) as db:
        items = await db.read(lambda tx: tx.one(int, q.count_items))
    print(f"disk: {(await size() - empty) / items / 1000:.2f} kB an item ({items:,} items)")


async def on_sqlite(base: str, feeds: int) -> None:
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
        empty = await size()
        await memory(folder, url, ("serve", "--port", "0"), base=base, feeds=feeds)
        await disk(url, size, empty)


async def on_postgres(server_url: str, base: str, feeds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        url = databases.named(server_url, await databases.make(server_url, "template0"))

        async def size() -> int:
            await databases.ask(url, "vacuum full")
            return int(await databases.ask(url, "select pg_database_size(current_database())"))

        await migrate(DatabaseOptions(url), now=0)
        empty = await size()
        await memory(Path(name), url, ("work",), base=base, feeds=feeds)
        await disk(url, size, empty)


async def main(*, feeds: int, is_on_postgres: bool) -> None:
    async with a_publisher() as base:
        print("SQLite")
        await on_sqlite(base, feeds)
        if is_on_postgres:
            say("PostgreSQL")
            with a_postgres() as server:
                print("PostgreSQL")
                await on_postgres(server.url, base, feeds)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # it is a TextIOWrapper
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--feeds", type=int, default=500)
    parser.add_argument("--postgres", action="store_true")
    said = parser.parse_args()
    asyncio.run(main(feeds=said.feeds, is_on_postgres=said.postgres))
