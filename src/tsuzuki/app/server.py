"""uvicorn, adapted: it listens, serves, and stops without losing an open request."""

import asyncio
import errno
import gc
import os
import signal
import socket
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import structlog
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tsuzuki.http.errors import failure_of, json_failure
from tsuzuki.http.middleware import HEADERS
from tsuzuki.model.errors import Invalid, TsuzukiError

GRACE_S = 10
KEEP_ALIVE_S = 30
TICK_S = 0.1
LINGER_S = 3.0
LINGER_BYTES = 32 * 1024 * 1024
HEAD_S = 30.0
"""Seconds within which the head of a request must arrive, so that idle clients do not occupy connections."""
HEAD_BYTES = 64 * 1024
"""Of a request's head, of what follows its body, and of what stands between the pieces of one: all of it is kept in
memory until it ends, and the parser knows no limit."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_log = structlog.stdlib.get_logger("tsuzuki.server")


class CannotListen(TsuzukiError):
    """The address is taken, or not ours; the message is one line."""


def listen(host: str, port: int) -> socket.socket:
    """A socket bound to this address before any work is done. Whoever connects meanwhile waits."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CannotListen(f"{host} is not an address of this machine: {error.strerror or error}.") from error
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen()
    except OSError as error:
        bound.close()
        raise _cannot_listen(host, port, error) from error
    return bound


def _cannot_listen(host: str, port: int, error: OSError) -> CannotListen:
    if error.errno == errno.EADDRINUSE:
        return CannotListen(f"Port {port} on {host} is in use. Is Tsuzuki running already? Choose another with --port.")
    return CannotListen(f"Cannot listen on {host}, port {port}: {error.strerror or error}.")


def url_of(bound: socket.socket) -> str:
    """Where a browser on this machine finds the server."""
    host, port = bound.getsockname()[:2]
    local = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  all addresses: loopback is one
    return f"http://[{local}]:{port}" if ":" in local else f"http://{local}:{port}"


