"""Lists are read from a replica that streams from the first server, and never show less than what is committed."""

import asyncio
import random
import shutil
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager

import pytest
from structlog.testing import capture_logs

from tests.app import running_app, settings_for
from tests.databases import ask, migrated, on_server
from tests.db.builders import a_query
from tests.delivery.builders import a_followed_feed, publish
from tests.inbox.builders import an_inbox
from tests.servers import Postgres, Standby, shared_folder
from tests.waiting import eventually
from tsuzuki.app.opening import wall_clock
from tsuzuki.db import Database, DatabaseOptions, open_database
from tsuzuki.db import replica as replica_module
from tsuzuki.db.migrate import migrate
from tsuzuki.db.replica import ReplicatedDatabase
from tsuzuki.inbox.entries import EntryFilter
from tsuzuki.model.errors import Invalid
from tsuzuki.model.pages import FROM_THE_TOP

UNREAD = EntryFilter(unread=True)
IS_STANDBY = a_query("select pg_is_in_recovery()")

pytestmark = pytest.mark.server


@contextmanager
def a_standby(first: Postgres) -> Iterator[Standby]:
    folder = shared_folder()
    standby = Standby(folder, first)
    try:
        yield standby.start()
    finally:
        standby.remove()
        shutil.rmtree(folder, ignore_errors=True)


class Pair:
    """A first server and its replica."""

    def __init__(self, first: Postgres, replica: Standby) -> None:
        self.first = first
        self.replica = replica

    async def pause(self) -> None:
        await on_server(self.replica.url, "select pg_wal_replay_pause()")

    async def resume(self) -> None:
        await on_server(self.replica.url, "select pg_wal_replay_resume()")


@pytest.fixture(scope="module")
def servers() -> Iterator[Pair]:
    folder = shared_folder()
    first = Postgres(folder).start()
    try:
        with ThreadPoolExecutor(1) as aside:  # whichever test asks first has a running loop on this thread
            aside.submit(lambda: asyncio.run(migrate(DatabaseOptions(first.url), now=wall_clock()))).result()
        with a_standby(first) as replica:
            yield Pair(first, replica)
    finally:
        first.remove()
        shutil.rmtree(folder, ignore_errors=True)


class Lists:
    """The lists of one web process."""

    def __init__(self, first: Database, url: str) -> None:
        self.answered: list[str] = []
        self.db = ReplicatedDatabase(first, DatabaseOptions(url, min_connections=1), self.answered.append)
        self.inbox = an_inbox(self.db)

    async def unread(self, shelf) -> list[int]:
        return [entry.id for entry in (await self.inbox.list(shelf, UNREAD, after=FROM_THE_TOP, most=200)).rows]

    async def is_used(self) -> bool:
        return self.db.why_unused is None

    async def is_unused(self) -> bool:
        return self.db.why_unused is not None

    async def from_replica(self) -> bool:
        """Whether the replica answers a list now."""
        return await self.db.read_replica(lambda tx: tx.one(bool, IS_STANDBY))


@asynccontextmanager
async def opened_lists(first_url: str, replica_url: str) -> AsyncIterator[Lists]:
    first = await open_database(DatabaseOptions(first_url, min_connections=1))
    lists = Lists(first, replica_url)
    try:
        async with lists.db.looking():
            yield lists
    finally:
        await first.close()


@pytest.fixture
async def lists(servers, monkeypatch) -> AsyncIterator[Lists]:
    """Those of a process, of a replica that is level with the first."""
    monkeypatch.setattr(replica_module, "LOOK_EVERY_S", 0.05)
    monkeypatch.setattr(replica_module, "TIMEOUT_S", 1.0)
    async with opened_lists(servers.first.url, servers.replica.url) as opened:
        await eventually(opened.from_replica)
        yield opened


async def test_lists_are_read_there_and_everything_else_here(lists):
    assert await lists.from_replica()
    assert await lists.db.read(lambda tx: tx.one(bool, IS_STANDBY)) is False
    assert await lists.db.with_tx(lambda tx: tx.one(bool, IS_STANDBY)) is False


