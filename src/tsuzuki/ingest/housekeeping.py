"""What ingest no longer needs, forgotten in small transactions."""

from functools import partial
from typing import Final

from tsuzuki.db import Database
from tsuzuki.ingest.detached.store import drop_unheld_tx, next_detached_tx
from tsuzuki.ingest.store import prune_item_tombstones_tx, prune_tombstones_tx
from tsuzuki.model.ids import ItemId
from tsuzuki.model.times import DAY, Millis

KEPT_TOMBSTONES: Final = Millis(400 * DAY)
"""REL-39d: how long it is remembered that a shelf had an item which its feed has not brought, and that retention
removed an item which its feed no longer lists. Longer than a year: some publishers list the same things every year."""
TOUCHED: Final = Millis(30 * DAY)
"""How exactly it is known when an item that retention removed was last listed."""

_CHUNK = 1_000


async def forget_tombstones(db: Database, now: Millis) -> int:
    """Forget tombstones that are that old; how many."""
    count = 0
    while done := await db.with_tx(
        lambda tx: prune_tombstones_tx(tx, before=Millis(now - KEPT_TOMBSTONES), most=_CHUNK)
    ):
        count += done
    before = Millis(now - KEPT_TOMBSTONES)
    while done := await db.with_tx(
        lambda tx: prune_item_tombstones_tx(tx, before=before, touched=TOUCHED, most=_CHUNK)
    ):
        count += done
    return count


async def forget_unheld(db: Database) -> int:
    """Forget items that no feed holds and no shelf has any more; how many."""
    count, after = 0, ItemId(0)
    while items := await db.read(partial(next_detached_tx, after=after, most=_CHUNK)):
        count += await db.with_tx(partial(drop_unheld_tx, items=items))
        after = items[-1]
    return count
