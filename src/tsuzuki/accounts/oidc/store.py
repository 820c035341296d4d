"""Sign-ins that went to the provider, remembered until they come back."""

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import UserId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.accounts.oidc")


class Flow(msgspec.Struct, frozen=True):
    """A sign-in that has gone to the provider and has not come back."""

    state: str
    nonce: str
    verifier: str
    next: str
    user_id: UserId | None


async def add_flow_tx(tx: Tx, key_hash: bytes, flow: Flow, *, expires_at: Millis) -> None:
    """It belongs to the browser that holds the key."""
    await tx.run(q.add_flow, key_hash=key_hash, expires_at=expires_at, **msgspec.structs.asdict(flow))


async def take_flow_tx(tx: Tx, key_hash: bytes, now: Millis) -> Flow | None:
    """Use it up; None when this browser began none, or too long ago."""
    return await tx.maybe(Flow, q.take_flow, key_hash=key_hash, now=now)


async def delete_old_flows_tx(tx: Tx, now: Millis) -> int:
    """Those that nobody came back from in time; how many rows that were."""
    return await tx.run(q.delete_old_flows, now=now)
