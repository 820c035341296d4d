"""What is remembered of failed sign-ins, and of the devices that are known."""

from tsuzuki.accounts.guard.policy import FailureRecord
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import FAILURES, check_order
from tsuzuki.model.ids import UserId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.accounts.guard")


async def look_at_guard_tx(tx: Tx, key: str) -> FailureRecord:
    """What is remembered of this key; nobody waits for it."""
    return await tx.maybe(FailureRecord, q.look_at_guard, key=key) or FailureRecord()


async def lock_failures_tx(tx: Tx, key: str, forget_at: Millis) -> FailureRecord:
    """The same, and nobody else changes it until this transaction ends."""
    check_order(tx, FAILURES, key)
    return await tx.one(FailureRecord, q.lock_failures, key=key, forget_at=forget_at)


async def save_guard_tx(tx: Tx, key: str, guard: FailureRecord, *, forget_at: Millis) -> None:
    """Remember this."""
    await tx.run(q.save_guard, key=key, recent=guard.recent, blocked_until=guard.blocked_until, forget_at=forget_at)


async def delete_old_guards_tx(tx: Tx, now: Millis) -> int:
    """Forget those with nothing left to remember; how many that were."""
    return await tx.run(q.delete_old_guards, now=now)


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
    """From now on every device of this person's is a stranger."""
    await tx.run(q.forget_devices, user_id=user_id)


async def delete_old_devices_tx(tx: Tx, before: Millis) -> int:
    """Forget those that nobody has signed in with since then; how many that were."""
    return await tx.run(q.delete_old_devices, before=before)
