"""The queue: no-op tasks, ours on both engines, against a bare claim and complete loop, and against pgqueuer.

`python -m bench.queue [--small]`. All contestants run in one run, in turns, each worker in a process of its own under
uvloop, on one PostgreSQL that syncs every commit; the best round of each counts, for noise only ever takes away. The
bare loop is the driver and two statements over our own table, 50 tasks at a time, without leases that are kept,
payloads that are decoded, or a transaction of the effect. pgqueuer is installed into a temporary folder, and shown at
the best of several batch sizes.
"""

import argparse
import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import asyncpg
import msgspec

from bench._queues import (
    INSTALLED,
    PATIENCE,
    Enqueue,
    bare_postgres,
    bare_sqlite,
    find_installed,
    make_pgqueuers_tables,
    ours,
    pgqueuer,
)
from bench.harness import a_postgres, say
from tsuzuki.db import DatabaseOptions
from tsuzuki.db.migrate import migrate
from tsuzuki.db.sqlite_file import connect, path_of

ROOT = Path(__file__).resolve().parent.parent
CHUNK = 1_000
LOOK_EVERY = 0.02
OUR_BATCHES = (50, 250)
PGQUEUER_BATCHES = (50, 100, 250, 500)


# -- one contest


class Contestant(msgspec.Struct, frozen=True):
    """One way to do it."""

    name: str
    url: str
    opened: Callable[[str], AbstractAsyncContextManager[Enqueue]]
    table: str = "task"
    unfinished: str = "status in ('queued', 'running')"


class Best(msgspec.Struct):
    """Tasks per second, the best round of each."""

    enqueue: float = 0.0
    one: float = 0.0
    two: float = 0.0


async def play(contestant: Contestant, count: int, best: Best) -> None:
    """A round: enqueue and work with one worker, then with two."""
    for workers in (1, 2):
        await ask(contestant.url, f"delete from {contestant.table}")
        if contestant.url.startswith("postgres"):
            await ask(contestant.url, f"vacuum analyze {contestant.table}")
        async with contestant.opened(contestant.url) as enqueue:
            began = time.perf_counter()
            for first in range(0, count, CHUNK):
                await enqueue(range(first, first + CHUNK))
            best.enqueue = max(best.enqueue, count / (time.perf_counter() - began))
        rate = count / await work(contestant, workers)
        if workers == 1:
            best.one = max(best.one, rate)
        else:
            best.two = max(best.two, rate)


async def work(contestant: Contestant, workers: int) -> float:
    """Seconds until so many workers have done everything."""
    children = [start(contestant) for _ in range(workers)]
    left = f"select 1 from {contestant.table} where {contestant.unfinished} limit 1"
    try:
        for started in children:
            assert started.stdout is not None
            await asyncio.to_thread(started.stdout.readline)
        began = time.perf_counter()
        for started in children:
            assert started.stdin is not None
            started.stdin.write(b"go\n")
            started.stdin.flush()
        while await ask(contestant.url, left):
            is_dead = any(started.poll() is not None for started in children)
            if is_dead or time.perf_counter() - began > PATIENCE:
                raise RuntimeError(f"{contestant.name} did not finish")
            await asyncio.sleep(LOOK_EVERY)
        return time.perf_counter() - began
    finally:
        for started in children:
            started.kill()
            started.communicate()


def start(contestant: Contestant) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "bench._queues", contestant.name, contestant.url]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


async def ask(url: str, statement: str) -> Any:
    if url.startswith("sqlite"):
        with contextlib.closing(connect(path_of(url))) as file:
            return file.execute(statement).get
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


# -- setting up


@contextlib.contextmanager
def pgqueuer_installed() -> Iterator[bool]:
    """Into a folder that goes away again; False, and a line that says so, when that cannot be done."""
    folder = tempfile.mkdtemp(prefix="tsuzuki-bench-")
    uv = Path(sys.executable).with_name("uv")
    attempts = [
        [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, "pgqueuer[asyncpg]"],
        [str(uv), "pip", "install", "--quiet", "--target", folder, "pgqueuer[asyncpg]"],
    ]
    try:
        done = any(_succeeds(command) for command in attempts)
        if done:
            os.environ[INSTALLED] = folder
            find_installed()
        yield done
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _succeeds(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, check=False, capture_output=True, timeout=300).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