class _CloseAfterBody:
    """A transport that closes only after the body was read: a proxy that says `Connection: close` still sends."""

    def __init__(self, protocol: "_Protocol", cycle: RequestResponseCycle) -> None:
        self._transport = protocol.transport
        self._cycle = cycle
        self.is_to_close = False

    def close(self) -> None:
        self.is_to_close = True
        if not self._cycle.more_body:
            self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class _Protocol(HttpToolsProtocol):
    """Answers malformed requests like any other, and reads on for a while after an early answer.

    To close while a body still arrives resets the connection, and takes the answer away from a client that has not read
    it yet (RFC 9112, 9.6). So the rest is read and thrown away, for a while and up to a size.
    """

    _unread = LINGER_BYTES
    _unheard = 0
    _is_in_head = True
    _waiting: asyncio.TimerHandle | None = None
    _unanswered: deque[RequestResponseCycle]
    """In the order of the requests: of several that were sent at once, uvicorn knows the last."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """See uvicorn; from now on a head is waited for."""
        super().connection_made(transport)
        self._unanswered = deque()
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """See uvicorn; nobody is left to be answered, and to write all the same is an error to uvloop."""
        self._stop_waiting()
        self.pipeline.clear()
        for cycle in self._unanswered:
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See uvicorn; what goes on without coming to anything is cut off."""
        self._unheard += len(data)
        super().data_received(data)
        if self._unheard > HEAD_BYTES and not self.transport.is_closing():
            self._refuse("The request headers are too large.")
        elif not self._is_in_head:
            self._stop_waiting()
        elif self._waiting is None:
            self._wait_for_head()

    def on_message_begin(self) -> None:
        """See uvicorn."""
        self._is_in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """See uvicorn, whose answer closes at its end when the client wants no other."""
        self._is_in_head = False
        self._unheard = 0
        super().on_headers_complete()
        self._unanswered.append(self.cycle)
        self.cycle.transport = _CloseAfterBody(self, self.cycle)  # type: ignore[assignment]  # all that it has

    def send_400_response(self, msg: str) -> None:
        """See uvicorn; `msg` is its own sentence."""
        answer = json_failure(failure_of(Invalid(msg), ""))
        headers = [*answer.raw_headers, *((name.encode(), value.encode()) for name, value in HEADERS.items())]
        lines = [b"HTTP/1.1 400 Bad Request", *(b": ".join(header) for header in headers), b"connection: close"]
        self.transport.write(b"\r\n".join(lines) + b"\r\n\r\n" + bytes(answer.body))
        self.transport.close()

    def on_response_complete(self) -> None:
        """See uvicorn; a body that has not ended by now is given `LINGER_S` to end."""
        answered = self._unanswered.popleft()
        super().on_response_complete()
        if answered.more_body:
            self._unread = LINGER_BYTES
            self.loop.call_later(LINGER_S, self._stop_lingering, answered)

    def on_body(self, body: bytes) -> None:
        """See uvicorn; what is thrown away is counted."""
        self._unheard = 0
        super().on_body(body)
        if self.cycle.response_complete:
            self._unread -= len(body)
            if self._unread < 0:
                self.transport.close()

    def on_message_complete(self) -> None:
        """See uvicorn, which keeps no account of a body that nobody reads."""
        self._unheard = 0
        super().on_message_complete()
        self.cycle.more_body = False
        if getattr(self.cycle.transport, "is_to_close", False):
            self.transport.close()

    def _refuse(self, why: str) -> None:
        if getattr(self.cycle, "response_complete", True):  # there is no cycle before the first request
            self.send_400_response(why)
        else:
            self.transport.close()

    def _wait_for_head(self) -> None:
        self._waiting = self.loop.call_later(HEAD_S, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if self._is_in_head:
            self.transport.close()

    def _stop_lingering(self, cycle: RequestResponseCycle) -> None:
        if cycle.more_body:
            self.transport.close()


class Server(uvicorn.Server):
    """One server. `stop()` lets open requests finish, for at most `grace_s`."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        trusted_proxies: Sequence[str] = (),
        on_started: Callable[[], None] | None = None,
        on_stopping: Callable[[], None] | None = None,
        grace_s: int = GRACE_S,
    ) -> None:
        self._on_started = on_started
        self._on_stopping = on_stopping
        self._is_stopping = asyncio.Event()
        super().__init__(
            uvicorn.Config(
                app,
                http=_Protocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=bool(trusted_proxies),
                forwarded_allow_ips=list(trusted_proxies),
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=grace_s,
            )
        )

    def stop(self) -> None:
        """Take no new connection, finish what is open, return from `serve`."""
        self.should_exit = True
        self._is_stopping.set()

    async def main_loop(self) -> None:
        """Replaces uvicorn's loop, which checks ten times a second whether to stop; this one waits for the signal."""
        ticks = 0
        while not await self.on_tick(ticks):
            ticks += 1
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_S):
                    await self._is_stopping.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Replaces uvicorn's shutdown, which pauses 0.1 s even if nothing is open.

        First, answers that would stay open for ever, such as streams of events, are ended.
        """
        if self._on_stopping is not None:
            self._on_stopping()
        for open_one in (*self.servers, *(sockets or ())):
            open_one.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                await self._until_all_are_answered()
        except TimeoutError:
            _log.error("grace_exceeded", requests=len(self.server_state.tasks))
            for task in self.server_state.tasks:
                task.cancel()

    async def _until_all_are_answered(self) -> None:
        await asyncio.sleep(0)  # a connection that was just accepted is counted in the loop's next turn
        pause = 0.001
        while self.server_state.connections or self.server_state.tasks:
            await asyncio.sleep(pause)
            pause = min(2 * pause, TICK_S)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start like uvicorn, then print where the server is."""
        await super().startup(sockets)
        if self._on_started is not None:
            self._on_started()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The first signal stops gracefully; a second one ends the process where it stands.

        uvicorn's own would raise the signal again when all is done, which turns a clean stop into a failure.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._on_signal, number)
        try:
            yield
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)

    def _on_signal(self, number: int) -> None:
        if self.should_exit:
            os._exit(128 + number)  # every store survives this; nothing needs to be asked
        self.stop()


@asynccontextmanager
async def serve_in_background(app: ASGIApp, host: str, port: int) -> AsyncIterator[str]:
    """Serve this until the end of the block, whose signals are somebody else's; where."""
    with listen(host, port) as bound:
        started = asyncio.Event()
        server = _ProbeServer(app, on_started=started.set, grace_s=1)
        running = asyncio.ensure_future(server.serve(sockets=[bound]))
        await started.wait()
        try:
            yield url_of(bound)
        finally:
            server.stop()
            await running


class _ProbeServer(Server):
    """The server of the probes, in a process whose main work is another."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers: the command has its own."""
        yield


def freeze_startup_objects() -> None:
    """What is there after the start stays: a walk of the garbage collector through it stops everything for 0.1 s."""
    gc.collect()
    gc.freeze()
    gc.enable()


def run_with_uvloop(main: Any) -> None:
    """Run this coroutine on a new uvloop until it ends."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)
