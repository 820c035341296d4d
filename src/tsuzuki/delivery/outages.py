"""Outages: alerts when a source breaks and when it works again, each sent once."""

from collections.abc import Callable
from typing import Final, NewType

import msgspec

from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.locks import lock_alerts_tx
from tsuzuki.delivery.fanout import NOTHING, Delivered, Reader, feed_readers_tx, series_readers_tx
from tsuzuki.model.ids import FeedId, SeriesId, SourceId, WatchId, show_id
from tsuzuki.model.secrets import mask_text
from tsuzuki.model.times import DAY, Millis
from tsuzuki.notifications.announcer import Recipient, notify_tx
from tsuzuki.notifications.policy import broken, healed
from tsuzuki.notifications.tasks import Message
from tsuzuki.shelves.events import EVENTS_WAKEUP, NewEvent, WatchChanged, add_events_tx, prune_events_tx

q = load_queries("tsuzuki.delivery")

OutageId = NewType("OutageId", int)

KEPT_EVENTS: Final = Millis(7 * DAY)
"""How long an event can be come back for."""
KEPT_OUTAGES: Final = Millis(90 * DAY)
"""How long it is remembered that something was broken."""
_CHUNK = 1_000


class Origin(msgspec.Struct, frozen=True):
    """What a watch looks at: a feed, or a series on a source."""

    watch_id: WatchId
    feed_id: FeedId | None
    series_id: SeriesId | None
    source_id: SourceId | None
    name: str


async def lock_origin_tx(tx: Tx, watch_id: WatchId) -> Origin:
    """The watch's origin; nobody else alerts of it until the end of the transaction. NotFound when it is gone."""
    origin = await tx.one(Origin, q.find_origin, watch_id=watch_id)
    if origin.source_id is not None:
        await lock_alerts_tx(tx, origin.source_id)
    return origin


async def outage_recipients_tx(tx: Tx, origin: Origin) -> list[Recipient]:
    """The channels that get a notice when this origin breaks or heals."""
    if origin.feed_id is not None:
        return await tx.many(Recipient, q.feed_recipients, feed_id=origin.feed_id)
    return await tx.many(
        Recipient, q.source_recipients, source_id=origin.source_id, series_id=origin.series_id, watch_id=origin.watch_id
    )


async def operator_recipients_tx(tx: Tx, name: str) -> list[Recipient]:
    """The operators' channels, for a notice on what has this name."""
    return await tx.many(Recipient, q.operator_recipients, name=name)


async def prune_outages_tx(tx: Tx, *, before: Millis, most: int) -> int:
    """Forget up to `most` outages that healed before then."""
    return await tx.run(q.prune_outages, before=before, most=most)


async def alert_broken_tx(tx: Tx, watch_id: WatchId, *, reason: str, now: Millis) -> Delivered:
    """Tell those who follow it that it broke; nothing while it is broken already."""
    origin = await lock_origin_tx(tx, watch_id)
    shown = mask_text(reason)
    outage = await tx.maybe(
        OutageId, q.open_outage, watch_id=origin.watch_id, source_id=origin.source_id, reason=shown, now=now
    )
    if outage is None:
        return NOTHING
    return await _alert_tx(tx, origin, f"outage-{outage}-broken", lambda name: broken(name, shown, now), reason=shown)


async def alert_healed_tx(tx: Tx, watch_id: WatchId, *, now: Millis) -> Delivered:
    """Tell those who follow it that it works again; nothing when it was not broken."""
    origin = await lock_origin_tx(tx, watch_id)
    outage = await tx.maybe(OutageId, q.close_outage, watch_id=origin.watch_id, now=now)
    if outage is None:
        return NOTHING
    return await _alert_tx(tx, origin, f"outage-{outage}-healed", lambda name: healed(name, now), reason=None)


async def alert_operators_tx(tx: Tx, name: str, about: str, *, reason: str, now: Millis) -> Delivered:
    """Notify operators that a source is no longer called; each channel gets one notice per `about`."""
    recipients = await operator_recipients_tx(tx, name)
    return Delivered(
        0, await notify_tx(tx, recipients, about, lambda name: broken(name, mask_text(reason), now), now=now)
    )


async def _alert_tx(
    tx: Tx, origin: Origin, about: str, word: Callable[[str], Message], *, reason: str | None
) -> Delivered:
    """Events for every shelf that follows, and sends for the channels that want to know."""
    message = word(origin.name)
    readers = await _readers_tx(tx, origin, message.at)
    await add_events_tx(tx, [_event(origin, reader, reason) for reader in readers], message.at)
    wakeups = await notify_tx(tx, await outage_recipients_tx(tx, origin), about, word, now=message.at)
    return Delivered(0, ((EVENTS_WAKEUP,) if readers else ()) + wakeups)


async def _readers_tx(tx: Tx, origin: Origin, now: Millis) -> list[Reader]:
    if origin.feed_id is not None:
        return await feed_readers_tx(tx, [origin.feed_id], now)
    return [] if origin.series_id is None else await series_readers_tx(tx, origin.series_id, now)


def _event(origin: Origin, reader: Reader, reason: str | None) -> NewEvent:
    changed = WatchChanged(
        kind="chapter" if origin.feed_id is None else "item",
        id=show_id(reader.shown_id),
        name=reader.name,
        is_broken=reason is not None,
        reason=reason or "",
    )
    return NewEvent(reader.shelf_id, changed)


async def prune(db: Database, now: Millis) -> int:
    """Forget old events and old outages; how many rows."""
    count = 0
    while done := await db.with_tx(lambda tx: prune_events_tx(tx, before=Millis(now - KEPT_EVENTS), most=_CHUNK)):
        count += done
    while done := await db.with_tx(lambda tx: prune_outages_tx(tx, before=Millis(now - KEPT_OUTAGES), most=_CHUNK)):
        count += done
    return count + await db.with_tx(lambda tx: tx.run(q.prune_bursts, before=Millis(now - DAY)))
