"""What a running job says: lines and counters, gathered and written together every moment, fenced by its lease."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from tsuzuki.accounts.audit import masked
from tsuzuki.catalogue.calls import SourceCall, source_call
from tsuzuki.connectors.registry import Registry
from tsuzuki.coord.wakeup import AfterCommit
from tsuzuki.crawler.store import append_log_tx, move_job_tx
from tsuzuki.crawler.types import BegunJob, JobLogLine, Level
from tsuzuki.db import Database, Tx
from tsuzuki.ingest.chapters import ReleaseFound
from tsuzuki.model.errors import RateLimited, SourceError, Unavailable
from tsuzuki.model.numbers import number_key
from tsuzuki.model.requests import Ask, Reply
from tsuzuki.model.secrets import mask_text
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.polling.driver import Driver, FolderOf
from tsuzuki.sources.types import Source

JOB_WAKEUP = "crawl-job"
"""Woken when a job has moved or said something."""


class JobNotes:
    """Lines in their order, and how much was fetched and failed; secrets are masked before anything is kept."""

    def __init__(self, pages_count: int = 0) -> None:
        """`pages_count` is what was fetched before, by a worker that died."""
        self._lines: list[JobLogLine] = []
        self._pages = 0
        self._errors = 0
        self.pages_count = pages_count
        """In all."""
        self.error_count = 0
        """Since this crawl was begun or gone on with."""

    def say(self, level: Level, message: str, **meta: Any) -> None:
        """Add a line to the job's log."""
        self._lines.append(JobLogLine(level, mask_text(message), masked(meta)))

    def count(self, *, pages: int = 0, errors: int = 0) -> None:
        """Add to the job's counters."""
        self._pages += pages
        self._errors += errors
        self.pages_count += pages
        self.error_count += errors

    def taken(self) -> tuple[list[JobLogLine], int, int]:
        """Lines, pages and errors since this was last asked."""
        taken = self._lines, self._pages, self._errors
        self._lines, self._pages, self._errors = [], 0, 0
        return taken

    # -- what every crawl says

    def on_call(self, ask: Ask, outcome: Reply | SourceError, seconds: float, /) -> None:
        """A call that was made."""
        for status, wait in outcome.retried:
            seconds_asked = -(-wait // SECOND)
            said = f"Rate limit hit — retrying after {seconds_asked}s"
            self.say("warn", said, url=ask.url, httpstatus=status, retryafter=seconds_asked)
        meta: dict[str, Any] = {"url": ask.url, "durationms": round(seconds * 1000)}
        if isinstance(outcome, Reply):
            self.say("debug", f"{ask.method} {ask.url}", **meta, httpstatus=outcome.status)
            return
        self.count(errors=1)
        if outcome.status is not None:
            meta["httpstatus"] = outcome.status
        message = str(outcome)
        if outcome.retry_after is not None:
            meta["retryafter"] = -(-outcome.retry_after // SECOND)
        if isinstance(outcome, RateLimited):
            message = f"Rate limit hit, not tried again: {message}"
        self.say("warn", message, **meta)

    def found(self, releases: Sequence[ReleaseFound], url: str) -> None:
        """Chapters that are new or changed."""
        self.count(pages=len(releases))
        count = len(releases)
        said = f"Found {count} new chapter{'s' if count > 1 else ''}" if count else "Found no new chapters"
        numbers = [each.found.number for each in releases if each.found.number is not None]
        shown = [int(number) if "." not in number_key(number) else float(number) for number in numbers]
        self.say("info", said, url=url, chapternumbers=shown)

    def end(self, error: str | None, *, took: Millis) -> None:
        """The last line; a failure counts at least one error."""
        if error is None:
            self.say("info", "Job completed successfully", pagescount=self.pages_count, durationms=took)
            return
        if not self.error_count:
            self.count(errors=1)
        self.say("error", f"Job failed: {error}", pagescount=self.pages_count, durationms=took)


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
        after_commit: AfterCommit,
    ) -> None:
        super().__init__(job.pages_count)
        self._db = db
        self._job = job
        self._clock = clock
        self._random_bytes = random_bytes
        self._after_commit = after_commit
        self._turn = asyncio.Lock()

    async def write(self) -> None:
        """Write what was gathered. A job that is no longer ours stays as it is."""
        async with self._turn:
            lines, pages, errors = self.taken()
            if not (lines or pages or errors):
                return
            await self._db.with_tx(lambda tx: self._write_tx(tx, lines, pages, errors))
            self._after_commit(JOB_WAKEUP)

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


class SourceCalls(msgspec.Struct, frozen=True):
    """Ways to call sources."""

    registry: Registry
    driver: Driver
    folder_of: FolderOf

    def to(self, source: Source, journal: JobLog) -> SourceCall:
        """The way to this source; NotFound when nothing installed can call it."""
        return source_call(source, self.registry, self.driver.with_listener(journal.on_call), folder_of=self.folder_of)
