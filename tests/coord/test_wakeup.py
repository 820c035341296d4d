"""A wake-up reaches those who sleep, in this process and in others; the connection comes back by itself."""

import asyncio
import contextlib
import shutil
import signal
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from tests.queue.builders import a_wakeup
from tests.servers import Postgres, Redis, shared_folder
from tsuzuki.coord.wakeup import MemoryWakeup, Wakeup

LATENCY, REPAIRED_WITHIN = 2.0, 10.0  # REL-18


async def test_a_listener_is_woken_by_what_it_missed_between_waits():
    wakeup = MemoryWakeup()
    with wakeup.listen("a", "b") as listener:
        assert not await listener.wait(0.01)
        wakeup.wake("b")
        wakeup.wake("a", "c")
        assert await listener.wait(0.01)
        assert not await listener.wait(0.01)


async def test_only_those_who_listen_for_the_name_are_woken():
    wakeup = MemoryWakeup()
    with wakeup.listen("a") as one, wakeup.listen("a") as two, wakeup.listen("b") as other:
        wakeup.wake("a")
        assert await one.wait(0.01)
        assert await two.wait(0.01)
        assert not await other.wait(0.01)
    wakeup.wake("a")


# -- between processes


class Server:
    """PostgreSQL or Redis, of this test's own."""

    def __init__(self, server: Postgres | Redis) -> None:
        self.url = server.url
        self._server = server

    def crash(self) -> None:
        self._server.stop(signal.SIGQUIT if isinstance(self._server, Postgres) else signal.SIGKILL)

    def start(self) -> None:
        self._server.start()


@pytest.fixture(scope="module", params=["postgres", "redis"])
def server(request: pytest.FixtureRequest, postgres_url: str) -> Iterator[Server]:
    folder = shared_folder()
    own = (Postgres if request.param == "postgres" else Redis)(folder).start()
    yield Server(own)
    own.stop()
    shutil.rmtree(folder, ignore_errors=True)


async def latency(sender: Wakeup, receiver: Wakeup) -> float:
    """Seconds until a wake-up arrives; endless when none does."""
    with receiver.listen("news") as listener:
        began = time.monotonic()
        sender.wake("news")
        return time.monotonic() - began if await listener.wait(LATENCY) else float("inf")


async def repaired(sender: Wakeup, receiver: Wakeup) -> float:
    """Seconds until wake-ups arrive again: three in a row, for a connection that is opened anew wakes everyone once."""
    began, in_a_row = time.monotonic(), 0
    while in_a_row < 3:
        assert time.monotonic() - began < 3 * REPAIRED_WITHIN, "it did not come back"
        in_a_row = in_a_row + 1 if await latency(sender, receiver) < LATENCY else 0
    return time.monotonic() - began


async def test_a_ring_is_heard_in_the_other_process_at_once(server: Server):
    async with a_wakeup(server.url) as one, a_wakeup(server.url) as other:
        await repaired(one, other)
        assert max([await latency(one, other) for _ in range(20)]) < 0.5
        assert max([await latency(other, one) for _ in range(20)]) < 0.5


async def test_many_names_at_once_all_arrive(server: Server):
    async with a_wakeup(server.url) as one, a_wakeup(server.url) as other, contextlib.AsyncExitStack() as stack:
        await repaired(one, other)
        names = [f"name-{number}" for number in range(250)]
        listeners = [stack.enter_context(other.listen(name)) for name in names]
        one.wake(*names)
        assert all(await asyncio.gather(*(listener.wait(LATENCY) for listener in listeners)))


async def test_rel_18_wakeups_come_back_by_themselves_after_a_restart(server: Server):
    async with a_wakeup(server.url) as one, a_wakeup(server.url) as other:
        await repaired(one, other)
        server.crash()
        with one.listen("news") as here:
            one.wake("news")
            assert await here.wait(0.1)  # in this process it never fails
        await asyncio.sleep(0.5)
        server.start()
        assert await repaired(one, other) < REPAIRED_WITHIN


async def test_rel_18_a_line_that_is_dead_without_saying_so_is_noticed(server: Server):
    async with proxy(server.url) as through, a_wakeup(server.url) as one, a_wakeup(through.url) as other:
        await repaired(one, other)
        with other.listen("news") as late:
            while await late.wait(0.3):  # an earlier wake-up that was still on its way
                pass
        through.stall()
        assert await latency(one, other) == float("inf")
        assert await repaired(one, other) < REPAIRED_WITHIN


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
async def test_rel_18_a_listen_connection_that_was_terminated_is_replaced(server: Server):
    async with a_wakeup(server.url) as one, a_wakeup(server.url) as other:
        await repaired(one, other)
        connection = await asyncpg.connect(server.url)
        others = "pid <> pg_backend_pid() and datname is not null"
        await connection.execute(f"select pg_terminate_backend(pid) from pg_stat_activity where {others}")
        await connection.close()
        assert await repaired(one, other) < REPAIRED_WITHIN


@pytest.mark.parametrize("after", [0.0, 0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005])
async def test_a_wakeup_can_be_closed_at_any_moment(server: Server, after: float):
    for _ in range(5):
        async with asyncio.timeout(5), a_wakeup(server.url):
            await asyncio.sleep(after)


# -- a way to the server that can go silent


class Proxy:
    """Passes bytes on, until it is stalled: then it holds the open connections and passes nothing; new ones work."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._stalled: list[asyncio.Event] = []
        self._tasks: list[asyncio.Task[Any]] = []
        self._writers: list[asyncio.StreamWriter] = []
        self.url = ""

    def stall(self) -> None:
        for event in self._stalled:
            event.set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        self._tasks.append(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        stalled = asyncio.Event()
        self._stalled.append(stalled)
        there_reader, there_writer = await asyncio.open_connection(self._target.hostname, self._target.port)
        self._writers.append(there_writer)
        await asyncio.gather(
            self._pump(reader, there_writer, stalled), self._pump(there_reader, writer, stalled), return_exceptions=True
        )

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, stalled: asyncio.Event) -> None:
        try:
            while data := await source.read(65536):
                if not stalled.is_set():
                    sink.write(data)
                    await sink.drain()
        finally:
            sink.close()

    async def end(self) -> None:
        """Close every end, also of a connection that was just made: an open one would be found in a later test."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.close()


@contextlib.asynccontextmanager
async def proxy(url: str) -> AsyncIterator[Proxy]:
    made = Proxy(url)
    server = await asyncio.start_server(made.accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    parts = urlsplit(url)
    made.url = parts._replace(netloc=parts.netloc.replace(f":{parts.port}", f":{port}")).geturl()
    async with server:
        try:
            yield made
        finally:
            await made.end()
