"""What `Client` does, once it is asked for something."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec
import structlog
from aiohttp.abc import AbstractResolver

from tsuzuki.coord.pacer import Pacer
from tsuzuki.model.errors import Blocked, HttpStatus, RateLimited, SourceError, Unreachable
from tsuzuki.model.requests import Ask, Reply, SourceIdentity, Validators
from tsuzuki.model.times import Millis
from tsuzuki.net.dialer import Proxy
from tsuzuki.net.exchange import Exchange
from tsuzuki.net.failures import LOOKED_AT, challenge_error, is_malformed, is_reset, status_error
from tsuzuki.net.headers import rate_limit_wait, retry_after
from tsuzuki.net.options import ClientOptions, Deadlines
from tsuzuki.net.response import HttpResponse
from tsuzuki.net.solver import Solution, Solver
from tsuzuki.net.turns import Budget
from tsuzuki.net.urls import parse

_log = structlog.stdlib.get_logger("tsuzuki.net")

_REPEATABLE = frozenset({"GET", "HEAD"})
_PATIENCE_WITH_NAMES = 3.0


class GuardedClient:
    """Guarded, paced and capped; its methods are those of `Client`."""

    def __init__(
        self,
        options: ClientOptions,
        pacer: Pacer,
        *,
        now: Callable[[], Millis],
        resolver: AbstractResolver | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._options = options
        self._pacer = pacer
        self._now = now
        self._exchange = Exchange(options, pacer, resolver=resolver, tls=tls)
        self._solver = Solver(options.solver_url, self._exchange) if options.solver_url else None

    async def close(self) -> None:
        """End FlareSolverr's sessions and close every connection."""
        if self._solver is not None:
            await self._solver.close()
        await self._exchange.close()

    async def fetch(self, ask: Ask, origin: SourceIdentity) -> Reply:
        """See `Client`."""
        if self._solver is None or not origin.solve_challenges:
            return await self._fetch(ask, origin)
        clearances = self._exchange.jars.of(origin).clearances
        try:
            return await self._fetch(ask, origin)
        except Blocked as blocked:
            try:
                solution = await self._solver.solve(ask, origin, clearances=clearances)
            except SourceError as error:
                raise Blocked(f"{blocked} FlareSolverr could not pass it: {error}", status=blocked.status) from error
            return await self._fetch_solved(ask, origin, solution)

    @asynccontextmanager
    async def stream(
        self, ask: Ask, origin: SourceIdentity, deadlines: Deadlines | None = None
    ) -> AsyncIterator[HttpResponse]:
        """See `Client`."""
        own = self._options.deadlines
        # Whoever takes the pieces may be slow too, so no pace is asked for.
        given = msgspec.structs.replace(deadlines or own, connect=own.connect, idle=own.idle, slowest=0)
        async with self._exchange.open(ask, origin, Budget(given)) as answer:
            await self._judge(answer, ask, origin)
            yield answer

    async def check(self, url: str) -> str:
        """See `Client`."""
        target = parse(url)
        async with Budget(self._options.deadlines).spend(target.host):
            await self._exchange.dialer.lane_of(target, hidden=True)
        return str(target)

    async def vet(self, url: str, proxy: str | None = None) -> str:
        """See `Client`."""
        target = parse(url)
        if proxy is not None:
            Proxy.read(proxy)  # also where the target's name has no answer, so that the proxy's would not be asked for
        try:
            async with asyncio.timeout(_PATIENCE_WITH_NAMES):
                await self._exchange.dialer.route_to(target, proxy)
                await self._exchange.dialer.lane_of(target, hidden=True)
        except (Unreachable, TimeoutError):
            self._options.guard.check_public_form(target)
        return str(target)

    async def _fetch(self, ask: Ask, origin: SourceIdentity) -> Reply:
        budget, left = Budget(self._options.deadlines), self._options.repeats
        retried: tuple[tuple[int, int], ...] = ()
        while True:
            try:
                reply = await self._attempt(ask, origin, budget)
            except SourceError as error:
                again = self._worth_asking_again(ask, error) if left else None
                if again is None:
                    error.retried = retried
                    raise
                if isinstance(error, RateLimited):
                    retried = (*retried, (error.status or 0, error.retry_after or 0))
                ask, left = again, left - 1
            else:
                return msgspec.structs.replace(reply, retried=retried) if retried else reply

    async def _attempt(self, ask: Ask, origin: SourceIdentity, budget: Budget) -> Reply:
        async with self._exchange.open(ask, origin, budget) as answer:
            await self._judge(answer, ask, origin)
            body = await answer.read(ask.max_bytes)
        challenge = challenge_error(answer.status, answer.host, answer.headers, body)
        if challenge is not None and answer.status not in ask.accept_statuses:
            raise challenge
        return Reply(
            url=str(answer.request.url),
            status=answer.status,
            headers=answer.headers,
            body=body,
            received_at=self._now(),
            hops=answer.hops,
        )

    async def _judge(self, answer: HttpResponse, ask: Ask, origin: SourceIdentity) -> None:
        """Hold the watch back where the answer says so, then raise what its status is."""
        wait = self._wait_asked_by(answer, ask)
        _log.debug("called", host=answer.host, status=answer.status, source=origin.source)
        error = status_error(
            answer.status, answer.host, answer.headers, conditional=answer.request.is_conditional, wait=wait
        )
        if wait and (answer.status in {429, 503} or ask.rate_headers is not None):
            await self._pacer.penalise(answer.bucket, origin.who, wait)
        if error is None or answer.status in ask.accept_statuses:
            return
        if isinstance(error, HttpStatus):
            error = await self._challenge_behind(answer) or error
        raise error

    def _wait_asked_by(self, answer: HttpResponse, ask: Ask) -> Millis | None:
        """What Retry-After says, else what the source's own headers say."""
        now, ceiling = self._now(), self._options.longest_hold
        told = retry_after(answer.headers.get("retry-after"), now, ceiling=ceiling) if answer.status >= 400 else None
        if told is None and ask.rate_headers is not None:
            return rate_limit_wait(answer.headers, ask.rate_headers, now, ceiling=ceiling)
        return told

    @staticmethod
    async def _challenge_behind(answer: HttpResponse) -> Blocked | None:
        """A browser check often comes as 503; its page gives it away."""
        if "html" not in answer.headers.get("content-type", "").lower():
            return None
        try:
            body = await answer.peek(LOOKED_AT)
        except SourceError:
            return None
        return challenge_error(answer.status, answer.host, answer.headers, body)

    def _worth_asking_again(self, ask: Ask, error: SourceError) -> Ask | None:
        """What to ask after this failure, within the same visit; None when it is the poll's outcome."""
        if ask.method.upper() not in _REPEATABLE:
            return None
        if isinstance(error, RateLimited):
            wait = error.retry_after
            is_short = error.status is not None and wait is not None and wait <= self._options.short_wait
            return ask if is_short else None
        if not isinstance(error, Unreachable):
            return None
        if is_malformed(error.__cause__) and ask.validators != Validators():
            # REL-26: a 304 with a body breaks the connection; without a condition there is no 304
            return msgspec.structs.replace(ask, validators=Validators())
        return ask if is_reset(error.__cause__) else None

    async def _fetch_solved(self, ask: Ask, origin: SourceIdentity, solution: Solution | None) -> Reply:
        """Ask again ourselves, now that the check is passed; where that is not believed, take what the browser saw."""
        try:
            return await self._fetch(ask, origin)
        except Blocked:
            if solution is None or solution.error is not None:
                raise
            return Reply(
                url=solution.url,
                status=solution.status,
                headers={"content-type": "text/html; charset=utf-8"},
                body=solution.body,
                received_at=self._now(),
            )
