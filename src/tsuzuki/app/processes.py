"""Several processes that serve on one port: the first starts the others, replaces those that end, and stops them.

They share the listening socket, so a connection waits for whoever is free, and none is lost when one of them ends.
"""

import asyncio
import os
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import structlog

AGAIN_AFTER_S = 1.0
"""Before one that ended is replaced: what fails at its start would fail again at once."""
STOPPED_WITHIN_S = 20.0
"""Longer than open requests are given to finish."""

_log = structlog.stdlib.get_logger("tsuzuki.server")


class WebProcesses:
    """The other processes. Each ends with its standard input: on request, and when this process is gone."""

    def __init__(self, bound: socket.socket) -> None:
        self._bound = bound
        self._is_stopping = asyncio.Event()

    def stop(self) -> None:
        """Let them take no new connection, finish what is open, and end. It may be said again."""
        self._is_stopping.set()

    @asynccontextmanager
    async def running(self, count: int) -> AsyncIterator[None]:
        """So many of them, until the end of the block."""
        kept = [asyncio.ensure_future(self._keep_one()) for _ in range(count)]
        try:
            yield
        finally:
            self.stop()
            await asyncio.gather(*kept)

    async def _keep_one(self) -> None:
        while not self._is_stopping.is_set():
            try:
                process = await self._start()
            except OSError as error:  # the machine has no room for one more
                _log.error("web_process_not_started", reason=str(error), again_after_s=AGAIN_AFTER_S)
            else:
                await self._until_it_ends(process)
            with suppress(TimeoutError):
                async with asyncio.timeout(AGAIN_AFTER_S):
                    await self._is_stopping.wait()

    async def _until_it_ends(self, process: Process) -> None:
        """Wait until this process ends by itself, which is logged, or end it when we are stopped."""
        stopping = asyncio.ensure_future(self._is_stopping.wait())
        ended = asyncio.ensure_future(process.wait())
        await asyncio.wait({ended, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if self._is_stopping.is_set():
            await _end(process)
        else:
            _log.error("web_process_ended", pid=process.pid, status=process.returncode, again_after_s=AGAIN_AFTER_S)

    async def _start(self) -> Process:
        number = self._bound.fileno()
        arguments = ("-m", "tsuzuki", "serve", "--socket", str(number))
        return await asyncio.create_subprocess_exec(sys.executable, *arguments, stdin=PIPE, pass_fds=[number])


async def _end(process: Process) -> None:
    """End a process by closing its input: the terminal may have sent a signal, and a second one would cut requests."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(STOPPED_WITHIN_S):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@contextmanager
def at_end_of_input(stop: Callable[[], None]) -> Iterator[None]:
    """Within the block, call this when the first process asks this one to stop, or is gone."""
    loop, number = asyncio.get_running_loop(), sys.stdin.fileno()

    def read() -> None:
        if not os.read(number, 1):
            loop.remove_reader(number)
            stop()

    loop.add_reader(number, read)
    try:
        yield
    finally:
        loop.remove_reader(number)
