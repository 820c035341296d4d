"""A targeted crawl: the chapters of one comic on one source, by the same way as a scheduled poll."""

import asyncio
from collections.abc import Callable, Sequence

from tsuzuki.catalogue.calls import SourceCall
from tsuzuki.coord.wakeup import AfterCommit
from tsuzuki.crawler.journal import JobLog, SourceCalls
from tsuzuki.crawler.store import job_targets_tx
from tsuzuki.crawler.types import BegunJob, CrawlTarget
from tsuzuki.db import Database, Tx
from tsuzuki.ingest.chapters import CHAPTERS, ReleaseFound, pageless_releases_tx, save_pages_tx
from tsuzuki.ingest.listings import known_releases_tx
from tsuzuki.model.errors import Conflict, NotFound, SourceError
from tsuzuki.model.ids import SeriesId, WatchId
from tsuzuki.model.numbers import release_key
from tsuzuki.model.priorities import COLD
from tsuzuki.model.times import DAY, Millis
from tsuzuki.polling.driver import Driver
from tsuzuki.polling.service import Poller
from tsuzuki.queue.errors import LeaseLost
from tsuzuki.sources.comics import watch_mapping_tx
from tsuzuki.sources.sites import find_source_tx
from tsuzuki.sources.types import Source

_LOOK_AGAIN = 0.1
_LOOKS = 100
"""Ten seconds, in which ingest stores what the poll handed to it."""


class PageLists:
    """Fetches and stores page lists."""

    def __init__(self, db: Database, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._clock = clock

    async def fetch(
        self, target: CrawlTarget, found: Sequence[ReleaseFound], call: SourceCall, journal: JobLog
    ) -> None:
        """The lists that are missing, of the newest chapters, `maxpages` at most. What cannot be read is left out."""
        info = call.connector.info
        if not call.config.fetchpages or not info.abilities.pages or info.image_urls_expire:  # R66
            return
        await self._stored(target, found)
        most = call.config.maxpages
        missing = await self._db.read(lambda tx: pageless_releases_tx(tx, target.series_source_id, most))
        for release in missing:
            try:
                pages = await call.ask(call.connector.pages(call.config, release.url))
            except SourceError as error:
                journal.say("warn", f"No pages of {release.title}: {error}", url=release.url)
                continue
            now = self._clock()
            await self._db.with_tx(lambda tx: save_pages_tx(tx, release.id, pages, now))  # noqa: B023  awaited at once
            journal.count(pages=len(pages))

    async def _stored(self, target: CrawlTarget, found: Sequence[ReleaseFound]) -> None:
        """Wait for ingest, by which every chapter comes; what is late gets its pages from the next crawl."""
        keys = {release_key(each.found) for each in found}
        for _ in range(_LOOKS):
            known = await self._db.read(lambda tx: known_releases_tx(tx, target.series_source_id))
            if keys <= {release.key for release in known}:
                return
            await asyncio.sleep(_LOOK_AGAIN)


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
            raise NotFound("The comic of this job no longer exists.")
        source = await self._db.read(lambda tx: find_source_tx(tx, job.source_id))
        if source is None:
            raise NotFound("The source no longer exists.")
        targets = await self._db.with_tx(lambda tx: self._watched_tx(tx, series_id, source))
        if not targets:
            raise NotFound("The comic is no longer linked to this source.")
        call = self._calls.to(source, journal)
        for target, watch_id in targets:
            found = await self._crawl(target, watch_id, call.driver, journal)
            journal.found(found, target.url)
            self._after_commit(CHAPTERS.name)
            await self._pages.fetch(target, found, call, journal)

    async def _watched_tx(self, tx: Tx, series_id: SeriesId, source: Source) -> list[tuple[CrawlTarget, WatchId]]:
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

    async def _crawl(
        self, target: CrawlTarget, watch_id: WatchId, driver: Driver, journal: JobLog
    ) -> list[ReleaseFound]:
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
        raise Conflict("Scheduled polls of this comic did not finish.")
