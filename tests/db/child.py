"""A process of its own that uses a database, for tests that kill it or run several of it.

It says on stdout, line by line, what it was told is done.
"""

import asyncio
import itertools
import os
import sys
import time
from collections.abc import Iterator

from tests.db.builders import add_link_tx
from tsuzuki.db import Database, DatabaseOptions, Tx, open_database
from tsuzuki.db.migrate import migrate

PARTS = 3
COROUTINES = 4


async def write(url: str, label: str, count: int) -> None:
    """Transactions of three rows each; a line for each one that was acknowledged."""
    db = await open_database(DatabaseOptions(url))
    numbers: Iterator[int] = iter(range(count)) if count else itertools.count()
    await asyncio.gather(*(_write_all(db, label, numbers) for _ in range(COROUTINES)))
    await db.close()


async def _write_all(db: Database, label: str, numbers: Iterator[int]) -> None:
    for number in numbers:
        name = f"{label}-{number}"

        async def work(tx: Tx, name: str = name) -> None:
            for part in range(PARTS):
                await add_link_tx(tx, f"{name}/{part}")

        await db.with_tx(work)
        say(name)


async def start(url: str, at: float) -> None:
    """Migrate as `serve` does, at a moment that others share; says which version it found and left."""
    await asyncio.sleep(max(0, at - time.monotonic()))
    outcome = await migrate(DatabaseOptions(url), now=0)
    db = await open_database(DatabaseOptions(url))
    await db.ping()
    await db.close()
    say(f"{outcome.before} {outcome.after}")


def say(line: str) -> None:
    """In one write, so that a kill leaves whole lines or none."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


if __name__ == "__main__":
    verb, url, *rest = sys.argv[1:]
    if verb == "write":
        asyncio.run(write(url, rest[0], int(rest[1])))
    else:
        asyncio.run(start(url, float(rest[0])))