async def test_marks_and_deliveries_are_seen_before_they_are_replayed(servers, lists):
    feed, [shelf] = await a_followed_feed(lists.db)
    await publish(lists.db, feed, range(3))
    await eventually(lists.from_replica)
    before = await lists.unread(shelf)
    await servers.pause()
    try:
        await lists.inbox.mark_entries(shelf, before[:1], unread=False)
        lists.answered.clear()
        assert await lists.unread(shelf) == before[1:]
        await publish(lists.db, feed, range(3, 4))
        assert len(await lists.unread(shelf)) == 3
        assert (await lists.inbox.count(shelf)).unread == 3
        assert set(lists.answered) == {"first"}
    finally:
        await servers.resume()
    await eventually(lists.from_replica)
    assert len(await lists.unread(shelf)) == 3
    assert lists.answered[-1] == "replica"


async def test_another_process_reads_what_this_one_wrote(servers, lists):
    """By both servers in turns, while replay stops and goes on: no list has less than one before it."""
    feed, [shelf] = await a_followed_feed(lists.db)
    done, rolls, seen = asyncio.Event(), random.Random(7), 0

    async def disturb() -> None:
        while not done.is_set():
            await servers.pause()
            await asyncio.sleep(rolls.uniform(0, 0.05))
            await servers.resume()
            await asyncio.sleep(rolls.uniform(0, 0.1))

    async def write() -> None:
        for number in range(60):
            await publish(lists.db, feed, [number])
            written.append(number)
            await asyncio.sleep(rolls.uniform(0, 0.02))
        done.set()

    written: list[int] = []
    async with opened_lists(servers.first.url, servers.replica.url) as other:
        working = [asyncio.ensure_future(each) for each in (disturb(), write())]
        try:
            while not done.is_set():
                for process in (lists, other):
                    least = max(seen, len(written))
                    seen = len(await process.unread(shelf))
                    assert seen >= least
        finally:
            done.set()
            await asyncio.gather(*working)
        answered = lists.answered + other.answered
        assert {"replica", "first"} == set(answered)
        assert seen == 60


async def test_a_replica_too_far_behind_is_left_alone(servers, lists, monkeypatch):
    monkeypatch.setattr(replica_module, "MOST_LAG_S", 0.2)
    feed, [shelf] = await a_followed_feed(lists.db)
    await servers.pause()
    try:
        with capture_logs() as logs:
            await publish(lists.db, feed, range(2))
            await eventually(lists.is_unused)
            assert "behind" in (lists.db.why_unused or "")
            assert lists.db.lag_s > 0.2
            assert len(await lists.unread(shelf)) == 2
            await servers.resume()
            await eventually(lists.is_used)
    finally:
        await servers.resume()
    assert await lists.from_replica()
    assert [line["event"] for line in logs] == ["replica_not_used", "replica_used"]


async def test_a_replica_that_goes_and_returns(servers, lists):
    feed, [shelf] = await a_followed_feed(lists.db)
    await publish(lists.db, feed, range(2))
    servers.replica.stop()
    try:
        assert len(await lists.unread(shelf)) == 2
        await eventually(lists.is_unused)
        await publish(lists.db, feed, range(2, 3))
        assert len(await lists.unread(shelf)) == 3
    finally:
        servers.replica.start()
    await eventually(lists.from_replica)
    assert len(await lists.unread(shelf)) == 3


async def test_a_replica_that_hangs_delays_one_answer(servers, lists, monkeypatch):
    feed, [shelf] = await a_followed_feed(lists.db)
    await publish(lists.db, feed, range(2))
    servers.replica.hang()
    try:
        async with asyncio.timeout(replica_module.TIMEOUT_S + 8):
            assert len(await lists.unread(shelf)) == 2
        await eventually(lists.is_unused)
        async with asyncio.timeout(1):
            assert len(await lists.unread(shelf)) == 2
    finally:
        servers.replica.resume()
    await eventually(lists.from_replica)


async def test_a_list_cut_off_there_is_answered_here(servers, lists):
    nap = a_query("select case when pg_is_in_recovery() then cast(pg_sleep(20) as text) else 'here' end")
    asked = asyncio.ensure_future(lists.db.read_replica(lambda tx: tx.one(str, nap)))
    end = (
        "select coalesce(bool_or(pg_terminate_backend(pid)), false) from pg_stat_activity where wait_event = 'PgSleep'"
    )
    await eventually(lambda: ask(servers.replica.url, end))
    assert await asked == "here"
    await eventually(lists.from_replica)


