"""R102: of all processes that share a database one calls a source for a cold key, and the others wait for it."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress

from tsuzuki.catalogue.call_locks.store import (
    CallFailure,
    drop_lock_tx,
    fail_lock_tx,
    find_lock_tx,
    forget_locks_tx,
    renew_lock_tx,
    take_lock_tx,
)
from tsuzuki.db import Database, Tx
from tsuzuki.model.errors import SourceError, Unavailable
from tsuzuki.model.times import HOUR, SECOND, Millis

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
