"""Waiting for our turn: the host's pace, a call's own pace, and a place among those who call at the same time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tsuzuki.coord.pace import MILLISECOND, SECOND, PaceTurn, Rate
from tsuzuki.coord.pacer import Pacer
from tsuzuki.model.errors import NotOurTurn
from tsuzuki.model.fetching import CallPace
from tsuzuki.net.dialing import Proxy
from tsuzuki.net.guard import Lane
from tsuzuki.net.options import ClientOptions, SourceIdentity
from tsuzuki.net.urls import Url


def bucket_of(url: Url, origin: SourceIdentity) -> str:
    """A host as seen through one way out: what happens through one proxy says nothing of others (SEC-11)."""
    host = url.host if origin.apart is None else f"{url.host} for {origin.apart}"
    return host if origin.proxy is None else f"{host} via {Proxy.read(origin.proxy).url.origin}"


class Turns:
    """Turns at hosts, as the options and the source's own rate say."""

    def __init__(self, options: ClientOptions, pacer: Pacer) -> None:
        self._options = options
        self._pacer = pacer

    @asynccontextmanager
    async def at(
        self, url: Url, origin: SourceIdentity, lane: Lane, *, pace: CallPace | None = None
    ) -> AsyncIterator[None]:
        """Our turn at this host, and a place there; NotOurTurn when it is too far off.

        The place comes first: turns that were reserved early and used late would add up to more than the rate. Who is
        held does not keep a place from others meanwhile.
        """
        bucket = bucket_of(url, origin)
        if pace is not None:
            await self._wait_at(f"{bucket}#{pace.name}", url, origin, rate=Rate(pace.per_second))
        waited = 0
        while True:
            async with self._pacer.slot(bucket, origin.places or self._slots(lane)):
                turn = await self._reserve(bucket, origin, rate=self._rate(origin, lane))
                if turn.is_reserved:
                    if turn.wait:
                        await asyncio.sleep(turn.wait / SECOND)
                    yield
                    return
            waited += turn.wait
            await self._sit_out(turn, waited, url)

    async def _wait_at(self, bucket: str, url: Url, origin: SourceIdentity, *, rate: Rate) -> None:
        waited = 0
        while not (turn := await self._reserve(bucket, origin, rate=rate)).is_reserved:
            waited += turn.wait
            await self._sit_out(turn, waited, url)
        await asyncio.sleep(turn.wait / SECOND)

    async def _reserve(self, bucket: str, origin: SourceIdentity, *, rate: Rate) -> PaceTurn:
        return await self._pacer.reserve(bucket, origin.who, rate=rate, patience=self._options.patience)

    async def _sit_out(self, turn: PaceTurn, waited: int, url: Url) -> None:
        """Wait until asking again makes sense; NotOurTurn when that is beyond our patience."""
        if waited > self._options.patience * MILLISECOND:
            sentence = f"It is not our turn at {url.host} for another {turn.wait // SECOND:,} s."
            raise NotOurTurn(sentence, retry_after=turn.wait // MILLISECOND)
        await asyncio.sleep(turn.wait / SECOND)

    def _rate(self, origin: SourceIdentity, lane: Lane) -> Rate:
        if origin.ratelimit:
            return Rate(origin.ratelimit)
        return self._options.host_rate if lane is Lane.PUBLIC else self._options.allowed_rate

    def _slots(self, lane: Lane) -> int:
        return self._options.host_slots if lane is Lane.PUBLIC else self._options.allowed_slots
