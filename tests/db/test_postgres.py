"""PostgreSQL goes away and comes back: callers are told while it is gone, and need to do nothing once it is there."""

import asyncio
import gc
import random
import shutil
import signal
import time
from functools import partial
from urllib.parse import urlsplit

import asyncpg
import pytest

from tests.db.builders import a_query, add_link_tx, for_each, links
from tests.servers import Postgres, free_port, shared_folder
from tests.stopwatch import Stopwatch
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.db.errors import Contention, DatabaseUnavailable, DiskFull
from tsuzuki.db.migrate import migrate

NAP = for_each(sqlite="", postgres="select cast(pg_sleep(0.3) as text)")
LONG_NAP = for_each(sqlite="", postgres="select cast(pg_sleep(30) as text)")
OURS = "select pid from pg_stat_activity where datname = current_database() and application_name = 'tsuzuki'"


@pytest.fixture
def engine():
    return "postgres"


@pytest.fixture
async def admin(database_url):
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


async def eventually(call, seconds=20):
    """The first answer of a call that may find the database unavailable, and nothing but that."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return await call()
        except DatabaseUnavailable:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.05)


# -- a server that restarts


@pytest.fixture
def own_server(tmp_path):
    """A server of the test's own, in a folder that its uid can reach."""
    folder = shared_folder()
    server = Postgres(folder, durable=True).start()
    yield server
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


async def test_a_restart_of_the_server_is_lived_through(own_server):
    await migrate(DatabaseOptions(own_server.url), now=0)
    db = await open_database(DatabaseOptions(own_server.url))
    await asyncio.gather(*(db.with_tx(partial(add_link_tx, link=f"before-{n}")) for n in range(6)))
    begun = asyncio.Event()

    async def interrupted(tx):
        await add_link_tx(tx, "interrupted")
        begun.set()
        await tx.many(str, LONG_NAP)

    inside = asyncio.ensure_future(db.with_tx(interrupted))
    await begun.wait()
    await asyncio.to_thread(own_server.stop, signal.SIGQUIT)
    with pytest.raises(DatabaseUnavailable):
        await inside
    for call in (lambda: db.with_tx(lambda tx: add_link_tx(tx, "down")), lambda: links(db), db.ping):
        with pytest.raises(DatabaseUnavailable):
            await call()
    await asyncio.to_thread(own_server.start)
    await asyncio.gather(*(db.with_tx(partial(add_link_tx, link=f"later-{n}")) for n in range(12)))
    assert await links(db) == sorted([f"before-{n}" for n in range(6)] + [f"later-{n}" for n in range(12)])
    await db.close()


# -- connections that die


async def test_idle_connections_that_were_ended_are_replaced_unseen(db, admin):
    for attempt in range(3):
        await asyncio.gather(*(db.read(lambda tx: tx.many(str, NAP)) for _ in range(4)))
        ended = await admin.fetch(f"select pg_terminate_backend(pid) from ({OURS}) as ours")
        assert len(ended) >= 2
        # At once: some of them do not know yet that they are dead.
        writing = [db.with_tx(partial(add_link_tx, link=f"{attempt}-{n}")) for n in range(4)]
        await asyncio.gather(*writing, *(links(db) for _ in range(4)))
    assert len(await links(db)) == 12


async def test_after_a_dead_connection_the_next_call_works(db, admin):
    begun = asyncio.Event()

    async def interrupted(tx):
        await add_link_tx(tx, "a")
        begun.set()
        await tx.many(str, LONG_NAP)

    inside = asyncio.ensure_future(db.with_tx(interrupted))
    await begun.wait()
    await admin.fetch(f"select pg_terminate_backend(pid) from ({OURS}) as ours")
    with pytest.raises(DatabaseUnavailable, match="PostgreSQL was lost"):
        await inside
    await db.with_tx(lambda tx: add_link_tx(tx, "b"))
    assert await links(db) == ["b"]


