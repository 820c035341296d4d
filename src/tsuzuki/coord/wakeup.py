"""Wake-ups: wake sleeping loops, in this process and in others, when there is something to do.

It carries no information that matters: everything is in the database, and whoever waits looks there from time to time
anyway. Wake after the commit.
"""

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager, suppress
from typing import Protocol

import structlog

POLL_WAKEUP = "poll-source"
"""Woken when a watch may have become due out of turn: a subscription, a refresh."""


class AfterCommit(Protocol):
    """Called once a transaction is committed, with the names of those whom it gives something to do."""

    def __call__(self, *wakeups: str) -> None:
        """`Wakeup.wake` in the running program."""


class Listener:
    """Is woken by what happened since it last waited."""

    __slots__ = ("_woken",)

    def __init__(self) -> None:
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Wake the listener."""
        self._woken.set()

    async def wait(self, seconds: float) -> bool:
        """True as soon as it was woken; False when the time has passed."""
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return False
        self._woken.clear()
        return True


class Wakeup(Protocol):
    """Wakes those who listen for a name, in this process or in all."""

    def wake(self, *names: str) -> None:
        """Wake the listeners of these names (which have no spaces in them); never waits and never fails."""

    def listen(self, *names: str) -> AbstractContextManager[Listener]:
        """A listener for these names, until the end of the block."""


class MemoryWakeup:
    """Wake-ups within one process, used from one event loop."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[Listener]] = {}

    def wake(self, *names: str) -> None:
        """See `Wakeup`."""
        for name in names:
            for listener in self._listeners.get(name, ()):
                listener.wake()

    def wake_all(self) -> None:
        """Wake everyone: nobody knows what was missed."""
        self.wake(*self._listeners)

    @contextmanager
    def listen(self, *names: str) -> Iterator[Listener]:
        """See `Wakeup`."""
        listener = Listener()
        for name in names:
            self._listeners.setdefault(name, set()).add(listener)
        try:
            yield listener
        finally:
            for name in names:
                self._listeners[name].discard(listener)
                if not self._listeners[name]:
                    del self._listeners[name]


CHANNEL = "tsuzuki_wakeup"

_PING_EVERY = 1.5
_SILENCE = 4.0
_REST = 0.5
_OPEN_WITHIN = 3.0
_MOST_NAMES = 100

_log = structlog.stdlib.get_logger("tsuzuki.wakeup")


class WireBroken(Exception):
    """The connection is gone, or was never there; a new one may be opened."""


class WakeupConnection(Protocol):
    """An open connection on which everyone, the sender included, receives what anyone sends."""

    async def send(self, text: str) -> None:
        """Send to every process; raises WireBroken when the connection is gone."""

    async def receive(self) -> str:
        """Wait for the next message; raises WireBroken when the connection is gone."""


class WakeupTransport(Protocol):
    """Opens connections: through Redis or PostgreSQL."""

    def open(self) -> AbstractAsyncContextManager[WakeupConnection]:
        """A connection until the end of the block; WireBroken when there is none."""


class SharedWakeup:
    """Wakes here at once, and in the other processes while the connection holds. `run` repairs it while it runs.

    REL-18: a line that is dead without saying so is noticed by its silence, because we always receive our own pings.
    """

    def __init__(self, wire: WakeupTransport) -> None:
        self._wire = wire
        self._here = MemoryWakeup()
        self._sender = secrets.token_hex(6)
        self._unsent: set[str] = set()
        self._has_unsent = asyncio.Event()

    def wake(self, *names: str) -> None:
        """See `Wakeup`. Names woken while the connection is broken are sent when it works again."""
        self._here.wake(*names)
        self._unsent.update(names)
        self._has_unsent.set()

    def listen(self, *names: str) -> AbstractContextManager[Listener]:
        """See `Wakeup`."""
        return self._here.listen(*names)

    async def run(self) -> None:
        """Keep the connection; ends only by being cancelled."""
        was_broken = False
        while True:
            try:
                await self._talk(announce=was_broken)
            except* Exception as broken:  # noqa: BLE001  whatever broke it, we go on trying
                if not was_broken:
                    _log.warning("wakeups_broken", reason=repr(broken.exceptions[0]))
                was_broken = True
            await asyncio.sleep(_REST)

    async def _talk(self, *, announce: bool) -> None:
        """Send and receive until the connection breaks."""
        async with asyncio.timeout(_OPEN_WITHIN) as opening, self._wire.open() as line:
            opening.reschedule(None)
            if announce:
                _log.info("wakeups_restored")
            self._here.wake_all()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._receive(line))
                group.create_task(self._send(line))

    async def _receive(self, line: WakeupConnection) -> None:
        while True:
            async with asyncio.timeout(_SILENCE):
                text = await line.receive()
            sender, *names = text.split()
            if sender != self._sender:
                self._here.wake(*names)

    async def _send(self, line: WakeupConnection) -> None:
        """All wake-ups of the meantime in one message, or a ping."""
        while True:
            names = sorted(self._unsent)[:_MOST_NAMES]
            self._unsent.difference_update(names)
            try:
                async with asyncio.timeout(_SILENCE):
                    await line.send(" ".join((self._sender, *names)))
            except BaseException:
                self._unsent.update(names)
                raise
            if not self._unsent:
                self._has_unsent.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_PING_EVERY):
                        await self._has_unsent.wait()
