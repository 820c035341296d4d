"""The sign-in limit: kept in the database, so that it holds across processes and without Redis (SEC-37)."""

import msgspec

from tsuzuki.accounts.guard.policy import (
    Guard,
    Limits,
    attempted,
    forget_at,
    forgiven,
    neighbourhood,
    retry_after,
    wait,
)
from tsuzuki.accounts.guard.store import delete_old_guards_tx, hold_guard_tx, look_at_guard_tx, save_guard_tx
from tsuzuki.accounts.keys import hash_of
from tsuzuki.accounts.nouns import Clock
from tsuzuki.db import Database, Tx
from tsuzuki.model.errors import TooManyRequests
from tsuzuki.model.times import Millis

REFUSAL = "Too many attempts have failed. Try again later."


class Attempt(msgspec.Struct, frozen=True):
    """A sign-in that is under way: it counts as failed until it is forgiven."""

    keys: tuple[str, ...]
    at: Millis


class Limiter:
    """Lets an attempt begin, or says how long to wait. Each is counted for its address and for its name."""

    def __init__(self, db: Database, clock: Clock, limits: Limits, refusal: str = REFUSAL) -> None:
        self._db = db
        self._clock = clock
        self._limits = limits
        self._refusal = refusal

    async def begin(self, address: str, name: str) -> Attempt:
        """Count an attempt on `name` from `address`; TooManyRequests when either is blocked."""
        now = self._clock()
        keys = _keys(address, name)
        self._refuse(await self._db.read(lambda tx: self._look_tx(tx, keys, now)))  # the blocked cost no write
        self._refuse(await self._db.with_tx(lambda tx: self._begin_tx(tx, keys, now)))
        return Attempt(keys, now)

    async def forgive(self, attempt: Attempt) -> None:
        """The attempt was right."""
        await self._db.with_tx(lambda tx: self._forgive_tx(tx, attempt))

    async def forget_old(self) -> int:
        """Delete what is of no more use; how many rows that were."""
        return await self._db.with_tx(lambda tx: delete_old_guards_tx(tx, self._clock()))

    async def _look_tx(self, tx: Tx, keys: tuple[str, ...], now: Millis) -> Millis:
        return max([wait(await look_at_guard_tx(tx, key), now, self._limits) for key in keys])

    async def _begin_tx(self, tx: Tx, keys: tuple[str, ...], now: Millis) -> Millis:
        guards = await self._hold_tx(tx, keys, now)
        delay = max(wait(guard, now, self._limits) for guard in guards.values())
        if not delay:
            for key, guard in guards.items():
                await self._save_tx(tx, key, attempted(guard, now, self._limits), now=now)
        return delay

    async def _forgive_tx(self, tx: Tx, attempt: Attempt) -> None:
        now = self._clock()
        for key, guard in (await self._hold_tx(tx, attempt.keys, now)).items():
            await self._save_tx(tx, key, forgiven(guard, attempt.at, self._limits), now=now)

    async def _hold_tx(self, tx: Tx, keys: tuple[str, ...], now: Millis) -> dict[str, Guard]:
        """Always in the same order, or two attempts could wait for each other."""
        return {key: await hold_guard_tx(tx, key, Millis(now + self._limits.window)) for key in sorted(keys)}

    async def _save_tx(self, tx: Tx, key: str, guard: Guard, *, now: Millis) -> None:
        await save_guard_tx(tx, key, guard, forget_at=forget_at(guard, now, self._limits))

    def _refuse(self, delay: Millis) -> None:
        if delay:
            raise TooManyRequests(self._refusal, retry_after(delay))


def _keys(address: str, name: str) -> tuple[str, ...]:
    return f"address:{hash_of(neighbourhood(address)).hex()}", f"name:{hash_of(name).hex()}"
