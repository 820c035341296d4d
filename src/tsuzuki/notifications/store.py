"""Channels, and whom a notice concerns."""

from typing import Annotated, Any, NewType

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import PublicId, ShelfId, TenantId, UserId
from tsuzuki.model.secrets import CHANNEL, Sealed
from tsuzuki.model.times import Millis
from tsuzuki.notifications.policy import PROBE, rest
from tsuzuki.notifications.tasks import Notice

q = load_queries("tsuzuki.notifications")

ChannelId = NewType("ChannelId", int)


class Tellee(msgspec.Struct, frozen=True):
    """A channel that is to be told, and what its reader calls the thing."""

    channel_id: ChannelId
    channel_public_id: PublicId
    name: str


class NoticeSubject(msgspec.Struct, frozen=True):
    """What a notice is about."""

    title: str
    url: str | None
    number: str | None
    series_id: PublicId | None
    """Of a chapter or a series."""
    beginning: str
    """Of the text of an item that has no title."""


class StoredChannel(msgspec.Struct, frozen=True):
    """A channel as it is stored, its secrets in it: never to be shown like this."""

    id: ChannelId
    public_id: PublicId
    shelf_id: ShelfId
    kind: str
    name: str
    config: Annotated[dict[str, Any], Sealed(CHANNEL)]
    is_enabled: bool
    consecutive_failures: int
    rests_until: Millis | None
    last_sent_at: Millis | None
    last_failed_at: Millis | None
    last_error: str | None
    created_at: Millis
    updated_at: Millis


class NewChannel(msgspec.Struct, frozen=True, kw_only=True):
    """A channel to be added."""

    public_id: PublicId
    shelf_id: ShelfId
    kind: str
    name: str
    config: dict[str, Any]
    user_id: UserId | None
    """Who makes it, and has it until they lose the shelf; None for the shelf's own."""


# -- whom to tell


async def tellees_tx(tx: Tx, notice: Notice) -> list[Tellee]:
    """The channels of those who got an entry in that delivery and want to be told."""
    if notice.installment_id is None:
        if notice.kind == "item":
            return await tx.many(Tellee, q.items_tellees, id=notice.of_id, at=notice.at)
        return await tx.many(Tellee, q.chapters_tellees, id=notice.of_id, at=notice.at)
    if notice.kind == "item":
        return await tx.many(Tellee, q.item_tellees, id=notice.installment_id, at=notice.at)
    return await tx.many(Tellee, q.chapter_tellees, id=notice.installment_id, at=notice.at)


async def tenant_tellees_tx(tx: Tx, tenant_id: TenantId) -> list[Tellee]:
    """Every channel of a tenant's shelves that is on."""
    return await tx.many(Tellee, q.tenant_tellees, tenant_id=tenant_id)


async def subject_tx(tx: Tx, notice: Notice) -> NoticeSubject | None:
    """The installment, or for a flood what brought it; None when it is gone."""
    if notice.installment_id is None:
        if notice.kind == "item":
            return await tx.maybe(NoticeSubject, q.feed_subject, id=notice.of_id)
        return await tx.maybe(NoticeSubject, q.series_subject, id=notice.of_id)
    if notice.kind == "item":
        return await tx.maybe(NoticeSubject, q.item_subject, id=notice.installment_id)
    return await tx.maybe(NoticeSubject, q.chapter_subject, id=notice.installment_id)


async def tell_surge_tx(tx: Tx, notice: Notice, now: Millis) -> int:
    """How much a flood brought in all by now, which is when it is told."""
    count = await tx.maybe(int, q.tell_surge, kind=notice.kind, of_id=notice.of_id, at=notice.at, now=now)
    return notice.count if count is None else count


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


async def list_channels_tx(tx: Tx, shelf_id: ShelfId, user_id: UserId | None) -> list[StoredChannel]:
    """This person's on a shelf, and the shelf's own, by name."""
    return await tx.many(StoredChannel, q.list_channels, shelf_id=shelf_id, user_id=user_id)


async def count_channels_tx(tx: Tx, shelf_id: ShelfId) -> int:
    """How many a shelf has, whoever's they are."""
    return await tx.one(int, q.count_channels, shelf_id=shelf_id)


async def find_channel_tx(tx: Tx, shelf_id: ShelfId, user_id: UserId | None, public_id: PublicId) -> StoredChannel:
    """One of this person's on this shelf (I8); NotFound."""
    return await tx.one(StoredChannel, q.find_channel, shelf_id=shelf_id, user_id=user_id, public_id=public_id)


async def channel_to_tell_tx(tx: Tx, channel_id: int) -> StoredChannel | None:
    """The channel of a task; None when it is gone, or whose it is is locked out."""
    return await tx.maybe(StoredChannel, q.channel_to_tell, id=channel_id)


# -- how they fare


async def channel_worked_tx(tx: Tx, channel_id: ChannelId, now: Millis) -> None:
    """It was told something: its breaker closes."""
    await tx.run(q.channel_worked, id=channel_id, now=now)


async def channel_failed_tx(tx: Tx, channel_id: ChannelId, *, error: str, now: Millis) -> None:
    """Count a failure, and let the channel rest when there were too many in a row."""
    failures = await tx.maybe(int, q.channel_failed, id=channel_id, error=error, now=now)
    pause = rest(failures or 0)
    if pause is not None:
        await tx.run(q.let_rest, id=channel_id, until=now + pause)


async def claim_probe_tx(tx: Tx, channel_id: ChannelId, now: Millis) -> bool:
    """Whether we are the one that tries a channel whose rest is over."""
    return bool(await tx.run(q.claim_probe, id=channel_id, now=now, until=now + PROBE))
