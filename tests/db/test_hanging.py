"""A PostgreSQL that hangs: it answers nothing and closes nothing. Whoever asks is told so in time."""

import asyncio
import shutil
import time
from functools import partial

import pytest

from tests.app import in_settings, running_app, settings_for
from tests.db.builders import add_link_tx, for_each, links
from tests.servers import Postgres, shared_folder
from tests.stopwatch import Stopwatch
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.db.deadlines import LONGEST, deadline, long_deadline
from tsuzuki.db.errors import DatabaseUnavailable
from tsuzuki.db.migrate import migrate

NAP = for_each(sqlite="", postgres="select cast(pg_sleep(1.5) as text)")


@pytest.fixture(scope="module")
def server():
    folder = shared_folder()
    server = Postgres(folder).start()
    yield server
    server.resume()
    server.remove()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def db(server):
    options = DatabaseOptions(server.url, max_connections=4, command_timeout=1)
    await migrate(options, now=0)
    db = await open_database(options)
    yield db
    server.resume()
    await db.close()


async def outcomes_of(calls):
    """What each came to, and how long the last took."""
    began = time.monotonic()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    return {type(outcome) for outcome in outcomes}, time.monotonic() - began


async def test_whoever_asks_a_server_that_hangs_is_told_in_time(server, db):
    """More callers than connections, some of them in the middle of something; and all is well when it answers again."""
    before, begun = await links(db), asyncio.Event()

    async def interrupted(tx):
        await add_link_tx(tx, "interrupted")
        begun.set()
        await tx.many(str, NAP)

    inside = asyncio.ensure_future(db.with_tx(interrupted))
    await begun.wait()
    server.hang()
    reads = [links(db) for _ in range(6)]
    writes = [db.with_tx(partial(add_link_tx, link=f"l{n}")) for n in range(6)]
    kinds, took = await outcomes_of([inside, *reads, *writes, db.ping()])
    assert kinds == {DatabaseUnavailable}
    assert took < 12
    server.resume()
    await db.with_tx(lambda tx: add_link_tx(tx, "later"))
    assert await links(db) == [*before, "later"]


@pytest.mark.parametrize("ask", ["read", "write"])
async def test_a_caller_that_gives_up_is_not_kept(server, db, ask):
    before = await links(db)
    server.hang()
    asking = asyncio.ensure_future(links(db) if ask == "read" else db.with_tx(lambda tx: add_link_tx(tx, "a")))
    await asyncio.sleep(0.2)
    stopwatch = Stopwatch()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert stopwatch.seconds() < 3
    server.resume()
    assert await links(db) == before


async def test_a_database_that_hangs_can_be_closed(server, db):
    await links(db)
    server.hang()
    stopwatch = Stopwatch()
    await db.close()
    assert stopwatch.seconds() < 8


async def test_what_nobody_waits_for_may_take_longer(server, db):
    """As maintenance, imports and copies do."""
    await links(db)
    with pytest.raises(DatabaseUnavailable):
        await db.read(lambda tx: tx.many(str, NAP))
    with long_deadline():
        assert deadline(1.0) == LONGEST
        assert await db.read(lambda tx: tx.many(str, NAP)) == [""]
    assert deadline(1.0) == 1.0


async def test_readiness_tells_within_three_seconds_that_the_database_hangs(server, tmp_path):
    """Asked again and again, while all connections wait; and it is ready at once when the database answers again."""
    settings = settings_for(tmp_path, database_url=in_settings(server.url))
    async with running_app(settings) as client:
        assert (await client.get("/readyz")).status == 200
        server.hang()
        for _ in range(4):
            stopwatch = Stopwatch()
            answers = await asyncio.gather(*(client.get("/readyz") for _ in range(5)))
            assert stopwatch.seconds() < 3
            assert {answer.status for answer in answers} == {503}
            assert answers[0].json()["parts"]["database"] == "down"
        assert (await client.get("/healthz")).status == 200
        server.resume()
        deadline_at = time.monotonic() + 15
        while (await client.get("/readyz")).status != 200:
            assert time.monotonic() < deadline_at
            await asyncio.sleep(0.2)
