"""The limit on failed sign-ins, kept in the database so that all processes share it (SEC-37)."""

from collections.abc import Mapping

import msgspec

from tsuzuki.accounts.credentials import hash_of
from tsuzuki.accounts.policy import (
    OF_ADDRESS,
    OF_NAME,
    FailureLimits,
    FailureRecord,
    attempted,
    forget_at,
    forgiven,
    neighbourhood,
    retry_after,
    wait,
)
from tsuzuki.accounts.types import Clock
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.locks import FAILURES, check_order
from tsuzuki.model.errors import TooManyRequests
from tsuzuki.model.ids import UserId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.accounts.sign_in_limits")


async def lock_failures_tx(tx: Tx, key: str, forget_at: Millis) -> FailureRecord:
    """The failures of this key, locked until the transaction ends."""
    check_order(tx, FAILURES, key)
    return await tx.one(FailureRecord, q.lock_failures, key=key, forget_at=forget_at)


# -- devices


async def is_known_device_tx(tx: Tx, key_hash: bytes, username: str, *, since: Millis) -> bool:
    """Whether this person has signed in with this device since then."""
    return await tx.one(int, q.is_known_device, key_hash=key_hash, username=username, since=since) > 0


async def remember_device_tx(
    tx: Tx, user_id: UserId, key_hash: bytes, *, old_hash: bytes | None, most: int, now: Millis
) -> None:
    """Know the device by a new key: for this person, who has `most`, and for whoever was known by its old one."""
    if old_hash is not None:
        await tx.run(q.rename_device, old_hash=old_hash, key_hash=key_hash)
    await tx.run(q.remember_device, user_id=user_id, key_hash=key_hash, now=now)
    await tx.run(q.delete_surplus_devices, user_id=user_id, most=most)


async def forget_devices_tx(tx: Tx, user_id: UserId) -> None:
    """Forget every known device of this person."""
    await tx.run(q.forget_devices, user_id=user_id)


async def delete_old_devices_tx(tx: Tx, before: Millis) -> int:
    """Forget devices that nobody has signed in with since then; how many."""
    return await tx.run(q.delete_old_devices, before=before)


REFUSAL = "Too many failed attempts. Try again later."


class SignInAttempt(msgspec.Struct, frozen=True):
    """A sign-in that is under way: it counts as failed until it is forgiven."""

    budgets: Mapping[str, FailureLimits]
    """What it is counted under, each with how much that has."""
    at: Millis


class Limiter:
    """Lets an attempt begin, or says how long to wait.

    A stranger's is counted for the address at that name, for the address, and for the name. A device that its owner has
    signed in with before has guesses of its own, whatever strangers do.
    """

    def __init__(
        self, db: Database, clock: Clock, limits: FailureLimits, refusal: str = REFUSAL, *, scope: str = ""
    ) -> None:
        """`scope` keeps what is counted apart from others: whoever is refused in one is not in another."""
        self._db = db
        self._scope = scope
        self._clock = clock
        self._limits = limits
        self._refusal = refusal

    async def begin(self, address: str, name: str, *, device: bytes | None = None) -> SignInAttempt:
        """Count an attempt on `name` from `address`; TooManyRequests when one of its budgets is used up.

        `device` is the hash of a device's key that is known to be this name's.
        """
        return await self._begin(self._budgets(address, name, device))

    async def begin_alone(self, what: str) -> SignInAttempt:
        """Count an attempt for this and nothing else."""
        return await self._begin({f"alone:{hash_of(what).hex()}": self._limits})

    async def begin_at(self, address: str) -> SignInAttempt:
        """Count an attempt of this address on nobody in particular."""
        key = f"{self._scope}address:{hash_of(neighbourhood(address)).hex()}"
        return await self._begin({key: self._limits.times(OF_ADDRESS)})

    async def _begin(self, budgets: Mapping[str, FailureLimits]) -> SignInAttempt:
        now = self._clock()
        self._refuse(await self._db.read(lambda tx: self._wait_tx(tx, budgets, now)))  # the blocked cost no write
        self._refuse(await self._db.with_tx(lambda tx: self._begin_tx(tx, budgets, now)))
        return SignInAttempt(budgets, now)

    async def forgive(self, attempt: SignInAttempt) -> None:
        """Forget the failures of this address and name: the password was right."""
        await self._db.with_tx(lambda tx: self._forgive_tx(tx, attempt))

    async def forget_old(self) -> int:
        """Delete counts that no longer matter; how many rows."""
        return await self._db.with_tx(lambda tx: tx.run(q.delete_old_guards, now=self._clock()))

    async def _wait_tx(self, tx: Tx, budgets: Mapping[str, FailureLimits], now: Millis) -> Millis:
        # What is remembered of this key; nobody waits for it.
        return max(
            [
                wait(await tx.maybe(FailureRecord, q.read_failures, key=key) or FailureRecord(), now, limits)
                for key, limits in budgets.items()
            ]
        )

    async def _begin_tx(self, tx: Tx, budgets: Mapping[str, FailureLimits], now: Millis) -> Millis:
        guards = await self._lock_failures_tx(tx, budgets, now)
        delay = max(wait(guard, now, budgets[key]) for key, guard in guards.items())
        if not delay:
            for key, guard in guards.items():
                await self._save_tx(tx, key, attempted(guard, now, budgets[key]), now=now)
        return delay

    async def _forgive_tx(self, tx: Tx, attempt: SignInAttempt) -> None:
        now = self._clock()
        for key, guard in (await self._lock_failures_tx(tx, attempt.budgets, now)).items():
            await self._save_tx(tx, key, forgiven(guard, attempt.at, attempt.budgets[key]), now=now)

    async def _lock_failures_tx(
        self, tx: Tx, budgets: Mapping[str, FailureLimits], now: Millis
    ) -> dict[str, FailureRecord]:
        """Lock the counts in one order, or two attempts could deadlock."""
        return {key: await lock_failures_tx(tx, key, Millis(now + self._limits.window)) for key in sorted(budgets)}

    async def _save_tx(self, tx: Tx, key: str, guard: FailureRecord, *, now: Millis) -> None:
        await tx.run(
            q.save_guard,
            key=key,
            recent=guard.recent,
            blocked_until=guard.blocked_until,
            forget_at=forget_at(guard, now, self._limits),
        )

    def _refuse(self, delay: Millis) -> None:
        if delay:
            raise TooManyRequests(self._refusal, retry_after(delay))

    def _budgets(self, address: str, name: str, device: bytes | None) -> dict[str, FailureLimits]:
        if device is not None:
            return {f"device:{device.hex()}": self._limits}
        place = neighbourhood(address)
        return {
            f"{self._scope}pair:{hash_of(f'{place} {name}').hex()}": self._limits,
            f"{self._scope}address:{hash_of(place).hex()}": self._limits.times(OF_ADDRESS),
            f"{self._scope}name:{hash_of(name).hex()}": self._limits.times(OF_NAME),
        }
