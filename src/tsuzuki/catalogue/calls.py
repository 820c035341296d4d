"""How readers and jobs call a source: whether they may now, and by which connector; one call for all who ask.

Every answer is cached by one rule: from the database while fresh, else from the source, else stale (R64). However many
ask for the same at the same time, in whichever process, the source is asked once (R65, R102).
"""

import asyncio
import hashlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Generic, TypeVar

import msgspec

from tsuzuki.connectors.config import SourceConfig
from tsuzuki.connectors.protocol import Connector, ConnectorInfo, Unsupported, Visit
from tsuzuki.connectors.registry import Registry
from tsuzuki.coord.flights import SingleFlight
from tsuzuki.db import Database, load_queries
from tsuzuki.model.errors import NotFound, SourceError, Unavailable
from tsuzuki.model.ids import SourceId, WatchId
from tsuzuki.model.requests import SourceIdentity
from tsuzuki.model.structs import copied
from tsuzuki.model.times import HOUR, SECOND, Millis
from tsuzuki.polling.driver import Driver, FolderOf, LocalReader, run_visit
from tsuzuki.polling.outcomes import PollContext
from tsuzuki.polling.policy import PollAnswered, WatchState, next_poll
from tsuzuki.sources.sites import show_pause_tx, source_info
from tsuzuki.sources.types import Source

q = load_queries("tsuzuki.catalogue")

T = TypeVar("T")


class SourceCall(msgspec.Struct, frozen=True):
    """How a source is called in one run."""

    connector: Connector
    config: SourceConfig
    driver: Driver
    origin: SourceIdentity
    folder: LocalReader | None
    source_id: SourceId

    async def ask(self, visit: Visit[T]) -> T:
        """What the visit brings; a SourceError when the source does not."""
        found = await run_visit(self.driver, visit, self.origin, folder=self.folder)
        await self.answered()
        return found

    async def answered(self) -> None:
        """Report an answer to a call that was not made with `ask`: it closes the breaker (R99)."""
        await self.driver.answered(self.source_id)


def source_call(source: Source, registry: Registry, driver: Driver, *, folder_of: FolderOf) -> SourceCall:
    """The way to this source; NotFound when nothing installed can, ShapeChanged when its config does not fit."""
    if source.connector is None:
        raise NotFound("The source has no extension installed.")
    connector = registry.comics(source.connector)
    config = connector.read_config(source.config)
    connector = connector.for_source(config, source.base_url)
    identity = connector.identity(config, source.id)
    return SourceCall(connector, config, driver, identity, folder_of(config), source.id)


class SourceNotCallable(Unavailable):
    """The operator does not allow calls to this source, or no installed connector can."""


class Calls(msgspec.Struct, frozen=True):
    """Calls to sources on behalf of readers."""

    db: Database
    registry: Registry
    driver: Driver
    folder_of: FolderOf

    def info(self, source: Source) -> ConnectorInfo | None:
        """What is declared of the source; None while its connector is not installed."""
        return source_info(self.registry, source.connector, source.config)

    async def to(self, source: Source) -> SourceCall:
        """How to call this source; SourceNotCallable says why not."""
        if not source.is_enabled:
            raise SourceNotCallable(f"{source.name} is switched off.")
        pause = await self.db.read(show_pause_tx)
        if pause is not None:
            because = f": “{pause.reason}”" if pause.reason else ""
            raise SourceNotCallable(f"All sources are paused by the operator{because}.")
        return self.aside(source)

    def aside(self, source: Source) -> SourceCall:
        """How to call this source, whether it may be called now or not."""
        try:
            return source_call(source, self.registry, self.driver, folder_of=self.folder_of)
        except (NotFound, Unsupported) as error:
            raise SourceNotCallable(f"{source.name} cannot be called: {error}") from error


# -- R99: a source that answers anybody may be asked by everybody

MOST_CLOSED = 1000
"""At once; the next call of the source closes the rest."""


class BrokenWatch(msgspec.Struct, frozen=True):
    """A series whose breaker is open."""

    id: WatchId
    last_release_at: Millis | None
    poll_floor: Millis | None
    followers: int


class ClosedBreaker(msgspec.Struct, frozen=True):
    """One whose breaker closes, and when it is looked at."""

    id: WatchId
    next_check_at: Millis
    priority: int


class Breakers:
    """The breakers of every source's series."""

    def __init__(self, db: Database, context: PollContext, *, forget: Callable[[], Awaitable[None]]) -> None:
        """`forget` drops cached answers once breakers are closed."""
        self._db = db
        self._context = context
        self._forget = forget

    async def close(self, source_id: SourceId) -> None:
        """Look at its broken series again by their class. Nobody's call fails because this could not be written."""
        with suppress(Unavailable):
            broken = await self._db.read(
                lambda tx: tx.many(BrokenWatch, q.broken_watches, source_id=source_id, most=MOST_CLOSED)
            )
            if broken:
                now = self._context.clock()
                closed = [self._closed(watch, now) for watch in broken]
                await self._db.with_tx(lambda tx: tx.bulk(int, q.close_breakers, closed, now=now))
                await self._forget()

    def _closed(self, watch: BrokenWatch, now: Millis) -> ClosedBreaker:
        watched = copied(WatchState, watch, kind="series")
        look = next_poll(watched, PollAnswered(), self._context.pace, now, jitter=self._context.jitter())
        assert look.at is not None
        return ClosedBreaker(watch.id, look.at, look.priority)