class Wire:
    """A relay to the server that can fall silent: what comes is swallowed and nothing is closed."""

    def __init__(self, port: int) -> None:
        self._server_port = port
        self.port = free_port()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []
        self._silent: set[int] = set()
        self._number = 0

    async def start(self) -> None:
        self._listener = await asyncio.start_server(self._relay, "127.0.0.1", self.port)

    def fall_silent(self) -> None:
        """For the connections of now; later ones work."""
        self._silent.update(range(self._number))

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, self._number = self._number, self._number + 1
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._server_port)
        self._writers += [writer, there_writer]
        for source, sink in ((reader, there_writer), (there_reader, writer)):
            task = asyncio.create_task(self._copy(number, source, sink))
            self._tasks.add(task)

    async def _copy(self, number: int, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while chunk := await source.read(65536):
            if number not in self._silent:
                sink.write(chunk)
        if number not in self._silent:
            sink.close()

    async def stop(self) -> None:
        self._listener.close()
        for writer in self._writers:
            writer.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def test_a_network_that_falls_silent_costs_one_timeout(database_url):
    """REL-18: half-open connections look alive for ever."""
    server = urlsplit(database_url)
    assert server.port
    wire = Wire(server.port)
    await wire.start()
    url = database_url.replace(f":{server.port}/", f":{wire.port}/")
    db = await open_database(DatabaseOptions(url, command_timeout=1))
    await asyncio.gather(*(db.read(lambda tx: tx.many(str, NAP)) for _ in range(4)))
    wire.fall_silent()
    stopwatch = Stopwatch()
    await db.with_tx(lambda tx: add_link_tx(tx, "a"))
    assert await eventually(lambda: links(db)) == ["a"]
    assert stopwatch.seconds() < 10
    await asyncio.gather(*(links(db) for _ in range(8)))
    await wire.stop()
    await db.close()


# -- the pool


async def test_the_pool_has_the_configured_size(database_url, admin):
    db = await open_database(DatabaseOptions(database_url, min_connections=2, max_connections=3))
    assert len(await admin.fetch(OURS)) == 2
    most = 0
    naps = [asyncio.ensure_future(db.read(lambda tx: tx.many(str, NAP))) for _ in range(9)]
    while not all(nap.done() for nap in naps):
        most = max(most, len(await admin.fetch(OURS)))
        await asyncio.sleep(0.02)
    assert most == 3
    await db.close()


async def test_a_cancelled_caller_returns_its_place_in_the_pool(database_url):
    db = await open_database(DatabaseOptions(database_url, min_connections=1, max_connections=1))
    napping = asyncio.ensure_future(db.read(lambda tx: tx.many(str, NAP)))
    await asyncio.sleep(0.05)
    waiting = [asyncio.ensure_future(db.with_tx(lambda tx: add_link_tx(tx, "unwanted"))) for _ in range(3)]
    await asyncio.sleep(0.05)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    await napping
    await db.with_tx(lambda tx: add_link_tx(tx, "wanted"))
    assert await links(db) == ["wanted"]
    await db.close()


async def test_cancelled_callers_leave_no_open_transaction(database_url, admin):
    db = await open_database(DatabaseOptions(database_url))
    rng = random.Random(5)

    async def three(tx, number):
        for part in range(3):
            await add_link_tx(tx, f"{number}/{part}")

    async def one(number):
        task = asyncio.ensure_future(db.with_tx(partial(three, number=number)))
        await asyncio.sleep(rng.uniform(0, 0.02))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    await asyncio.gather(*(one(number) for number in range(60)))
    held = (
        f"select count(*) from pg_locks where locktype = 'relation' and mode = 'RowExclusiveLock' and pid in ({OURS})"
    )
    await asyncio.gather(*(db.read(lambda tx: tx.many(str, NAP)) for _ in range(10)))  # every connection once
    assert await admin.fetchval(held) == 0
    await db.close()  # gives back what was being cancelled
    assert await admin.fetch(OURS) == []
    db = await open_database(DatabaseOptions(database_url))
    whole = {link.partition("/")[0] for link in await links(db)}
    assert len(await links(db)) == 3 * len(whole)
    await db.close()


async def test_whenever_connecting_is_cancelled_no_connection_is_left(database_url):
    """What is left open is told when it is collected, and fails this test."""
    rng = random.Random(3)
    for _ in range(20):
        opening = asyncio.ensure_future(open_database(DatabaseOptions(database_url, min_connections=3)))
        await asyncio.sleep(rng.uniform(0, 0.08))
        opening.cancel()
        [db] = await asyncio.gather(opening, return_exceptions=True)
        if not isinstance(db, BaseException):
            await db.close()
    gc.collect()


async def test_a_pool_that_fails_to_open_leaves_no_connection(database_url, admin):
    name = urlsplit(database_url).path[1:]
    await admin.execute(f"alter database {name} connection limit 2")
    try:
        await admin.execute("drop role if exists plain")
        await admin.execute("create role plain login")  # a superuser has no limit
        url = urlsplit(database_url)._replace(netloc=f"plain@{urlsplit(database_url).netloc.rpartition('@')[2]}")
        for _ in range(5):
            with pytest.raises(DatabaseUnavailable):
                await open_database(DatabaseOptions(url.geturl(), min_connections=8))
        await asyncio.sleep(0.1)
        gc.collect()
        assert await admin.fetchval("select count(*) from pg_stat_activity where usename = 'plain'") == 0
    finally:
        await admin.execute(f"alter database {name} connection limit -1")
        await admin.execute("drop role if exists plain")


async def test_a_pool_that_stays_full_says_so(database_url):
    db = await open_database(DatabaseOptions(database_url, min_connections=1, max_connections=1, command_timeout=0.5))

    async def slow(tx):
        for _ in range(4):
            await tx.many(str, NAP)

    napping = asyncio.ensure_future(db.with_tx(slow))
    await asyncio.sleep(0.1)
    with pytest.raises(DatabaseUnavailable, match="does not answer"):
        await links(db)
    await napping
    await db.close()


async def test_two_that_wait_for_each_other_are_parted(db):
    await db.with_tx(lambda tx: add_link_tx(tx, "a"))
    await db.with_tx(lambda tx: add_link_tx(tx, "b"))
    touch = a_query("update feed set title = 'x' where link = :link")

    async def both(tx, first, second):
        await tx.run(touch, link=first)
        await tx.many(str, NAP)
        await tx.run(touch, link=second)

    results = await asyncio.gather(
        db.with_tx(lambda tx: both(tx, "a", "b")), db.with_tx(lambda tx: both(tx, "b", "a")), return_exceptions=True
    )
    assert sorted(type(result).__name__ for result in results) == ["Contention", "NoneType"]
    assert Contention.code == "SERVICE_UNAVAILABLE"


async def test_a_full_disk_is_explained_and_not_ready(db, admin):
    """As the server tells of it; its disk is not really full."""
    await admin.execute(
        "create function is_full() returns event_trigger language plpgsql as"
        " $$ begin raise 'could not extend file' using errcode = 'disk_full'; end $$"
    )
    await admin.execute("create event trigger full_disk on ddl_command_start execute function is_full()")
    try:
        await db.ping()
        with pytest.raises(DiskFull, match="disk is full"):
            await db.with_tx(lambda tx: tx.run(a_query("create table more (id bigint)")))
        assert await links(db) == []
        for _ in range(2):
            with pytest.raises(DiskFull):
                await db.ping()
    finally:
        await admin.execute("drop event trigger full_disk")
        await admin.execute("drop function is_full")
    await db.ping()


# -- the check at the start


async def test_a_server_that_is_not_there_is_one_sentence():
    with pytest.raises(DatabaseUnavailable) as caught:
        await open_database(DatabaseOptions(f"postgresql://u:secret@127.0.0.1:{free_port()}/x"))
    said = str(caught.value)
    assert said.startswith("Cannot connect to PostgreSQL: ")
    assert "\n" not in said
    assert "secret" not in said


async def test_a_database_that_is_not_there_is_one_sentence(postgres_url):
    with pytest.raises(DatabaseUnavailable, match=r"^Cannot connect to PostgreSQL: .*nowhere.* does not exist"):
        await open_database(DatabaseOptions(postgres_url.rpartition("/")[0] + "/nowhere"))


async def test_a_url_that_makes_no_sense_is_one_sentence():
    with pytest.raises(DatabaseUnavailable, match=r"^Cannot connect to PostgreSQL: "):
        await open_database(DatabaseOptions("postgresql://127.0.0.1:notaport/x"))


async def test_a_server_that_never_answers_is_given_up():
    async def mute(reader, writer):
        while await reader.read(1024):
            pass
        writer.close()
        done.set()

    done = asyncio.Event()
    listener = await asyncio.start_server(mute, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    with pytest.raises(DatabaseUnavailable, match="it does not answer"):
        await open_database(DatabaseOptions(f"postgresql://u@127.0.0.1:{port}/x", command_timeout=0.3))
    await done.wait()
    listener.close()
