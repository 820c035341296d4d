"""Rate limits and deadlines of a call: the host's pace, the call's own, and a slot among concurrent calls."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType

import aiohttp

from tsuzuki.coord.pacer import MILLISECOND, SECOND, Pacer, PaceTurn, Rate
from tsuzuki.model.errors import NotOurTurn, SourceError, TimedOut
from tsuzuki.model.requests import CallPace, SourceIdentity
from tsuzuki.net.dialer import Proxy
from tsuzuki.net.failures import explained
from tsuzuki.net.guard import Lane
from tsuzuki.net.options import ClientOptions, Deadlines
from tsuzuki.net.urls import Url

_OF_THE_WIRE = (aiohttp.ClientError, TimeoutError, OSError, UnicodeError)


class Budget:
    """The time that is left for a call; waiting for our own turn is not counted."""

    def __init__(self, deadlines: Deadlines) -> None:
        self.deadlines = deadlines
        self.left = deadlines.total

    def body_limits(self, since: float, received: int) -> tuple[float, ...]:
        """Seconds: for all, for the rest of a body that has come so far, for its next piece, and for its pace."""
        deadlines, so_far = self.deadlines, asyncio.get_running_loop().time() - since
        by_pace = deadlines.grace + received / deadlines.slowest - so_far if deadlines.slowest else self.left
        return self.left, deadlines.body - so_far, deadlines.idle, by_pace

    def spend(self, host: str, *, is_head: bool = False) -> "Spending":
        """Everything within is over when the time is; each failure leaves it under its name."""
        return Spending(self, host, (self.left, self.deadlines.head) if is_head else (self.left,))

    def spend_on_body(self, host: str, *, since: float, received: int) -> "Spending":
        """As `spend`: a body has a deadline of its own, and so has each piece of it. Its headers were complete then."""
        return Spending(self, host, self.body_limits(since, received))


class Spending:
    """Runs a part of a call within its budget. A class, not a generator: there are several in every poll."""

    __slots__ = ("_began", "_budget", "_host", "_limits", "_timeout")

    def __init__(self, budget: Budget, host: str, limits: tuple[float, ...]) -> None:
        self._budget = budget
        self._host = host
        self._began = asyncio.get_running_loop().time()
        self._limits = limits
        self._timeout = asyncio.timeout(min(self._limits))

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._timeout.__aexit__(kind, error, trace)
        except TimeoutError:
            raise self._too_late() from error
        finally:
            self._budget.left -= asyncio.get_running_loop().time() - self._began
        if isinstance(error, _OF_THE_WIRE):
            raise (self._too_late() if self._timeout.expired() else self._explained(error)) from error

    def _too_late(self) -> TimedOut:
        """Which limit makes the wait too long."""
        deadlines, host = self._budget.deadlines, self._host
        sentences = [f"{host} took more than {deadlines.total:g} s in all."]
        if len(self._limits) == len((deadlines.total, deadlines.head)):
            sentences.append(f"{host} did not begin its answer within {deadlines.head:g} s.")
        else:
            sentences.append(f"{host} did not finish its answer within {deadlines.body:g} s.")
            sentences += [self._silent(), f"{host} sends less than {deadlines.slowest:g} bytes a second."]
        return TimedOut(sentences[self._limits.index(min(self._limits))])

    def _silent(self) -> str:
        return f"{self._host} sent nothing for {self._budget.deadlines.idle:g} s."

    def _explained(self, error: Exception) -> SourceError:
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return TimedOut(f"Could not connect to {self._host} within {self._budget.deadlines.connect:g} s.")
        if isinstance(error, TimeoutError):
            return TimedOut(self._silent())
        return explained(error, self._host)


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
            slots = self._options.host_slots if lane is Lane.PUBLIC else self._options.allowed_slots
            async with self._pacer.slot(bucket, origin.places or slots):
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
            sentence = f"The rate limit allows no request to {url.host} for another {turn.wait // SECOND:,} s."
            raise NotOurTurn(sentence, retry_after=turn.wait // MILLISECOND)
        await asyncio.sleep(turn.wait / SECOND)

    def _rate(self, origin: SourceIdentity, lane: Lane) -> Rate:
        if origin.ratelimit:
            return Rate(origin.ratelimit)
        return self._options.host_rate if lane is Lane.PUBLIC else self._options.allowed_rate