async def contestants(url: str, sqlite_url: str, *, with_pgqueuer: bool, small: bool) -> list[Contestant]:
    for each in (url, sqlite_url):
        await migrate(DatabaseOptions(each), now=0)
    found = [
        *(Contestant(f"ours:{batch}", sqlite_url, ours) for batch in OUR_BATCHES),
        Contestant("ours-each", sqlite_url, ours),
        Contestant("bare-sqlite", sqlite_url, bare_sqlite),
        *(Contestant(f"ours:{batch}", url, ours) for batch in OUR_BATCHES),
        Contestant("ours-each", url, ours),
        Contestant("bare-postgres", url, bare_postgres),
    ]
    if with_pgqueuer:
        await make_pgqueuers_tables(url)
        found += [
            Contestant(f"pgqueuer:{batch}", url, pgqueuer, table="pgqueuer", unfinished="true")
            for batch in (PGQUEUER_BATCHES[:2] if small else PGQUEUER_BATCHES)
        ]
    return found


async def measure(url: str, sqlite_url: str, *, with_pgqueuer: bool, small: bool) -> dict[tuple[str, str], Best]:
    count, rounds = (2_000, 1) if small else (20_000, 3)
    best: dict[tuple[str, str], Best] = {}
    players = await contestants(url, sqlite_url, with_pgqueuer=with_pgqueuer, small=small)
    for number in range(rounds):
        for player in players:
            say(f"round {number + 1}: {player.name} on {player.url.partition(':')[0]}")
            await play(player, count, best.setdefault((player.name, player.url.partition(":")[0]), Best()))
    return best


# -- saying it


def show(best: dict[tuple[str, str], Best]) -> None:
    names = {"ours-each": "ours, a transaction for each"}
    heads = f"{'enqueue':>12}{'one worker':>12}{'two workers':>12}"
    print(f"\nNo-op tasks per second; the number is the batch\n{'':40}{heads}")
    for (name, engine), figures in best.items():
        label = f"{engine}: {names.get(name, name)}"
        print(f"{label:40}{figures.enqueue:12,.0f}{figures.one:12,.0f}{figures.two:12,.0f}")
    print(f"\n{'Ours in batches, as a share of':40}{heads}  target")
    for engine, bare in (("sqlite", "bare-sqlite"), ("postgresql", "bare-postgres")):
        _compare(f"the bare loop on {engine}, both by 50", best["ours:50", engine], best[bare, engine], target=0.5)
    if any(name.startswith("pgqueuer") for name, _ in best):
        mine, rival = (_best_of(best, kind) for kind in ("ours:", "pgqueuer:"))
        _compare("pgqueuer, both at their best", mine, rival, target=1.5)
    else:
        print("pgqueuer could not be installed here; that comparison is left out.")


def _best_of(best: dict[tuple[str, str], Best], kind: str) -> Best:
    """The best of each column on PostgreSQL, whatever the batch."""
    found = [figures for (name, engine), figures in best.items() if name.startswith(kind) and engine == "postgresql"]
    return Best(*(max(getattr(each, field) for each in found) for field in Best.__struct_fields__))


def _compare(label: str, mine: Best, other: Best, *, target: float) -> None:
    """The target is for working through them; how quickly they are enqueued stands beside it."""
    ratios = [mine.enqueue / other.enqueue, mine.one / other.one, mine.two / other.two]
    mark = "ok" if min(ratios[1:]) >= target else "MISSED"
    print(f"{label:40}{''.join(f'{ratio:12.2f}' for ratio in ratios)}  working at least {target}  {mark}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the queue.")
    parser.add_argument("--small", action="store_true", help="fewer tasks and rounds: does it still run?")
    options = parser.parse_args()
    with a_postgres() as postgres, pgqueuer_installed() as is_there, tempfile.TemporaryDirectory() as place:
        sqlite_url = f"sqlite://{place}/queue.db"
        show(asyncio.run(measure(postgres.url, sqlite_url, with_pgqueuer=is_there, small=options.small)))


if __name__ == "__main__":
    main()
