"""What a running job says: lines and counters, gathered and written together every moment, fenced by its lease."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from tsuzuki.accounts.audit.recording import masked
from tsuzuki.crawl.rows import BegunJob, Level, LogLine
from tsuzuki.crawl.store import append_log_tx, move_job_tx
from tsuzuki.db import Database, Tx
from tsuzuki.model.errors import RateLimited, SourceError, Unavailable
from tsuzuki.model.fetching import Ask, Reply
from tsuzuki.model.secrets import mask_text
from tsuzuki.model.times import SECOND, Millis

WRITE_EVERY = 0.25


class Journal:
    """The log of one job and its counters. Secrets are masked before anything is kept (R47)."""

    def __init__(
        self,
        db: Database,
        job: BegunJob,
        clock: Callable[[], Millis],
        *,
        dice: Callable[[int], bytes],
        written: Callable[[], None],
    ) -> None:
        """`written` is called after each commit."""
        self._db = db
        self._job = job
        self._clock = clock
        self._dice = dice
        self._written = written
        self._lines: list[LogLine] = []
        self._pages = 0
        self._errors = 0
        self._turn = asyncio.Lock()
        self.pages_count = 0
        """What was fetched since this worker began."""
        self.error_count = 0

    def say(self, level: Level, message: str, **meta: Any) -> None:
        """Remember a line."""
        self._lines.append(LogLine(level, mask_text(message), masked(meta)))

    def count(self, *, pages: int = 0, errors: int = 0) -> None:
        """Let the job's counters move."""
        self._pages += pages
        self._errors += errors
        self.pages_count += pages
        self.error_count += errors

    def overhear(self, ask: Ask, outcome: Reply | SourceError, seconds: float, /) -> None:
        """Every call that the job makes."""
        meta: dict[str, Any] = {"url": ask.url, "durationms": round(seconds * 1000)}
        if isinstance(outcome, Reply):
            self.say("debug", f"{ask.method} {ask.url}", **meta, httpstatus=outcome.status)
            return
        self.count(errors=1)
        if outcome.status is not None:
            meta["httpstatus"] = outcome.status
        message = str(outcome)
        if outcome.retry_after is not None:
            meta["retryafter"] = outcome.retry_after // SECOND
        if isinstance(outcome, RateLimited):
            message = "Rate limit hit" + (f" — retrying after {meta['retryafter']}s" if "retryafter" in meta else "")
        self.say("warn", message, **meta)

    async def write(self) -> None:
        """Write what was gathered. A job that is no longer ours stays as it is."""
        async with self._turn:
            lines, pages, errors = self._taken()
            if not (lines or pages or errors):
                return
            await self._db.with_tx(lambda tx: self._write_tx(tx, lines, pages, errors))
            self._written()

    async def write_rest_tx(self, tx: Tx) -> None:
        """The same, in the transaction that ends the job."""
        await self._write_tx(tx, *self._taken())

    async def _write_tx(self, tx: Tx, lines: list[LogLine], pages: int, errors: int) -> None:
        now, token = self._clock(), self._job.lease_token
        if pages or errors:
            await move_job_tx(tx, self._job, pages=pages, errors=errors, now=now)
        await append_log_tx(tx, self._job.id, lines, now=now, dice=self._dice, lease_token=token)

    def _taken(self) -> tuple[list[LogLine], int, int]:
        taken = self._lines, self._pages, self._errors
        self._lines, self._pages, self._errors = [], 0, 0
        return taken

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
