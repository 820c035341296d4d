"""A targeted crawl: the chapters of one comic on one source, by the same way as a scheduled poll."""

import asyncio
from collections.abc import Callable

from tsuzuki.coord.wakeup import AfterCommit
from tsuzuki.crawler.calling import SourceCalls
from tsuzuki.crawler.journal import JobLog
from tsuzuki.crawler.page_lists import PageLists
from tsuzuki.crawler.rows import BegunJob, Target
from tsuzuki.crawler.store import job_targets_tx
from tsuzuki.db import Database, Tx
from tsuzuki.ingest.chapters import CHAPTERS, ReleaseFound
from tsuzuki.model.errors import Conflict, NotFound
from tsuzuki.model.ids import SeriesId, WatchId
from tsuzuki.model.priorities import COLD
from tsuzuki.model.times import DAY, Millis
from tsuzuki.polling.driver import Driver
from tsuzuki.polling.service import Poller
from tsuzuki.queue.errors import LeaseLost
from tsuzuki.sources.comics.service import watch_mapping_tx
from tsuzuki.sources.sites.rows import Source
from tsuzuki.sources.sites.store import find_source_tx

_ASK_AGAIN = 0.5
_PATIENCE = 240
"""So many times: two minutes, in which any poll is over."""


class Targeted:
    """Crawls a comic. `wake` wakes those who store what was found."""

    def __init__(
        self,
        db: Database,
        poller: Poller,
        calls: SourceCalls,
        *,
        clock: Callable[[], Millis],
        after_commit: AfterCommit,
    ) -> None:
        self._db = db
        self._poller = poller
        self._calls = calls
        self._pages = PageLists(db, clock)
        self._clock = clock
        self._after_commit = after_commit

    async def run(self, job: BegunJob, journal: JobLog) -> None:
        """Call every active mapping of the comic on the source; a SourceError ends it."""
        series_id = job.series_id
        if series_id is None:
            raise NotFound("The comic of this job is gone.")
        source = await self._db.read(lambda tx: find_source_tx(tx, job.source_id))
        if source is None:
            raise NotFound("The source is gone.")
        targets = await self._db.with_tx(lambda tx: self._watched_tx(tx, series_id, source))
        if not targets:
            raise NotFound("The comic is no longer linked to this source.")
        call = self._calls.to(source, journal)
        for target, watch_id in targets:
            found = await self._crawl(target, watch_id, call.driver, journal)
            journal.found(found, target.url)
            self._after_commit(CHAPTERS.name)
            await self._pages.fetch(target, found, call, journal)

    async def _watched_tx(self, tx: Tx, series_id: SeriesId, source: Source) -> list[tuple[Target, WatchId]]:
        """Every mapping with its watch; one that has none is watched from now on, as it is crawled."""
        now = self._clock()
        targets = await job_targets_tx(tx, series_id, source.id)
        for target in targets:
            if target.watch_id is None:
                await watch_mapping_tx(
                    tx,
                    target.series_source_id,
                    url=target.url,
                    base_url=source.base_url,
                    priority=COLD,
                    due_at=Millis(now + DAY),
                    now=now,
                )
        return [(each, each.watch_id) for each in await job_targets_tx(tx, series_id, source.id) if each.watch_id]

    async def _crawl(self, target: Target, watch_id: WatchId, driver: Driver, journal: JobLog) -> list[ReleaseFound]:
        """R57: the job leases the watch that it polls, and waits while a scheduled poll has it."""
        for attempt in range(_PATIENCE):
            watch = await self._poller.lease(watch_id)
            if watch is None:
                if attempt == 0:
                    journal.say("info", "A scheduled poll is under way — waiting for it", url=target.url)
                await asyncio.sleep(_ASK_AGAIN)
                continue
            try:
                found = await self._poller.crawl(watch, driver)
            except LeaseLost:
                continue  # the watch's, not ours
            if found is None:
                raise Conflict("The source is disabled, or its extension is not installed.")
            return found
        raise Conflict("Scheduled polls of this comic did not come to an end.")
