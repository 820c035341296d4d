"""Queries on channels."""

from typing import Any

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import PublicId, ShelfId, UserId
from tsuzuki.model.times import Millis
from tsuzuki.notifications.kinds.base import ChannelId, StoredChannel
from tsuzuki.notifications.policy import PROBE, breaker_pause

q = load_queries("tsuzuki.notifications")


class NewChannel(msgspec.Struct, frozen=True, kw_only=True):
    """A channel to be added."""

    public_id: PublicId
    shelf_id: ShelfId
    kind: str
    name: str
    config: dict[str, Any]
    user_id: UserId | None
    """Who makes it, and has it until they lose the shelf; None for the shelf's own."""


# -- channels


async def add_channel_tx(tx: Tx, new: NewChannel, now: Millis) -> StoredChannel:
    """A new channel; UniqueViolation when the shelf has one of this name."""
    sealed = msgspec.structs.replace(new, config=tx.vault.seal_channel(new.config))
    return await tx.one(StoredChannel, q.add_channel, **msgspec.structs.asdict(sealed), now=now)


async def change_channel_tx(tx: Tx, channel: StoredChannel, now: Millis) -> StoredChannel:
    """Store its name, config and whether it is enabled; its failures are forgotten."""
    config = tx.vault.seal_channel(channel.config)
    values = {"name": channel.name, "config": config, "is_enabled": channel.is_enabled}
    return await tx.one(StoredChannel, q.change_channel, id=channel.id, **values, now=now)


async def remove_channel_tx(tx: Tx, shelf_id: ShelfId, user_id: UserId | None, public_id: PublicId) -> bool:
    """False when there was none."""
    return bool(await tx.run(q.remove_channel, shelf_id=shelf_id, user_id=user_id, public_id=public_id))


async def find_channel_tx(tx: Tx, shelf_id: ShelfId, user_id: UserId | None, public_id: PublicId) -> StoredChannel:
    """One of this person's on this shelf (I8), or NotFound."""
    return await tx.one(StoredChannel, q.find_channel, shelf_id=shelf_id, user_id=user_id, public_id=public_id)


async def channel_to_notify_tx(tx: Tx, channel_id: int) -> StoredChannel | None:
    """The channel of a task; None when it is gone, or whose it is is locked out."""
    return await tx.maybe(StoredChannel, q.channel_to_notify, id=channel_id)


async def forget_channel_tx(tx: Tx, channel_id: ChannelId) -> None:
    """Remove one that removed itself."""
    await tx.run(q.forget_channel, id=channel_id)


# -- how they fare


async def channel_worked_tx(tx: Tx, channel_id: ChannelId, now: Millis) -> None:
    """A message was sent: close the channel's breaker."""
    await tx.run(q.channel_worked, id=channel_id, now=now)


async def channel_failed_tx(tx: Tx, channel_id: ChannelId, *, error: str, now: Millis) -> None:
    """Count a failure, and let the channel rest when there were too many in a row."""
    failures = await tx.maybe(int, q.channel_failed, id=channel_id, error=error, now=now)
    pause = breaker_pause(failures or 0)
    if pause is not None:
        await tx.run(q.pause_channel, id=channel_id, until=now + pause)


async def claim_probe_tx(tx: Tx, channel_id: ChannelId, now: Millis) -> bool:
    """Whether we are the one that tries a channel whose rest is over."""
    return bool(await tx.run(q.claim_probe, id=channel_id, now=now, until=now + PROBE))