async def test_a_list_too_slow_there_is_answered_here(lists):
    """Alone: other lists are still read there."""
    nap = a_query("select case when pg_is_in_recovery() then cast(pg_sleep(20) as text) else 'here' end")
    assert await lists.db.read_replica(lambda tx: tx.one(str, nap)) == "here"
    assert lists.db.why_unused is None


async def test_a_list_that_replay_ends_is_answered_here(servers, lists):
    """Vacuum removes on the first server what a list on the replica could still see."""
    feed, _ = await a_followed_feed(lists.db)
    await publish(lists.db, feed, range(2))
    nap = a_query("select case when pg_is_in_recovery() then cast(pg_sleep(0.8) as text) else 'here' end")
    await on_server(servers.replica.url, "alter system set max_standby_streaming_delay = 0")
    try:
        await on_server(servers.replica.url, "select pg_reload_conf()")
        asked = asyncio.ensure_future(lists.db.read_replica(lambda tx: tx.one(str, nap)))
        while not asked.done():
            await on_server(servers.first.url, "update item set title = title")
            await on_server(servers.first.url, "vacuum item")
    finally:
        await on_server(servers.replica.url, "alter system reset max_standby_streaming_delay")
        await on_server(servers.replica.url, "select pg_reload_conf()")
    assert await asked == "here"
    assert await lists.is_used()


async def test_a_user_who_only_reads_suffices(servers, lists):
    await on_server(servers.first.url, "create role looker login in role pg_read_all_data")
    await eventually(lists.from_replica)
    async with opened_lists(servers.first.url, servers.replica.url.replace("postgres@", "looker@")) as process:
        assert await eventually(process.from_replica)


async def test_a_promoted_replica_is_not_read(servers, lists, monkeypatch):
    """Also before it is looked at again."""
    monkeypatch.setattr(replica_module, "LOOK_EVERY_S", 60)
    with a_standby(servers.first) as standby:
        async with opened_lists(servers.first.url, standby.url) as process:
            feed, [shelf] = await a_followed_feed(lists.db)
            await publish(lists.db, feed, range(2))
            await eventually(process.from_replica)
            await on_server(standby.url, "select pg_promote()")
            await on_server(standby.url, "delete from entry")
            assert len(await process.unread(shelf)) == 2
            assert await process.is_used()
            await process.db._look()
            assert "promoted" in (process.db.why_unused or "")
            assert len(await process.unread(shelf)) == 2


async def test_another_timeline_is_not_read(servers, lists):
    """The first was promoted itself: its replica has followed it only once it was seen to have done so."""
    signal = servers.first._data / "standby.signal"
    servers.first.stop()
    signal.touch()
    signal.chmod(0o666)
    servers.first.start()
    await on_server(servers.first.url, "select pg_promote()")
    feed, [shelf] = await a_followed_feed(lists.db)
    await publish(lists.db, feed, range(2))
    assert len(await lists.unread(shelf)) == 2

    async def has_changed():
        return "timeline" in (lists.db.why_unused or "")

    await eventually(has_changed)

    async def follows():
        await on_server(servers.first.url, "checkpoint")
        await on_server(servers.replica.url, "checkpoint")
        return await lists.from_replica()

    await eventually(follows)
    assert len(await lists.unread(shelf)) == 2


async def test_what_is_no_replica_is_refused(servers, postgres_url):
    same = servers.first.url.replace("127.0.0.1", "localhost")
    async with migrated(postgres_url) as stranger:
        for url, words in ((same, "the same database"), (stranger, "does not name a replica")):
            with pytest.raises(Invalid, match=words):
                async with opened_lists(servers.first.url, url):
                    pass


async def test_a_server_starts_without_its_replica(servers, tmp_path):
    servers.replica.stop()
    try:
        variables = {"database_url": servers.first.url, "database_read_url": servers.replica.url}
        async with running_app(settings_for(tmp_path, **variables)) as client:
            ready = await client.get("/readyz")
            assert (ready.status, ready.json()["parts"]["replica"]) == (200, "down")
            assert "It does not answer" in ready.json()["reasons"]["replica"]
            servers.replica.start()

            async def is_used() -> bool:
                return '"replica":"ok"' in (await client.get("/readyz")).text

            await eventually(is_used)
            numbers = (await client.get("/metrics")).text
            assert "tsuzuki_replica_used 1.0" in numbers
            assert "tsuzuki_replica_lag_seconds" in numbers
    finally:
        servers.replica.start()
