"""Polls of whole processes on PostgreSQL, one and two of them, and on SQLite: `python -m bench.workers [--small]`.

`tsuzuki work` on PostgreSQL and `tsuzuki serve` on SQLite poll feeds of a local publisher on many loopback addresses,
when somebody asked to refresh all of them. A rate is by what is written in the database: from the first outcome (and
item) to the last, so a start does not count. The cases take turns, the best round of each counts. Computing is that of
the processes and their parsers, without PostgreSQL's. No time makes this fail.
"""

import argparse
import asyncio
import contextlib
import os
import re
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec

from bench.harness import a_postgres, aim, family, opened, say, seconds_of
from bench.peers.measure import Site, a_site
from bench.peers.measure import Sizes as SiteSizes
from bench.peers.publisher import NEW, Mode
from tests import databases
from tests.app import in_settings
from tests.builders import stored_feed, stored_watch
from tests.delivery.builders import a_reader, subscribe
from tsuzuki.app.opening import wall_clock
from tsuzuki.db import Database, DatabaseOptions
from tsuzuki.db.migrate import migrate
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.times import HOUR, Millis

AT_ONCE = 32
KINDS: Sequence[tuple[Mode, str]] = (("same", "304"), ("new", f"{NEW} new items"))
TWICE, OF_SQLITE = 1.7, 0.8
"""Two workers beside one on two cores; and one worker on PostgreSQL beside SQLite, where ten items are new."""
PATIENCE = 180.0

q = parse_queries(
    "bench",
    """
-- name: ask_for_all
update watch set refresh_at = :now, last_checked_at = :before, last_success_at = :before;
-- name: count_left
select (select count(*) from watch where last_checked_at < :began)
  + (select count(*) from task where queue = 'item-ingest' and status in ('queued', 'running'));
-- name: first_outcome
select min(last_checked_at) from watch;
-- name: last_outcome
select max(coalesce((select max(created_at) from item), 0), (select max(last_checked_at) from watch));
""",
    """
-- name: last_outcome
select greatest(coalesce((select max(created_at) from item), 0), (select max(last_checked_at) from watch));
""",
)


class Case(msgspec.Struct):
    """A way to run it, and the best of its rounds."""

    name: str
    key: str
    url: str
    command: tuple[str, ...]
    processes: int = 1
    rates: dict[str, float] = {}
    computing: dict[str, float] = {}
    """Seconds for each poll."""


async def fill(case: Case, site: Site, feeds: int) -> None:
    await migrate(DatabaseOptions(case.url), now=0)
    async with opened(case.url) as db:
        await add_feeds(db, site.urls(case.key, feeds), await a_reader(db))


async def add_feeds(db: Database, urls: Sequence[str], shelf: ShelfId) -> None:
    """Feeds that nobody polls for an hour unless asked to, on a shelf."""
    ids = [await stored_feed(db, url) for url in urls]
    for feed, url in zip(ids, urls, strict=True):
        host = re.sub(r"^http://|[:/].*$", "", url)
        await stored_watch(db, feed, host=host, next_check_at=Millis(wall_clock() + HOUR))
        await subscribe(db, shelf, feed)


async def one_round(case: Case, folder: Path, feeds: int, *, what: str) -> None:
    """Ask for all, start the processes, and see when the last was polled and stored."""
    async with opened(case.url) as db:
        began = wall_clock()
        before = Millis(began - HOUR)
        await db.with_tx(lambda tx: tx.run(q.ask_for_all, now=began, before=before))
        async with running(case, folder) as pids:
            ends = time.perf_counter() + PATIENCE
            while await db.read(lambda tx: tx.one(int, q.count_left, began=began)):
                if time.perf_counter() > ends:
                    raise RuntimeError(f"{case.name} did not finish")
                await asyncio.sleep(0.25)
            spent = seconds_of(each for pid in pids for each in family(pid))
        first = await db.read(lambda tx: tx.one(int, q.first_outcome))
        last = await db.read(lambda tx: tx.one(int, q.last_outcome))
    rate = feeds * 1000 / max(1, last - first)
    say(f"{case.name}, {what}: {rate:,.0f} polls/s, {spent:.1f} s of computing with the start")
    case.rates[what] = max(rate, case.rates.get(what, 0.0))
    case.computing[what] = min(spent / feeds, case.computing.get(what, float("inf")))


