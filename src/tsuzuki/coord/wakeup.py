"""Wake-ups for those who sleep until there is something to do.

It carries no information that matters: everything is in the database, and whoever waits looks there from time to time
anyway. Wake after the commit.
"""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

POLL_WAKEUP = "poll-source"
"""Woken when a watch may have become due out of turn: a subscription, a refresh."""


class AfterCommit(Protocol):
    """Called once a transaction is committed, with the names of those whom it gives something to do."""

    def __call__(self, *wakeups: str) -> None:
        """`Wakeup.wake` in the running program."""
        ...


class Listener:
    """Hears what rang since it was last asked."""

    __slots__ = ("_rung",)

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def hear(self) -> None:
        """Wake the listener."""
        self._rung.set()

    async def wait(self, seconds: float) -> bool:
        """True as soon as it was woken; False when the time has passed."""
        try:
            async with asyncio.timeout(seconds):
                await self._rung.wait()
        except TimeoutError:
            return False
        self._rung.clear()
        return True


class Wakeup(Protocol):
    """Wakes those who listen for a name, in this process or in all."""

    def wake(self, *names: str) -> None:
        """Wake the listeners of these names (which have no spaces in them); never waits and never fails."""
        ...

    def listen(self, *names: str) -> AbstractContextManager[Listener]:
        """An ear for these names, until the end of the block."""
        ...


class MemoryWakeup:
    """Wake-ups within one process, used from one event loop."""

    def __init__(self) -> None:
        self._ears: dict[str, set[Listener]] = {}

    def wake(self, *names: str) -> None:
        """See `Wakeup`."""
        for name in names:
            for listener in self._ears.get(name, ()):
                listener.hear()

    def ring_all(self) -> None:
        """Wake everyone: nobody knows what was missed."""
        self.wake(*self._ears)

    @contextmanager
    def listen(self, *names: str) -> Iterator[Listener]:
        """See `Wakeup`."""
        listener = Listener()
        for name in names:
            self._ears.setdefault(name, set()).add(listener)
        try:
            yield listener
        finally:
            for name in names:
                self._ears[name].discard(listener)
                if not self._ears[name]:
                    del self._ears[name]
