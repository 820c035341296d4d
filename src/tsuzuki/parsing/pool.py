"""A bounded pool of processes for work on hostile documents (SEC-20).

A parser that loops, bloats or crashes takes down its own process and nothing else: the call ends in a named error and
the next one gets a new process. Values travel as msgpack, typed by the function's own annotations; nothing that a child
says can run code here, which pickle would allow. Children are forked from a server that has not our environment.

Processes are begun and ended by tasks of the pool's own, never by a caller's: one who is cancelled leaves no process
and no pipe half-way.
"""

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import cache
from typing import Any, Self, TypeVar, get_type_hints

import msgspec

from tsuzuki.model.errors import NotAFeed, SourceError, TooLarge, Unavailable
from tsuzuki.parsing.child import LENGTH, READY, Order, ParserAnswer
from tsuzuki.parsing.forkserver import FORK_SERVER, STATUS, ChildRequest
from tsuzuki.parsing.portions import PORTION, decode

T = TypeVar("T")

_CALLS_PER_CHILD = 1000  # a parser that leaks does not leak for ever
_START_WITHIN = 30.0
_GRACE = 1.0
_BUFFER = 64 * 1024
_MEGABYTE = 1024 * 1024
_ERRORS = {kind.code: kind for kind in SourceError.__subclasses__()}


