"""One alert when a source breaks and one when it heals, in the transaction that finds it out."""

from collections.abc import Callable

from tsuzuki.db import Tx
from tsuzuki.delivery.fanout import NOTHING, Delivered, Reader, feed_readers_tx, series_readers_tx
from tsuzuki.delivery.notices.tasks import Message
from tsuzuki.delivery.notices.telling import tell_tx
from tsuzuki.delivery.notices.wording import broken, healed
from tsuzuki.delivery.outages.store import (
    Origin,
    close_outage_tx,
    lock_origin_tx,
    open_outage_tx,
    operator_tellees_tx,
    outage_tellees_tx,
)
from tsuzuki.model.ids import WatchId, show_id
from tsuzuki.model.secrets import mask_text
from tsuzuki.model.times import Millis
from tsuzuki.shelves.events import EVENTS_WAKEUP, NewEvent, WatchChanged, add_events_tx


async def alert_broken_tx(tx: Tx, watch_id: WatchId, *, reason: str, now: Millis) -> Delivered:
    """Tell those who follow it that it broke; nothing while it is broken already."""
    origin = await lock_origin_tx(tx, watch_id)
    shown = mask_text(reason)
    outage = await open_outage_tx(tx, origin, reason=shown, now=now)
    if outage is None:
        return NOTHING
    return await _tell_tx(tx, origin, f"outage-{outage}-broken", lambda name: broken(name, shown, now), reason=shown)


async def alert_healed_tx(tx: Tx, watch_id: WatchId, *, now: Millis) -> Delivered:
    """Tell those who follow it that it works again; nothing when it was not broken."""
    origin = await lock_origin_tx(tx, watch_id)
    outage = await close_outage_tx(tx, origin, now)
    if outage is None:
        return NOTHING
    return await _tell_tx(tx, origin, f"outage-{outage}-healed", lambda name: healed(name, now), reason=None)


async def alert_operators_tx(tx: Tx, name: str, about: str, *, reason: str, now: Millis) -> Delivered:
    """Tell those who run this server that a source is no longer called; `about` is told once to each channel."""
    tellees = await operator_tellees_tx(tx, name)
    return Delivered(0, await tell_tx(tx, tellees, about, lambda name: broken(name, mask_text(reason), now), now=now))


async def _tell_tx(
    tx: Tx, origin: Origin, about: str, word: Callable[[str], Message], *, reason: str | None
) -> Delivered:
    """Events for every shelf that follows, and sends for the channels that want to know."""
    message = word(origin.name)
    readers = await _readers_tx(tx, origin, message.at)
    await add_events_tx(tx, [_event(origin, reader, reason) for reader in readers], message.at)
    told = await tell_tx(tx, await outage_tellees_tx(tx, origin), about, word, now=message.at)
    return Delivered(0, ((EVENTS_WAKEUP,) if readers else ()) + told)


async def _readers_tx(tx: Tx, origin: Origin, now: Millis) -> list[Reader]:
    if origin.feed_id is not None:
        return await feed_readers_tx(tx, [origin.feed_id], now)
    return [] if origin.series_id is None else await series_readers_tx(tx, origin.series_id)


def _event(origin: Origin, reader: Reader, reason: str | None) -> NewEvent:
    changed = WatchChanged(
        kind="chapter" if origin.feed_id is None else "item",
        id=show_id(reader.shown_id),
        name=reader.name,
        is_broken=reason is not None,
        reason=reason or "",
    )
    return NewEvent(reader.shelf_id, changed)
