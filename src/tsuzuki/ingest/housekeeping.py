"""What ingest no longer needs, forgotten in small transactions."""

from typing import Final

from tsuzuki.db import Database
from tsuzuki.ingest.store import prune_tombstones_tx
from tsuzuki.model.times import DAY, Millis

KEPT_TOMBSTONES: Final = Millis(400 * DAY)
"""REL-39d: how long an item that was pruned may be gone from its feed and still be known when it comes back."""

_CHUNK = 1_000


async def forget_tombstones(db: Database, now: Millis) -> int:
    """Forget tombstones of items that no poll has seen for so long; how many."""
    count = 0
    while done := await db.with_tx(
        lambda tx: prune_tombstones_tx(tx, before=Millis(now - KEPT_TOMBSTONES), most=_CHUNK)
    ):
        count += done
    return count
