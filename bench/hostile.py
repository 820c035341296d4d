"""How quickly readers are answered while hostile documents are polled: `python -m bench.hostile [--small]`.

A server of its own process on each engine, a reader with healthy feeds, and another with ten documents of each kind in
`tests/hostile/documents.py`, all due at once. Before and meanwhile the probe and the inbox are asked for, one after
the other: the 99th percentile of both, and how late the healthy feeds were polled. No time makes it fail.
"""

import argparse
import asyncio
import contextlib
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiohttp

from bench.harness import a_postgres, say
from tests import databases
from tests.app import in_settings
from tests.builders import stored_feed, stored_watch
from tests.delivery.builders import a_reader, subscribe
from tests.hostile.documents import DOCUMENTS
from tests.net.builders import answer
from tests.polling.builders import a_feed, a_publisher
from tests.servers import free_port
from tests.test_serve import serve
from tsuzuki.app.opening import wall_clock
from tsuzuki.db import Database, DatabaseOptions, open_database
from tsuzuki.db.migrate import migrate
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.times import SECOND, Millis

PASSWORD = "correct horse"
PATHS = ("/healthz", "/")
LONGEST_S = 240.0

q = parse_queries(
    "bench",
    """
-- name: first_shelf
select id from shelf order by id limit 1;
-- name: count_unpolled
select count(*) from watch where last_checked_at is null;
-- name: lateness
select last_checked_at - cast(:since as bigint) from watch join feed on feed.id = watch.feed_id
where feed.link like '%healthy%' and last_checked_at is not null;
""",
)
BODIES = [make() for make in DOCUMENTS.values()]


async def publish(head: bytes, writer: asyncio.StreamWriter) -> None:
    path = head.split(b" ")[1].decode().strip("/")
    _, _, number = path.partition("hostile-")
    writer.write(answer(200, BODIES[int(number) % len(BODIES)] if number else a_feed("2", "1", title=path)))


class Asking:
    """Asks for one path after the other, and remembers how long each answer took."""

    def __init__(self, session: aiohttp.ClientSession, base: str) -> None:
        self._session = session
        self._base = base

    async def sign_in(self) -> None:
        """As the administrator; the cookie stays with the session."""
        body = {"username": "admin", "password": PASSWORD}
        async with self._session.post(f"{self._base}/api/v1/sessions", json=body) as response:
            assert response.ok, await response.text()

    async def during(self, work: "asyncio.Task[None]") -> dict[str, list[float]]:
        """Until the work is done."""
        times: dict[str, list[float]] = {path: [] for path in PATHS}
        while not work.done():
            for path in PATHS:
                began = time.perf_counter()
                async with self._session.get(self._base + path, headers={"accept": "text/html"}) as response:
                    await response.read()
                    assert response.status == 200, (path, response.status)
                times[path].append(time.perf_counter() - began)
                await asyncio.sleep(0.01)
        await work
        return times


async def attack(db: Database, publisher: str, *, hostile: int, healthy: int) -> list[float]:
    """Make everything due, and wait until it was polled; how late each healthy feed was, in seconds."""
    shelf = await db.read(lambda tx: tx.one(int, q.first_shelf))
    enemy = await a_reader(db)
    since = Millis(wall_clock())
    for kind, count, owner in (("hostile", hostile, enemy), ("healthy", healthy, shelf)):
        for number in range(count):
            feed = await stored_feed(db, f"{publisher}/{kind}-{number}")
            await subscribe(db, owner, feed)  # type: ignore[arg-type]  # a shelf's id is a number
            await stored_watch(db, feed, host="127.0.0.1", next_check_at=since)
    async with asyncio.timeout(LONGEST_S):
        while await db.read(lambda tx: tx.one(int, q.count_unpolled)):  # noqa: ASYNC110  nothing tells when it is done
            await asyncio.sleep(0.5)
    return [late / SECOND for late in await db.read(lambda tx: tx.many(int, q.lateness, since=since))]


async def measure(engine: str, url: str, folder: Path, *, times: int, healthy: int) -> None:
    port = free_port()
    await migrate(DatabaseOptions(url), now=wall_clock())
    variables = {"DATABASE_URL": in_settings(url), "PASSWORD": PASSWORD, "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8"}
    db = await open_database(DatabaseOptions(url))
    async with (
        a_publisher(publish) as publisher,
        serve(folder, "--port", str(port), **variables, LOG_LEVEL="error") as child,
        aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session,
    ):
        asking = Asking(session, f"http://127.0.0.1:{port}")
        await until_ready(session, port)
        await asking.sign_in()
        quiet = await asking.during(asyncio.create_task(asyncio.sleep(5)))
        late: list[float] = []

        async def attacked() -> None:
            late.extend(await attack(db, publisher.url, hostile=times * len(BODIES), healthy=healthy))

        loud = await asking.during(asyncio.create_task(attacked()))
        assert child.returncode is None
    await db.close()
    print(f"\n{engine}: {times} documents of each of {len(BODIES)} kinds, {healthy} healthy feeds")
    for path in PATHS:
        print(f"  {path:10}{shown(quiet[path])} before{shown(loud[path])} meanwhile ({len(loud[path])} answers)")
    print(f"  healthy feeds polled after: median {statistics.median(late):.1f} s, last {max(late):.1f} s")


def shown(times: list[float]) -> str:
    ordered = sorted(times)
    return f"  p50 {ordered[len(ordered) // 2] * 1000:5.1f} ms  p99 {ordered[len(ordered) * 99 // 100] * 1000:5.1f} ms"


async def until_ready(session: aiohttp.ClientSession, port: int) -> None:
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(aiohttp.ClientError):
                async with session.get(f"http://127.0.0.1:{port}/readyz") as response:
                    if response.ok:
                        return
            await asyncio.sleep(0.2)


@contextlib.asynccontextmanager
async def places() -> AsyncIterator[Iterator[tuple[str, str, Path]]]:
    """A database of each engine, and a data folder for its server."""
    with a_postgres() as server, tempfile.TemporaryDirectory() as folder:
        sqlite, postgres = Path(folder) / "sqlite", Path(folder) / "postgres"
        sqlite.mkdir()
        async with databases.empty(server.url) as url:
            yield iter([("SQLite", f"sqlite://{sqlite / 'tsuzuki.db'}", sqlite), ("PostgreSQL", url, postgres)])


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="one document of each kind, 20 healthy feeds")
    small = parser.parse_args().small
    async with places() as engines:
        for engine, url, folder in engines:
            say(f"{engine} ...")
            await measure(engine, url, folder, times=1 if small else 10, healthy=20 if small else 200)


if __name__ == "__main__":
    asyncio.run(main())
