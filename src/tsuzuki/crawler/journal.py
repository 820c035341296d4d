"""What a running job says: lines and counters, gathered and written together every moment, fenced by its lease."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from tsuzuki.crawler.notes import JobNotes
from tsuzuki.crawler.rows import BegunJob, JobLogLine
from tsuzuki.crawler.store import append_log_tx, move_job_tx
from tsuzuki.db import Database, Tx
from tsuzuki.model.errors import Unavailable
from tsuzuki.model.times import Millis

WRITE_EVERY = 0.25


class JobLog(JobNotes):
    """The log of one job and its counters."""

    def __init__(
        self,
        db: Database,
        job: BegunJob,
        clock: Callable[[], Millis],
        *,
        random_bytes: Callable[[int], bytes],
        written: Callable[[], None],
    ) -> None:
        """`written` is called after each commit."""
        super().__init__(job.pages_count)
        self._db = db
        self._job = job
        self._clock = clock
        self._random_bytes = random_bytes
        self._written = written
        self._turn = asyncio.Lock()

    async def write(self) -> None:
        """Write what was gathered. A job that is no longer ours stays as it is."""
        async with self._turn:
            lines, pages, errors = self.taken()
            if not (lines or pages or errors):
                return
            await self._db.with_tx(lambda tx: self._write_tx(tx, lines, pages, errors))
            self._written()

    async def write_rest_tx(self, tx: Tx) -> None:
        """The same, in the transaction that ends the job."""
        await self._write_tx(tx, *self.taken())

    async def _write_tx(self, tx: Tx, lines: list[JobLogLine], pages: int, errors: int) -> None:
        now, token = self._clock(), self._job.lease_token
        if pages or errors:
            await move_job_tx(tx, self._job, pages=pages, errors=errors, now=now)
        await append_log_tx(tx, self._job.id, lines, now=now, random_bytes=self._random_bytes, lease_token=token)

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Write every moment until the end of the block."""
        writing = asyncio.ensure_future(self._keep())
        try:
            yield
        finally:
            async with self._turn:  # what is being written is not undone
                writing.cancel()
            with suppress(asyncio.CancelledError):
                await writing

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(WRITE_EVERY)
            with suppress(Unavailable):  # what was taken then is lost; the end of the job is not
                await self.write()
