"""The page lists of new chapters, where a source's config asks for them."""

import asyncio
from collections.abc import Callable, Sequence

from tsuzuki.crawler.calling import SourceCall
from tsuzuki.crawler.journal import JobLog
from tsuzuki.crawler.rows import Target
from tsuzuki.db import Database
from tsuzuki.ingest.chapters import PagelessRelease, ReleaseFound, pageless_releases_tx, save_pages_tx
from tsuzuki.ingest.listings import known_releases_tx
from tsuzuki.model.errors import SourceError
from tsuzuki.model.harvest import FoundPage
from tsuzuki.model.numbers import release_key
from tsuzuki.model.times import Millis

_LOOK_AGAIN = 0.1
_LOOKS = 100
"""Ten seconds, in which ingest stores what the poll handed to it."""


class PageLists:
    """Fetches and stores page lists."""

    def __init__(self, db: Database, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._clock = clock

    async def fetch(self, target: Target, found: Sequence[ReleaseFound], call: SourceCall, journal: JobLog) -> None:
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
            await self._save(release, pages)
            journal.count(pages=len(pages))

    async def _save(self, release: PagelessRelease, pages: Sequence[FoundPage]) -> None:
        now = self._clock()
        await self._db.with_tx(lambda tx: save_pages_tx(tx, release.id, pages, now))

    async def _stored(self, target: Target, found: Sequence[ReleaseFound]) -> None:
        """Wait for ingest, by which every chapter comes; what is late gets its pages from the next crawl."""
        keys = {release_key(each.found) for each in found}
        for _ in range(_LOOKS):
            known = await self._db.read(lambda tx: known_releases_tx(tx, target.series_source_id))
            if keys <= {release.key for release in known}:
                return
            await asyncio.sleep(_LOOK_AGAIN)
