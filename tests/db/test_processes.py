"""Several processes on one database, and one that is killed again and again."""

import asyncio
import random
import time
from contextlib import closing

import apsw
import pytest

from tests.db.builders import a_query, links
from tests.db.child import PARTS
from tests.db.processes import child, finished
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.db.migration_steps import available
from tsuzuki.db.sqlite_file import connect, path_of

WRITERS = 4
EACH = 200
SOAK_EACH = 15_000
KILLS = 10
SOAK_KILLS = 100


def counts(found):
    """How many parts of each transaction are there."""
    parts: dict[str, int] = {}
    for link in found:
        name = link.rpartition("/")[0]
        parts[name] = parts.get(name, 0) + 1
    return parts


@pytest.mark.soak
async def test_writers_in_four_processes_and_a_long_reader_only_wait(database_url, engine, request):
    """REL-39e: nobody is told that the database is locked."""
    each = SOAK_EACH if request.config.getoption("--soak") else EACH
    writers = [await child("write", database_url, f"w{number}", str(each)) for number in range(WRITERS)]
    db = await open_database(DatabaseOptions(database_url))
    if engine == "sqlite":
        with closing(connect(path_of(database_url), read_only=True)) as reader:
            reader.execute("begin")
            assert reader.execute("select count(*) from feed").get is not None
            said = await asyncio.gather(*(finished(writer) for writer in writers))
            reader.execute("rollback")
    else:
        said = await asyncio.gather(*(finished(writer) for writer in writers))
    assert sorted(map(len, said)) == [each] * WRITERS
    assert counts(await links(db)) == {name: PARTS for names in said for name in names}
    await db.close()


@pytest.mark.soak
async def test_a_killed_writer_loses_nothing_acknowledged(database_url, request):
    """I3: the database opens, no transaction is there by half, none that was acknowledged is missing."""
    rng = random.Random(3)
    acknowledged = set()
    for round_ in range(SOAK_KILLS if request.config.getoption("--soak") else KILLS):
        writer = await child("write", database_url, f"r{round_}", "0")
        assert writer.stdout
        assert writer.stderr
        first = await writer.stdout.readline()
        assert first, (await writer.stderr.read()).decode()
        await asyncio.sleep(rng.uniform(0, 0.1))
        writer.kill()
        rest, _ = await writer.communicate()
        acknowledged |= {line for line in (first + rest).decode().split("\n") if line}
        db = await open_database(DatabaseOptions(database_url))
        there = counts(await links(db))
        await db.close()
        assert set(there.values()) == {PARTS}
        assert acknowledged <= there.keys()
    if database_url.startswith("sqlite:"):
        with closing(apsw.Connection(str(path_of(database_url)))) as connection:
            assert connection.execute("pragma integrity_check").get == "ok"


@pytest.mark.parametrize("starters", [2, 4])
async def test_processes_that_start_at_once_migrate_once(empty_database_url, starters):
    together = time.monotonic() + 1.5
    running = [await child("start", empty_database_url, str(together)) for _ in range(starters)]
    said = [line for process in running for line in await finished(process)]
    steps = [step.version for step in available("sqlite")]
    assert sorted(said) == [f"0 {steps[-1]}", *[f"{steps[-1]} {steps[-1]}"] * (starters - 1)]
    db = await open_database(DatabaseOptions(empty_database_url))
    ledger = a_query("select version from schema_migration order by version")
    assert await db.read(lambda tx: tx.many(int, ledger)) == steps
    await db.close()