# -- one call for all who ask


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
"""How long a call stays locked after its process died; a living process renews the lock."""
FAILURE_SHOWN = Millis(3 * SECOND)
"""How long a failure is shown to those who waited: they look more often than this."""
LOOK_AGAIN = 0.1


class CallLocks:
    """A lock for each key across processes. With one process alone, nothing is locked."""

    def __init__(self, db: Database, clock: Callable[[], Millis], *, is_shared: bool) -> None:
        self._db = db
        self._clock = clock
        self._is_shared = is_shared

    @asynccontextmanager
    async def acquire(self, key: str) -> AsyncIterator[bool]:
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
        """Let those who wait see the result or the error. If that cannot be shared now, their wait times out."""
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


# -- answers that are kept


def is_fresh(fetched_at: Millis | None, ttl: Millis | None, now: Millis) -> bool:
    """Whether it need not be asked for again; a `ttl` of None lasts for ever, a moment in the future counts as none."""
    if fetched_at is None or fetched_at > now:
        return False
    return ttl is None or now - fetched_at < ttl


def fresh_until(fetched_at: Millis | None, ttl: Millis | None) -> Millis | None:
    """When it is to be asked for again; None when it never was fetched, or need never be."""
    return None if fetched_at is None or ttl is None else Millis(fetched_at + ttl)


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
    """How old an answer is, and where it came from."""

    fetched_at: Millis | None
    fresh_until: Millis | None
    age: Millis | None
    is_stale: bool = False
    is_from_cache: bool
    error: str | None = None
    """Why it is stale, or not whole."""


class CachedAnswer(msgspec.Struct, Generic[T], frozen=True):
    """A value, and how fresh it is."""

    value: T
    freshness: Freshness


class CacheQuery(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A query of the cache: its key, how to read what is stored, and how to fetch it."""

    key: Hashable
    stored: Callable[[], Awaitable[CachedValue[T]]]
    fetch: Callable[[], Awaitable[CachedValue[T] | None]]
    """Calls the source and stores what comes; a SourceError or Unavailable when it cannot.

    What it returns is given to everyone who waits; None has each look for themselves, where a shelf's state is in it.
    """
    ttl: Millis | None


class TtlCache:
    """Answers from the database while fresh, else from the source. One per process."""

    def __init__(self, clock: Callable[[], Millis], locks: CallLocks, patience: float = PATIENCE) -> None:
        self._clock = clock
        self._locks = locks
        self.patience = patience
        self._flights = SingleFlight()

    async def close(self) -> None:
        """End the calls that are under way."""
        await self._flights.close()

    async def answer(self, query: CacheQuery[T], *, refresh: bool) -> CachedAnswer[T]:
        """The answer; from the cache while it is fresh, unless `refresh`. Raises only if there is nothing to show."""
        stored = await query.stored()
        if not refresh and is_fresh(stored.fetched_at, query.ttl, self._clock()):
            return CachedAnswer(stored.value, self._freshness(stored, query.ttl, is_from_cache=True))
        try:
            fetched = await self._flights.join(
                query.key,
                lambda: self._fetch(query, stored.fetched_at, refresh=refresh),
                patience=self.patience if stored.is_there else None,
            )
        except (SourceError, Unavailable) as error:
            if not stored.is_there:
                raise
            stale = self._freshness(stored, query.ttl, is_from_cache=True, trouble=str(error))
            return CachedAnswer(stored.value, stale)
        stored = await query.stored() if fetched is None else fetched
        return CachedAnswer(stored.value, self._freshness(stored, query.ttl, is_from_cache=False))

    async def _fetch(self, query: CacheQuery[T], seen: Millis | None, *, refresh: bool) -> CachedValue[T] | None:
        """A call of anybody's that ended after the caller read `seen` counts (R65, R102)."""
        async with self._locks.acquire(_name(query.key)):
            stored = await query.stored()
            if stored.fetched_at != seen or (not refresh and is_fresh(stored.fetched_at, query.ttl, self._clock())):
                return None
            return await query.fetch()

    def _freshness(
        self, stored: CachedValue[T], ttl: Millis | None, *, is_from_cache: bool, trouble: str | None = None
    ) -> Freshness:
        """`trouble` is why nothing fresher is to be had."""
        fetched_at = stored.fetched_at
        return Freshness(
            fetched_at=fetched_at,
            fresh_until=fresh_until(fetched_at, ttl),
            age=None if fetched_at is None else Millis(max(0, self._clock() - fetched_at)),
            is_stale=trouble is not None,
            is_from_cache=is_from_cache,
            error=trouble or stored.error,
        )


def _name(key: Hashable) -> str:
    """The name of the lock, the same in every process."""
    return hashlib.sha256(repr(key).encode()).hexdigest()
