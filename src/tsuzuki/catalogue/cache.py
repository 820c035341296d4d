"""The rule of every cached answer: from the database while fresh, else from the source, else stale (R64).

However many ask for the same at the same time, in whichever process, the source is asked once (R65, R102).
"""

import asyncio
import hashlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Hashable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Generic, TypeVar

import msgspec

from tsuzuki.catalogue.policy import fresh_until, is_fresh
from tsuzuki.db import Database, load_queries
from tsuzuki.model.errors import SourceError, Unavailable
from tsuzuki.model.times import HOUR, SECOND, Millis

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


q = load_queries("tsuzuki.catalogue.cache")


class CallFailure(msgspec.Struct, frozen=True):
    """How a call failed, as others can raise it."""

    code: str
    message: str
    status: int | None = None
    retry_after: int | None = None


class HeldLock(msgspec.Struct, frozen=True):
    """A lock that somebody has, or whose call failed just now."""

    holder: str
    failure: CallFailure | None
    until: Millis


LEASE = Millis(15 * SECOND)
"""Of a process that dies; one that lives renews it."""
FAILURE_SHOWN = Millis(3 * SECOND)
"""To those who waited: they look more often than this."""
LOOK_AGAIN = 0.1


class CallLocks:
    """A lock for each key. Where no other process is, nothing is locked."""

    def __init__(self, db: Database, clock: Callable[[], Millis], *, is_shared: bool) -> None:
        self._db = db
        self._clock = clock
        self._is_shared = is_shared

    @asynccontextmanager
    async def hold(self, key: str) -> AsyncIterator[bool]:
        """Call within the block; True when another process was waited for, and may have brought what is wanted.

        A SourceError of the block is raised by all who wait for it, in whichever process.
        """
        if not self._is_shared:
            yield False
            return
        holder = secrets.token_hex(8)
        has_waited = await self._take(key, holder)
        renewing = asyncio.create_task(self._renew(key, holder))
        failure = None
        try:
            yield has_waited
        except SourceError as error:
            failure = CallFailure(error.code, str(error), error.status, error.retry_after)
            raise
        finally:
            renewing.cancel()
            await asyncio.shield(self._leave(key, holder, failure))

    async def forget_old(self) -> None:
        """Forget what processes that died left behind."""
        await self._db.with_tx(lambda tx: tx.run(q.forget_locks, before=self._clock() - HOUR))

    async def _take(self, key: str, holder: str) -> bool:
        """Take the lock when it is free; whether somebody had it. Raises what went wrong for whom we waited for."""
        waited_for = ""
        while not await self._try(key, holder, waited_for):
            held = await self._find(key)
            while held is not None and held.failure is None and self._clock() < held.until:
                waited_for = held.holder
                await asyncio.sleep(LOOK_AGAIN)
                held = await self._find(key)
            if held is not None and held.failure is not None and held.holder == waited_for:
                failure = held.failure  # the same error again
                kind = next((kind for kind in _kinds(SourceError) if kind.code == failure.code), SourceError)
                raise kind(failure.message, status=failure.status, retry_after=failure.retry_after)
        return waited_for != ""

    async def _find(self, key: str) -> HeldLock | None:
        return await self._db.read(lambda tx: tx.maybe(HeldLock, q.find_lock, key=key))

    async def _try(self, key: str, holder: str, waited_for: str) -> bool:
        now = self._clock()
        lock = {"key": key, "holder": holder, "waited_for": waited_for, "until": now + LEASE, "now": now}
        return await self._db.with_tx(lambda tx: tx.maybe(str, q.take_lock, **lock)) is not None

    async def _renew(self, key: str, holder: str) -> None:
        while True:
            await asyncio.sleep(LEASE / SECOND / 3)
            until = self._clock() + LEASE
            with suppress(Unavailable):
                await self._db.with_tx(lambda tx: tx.run(q.renew_lock, key=key, holder=holder, until=until))  # noqa: B023  awaited

    async def _leave(self, key: str, holder: str, failure: CallFailure | None) -> None:
        """Those who wait look for what was brought, or are told what failed. What cannot be left now runs out."""
        until = self._clock() + FAILURE_SHOWN
        with suppress(Unavailable):
            if failure is None:
                await self._db.with_tx(lambda tx: tx.run(q.drop_lock, key=key, holder=holder))
            else:
                failed = {"key": key, "holder": holder, "failure": failure, "until": until}
                await self._db.with_tx(lambda tx: tx.run(q.fail_lock, **failed))


