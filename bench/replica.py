"""What a read replica takes off the first server: `python -m bench.replica [--small]`.

A PostgreSQL with a library of 150,000 articles for one reader, a standby that streams from it, and `tsuzuki serve`
without and with `TSUZUKI_DATABASE_READ_URL`, in turns. First: milliseconds of computing for one request by the first
server, by the replica (which replays too), and by the web process with its parsers. Then: who answers lists, and the
time within which 95 of 100 are answered, while the first server commits so many marks a second. No time makes it fail.
"""

import argparse
import asyncio
import contextlib
import re
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import aiohttp

from bench.harness import a_postgres, opened, p95, say
from bench.load import LIST, PASSWORD, a_process, fetch, filled, q, variables
from bench.scale import accept_of, seconds_of
from tests import databases
from tests.inbox.builders import an_inbox, items_of
from tests.servers import Postgres, Standby, shared_folder
from tsuzuki.model.ids import ShelfId

PATHS = {"the inbox page": "/", "a list of 50 by API": LIST, "a search by API": "/api/v1/search?q=river"}
COMMITS = (0, 20, 200)
WATCHED_S = 5.0
SERVE = ("tsuzuki", "serve", "--no-workers", "--port", "0")
WITHOUT, WITH = "without a replica", "with one"


@contextlib.contextmanager
def a_standby(first: Postgres) -> Iterator[Standby]:
    folder = shared_folder()
    standby = Standby(folder, first, durable=True, memory="256MB")
    try:
        yield standby.start()
    finally:
        standby.remove()
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.asynccontextmanager
async def signed_in(env: Mapping[str, str]) -> AsyncIterator[tuple[aiohttp.ClientSession, str, int]]:
    """A session of the reader's at a server, where that is, and its pid."""
    async with a_process(env, *SERVE) as (base, pid), aiohttp.ClientSession() as session:
        said = {"username": "admin", "password": PASSWORD}
        async with session.post(f"{base}/api/v1/sessions", json=said) as response:
            assert response.status == 200
            session.headers["cookie"] = response.headers.getall("set-cookie")[-1].partition(";")[0]
        yield session, base, pid


async def get(session: aiohttp.ClientSession, url: str, path: str) -> None:
    async with session.get(url + path, headers=accept_of(path), allow_redirects=False) as response:
        assert response.status == 200, (path, response.status)
        await response.read()


async def computing(env: Mapping[str, str], servers: Mapping[str, int], calls: int) -> dict[str, dict[str, float]]:
    """Milliseconds for one request, by path and by process."""
    found: dict[str, dict[str, float]] = {}
    async with signed_in(env) as (session, base, pid):
        pids = {**servers, "web process": pid}
        for name, path in PATHS.items():
            for _ in range(20):
                await get(session, base, path)
            before = {who: seconds_of(each) for who, each in pids.items()}
            for _ in range(calls):
                await get(session, base, path)
            found[name] = {who: (seconds_of(each) - before[who]) * 1e3 / calls for who, each in pids.items()}
    return found


async def answered(session: aiohttp.ClientSession, base: str) -> dict[str, float]:
    """How many lists each server has answered."""
    text = (await fetch(session, f"{base}/metrics")).decode()
    return {who: float(count) for who, count in re.findall(r'tsuzuki_list_reads_total\{server="(\w+)"\} (\S+)', text)}


async def while_committing(env: Mapping[str, str], url: str, rate: int) -> tuple[float, float, float]:
    """Commits a second that were made, the share of lists that the replica answered, and their p95 in ms."""
    took: list[float] = []
    async with opened(url) as db, signed_in(env) as (session, base, _):
        shelf = await db.read(lambda tx: tx.one(ShelfId, q.first_shelf))
        ids, made, inbox = [entry.id for entry in await items_of(db, shelf)], 0, an_inbox(db)
        await asyncio.sleep(2)  # the replica has been looked at
        before, ends = await answered(session, base), time.perf_counter() + WATCHED_S

        async def commit() -> int:
            count = 0
            while rate and time.perf_counter() < ends:
                await inbox.mark_entries(shelf, [ids[count % len(ids)]], unread=bool(count // len(ids) % 2))
                count += 1
                await asyncio.sleep(max(0, ends - WATCHED_S + count / rate - time.perf_counter()))
            return count

        committing = asyncio.ensure_future(commit())
        while time.perf_counter() < ends:
            began = time.perf_counter()
            await get(session, base, LIST)
            took.append(time.perf_counter() - began)
            await asyncio.sleep(0.01)
        made = await committing
        after = await answered(session, base)
    read = {who: count - before.get(who, 0) for who, count in after.items()}
    return made / WATCHED_S, read.get("replica", 0) / max(sum(read.values()), 1), p95(took) * 1e3


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="20,000 articles, one round")
    small = parser.parse_args().small
    articles, rounds, calls = (20_000, 1, 200) if small else (150_000, 3, 300)
    with tempfile.TemporaryDirectory() as name, a_postgres(memory="256MB") as first:
        url = databases.named(first.url, await databases.make(first.url, "template0"))
        env = variables(Path(name), url)
        await filled(url, env, articles)
        with a_standby(first) as standby:
            envs = {
                WITHOUT: env,
                WITH: env
                | {"TSUZUKI_DATABASE_READ_URL": standby.url.rpartition("/")[0] + "/" + url.rpartition("/")[2]},
            }
            assert first._server is not None
            assert standby._server is not None
            servers = {"first server": first._server.process.pid, "replica": standby._server.process.pid}
            found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
            for number in range(rounds):
                for how, each in envs.items():
                    for path, by_process in (await computing(each, servers, calls)).items():
                        for process, spent in by_process.items():
                            found[path][f"{how}, {process}"].append(spent)
                    say(f"round {number}, {how}")
            for path, columns in found.items():
                print(
                    path, *(f"{what}: {statistics.median(spent):.2f} ms" for what, spent in columns.items()), sep="; "
                )
            for rate in COMMITS:
                made, share, slow = await while_committing(envs[WITH], url, rate)
                _, _, usual = await while_committing(envs[WITHOUT], url, rate)
                print(
                    f"{made:.0f} commits a second: the replica answers {share:.0%} of the lists, p95 {slow:.1f} ms, "
                    f"without it {usual:.1f}"
                )


if __name__ == "__main__":
    asyncio.run(main())
