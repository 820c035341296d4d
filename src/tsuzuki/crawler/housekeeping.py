"""What the records of crawls need done now and then."""

from tsuzuki.crawler.store import (
    add_write_tx,
    cancel_queued_tx,
    count_writes_tx,
    forget_tallies_tx,
    forget_uneventful_tx,
    has_running_tx,
)
from tsuzuki.db import Database, Tx
from tsuzuki.model.errors import Conflict
from tsuzuki.model.ids import SourceId
from tsuzuki.model.times import DAY, Millis
from tsuzuki.queue.tasks import TaskId, cancel_tx

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


class CrawlerWrites:
    """Writes of any process to what the crawler's answers show."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def count(self) -> int:
        """Until now."""
        return await self._db.read(count_writes_tx)

    async def add(self) -> None:
        """Once more; after the commit of what was written."""
        await self._db.with_tx(add_write_tx)


_RUNNING = "Cannot delete a source with running jobs. Cancel all jobs first."


async def release_source_tx(tx: Tx, source_id: SourceId, now: Millis) -> None:
    """Cancel what waits; Conflict while something runs. Finished jobs keep the source's name themselves."""
    if await has_running_tx(tx, source_id):
        raise Conflict(_RUNNING)
    for job in await cancel_queued_tx(tx, source_id, now):
        await cancel_tx(tx, TaskId(job.task_id), now=now)
