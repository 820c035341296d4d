"""What happens to a source's jobs when the source goes (R51)."""

from tsuzuki.crawler.store import cancel_queued_tx, has_running_tx
from tsuzuki.db import Tx
from tsuzuki.model.errors import Conflict
from tsuzuki.model.ids import SourceId
from tsuzuki.model.times import Millis
from tsuzuki.queue.store import cancel_tx
from tsuzuki.queue.tasks import TaskId

_RUNNING = "Cannot delete a source with running jobs. Cancel all jobs first."


async def release_source_tx(tx: Tx, source_id: SourceId, now: Millis) -> None:
    """Cancel what waits; Conflict while something runs. Finished jobs keep the source's name themselves."""
    if await has_running_tx(tx, source_id):
        raise Conflict(_RUNNING)
    for job in await cancel_queued_tx(tx, source_id, now):
        await cancel_tx(tx, TaskId(job.task_id), now=now)
