"""R65: however many ask this process for the same at the same time, it asks once. `call_locks` see to the others."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, TypeVar

from tsuzuki.model.errors import Unavailable

T = TypeVar("T")


class StillAsking(Unavailable):
    """The answer is on its way, for longer than the caller wants to wait."""


class SingleFlight:
    """Calls that are under way, by what they bring. A caller who leaves does not end what others wait for."""

    def __init__(self) -> None:
        self._flying: dict[Hashable, asyncio.Task[Any]] = {}

    async def join(
        self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]], *, patience: float | None = None
    ) -> T:
        """What the call under way brings; `work` is begun when there is none. StillAsking after `patience` seconds."""
        flight: asyncio.Task[T] | None = self._flying.get(key)
        if flight is None:
            flight = asyncio.create_task(work())
            self._flying[key] = flight
            flight.add_done_callback(lambda ended: self._land(key, ended))
        landed, _ = await asyncio.wait({flight}, timeout=patience)
        if not landed:
            raise StillAsking(f"The source has not answered within {patience:g} seconds; it is still being asked.")
        if flight.cancelled():
            raise Unavailable("The server is being stopped.")
        return flight.result()

    def _land(self, key: Hashable, flight: asyncio.Task[Any]) -> None:
        del self._flying[key]
        if not flight.cancelled():
            flight.exception()  # seen, also when everybody who waited has left

    async def close(self) -> None:
        """End what is under way."""
        flying = list(self._flying.values())
        for flight in flying:
            flight.cancel()
        await asyncio.gather(*flying, return_exceptions=True)
