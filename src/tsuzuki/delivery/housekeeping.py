"""What delivery no longer needs, forgotten in small transactions."""

from typing import Final

from tsuzuki.db import Database, load_queries
from tsuzuki.delivery.outages import prune_outages_tx
from tsuzuki.model.times import DAY, Millis
from tsuzuki.shelves.events import prune_events_tx

q = load_queries("tsuzuki.delivery")

KEPT_EVENTS: Final = Millis(7 * DAY)
"""How long an event can be come back for."""

KEPT_OUTAGES: Final = Millis(90 * DAY)
"""How long it is remembered that something was broken."""

_CHUNK = 1_000


async def prune(db: Database, now: Millis) -> int:
    """Forget old events and old outages; how many rows."""
    count = 0
    while done := await db.with_tx(lambda tx: prune_events_tx(tx, before=Millis(now - KEPT_EVENTS), most=_CHUNK)):
        count += done
    while done := await db.with_tx(lambda tx: prune_outages_tx(tx, before=Millis(now - KEPT_OUTAGES), most=_CHUNK)):
        count += done
    return count + await db.with_tx(lambda tx: tx.run(q.prune_bursts, before=Millis(now - DAY)))