class PoolOptions(msgspec.Struct, frozen=True):
    """How many children, and what each call may cost."""

    processes: int = 2
    cpu_seconds: float = 3.0
    cpu_seconds_per_megabyte: float = 3.0
    """For each megabyte that the call is given: large documents may take longer, small ones may not."""
    wall_seconds: float = 60.0
    """Beyond computing: a child waits for a processor while others work."""
    memory_bytes: int = 512 * 1024 * 1024
    """Address space, interpreter and libraries included."""
    answer_bytes: int = 64 * 1024 * 1024
    idle_seconds: float = 30.0
    """Until a child that has nothing to do is ended."""


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ParsePool:
    """Runs module-level functions in child processes, each call on its own budget. Made and used within one loop."""

    def __init__(self, options: PoolOptions) -> None:
        self._options = options
        self._free: list[_Child | None] = [None] * options.processes
        """Places for children; the one that was used last is taken first."""
        self._places = asyncio.Semaphore(options.processes)
        self._retiring: asyncio.TimerHandle | None = None
        self._children: set[_Child] = set()
        self._chores: set[asyncio.Task[Any]] = set()
        self._modules: set[str] = set()
        self._closed = asyncio.Event()

    async def run(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        """What the function returns, or the SourceError it raises; NotAFeed or TooLarge when its process had to end."""
        order = _order(function, arguments, self._options)
        self._modules.add(order.module)
        if len(order.arguments) > PORTION:
            await asyncio.sleep(0)  # to encode that took milliseconds, as it will to send it: others first
        async with self._places:
            answer = await self._answer(order)
        if answer.code is not None:
            raise _ERRORS.get(answer.code, NotAFeed)(answer.message)
        result: T = await decode(answer.value, _result_type(function))
        return result

    async def _answer(self, order: Order) -> ParserAnswer:
        child = self._free.pop()
        try:
            child = await self._fresh(child)
            return await child.call(order, self._options)
        except BaseException as error:
            spoilt, child = child, None
            if spoilt is not None:
                await self._discard(spoilt)
            if self._closed.is_set() and isinstance(error, SourceError):
                raise _shut_down() from error
            raise
        finally:
            self._free.append(child)
            self._retire_later()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End all children; calls under way end as Unavailable, which is no failure of their documents."""
        self._closed.set()
        if self._retiring is not None:
            self._retiring.cancel()
        for child in self._children:
            _ = self._begin(child.stop(_GRACE))
        self._children.clear()
        await asyncio.sleep(0)  # a call that was cancelled as its child came has not begun to end it yet
        while self._chores:  # one that started a child may have made another, which ends it
            await asyncio.wait(self._chores)
            await asyncio.sleep(0)

    def _retire_later(self) -> None:
        if self._retiring is None and self._children and not self._closed.is_set():
            self._retiring = asyncio.get_running_loop().call_later(self._options.idle_seconds / 2, self._retire)

    def _retire(self) -> None:
        """End those that had nothing to do for a while: each is tens of megabytes."""
        self._retiring = None
        since = asyncio.get_running_loop().time() - self._options.idle_seconds
        used = [child for child in self._free if child is not None and child.used_at > since]
        for child in self._children.intersection(self._free).difference(used):
            self._children.discard(child)
            _ = self._begin(child.stop(_GRACE))
        self._free = [None] * (len(self._free) - len(used)) + used
        self._retire_later()

    async def _fresh(self, child: "_Child | None") -> "_Child":
        """This child, or a new one where there is none, it died while idle, or it has served long enough."""
        if self._closed.is_set():
            raise _shut_down()
        if child is not None and child.is_fit:
            return child
        if child is not None:
            await self._discard(child)
        new = await self._started()
        if self._closed.is_set():  # while it started
            await self._discard(new)
            raise _shut_down()
        self._children.add(new)
        return new

    async def _started(self) -> "_Child":
        request = ChildRequest(tuple(sorted(self._modules)), self._options.memory_bytes)
        starting = self._begin(_Child.start(request))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(self._end_unwanted)
            raise

    def _end_unwanted(self, started: "asyncio.Task[_Child]") -> None:
        if not started.cancelled() and started.exception() is None:
            _ = self._begin(started.result().stop())

    async def _discard(self, child: "_Child") -> None:
        self._children.discard(child)
        await asyncio.shield(self._begin(child.stop()))

    def _begin(self, chore: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Have it done whatever becomes of the caller; `close` waits for it."""
        doing = asyncio.ensure_future(chore)
        self._chores.add(doing)
        doing.add_done_callback(self._chores.discard)
        return doing


class _Child:
    """A process that was forked for us, and the sockets to it and to whoever knows how it ended."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, watch: socket.socket) -> None:
        self._reader = reader
        self._writer = writer
        self._watch = watch
        self._ending: asyncio.Future[int] | None = None
        self.calls = 0
        self.used_at = 0.0

    @property
    def is_fit(self) -> bool:
        """True while it lives and has not served too long."""
        return not self._reader.at_eof() and self.calls < _CALLS_PER_CHILD

    @classmethod
    async def start(cls, request: ChildRequest) -> "_Child":
        """A child that said it is ready."""
        for _ in range(2):
            with suppress(EOFError, ConnectionError):  # the server left just as it was asked: the next one has not
                return await cls._forked(request)
        raise Unavailable("A parser process did not start.")

    @classmethod
    async def _forked(cls, request: ChildRequest) -> "_Child":
        connection, watch = FORK_SERVER.fork(request)
        watch.settimeout(0)
        child = cls(*await asyncio.open_unix_connection(sock=connection, limit=_BUFFER), watch)
        try:
            async with asyncio.timeout(_START_WITHIN):
                await child._frame(len(READY))
        except BaseException as error:
            await child.stop()
            if isinstance(error, TimeoutError):
                raise Unavailable("A parser process did not start.") from error
            raise
        return child

    async def call(self, order: Order, options: PoolOptions) -> ParserAnswer:
        """The child's answer; NotAFeed or TooLarge when there is none."""
        self.calls += 1
        try:
            async with asyncio.timeout(options.wall_seconds):
                await self._send(msgspec.msgpack.encode(order))
                answer = await self._frame(options.answer_bytes)
            self.used_at = asyncio.get_running_loop().time()
            return msgspec.msgpack.decode(answer, type=ParserAnswer)
        except TimeoutError as error:
            raise NotAFeed(f"The document could not be read within {options.wall_seconds:g} s.") from error
        except (EOFError, OSError, RuntimeError, msgspec.DecodeError) as error:  # RuntimeError: uvloop's closed pipe
            raise _death_message(await self.stop(_GRACE), order) from error

    async def stop(self, grace: float = 0.0) -> int:
        """The exit status of a child that was asked to end, and killed if it did not within `grace` seconds."""
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end(grace))
        return await asyncio.shield(self._ending)

    async def _end(self, grace: float) -> int:
        loop = asyncio.get_running_loop()
        self._writer.transport.abort()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    return _status(await loop.sock_recv(self._watch, STATUS.size))
            self._watch.shutdown(socket.SHUT_WR)  # the fork server ends it
            return _status(await loop.sock_recv(self._watch, STATUS.size))
        finally:
            self._watch.close()
            with suppress(OSError):
                await self._writer.wait_closed()

    async def _send(self, frame: bytes) -> None:
        self._writer.write(LENGTH.pack(len(frame)))
        for start in range(0, len(frame), PORTION):
            self._writer.write(memoryview(frame)[start : start + PORTION])
            await self._writer.drain()

    async def _frame(self, at_most: int) -> bytes:
        (length,) = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
        if length > at_most:
            raise TooLarge("The document expands to more than we accept.")
        return await self._reader.readexactly(length)


def _status(status: bytes) -> int:
    """What the fork server said; nothing when it was ended itself."""
    return int(STATUS.unpack(status)[0]) if status else -signal.SIGKILL


def _shut_down() -> Unavailable:
    return Unavailable("The parsers have been shut down.")


@cache
def _result_type(function: Callable[..., Any]) -> Any:
    return get_type_hints(function).get("return", Any)


def _order(function: Callable[..., Any], arguments: tuple[Any, ...], options: PoolOptions) -> Order:
    if "<" in function.__qualname__:
        raise TypeError(f"{function.__qualname__} is not a module-level function, so no other process can find it")
    encoded = msgspec.msgpack.encode(arguments)
    cpu_seconds = options.cpu_seconds + options.cpu_seconds_per_megabyte * len(encoded) / _MEGABYTE
    return Order(function.__module__, function.__qualname__, encoded, cpu_seconds)


def _death_message(status: int, order: Order) -> SourceError:
    if status == -signal.SIGPROF:
        return NotAFeed(f"The document could not be read within {order.cpu_seconds:.2g} s of CPU time.")
    if status == -signal.SIGKILL:
        return TooLarge("The document needs more memory than is allowed.")
    return NotAFeed(f"The document crashed its parser (exit status {status}).")
