"""What is remembered of failed sign-ins, by address and by name."""

from tsuzuki.accounts.guard.policy import Guard
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.accounts.guard")


async def look_at_guard_tx(tx: Tx, key: str) -> Guard:
    """What is remembered of this key; nobody waits for it."""
    return await tx.maybe(Guard, q.look_at_guard, key=key) or Guard()


async def hold_guard_tx(tx: Tx, key: str, forget_at: Millis) -> Guard:
    """The same, and nobody else changes it until this transaction ends."""
    return await tx.one(Guard, q.hold_guard, key=key, forget_at=forget_at)


async def save_guard_tx(tx: Tx, key: str, guard: Guard, *, forget_at: Millis) -> None:
    """Remember this."""
    await tx.run(q.save_guard, key=key, recent=guard.recent, blocked_until=guard.blocked_until, forget_at=forget_at)


async def delete_old_guards_tx(tx: Tx, now: Millis) -> int:
    """Forget those with nothing left to remember; how many that were."""
    return await tx.run(q.delete_old_guards, now=now)
