"""Events, remembered."""

from collections.abc import Iterable

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.delivery.events.news import NewEvent
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.delivery.events")


async def add_events_tx(tx: Tx, events: Iterable[NewEvent], now: Millis) -> int:
    """Write events with what they tell of; how many. Ring `EVENTS_BELL` after the commit."""
    rows = [(event.shelf_id, event.kind, msgspec.json.encode(event.news).decode()) for event in events]
    return await tx.run(q.add_events, rows=rows, now=now) if rows else 0
