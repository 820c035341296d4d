"""One call for all who ask at the same time in this process."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, TypeVar

from tsuzuki.model.errors import Unavailable

T = TypeVar("T")


class CallInProgress(Unavailable):
    """The call takes longer than the caller wants to wait."""


class SingleFlight:
    """Calls under way, by key. A caller who leaves does not end what others wait for."""

    def __init__(self) -> None:
        self._flying: dict[Hashable, asyncio.Task[Any]] = {}

    async def join(
        self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]], *, patience: float | None = None
    ) -> T:
        """The result of the call under way, or of `work`, begun now. CallInProgress after `patience` seconds."""
        flight: asyncio.Task[T] | None = self._flying.get(key)
        if flight is None:
            flight = asyncio.create_task(work())
            self._flying[key] = flight
            flight.add_done_callback(lambda ended: self._land(key, ended))
        landed, _ = await asyncio.wait({flight}, timeout=patience)
        if not landed:
            raise CallInProgress(
                f"The source has not answered within {patience:g} seconds; the request is still running."
            )
        if flight.cancelled():
            raise Unavailable("The server is stopping.")
        return flight.result()

    def _land(self, key: Hashable, flight: asyncio.Task[Any]) -> None:
        del self._flying[key]
        if not flight.cancelled():
            flight.exception()  # seen, also when everybody who waited has left

    async def close(self) -> None:
        """Cancel the calls that are under way."""
        flying = list(self._flying.values())
        for flight in flying:
            flight.cancel()
        await asyncio.gather(*flying, return_exceptions=True)
