"""R65: however many ask this process for the same at the same time, it asks once. `call_locks` see to the others."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import msgspec

from tsuzuki.db import Database, Tx, load_queries
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


q = load_queries("tsuzuki.catalogue.single_flight")


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


async def take_lock_tx(tx: Tx, key: str, holder: str, *, waited_for: str, until: Millis, now: Millis) -> bool:
    """Whether it is ours now."""
    took = await tx.maybe(str, q.take_lock, key=key, holder=holder, waited_for=waited_for, until=until, now=now)
    return took is not None


async def find_lock_tx(tx: Tx, key: str) -> HeldLock | None:
    """None when nobody has it."""
    return await tx.maybe(HeldLock, q.find_lock, key=key)


async def renew_lock_tx(tx: Tx, key: str, holder: str, *, until: Millis) -> None:
    """Have it for longer; nothing when it was lost."""
    await tx.run(q.renew_lock, key=key, holder=holder, until=until)


async def drop_lock_tx(tx: Tx, key: str, holder: str) -> None:
    """Whoever waits looks for what was brought."""
    await tx.run(q.drop_lock, key=key, holder=holder)


async def fail_lock_tx(tx: Tx, key: str, holder: str, failure: CallFailure, *, until: Millis) -> None:
    """Whoever waits is told, until then."""
    await tx.run(q.fail_lock, key=key, holder=holder, failure=failure, until=until)


async def forget_locks_tx(tx: Tx, before: Millis) -> None:
    """Those of processes that died."""
    await tx.run(q.forget_locks, before=before)


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
        await self._db.with_tx(lambda tx: forget_locks_tx(tx, Millis(self._clock() - HOUR)))

    async def _take(self, key: str, holder: str) -> bool:
        """Take the lock when it is free; whether somebody had it. Raises what went wrong for whom we waited for."""
        waited_for = ""
        while not await self._try(key, holder, waited_for):
            held = await self._db.read(lambda tx: find_lock_tx(tx, key))
            while held is not None and held.failure is None and self._clock() < held.until:
                waited_for = held.holder
                await asyncio.sleep(LOOK_AGAIN)
                held = await self._db.read(lambda tx: find_lock_tx(tx, key))
            if held is not None and held.failure is not None and held.holder == waited_for:
                raise _error(held.failure)
        return waited_for != ""

    async def _try(self, key: str, holder: str, waited_for: str) -> bool:
        now = self._clock()
        until = Millis(now + LEASE)
        return await self._db.with_tx(
            lambda tx: take_lock_tx(tx, key, holder, waited_for=waited_for, until=until, now=now)
        )

    async def _renew(self, key: str, holder: str) -> None:
        async def renew(tx: Tx) -> None:
            await renew_lock_tx(tx, key, holder, until=Millis(self._clock() + LEASE))

        while True:
            await asyncio.sleep(LEASE / SECOND / 3)
            with suppress(Unavailable):
                await self._db.with_tx(renew)

    async def _leave(self, key: str, holder: str, failure: CallFailure | None) -> None:
        """A lock that cannot be left now runs out by itself."""
        with suppress(Unavailable):
            if failure is None:
                await self._db.with_tx(lambda tx: drop_lock_tx(tx, key, holder))
            else:
                until = Millis(self._clock() + FAILURE_SHOWN)
                await self._db.with_tx(lambda tx: fail_lock_tx(tx, key, holder, failure, until=until))


def _error(failure: CallFailure) -> SourceError:
    """The same error again."""
    kind = next((kind for kind in _kinds(SourceError) if kind.code == failure.code), SourceError)
    return kind(failure.message, status=failure.status, retry_after=failure.retry_after)


def _kinds(kind: type[SourceError]) -> Iterator[type[SourceError]]:
    yield kind
    for narrower in kind.__subclasses__():
        yield from _kinds(narrower)
