"""Locks of calls, remembered."""

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.catalogue.call_locks")


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
