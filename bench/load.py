"""Lists for many clients at once, by one process and by several: `python -m bench.load [--small]`.

`tsuzuki serve` as processes on a library of 150,000 articles for one reader, and sixteen clients that ask for a list of
fifty unread ones again and again: on SQLite, and on PostgreSQL with `--processes` 1 and 2. The rounds of the two take
turns. Each line: lists a second, the time within which 95 of 100 are answered, and the rate against the first line's.

Then what one entry computes beside as many bytes of a bare server, and, on SQLite, how long a list and `/healthz` wait
while the same process refreshes 5,000 feeds, each with ten new items for that reader. No time makes it fail.
"""

import argparse
import asyncio
import contextlib
import os
import re
import statistics
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import aiohttp
import msgspec

from bench._library import build, grow
from bench.harness import a_postgres, aim, family, p95, say, seconds_of
from bench.peers.measure import Site, a_site
from bench.peers.measure import Sizes as SiteSizes
from bench.workers import add_feeds
from bench.workers import q as polled
from tests import databases
from tests.app import in_settings
from tsuzuki.app.opening import wall_clock
from tsuzuki.db import Database, DatabaseOptions, open_database
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.times import HOUR, Millis

CLIENTS = 16
ENTRY_MS, WAIT_MS = 0.3, 30
"""What is aimed at: computing of one entry, and the p95 of a list and of `/healthz` while everything is refreshed."""
LIST = "/api/v1/items?unread=true&limit=50"
PASSWORD = "a-password-for-this-run"

q = parse_queries(
    "bench",
    """
-- name: first_shelf
select min(id) from shelf;
-- name: drop_watches
-- Those of the library: nobody publishes its feeds, and nobody else is ever called.
delete from watch where host = 'example.org';
""",
)


def variables(folder: Path, url: str) -> dict[str, str]:
    ours = {"DATA_DIR": str(folder), "DATABASE_URL": url, "PASSWORD": PASSWORD, "LOG_LEVEL": "error", "ICONS": "off"}
    ours |= {"ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8", "PULL_CONCURRENCY": "32"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TSUZUKI_")}
    return kept | {f"TSUZUKI_{name}": value for name, value in ours.items()}


@contextlib.asynccontextmanager
async def serving(env: Mapping[str, str], *options: str) -> AsyncIterator[str]:
    """Where it is."""
    async with a_process(env, "tsuzuki", "serve", "--no-workers", "--port", "0", *options) as (base, _):
        yield base


@contextlib.asynccontextmanager
async def a_process(env: Mapping[str, str], *module: str) -> AsyncIterator[tuple[str, int]]:
    """Where it is, and its pid."""
    command = ("-m", *module)
    child = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=PIPE, stderr=DEVNULL, env=env)
    assert child.stdout is not None
    try:
        found = re.search(r"http://[\d.]+:\d+", (await child.stdout.readline()).decode())
        assert found is not None
        yield found[0], child.pid
    finally:
        child.terminate()
        await child.wait()


async def output_of(env: Mapping[str, str], *command: str) -> str:
    child = await asyncio.create_subprocess_exec(sys.executable, "-m", "tsuzuki", *command, stdout=PIPE, env=env)
    said, _ = await child.communicate()
    return said.decode().strip()


async def filled(url: str, env: Mapping[str, str], articles: int) -> str:
    """A token of the reader who has so many."""
    async with serving(env):
        pass
    db = await open_database(DatabaseOptions(url))
    try:
        shelf = await db.read(lambda tx: tx.one(ShelfId, q.first_shelf))
        await grow(db, await build(db, shelf), 1, articles + 1)
        await db.with_tx(lambda tx: tx.run(q.drop_watches))
    finally:
        await db.close()
    return await output_of(env, "token", "create", "admin", "--scopes", "read")


