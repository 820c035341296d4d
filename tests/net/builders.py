"""A client that may call loopback, names that resolve where a test wants, and servers that speak raw bytes."""

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from tsuzuki.coord.pacer import MemoryPacer, Rate
from tsuzuki.model.requests import SourceIdentity
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.net.client import Client
from tsuzuki.net.guard import AddressGuard, AllowList
from tsuzuki.net.options import ClientOptions, Deadlines

LOOPBACK = AddressGuard(allow=AllowList.read(["127.0.0.0/8"]))
SOMEONE = SourceIdentity(source="someone")
A_COMIC = SourceIdentity(source="a comic", keeps_cookies=True)
FAST = Rate(per_second=100_000, burst=1000)
SHORT = Deadlines(connect=0.8, idle=0.8, body=1.2, total=1.8)
"""For tests about deadlines; all others have time to spare, also on a busy machine."""

Handler = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


class StubResolver(AbstractResolver):
    """Answers as it was told; a list of lists is one answer after another, the last for ever; `*` is any other name."""

    def __init__(self, names: dict[str, Any] | None = None) -> None:
        self._names = dict(names or {})
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int = 0, family: Any = socket.AF_UNSPEC) -> list[ResolveResult]:
        self.asked.append(host)
        answers = self._names.get(host, self._names.get("*"))
        if answers is None:
            raise OSError(None, "no such name")
        if isinstance(answers[0], list):
            answers = answers.pop(0) if len(answers) > 1 else answers[0]
        return [
            ResolveResult(hostname=host, host=answer, port=port, family=family, proto=0, flags=0) for answer in answers
        ]

    async def close(self) -> None:
        pass


def monotonic_micros() -> int:
    return time.monotonic_ns() // 1000


def wall_millis() -> Millis:
    return Millis(time.time_ns() // 1_000_000)


def some_options(**over: Any) -> ClientOptions:
    values: dict[str, Any] = {
        "guard": LOOPBACK,
        "deadlines": Deadlines(connect=10, idle=10, body=20, total=20),
        "allowed_rate": FAST,
        "allowed_slots": 100,
        "patience": Millis(2 * SECOND),
    }
    return ClientOptions(**values | over)


@asynccontextmanager
async def a_client(
    names: dict[str, Any] | StubResolver | None = None, *, tls: Any = None, **over: Any
) -> AsyncIterator[Client]:
    resolver = names if isinstance(names, StubResolver) else StubResolver(names)
    pacer = over.pop("pacer", None) or MemoryPacer(monotonic_micros)
    client = Client(some_options(**over), pacer, now=wall_millis, resolver=resolver, tls=tls)
    async with client:
        yield client


class RawServer:
    """Reads one request head after another and lets a handler write whatever it likes."""

    def __init__(self, handler: Handler, host: str) -> None:
        self._handler = handler
        self.host = host
        self.port = 0
        self.heads: list[bytes] = []
        """Every request head that came, in order."""
        self.times: list[float] = []
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def paths(self) -> list[str]:
        return [head.split(b" ", 2)[1].decode() for head in self.heads]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                self.times.append(time.monotonic())
                await self._handler(head, writer)
                await writer.drain()
                if writer.is_closing():
                    return
        except (asyncio.CancelledError, asyncio.IncompleteReadError, OSError):  # cancelled only by stop()
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def stop(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class Served:
    """Anything of a test that a `RawServer` stands before."""

    server: RawServer | None = None

    @property
    def url(self) -> str:
        assert self.server is not None
        return self.server.url

    @property
    def asked(self) -> list[str]:
        """The paths of every request that came, in order."""
        assert self.server is not None
        return self.server.paths


@asynccontextmanager
async def a_server(handler: Handler, *, host: str = "127.0.0.1", tls: Any = None) -> AsyncIterator[RawServer]:
    server = RawServer(handler, host)
    listening = await asyncio.start_server(server.serve, host, 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        await server.stop()
        await listening.wait_closed()


def answer(status: int = 200, body: bytes = b"ok", /, **headers: str) -> bytes:
    """A proper response; header names have `_` for `-`."""
    lines = [f"HTTP/1.1 {status} Whatever"]
    fields = {"content_length": str(len(body)), **headers}
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def always(response: bytes) -> Handler:
    """A handler that gives the same answer to everyone."""

    async def handle(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(response)

    return handle


def in_turn(*responses: bytes) -> Handler:
    """A handler that gives one answer after another, the last for ever."""
    left = list(responses)

    async def handle(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(left.pop(0) if len(left) > 1 else left[0])

    return handle


def by_path(routes: dict[str, bytes]) -> Handler:
    """A handler that answers by the path asked for."""

    async def handle(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(routes[head.split(b" ", 2)[1].decode()])

    return handle


@asynccontextmanager
async def a_web_app(
    *routes: web.RouteDef, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    """Where these routes are answered, on a free port, until the end of the block."""
    app = web.Application()
    app.add_routes(routes)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, host, 0, ssl_context=tls).start()
    try:
        yield f"http://{host}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
