"""A discovery: a source's catalogue, page by page, into comics and mappings."""

from collections.abc import Callable, Sequence

import msgspec

from tsuzuki.catalogue.calls import SourceCall
from tsuzuki.connectors.protocol import Unsupported, Visit
from tsuzuki.crawler.journal import JobLog, SourceCalls
from tsuzuki.crawler.store import move_job_tx
from tsuzuki.crawler.types import BegunJob
from tsuzuki.db import Database, Tx
from tsuzuki.db.errors import Contention
from tsuzuki.ingest.chapters import index_series_tx
from tsuzuki.model.errors import NotFound, SourceError
from tsuzuki.model.harvest import FoundSeries, SeriesDetails, SeriesPage
from tsuzuki.model.ids import PublicId, SourceId
from tsuzuki.model.priorities import COLD
from tsuzuki.model.times import DAY, Millis
from tsuzuki.queue.errors import LeaseLost
from tsuzuki.sources.comics import describe_comic_tx, mapped_series_keys_tx, matching_comic_tx, watch_mapping_tx
from tsuzuki.sources.policy import is_matchable, match_key
from tsuzuki.sources.series import add_series_source_tx, add_series_tx
from tsuzuki.sources.sites import find_source_tx
from tsuzuki.sources.types import Source

Named = tuple[FoundSeries, SeriesDetails]


class Discovery(msgspec.Struct, frozen=True):
    """Walks catalogues."""

    db: Database
    calls: SourceCalls
    clock: Callable[[], Millis]
    new_id: Callable[[], PublicId]
    jitter: Callable[[], float]

    async def run(self, job: BegunJob, journal: JobLog) -> None:
        """From the page where the job was left, to the end of the catalogue or `maxpages`; a SourceError ends it."""
        source = await self.db.read(lambda tx: find_source_tx(tx, job.source_id))
        if source is None:
            raise NotFound("The source no longer exists.")
        call = self.calls.to(source, journal)
        page = int(job.resume_from or 1)
        while page <= call.config.maxpages:
            listed: SeriesPage = await call.ask(_listing(call, page))
            named = await self._named(source.id, listed.series, call, journal)
            added = await self._save(job, source, named, following=page + 1)
            journal.pages_count += 1  # the job's own count moved with the page
            journal.say("info", f"Page {page}: {len(listed.series)} series, {added} new", pagenumber=page)
            await journal.write()
            if not listed.has_next or not listed.series:
                return
            page += 1
        journal.say("info", "Stopped at the configured number of pages", maxpages=call.config.maxpages)

    async def _named(
        self, source_id: SourceId, listed: Sequence[FoundSeries], call: SourceCall, journal: JobLog
    ) -> list[Named]:
        """What is new on a page, with its author, as lists are sparse. What cannot be read is found again next time."""
        by_key = {series.key: series for series in listed}
        known = await self.db.read(lambda tx: mapped_series_keys_tx(tx, source_id, by_key.values()))
        found = []
        for series in (each for key, each in by_key.items() if key not in known):
            try:
                found.append((series, await self._details(series, call)))
            except SourceError as error:
                journal.say("warn", f"{series.title}: {error}", url=series.url)
        return found

    async def _details(self, series: FoundSeries, call: SourceCall) -> SeriesDetails:
        if not call.connector.info.abilities.details:
            return SeriesDetails(series.title, cover_url=series.cover_url)
        details: SeriesDetails = await call.ask(call.connector.details(call.config, series.url))
        return details

    async def _save(self, job: BegunJob, source: Source, named: Sequence[Named], *, following: int) -> int:
        """A page's series, and where to go on after a crash, in one transaction; how many were new."""
        now = self.clock()

        async def save(tx: Tx) -> int:
            added = 0
            for series, details in named:
                added += await self._add_tx(tx, source, series, details, now=now)
            if not await move_job_tx(tx, job, pages=1, resume_from=str(following), now=now):
                raise LeaseLost([job.id])
            return added

        return await self.db.with_tx(save)

    async def _add_tx(
        self, tx: Tx, source: Source, series: FoundSeries, details: SeriesDetails, *, now: Millis
    ) -> bool:
        """A comic of its own, unless title and author match exactly one that the source does not have yet."""
        title = details.title or series.title
        key = match_key(title, details.author)
        if await mapped_series_keys_tx(tx, source.id, [series]):
            return False
        comic = await matching_comic_tx(tx, source.id, key) if is_matchable(key) else None
        if comic is None:
            made = self.new_id()
            comic = await add_series_tx(tx, made, title, match_key=key, author=details.author, now=now)
            description = details.description or ""
            await index_series_tx(tx, comic, titles=(title, *details.alt_titles), description=description)
        cover = details.cover_url or series.cover_url
        await describe_comic_tx(tx, comic, cover_url=cover, description=details.description)
        mapping = await add_series_source_tx(
            tx, comic, source.id, source_key=series.key, url=series.url, now=now, title=title
        )
        if mapping is None:
            raise Contention("Somebody else mapped this series at the same time.")  # the job is tried again
        # A catalogue's watches are spread over a day: nobody waits for them yet.
        due_at = Millis(now + int(DAY * self.jitter()))
        await watch_mapping_tx(
            tx, mapping, url=series.url, base_url=source.base_url, priority=COLD, due_at=due_at, now=now
        )
        return True


def _listing(call: SourceCall, page: int) -> Visit[SeriesPage]:
    """The list that has everything, as far as the connector has one."""
    abilities = call.connector.info.abilities
    if abilities.popular:
        return call.connector.popular(call.config, page)
    if abilities.latest:
        return call.connector.latest(call.config, page)
    raise Unsupported(f"{call.connector.info.name} has no list of its series.")