@contextlib.asynccontextmanager
async def running(case: Case, folder: Path) -> AsyncIterator[list[int]]:
    """So many processes of it; their pids."""
    ours = {"DATA_DIR": folder, "DATABASE_URL": in_settings(case.url), "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8"}
    ours |= {"ICONS": "off", "LOG_LEVEL": "error", "PULL_CONCURRENCY": AT_ONCE}
    env = {name: value for name, value in os.environ.items() if not name.startswith("TSUZUKI_")}
    env |= {f"TSUZUKI_{name}": str(value) for name, value in ours.items()}
    command = (sys.executable, "-m", "tsuzuki", *case.command)
    children = [
        await asyncio.create_subprocess_exec(*command, stdout=DEVNULL, stderr=DEVNULL, env=env)
        for _ in range(case.processes)
    ]
    try:
        yield [child.pid for child in children]
    finally:
        for child in children:
            child.terminate()
        for child in children:
            await child.wait()


async def measure(cases: Sequence[Case], site: Site, folder: Path, *, feeds: int, rounds: int) -> None:
    for case in cases:
        case.rates, case.computing = {}, {}
        await fill(case, site, feeds)
    for mode, what in KINDS:
        for number in range(rounds + 1):
            for case in cases:
                await site.set(case.key, mode)
                before = dict(case.rates), dict(case.computing)
                await one_round(case, folder, feeds, what=what)
                if not number:  # the ETags are from the mode before
                    case.rates, case.computing = before


def show(sqlite: Case, one: Case, two: Case, *, is_full: bool) -> None:
    print(f"\n{'polls/s (ms of computing each, with the start)':48}{'SQLite':>18}{one.name:>24}{two.name:>26}")
    for _, what in KINDS:
        found = [f"{each.rates[what]:,.0f} ({each.computing[what] * 1e3:.2f})" for each in (sqlite, one, two)]
        print(f"{what:48}{found[0]:>18}{found[1]:>24}{found[2]:>26}")
    for _, what in KINDS:
        single = one.rates[what]
        title, beside = f"{what}, PostgreSQL, two workers", ("one worker", single)
        aim(title, two.rates[what], "polls/s", least=TWICE * single, beside=beside, is_full=is_full)
    what, mine = KINDS[1][1], sqlite.rates[KINDS[1][1]]
    title, beside = f"{what}, PostgreSQL, one worker process", ("SQLite", mine)
    aim(title, one.rates[what], "polls/s", least=OF_SQLITE * mine, beside=beside, is_full=is_full)


async def main(*, feeds: int, rounds: int, server_url: str, is_full: bool) -> None:
    async def a_database() -> str:
        return databases.named(server_url, await databases.make(server_url, "template0"))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sqlite = Case("SQLite", "a", f"sqlite://{folder}/workers.db", ("serve", "--port", "0"))
        one = Case("PostgreSQL, one worker", "b", await a_database(), ("work",))
        two = Case("PostgreSQL, two workers", "c", await a_database(), ("work",), processes=2)
        async with a_site(SiteSizes(feeds=feeds, items=30)) as site:
            await measure((sqlite, one, two), site, folder, feeds=feeds, rounds=rounds)
    show(sqlite, one, two, is_full=is_full)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="60 feeds, one round")
    is_small = parser.parse_args().small
    with a_postgres(memory="256MB") as server:
        wanted = {"feeds": 60, "rounds": 1} if is_small else {"feeds": 2000, "rounds": 2}
        asyncio.run(main(**wanted, server_url=server.url, is_full=not is_small))
