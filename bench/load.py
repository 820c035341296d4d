"""Lists for many clients at once, by one process and by several: `python -m bench.load [--small]`.

`tsuzuki serve` as processes on a library of 150,000 articles for one reader, and sixteen clients that ask for a list of
fifty unread ones again and again: on SQLite, and on PostgreSQL with `--processes` 1 and 2. The rounds of the two take
turns. Each line: lists a second, the time within which 95 of 100 are answered, and the rate against the first line's.
No time makes it fail.
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

from bench._library import build, grow
from bench.harness import a_postgres, say
from tests import databases
from tests.app import in_settings
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.ids import ShelfId

CLIENTS = 16
LIST = "/api/v1/items?unread=true&limit=50"
PASSWORD = "a-password-for-this-run"

q = parse_queries("bench", "-- name: first_shelf\nselect min(id) from shelf;")


def variables(folder: Path, url: str) -> dict[str, str]:
    ours = {"DATA_DIR": str(folder), "DATABASE_URL": url, "PASSWORD": PASSWORD, "LOG_LEVEL": "error", "ICONS": "off"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TSUZUKI_")}
    return kept | {f"TSUZUKI_{name}": value for name, value in ours.items()}


@contextlib.asynccontextmanager
async def serving(env: Mapping[str, str], *options: str) -> AsyncIterator[str]:
    """Where it is."""
    command = ("-m", "tsuzuki", "serve", "--no-workers", "--port", "0", *options)
    child = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=PIPE, stderr=DEVNULL, env=env)
    assert child.stdout is not None
    try:
        found = re.search(r"http://[\d.]+:\d+", (await child.stdout.readline()).decode())
        assert found is not None
        yield found[0]
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


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="20,000 articles, one round")
    small = parser.parse_args().small
    articles, rounds = (20_000, 1) if small else (150_000, 3)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = f"sqlite://{folder}/tsuzuki.db"
        env = variables(folder, in_settings(url))
        await measure("SQLite", env, await filled(url, env, articles), (1,), rounds=rounds)
    with tempfile.TemporaryDirectory() as name, a_postgres(memory="256MB") as server:
        url = databases.named(server.url, await databases.make(server.url, "template0"))
        env = variables(Path(name), in_settings(url))
        await measure("PostgreSQL", env, await filled(url, env, articles), (1, 2), rounds=rounds)


if __name__ == "__main__":
    asyncio.run(main())
