"""A job as it goes: its status and its log, live."""

from collections.abc import AsyncGenerator

from tsuzuki.coord.wakeup import Wakeup
from tsuzuki.crawler.rows import OVER, Job, JobLogRow, LogPlace
from tsuzuki.crawler.service import job_tx
from tsuzuki.crawler.store import list_log_tx
from tsuzuki.crawler.tasks import JOB_WAKEUP
from tsuzuki.db import Database, Tx
from tsuzuki.model.ids import PublicId

_PAGE = 500
_FLOOR = 1.0
"""Without a wake-up it is looked at so often."""
_SILENCE = 15
"""After so many looks without news, a sign of life."""


class Follower:
    """Follows jobs."""

    def __init__(self, db: Database, wakeup: Wakeup) -> None:
        self._db = db
        self._wakeup = wakeup
        self._is_closed = False

    def close(self) -> None:
        """End every stream within a second: the process stops, and whoever listens comes back elsewhere."""
        self._is_closed = True
        self._wakeup.wake(JOB_WAKEUP)

    async def follow(self, public_id: PublicId, after: LogPlace) -> AsyncGenerator[Job | JobLogRow | None, None]:
        """Every line from `after` on and the job whenever it changed, until it is over; None is a sign of life."""
        seen: Job | None = None
        silent = 0
        with self._wakeup.listen(JOB_WAKEUP) as listener:
            while not self._is_closed:
                job, lines = await self._look(public_id, after)
                for line in lines:
                    after = LogPlace(line.created_at, line.id)
                    yield line
                if len(lines) == _PAGE:
                    continue
                silent = 0 if lines or job != seen else silent + 1
                if job != seen:
                    seen = job
                    yield job
                if job.status in OVER:
                    return
                if silent >= _SILENCE:
                    silent = 0
                    yield None
                await listener.wait(_FLOOR)

    async def _look(self, public_id: PublicId, after: LogPlace) -> tuple[Job, list[JobLogRow]]:
        """The job first: when it is over, all its lines are there."""

        async def look(tx: Tx) -> tuple[Job, list[JobLogRow]]:
            job = await job_tx(tx, public_id)
            return job, await list_log_tx(tx, job.id, after=after, level=None, most=_PAGE)

        return await self._db.read(look)
