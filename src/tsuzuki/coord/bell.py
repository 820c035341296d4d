"""A bell wakes those who sleep until there is something to do.

It carries no information that matters: everything is in the database, and whoever waits looks there from time to time
anyway. Ring after the commit.
"""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Ear:
    """Hears what rang since it was last asked."""

    __slots__ = ("_rung",)

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def hear(self) -> None:
        """It rings."""
        self._rung.set()

    async def wait(self, seconds: float) -> bool:
        """True as soon as it has rung; False when the time has passed."""
        try:
            async with asyncio.timeout(seconds):
                await self._rung.wait()
        except TimeoutError:
            return False
        self._rung.clear()
        return True


class Bell(Protocol):
    """Wakes those who listen for a name, in this process or in all."""

    def ring(self, *names: str) -> None:
        """Wake the listeners of these names (which have no spaces in them); never waits and never fails."""
        ...

    def listen(self, *names: str) -> AbstractContextManager[Ear]:
        """An ear for these names, until the end of the block."""
        ...


class MemoryBell:
    """The bell of one process, used from one event loop."""

    def __init__(self) -> None:
        self._ears: dict[str, set[Ear]] = {}

    def ring(self, *names: str) -> None:
        """See `Bell`."""
        for name in names:
            for ear in self._ears.get(name, ()):
                ear.hear()

    def ring_all(self) -> None:
        """Wake everyone: nobody knows what was missed."""
        self.ring(*self._ears)

    @contextmanager
    def listen(self, *names: str) -> Iterator[Ear]:
        """See `Bell`."""
        ear = Ear()
        for name in names:
            self._ears.setdefault(name, set()).add(ear)
        try:
            yield ear
        finally:
            for name in names:
                self._ears[name].discard(ear)
                if not self._ears[name]:
                    del self._ears[name]