async def one_round(base: str, token: str, seconds: float) -> list[float]:
    """The times of all lists that were answered within so many seconds, each client asking again when it has one."""
    took: list[float] = []
    ends = time.perf_counter() + seconds

    async def client(session: aiohttp.ClientSession) -> None:
        while (began := time.perf_counter()) < ends:
            async with session.get(base + LIST) as response:
                assert response.status == 200
                await response.read()
            took.append(time.perf_counter() - began)

    connector = aiohttp.TCPConnector(limit=CLIENTS)
    headers = {"authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        await asyncio.gather(*(client(session) for _ in range(CLIENTS)))
    return took


async def measure(name: str, env: Mapping[str, str], token: str, counts: Sequence[int], *, rounds: int) -> None:
    took: dict[int, list[list[float]]] = {count: [] for count in counts}
    for number in range(rounds + 1):
        for count in counts:
            async with serving(env, "--processes", str(count)) as base:
                await one_round(base, token, 2.0)  # all of them have started, and know the way
                found = await one_round(base, token, 5.0)
                if number:
                    took[count].append(found)
            say(f"{name}, {count} processes, round {number}: {len(found) / 5:.0f} a second")
    rates = {count: statistics.median(len(found) / 5 for found in took[count]) for count in counts}
    for count in counts:
        p95 = statistics.median(statistics.quantiles(found, n=20)[-1] for found in took[count])
        ratio = rates[count] / rates[counts[0]]
        print(f"{name}, {count} processes: {rates[count]:7.0f} lists/s{p95 * 1000:8.1f} ms p95{ratio:8.2f}")


# -- one entry


async def entries(name: str, env: Mapping[str, str], token: str, *, calls: int, is_full: bool) -> None:
    """Milliseconds that the server computes for one, beside a bare server for as many bytes; without PostgreSQL's."""
    headers = {"authorization": f"Bearer {token}"}
    async with (
        a_process(env, "tsuzuki", "serve", "--no-workers", "--port", "0") as (base, pid),
        a_process(env, "bench._bare_server") as (bare, bare_pid),
        aiohttp.ClientSession(headers=headers) as session,
    ):
        listed = msgspec.json.decode(await fetch(session, base + LIST))
        paths = [f"/api/v1/items/{item['id']}" for item in listed["data"]]
        size = len(await fetch(session, base + paths[0]))
        ours, least = float("inf"), float("inf")
        for _ in range(3):
            ours = min(ours, await computing(session, pid, [base + path for path in paths], calls=calls))
            least = min(least, await computing(session, bare_pid, [f"{bare}/json/{size}"], calls=calls))
    title = f"one entry by API, {name}, computing"
    aim(title, ours, "ms", most=ENTRY_MS, beside=("a bare server", least), is_full=is_full)


async def computing(session: aiohttp.ClientSession, pid: int, urls: Sequence[str], *, calls: int) -> float:
    await fetch(session, urls[0])
    before = seconds_of(family(pid))
    for number in range(calls):
        await fetch(session, urls[number % len(urls)])
    return (seconds_of(family(pid)) - before) * 1e3 / calls


async def fetch(session: aiohttp.ClientSession, url: str) -> bytes:
    async with session.get(url) as response:
        assert response.status == 200, (url, response.status)
        return await response.read()


# -- while everything is refreshed


async def refreshing(url: str, env: Mapping[str, str], token: str, *, feeds: int, is_full: bool) -> None:
    """How long a list and `/healthz` take meanwhile, and before."""
    paths = {"the list": LIST, "/healthz": "/healthz"}
    headers = {"authorization": f"Bearer {token}"}
    async with a_site(SiteSizes(feeds=feeds, items=30)) as site, aiohttp.ClientSession(headers=headers) as session:
        db = await open_database(DatabaseOptions(url))
        try:
            shelf = await db.read(lambda tx: tx.one(ShelfId, q.first_shelf))
            await add_feeds(db, site.urls("load", feeds), shelf)
            async with a_process(env, "tsuzuki", "serve", "--port", "0") as (base, _):
                targets = {name: base + path for name, path in paths.items()}
                await refresh(db, site, session, {}, feeds=feeds)
                idle = await watched(session, targets, asyncio.create_task(asyncio.sleep(5)))
                during = await refresh(db, site, session, targets, feeds=feeds)
        finally:
            await db.close()
    for name in paths:
        usual, title = p95(idle[name]) * 1e3, f"{name} while {feeds:,} feeds bring ten new items each, p95"
        aim(title, p95(during[name]) * 1e3, "ms", most=WAIT_MS, beside=("the same before", usual), is_full=is_full)


async def refresh(
    db: Database, site: Site, session: aiohttp.ClientSession, targets: Mapping[str, str], *, feeds: int
) -> dict[str, list[float]]:
    """Ask for all feeds, and look meanwhile."""
    await site.set("load", "new")
    began = wall_clock()
    before = Millis(began - HOUR)

    async def done() -> None:
        while left := await db.read(lambda tx: tx.one(int, polled.count_left, began=began)):
            say(f"{left:,} of {feeds:,} feeds and their tasks are left")
            await asyncio.sleep(1)

    await db.with_tx(lambda tx: tx.run(polled.ask_for_all, now=began, before=before))
    return await watched(session, targets, asyncio.create_task(done()))


async def watched(
    session: aiohttp.ClientSession, targets: Mapping[str, str], until: "asyncio.Task[None]"
) -> dict[str, list[float]]:
    """One request after the other until then; seconds of each."""
    found: dict[str, list[float]] = {name: [] for name in targets}
    while not until.done():
        for name, target in targets.items():
            began = time.perf_counter()
            await fetch(session, target)
            found[name].append(time.perf_counter() - began)
        await asyncio.sleep(0.02)
    await until
    return found


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="20,000 articles, one round")
    small = parser.parse_args().small
    articles, rounds, calls, feeds = (20_000, 1, 300, 60) if small else (150_000, 3, 2_000, 5_000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = f"sqlite://{folder}/tsuzuki.db"
        env = variables(folder, in_settings(url))
        token = await filled(url, env, articles)
        await measure("SQLite", env, token, (1,), rounds=rounds)
        await entries("SQLite", env, token, calls=calls, is_full=not small)
        await refreshing(url, env, token, feeds=feeds, is_full=not small)
    with tempfile.TemporaryDirectory() as name, a_postgres(memory="256MB") as server:
        url = databases.named(server.url, await databases.make(server.url, "template0"))
        env = variables(Path(name), in_settings(url))
        token = await filled(url, env, articles)
        await measure("PostgreSQL", env, token, (1, 2), rounds=rounds)
        await entries("PostgreSQL", env, token, calls=calls, is_full=not small)


if __name__ == "__main__":
    asyncio.run(main())
