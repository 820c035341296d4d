"""All the loops of one process, begun and ended together."""

import asyncio
from collections.abc import Sequence
from typing import Protocol


class Loop(Protocol):
    """Something that runs until it is told to stop, and then ends what it began."""

    @property
    def trouble(self) -> str | None: ...
    def stop(self) -> None: ...
    async def run(self, *, patience: float = ...) -> None: ...


class Crew:
    """The loops of a process."""

    def __init__(self, loops: Sequence[Loop]) -> None:
        self._loops = loops
        self._running: asyncio.Task[None] | None = None

    @property
    def trouble(self) -> str | None:
        """Why some of the work cannot be done here, for readiness; None while all is well."""
        if self._running is not None and self._running.done():
            return "the loops have ended"
        return next((loop.trouble for loop in self._loops if loop.trouble is not None), None)

    def start(self) -> None:
        """Begin all loops on this event loop."""
        self._running = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """Take nothing more, and return when what was begun is done or given back."""
        for loop in self._loops:
            loop.stop()
        if self._running is not None:
            await self._running

    async def wait(self) -> None:
        """Return when the loops have ended; raise what ended one of them against our will."""
        if self._running is not None:
            await asyncio.shield(self._running)

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for loop in self._loops:
                group.create_task(loop.run())
