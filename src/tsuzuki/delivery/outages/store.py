"""Outages, and whom they concern."""

from typing import NewType

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import lock_alerts_tx
from tsuzuki.delivery.notices.store import Tellee
from tsuzuki.model.ids import FeedId, SeriesId, SourceId, WatchId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.delivery.outages")

OutageId = NewType("OutageId", int)


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


async def open_outage_tx(tx: Tx, origin: Origin, *, reason: str, now: Millis) -> OutageId | None:
    """None when the watch is broken already."""
    return await tx.maybe(
        OutageId, q.open_outage, watch_id=origin.watch_id, source_id=origin.source_id, reason=reason, now=now
    )


async def close_outage_tx(tx: Tx, origin: Origin, now: Millis) -> OutageId | None:
    """None when it was not broken."""
    return await tx.maybe(OutageId, q.close_outage, watch_id=origin.watch_id, now=now)


async def outage_tellees_tx(tx: Tx, origin: Origin) -> list[Tellee]:
    """The channels to be told that this origin broke or healed."""
    if origin.feed_id is not None:
        return await tx.many(Tellee, q.feed_tellees, feed_id=origin.feed_id)
    return await tx.many(
        Tellee, q.source_tellees, source_id=origin.source_id, series_id=origin.series_id, watch_id=origin.watch_id
    )


async def operator_tellees_tx(tx: Tx, name: str) -> list[Tellee]:
    """The channels of those who run this server, to be told of what has this name."""
    return await tx.many(Tellee, q.operator_tellees, name=name)


async def prune_outages_tx(tx: Tx, *, before: Millis, most: int) -> int:
    """Forget up to `most` outages that healed before then."""
    return await tx.run(q.prune_outages, before=before, most=most)
