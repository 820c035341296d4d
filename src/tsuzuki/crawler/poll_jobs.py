"""Scheduled polls of series, recorded as jobs in the transaction of their outcome.

See docs/decisions/0030-scheduled-polls-as-jobs.md.
"""

from collections.abc import Callable, Sequence

import msgspec

from tsuzuki.coord.cache import Cache
from tsuzuki.crawler.journal import JobNotes
from tsuzuki.crawler.store import PolledJob, add_polled_job_tx
from tsuzuki.db import Tx
from tsuzuki.ingest.chapters import ReleaseFound
from tsuzuki.model.errors import SourceError
from tsuzuki.model.ids import uuid7
from tsuzuki.model.requests import Ask, Reply
from tsuzuki.model.times import Millis
from tsuzuki.polling.policy import SeriesTarget
from tsuzuki.sources.sites import source_polled_tx


class PollJobs(msgspec.Struct, frozen=True):
    """Keeps scheduled polls as jobs."""

    clock: Callable[[], Millis]
    random_bytes: Callable[[int], bytes]
    cache: Cache

    def begin(self, target: SeriesTarget) -> "PollJob":
        """The record of a poll that begins now."""
        return PollJob(self, target)


class PollJob:
    """One poll. It leases its watch, as a job does (R57), so it is never active beside a job on the same mapping."""

    def __init__(self, jobs: PollJobs, target: SeriesTarget) -> None:
        self._jobs = jobs
        self._target = target
        self._begun_at = jobs.clock()
        self._notes = JobNotes()
        self._is_eventful = False

    def on_call(self, ask: Ask, outcome: Reply | SourceError, seconds: float, /) -> None:
        """A call that the poll made."""
        self._notes.on_call(ask, outcome, seconds)

    async def answered_tx(self, tx: Tx, found: Sequence[ReleaseFound], now: Millis) -> None:
        """It went well. Where nothing is new and nothing failed, the job says nothing, and is forgotten after a day."""
        if found or self._notes.error_count:
            self._is_eventful = True
            self._notes.found(found, self._target.url)
        await self._keep_tx(tx, None, now)

    async def failed_tx(self, tx: Tx, error: str, now: Millis) -> None:
        """End the job as failed."""
        self._is_eventful = True
        await self._keep_tx(tx, error, now)

    async def settle(self) -> None:
        """Kept answers that show nothing of an uneventful poll live on until their time is over."""
        if self._is_eventful:
            await self._jobs.cache.forget()

    async def _keep_tx(self, tx: Tx, error: str | None, now: Millis) -> None:
        # The source first and the watch last, as in every transaction that writes both.
        await source_polled_tx(tx, self._target.source_id, is_well=error is None, now=now)
        if self._is_eventful:
            self._notes.end(error, took=Millis(now - self._begun_at))
        lines, pages, errors = self._notes.taken()
        job = PolledJob(
            public_id=uuid7(now, self._jobs.random_bytes(10)),
            source_id=self._target.source_id,
            source_name=self._target.source_name,
            source_slug=self._target.source_slug,
            series_id=self._target.series_id,
            status="done" if error is None else "failed",
            started_at=self._begun_at,
            pages=pages,
            errors=errors,
            last_error=error,
        )
        await add_polled_job_tx(
            tx, job, lines if self._is_eventful else (), now=now, random_bytes=self._jobs.random_bytes
        )
