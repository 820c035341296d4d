"""What the records of crawls need done now and then."""

from tsuzuki.crawler.store import forget_tallies_tx, forget_uneventful_tx
from tsuzuki.db import Database
from tsuzuki.model.times import DAY, Millis

CHUNK = 1_000
KEPT = DAY
"""How long a scheduled poll that says nothing is kept."""
TALLIES_KEPT = Millis(8 * DAY)
"""A day longer than health looks back."""


async def forget_uneventful(db: Database, now: Millis) -> int:
    """Forget scheduled polls of yesterday that found nothing new and met no error; how many. Their tally stays."""
    before = Millis(now - KEPT)
    total = 0
    while gone := await db.with_tx(lambda tx: forget_uneventful_tx(tx, before=before, most=CHUNK)):
        total += gone
    await db.with_tx(lambda tx: forget_tallies_tx(tx, before=Millis(now - TALLIES_KEPT)))
    return total
