"""The HTTP client: `Client.fetch` for a whole answer, `Client.stream` for one that is passed on.

Its library takes a sixth of a start, and seven megabytes: it is imported with the first call.
"""

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Self

from tsuzuki.coord.pacer import Pacer
from tsuzuki.model.requests import Ask, Reply, SourceIdentity
from tsuzuki.model.times import Millis
from tsuzuki.net.options import ClientOptions, Deadlines

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver

    from tsuzuki.net.guarded_client import GuardedClient
    from tsuzuki.net.response import HttpResponse


class Client:
    """Guarded, paced and capped. Everything that goes wrong is a SourceError. Made and used within one event loop."""

    def __init__(
        self,
        options: ClientOptions,
        pacer: Pacer,
        *,
        now: Callable[[], Millis],
        resolver: "AbstractResolver | None" = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._options = options
        self._pacer = pacer
        self._now = now
        self._resolver = resolver
        self._tls = tls

    @cached_property
    def _guarded(self) -> "GuardedClient":
        from tsuzuki.net.guarded_client import GuardedClient

        return GuardedClient(self._options, self._pacer, now=self._now, resolver=self._resolver, tls=self._tls)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End FlareSolverr's sessions and close every connection."""
        if "_guarded" in self.__dict__:
            await self._guarded.close()

    async def fetch(self, ask: Ask, origin: SourceIdentity) -> Reply:
        """The whole answer; a SourceError for anything that is none."""
        return await self._guarded.fetch(ask, origin)

    @asynccontextmanager
    async def stream(
        self, ask: Ask, origin: SourceIdentity, deadlines: Deadlines | None = None
    ) -> AsyncIterator["HttpResponse"]:
        """A successful answer's head, with its body still to come: `async for piece in answer.chunks(cap)`.

        `deadlines` are for what takes longer than an answer should; `connect` and `idle` stay the client's.
        """
        async with self._guarded.stream(ask, origin, deadlines) as answer:
            yield answer

    async def check(self, url: str) -> str:
        """The canonical form of an address that may be called, its DNS answers judged too; RefusedAddress otherwise."""
        return await self._guarded.check(url)

    async def vet(self, url: str, proxy: str | None = None) -> str:
        """As `check`, for an address that is stored now and called later: a name that has no answer at the moment is
        judged by its form alone. It is judged again at every call.
        """
        return await self._guarded.vet(url, proxy)