def _kinds(kind: type[SourceError]) -> Iterator[type[SourceError]]:
    yield kind
    for narrower in kind.__subclasses__():
        yield from _kinds(narrower)


PATIENCE = 8.0
"""Seconds that a reader waits for a slow source while there is something to show."""


class CachedValue(msgspec.Struct, Generic[T], frozen=True):
    """What is stored, and since when; `is_there` is False for what nobody ever fetched."""

    value: T
    fetched_at: Millis | None
    is_there: bool = True
    error: str | None = None
    """What is wrong with it though it came: a list with holes."""


class Freshness(msgspec.Struct, frozen=True, kw_only=True):
    """How an answer was come by."""

    fetched_at: Millis | None
    fresh_until: Millis | None
    age: Millis | None
    is_stale: bool = False
    is_from_cache: bool
    error: str | None = None
    """Why it is stale, or not whole."""


class CachedAnswer(msgspec.Struct, Generic[T], frozen=True):
    """A value, and how it was come by."""

    value: T
    freshness: Freshness


class Question(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """What is asked, where it is kept, and how it is fetched."""

    key: Hashable
    look: Callable[[], Awaitable[CachedValue[T]]]
    fetch: Callable[[], Awaitable[CachedValue[T] | None]]
    """Calls the source and stores what comes; a SourceError or Unavailable when it cannot.

    What it returns is given to everyone who waits; None has each look for themselves, where a shelf's state is in it.
    """
    ttl: Millis | None


class TtlCache:
    """Answers questions. One per process."""

    def __init__(self, clock: Callable[[], Millis], locks: CallLocks, patience: float = PATIENCE) -> None:
        self._clock = clock
        self._locks = locks
        self.patience = patience
        self._flights = SingleFlight()

    async def close(self) -> None:
        """End the calls that are under way."""
        await self._flights.close()

    async def answer(self, question: Question[T], *, refresh: bool) -> CachedAnswer[T]:
        """From the cache while it is fresh and `refresh` is not said. Raises only when there is nothing to show."""
        kept = await question.look()
        if not refresh and is_fresh(kept.fetched_at, question.ttl, self._clock()):
            return CachedAnswer(kept.value, self._freshness(kept, question.ttl, is_from_cache=True))
        try:
            fetched = await self._flights.join(
                question.key,
                lambda: self._fetch(question, kept.fetched_at, refresh=refresh),
                patience=self.patience if kept.is_there else None,
            )
        except (SourceError, Unavailable) as error:
            if not kept.is_there:
                raise
            stale = self._freshness(kept, question.ttl, is_from_cache=True, trouble=str(error))
            return CachedAnswer(kept.value, stale)
        kept = await question.look() if fetched is None else fetched
        return CachedAnswer(kept.value, self._freshness(kept, question.ttl, is_from_cache=False))

    async def _fetch(self, question: Question[T], seen: Millis | None, *, refresh: bool) -> CachedValue[T] | None:
        """R65, R102: a call of anybody's that landed after the caller's look, which saw `seen`, counts."""
        async with self._locks.hold(_name(question.key)):
            kept = await question.look()
            if kept.fetched_at != seen or (not refresh and is_fresh(kept.fetched_at, question.ttl, self._clock())):
                return None
            return await question.fetch()

    def _freshness(
        self, kept: CachedValue[T], ttl: Millis | None, *, is_from_cache: bool, trouble: str | None = None
    ) -> Freshness:
        """`trouble` is why nothing fresher is to be had."""
        fetched_at = kept.fetched_at
        return Freshness(
            fetched_at=fetched_at,
            fresh_until=fresh_until(fetched_at, ttl),
            age=None if fetched_at is None else Millis(max(0, self._clock() - fetched_at)),
            is_stale=trouble is not None,
            is_from_cache=is_from_cache,
            error=trouble or kept.error,
        )


def _name(key: Hashable) -> str:
    """The same in every process."""
    return hashlib.sha256(repr(key).encode()).hexdigest()
