"""Every service of the catalogue, built once for a process."""

from collections.abc import Callable

import msgspec

from tsuzuki.catalogue.browse import BrowseService, ListingWriter, SeriesAddresses
from tsuzuki.catalogue.calls import PATIENCE, CallLocks, Calls, TtlCache
from tsuzuki.catalogue.chapters import ChapterLists, Chapters, DownloadedOf, none_downloaded
from tsuzuki.catalogue.details import DetailsService
from tsuzuki.catalogue.notes import CatalogueNotes
from tsuzuki.connectors.registry import Registry
from tsuzuki.coord.wakeup import AfterCommit
from tsuzuki.db import Database, load_queries
from tsuzuki.model.ids import PublicId
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.polling.driver import Driver, FolderOf, Revalidating

q = load_queries("tsuzuki.catalogue")

LISTINGS_KEPT = Millis(30 * DAY)


class Ttls(msgspec.Struct, frozen=True):
    """How long each kind of answer is fresh."""

    lists: Millis = Millis(10 * MINUTE)
    details: Millis = HOUR
    chapters: Millis = Millis(10 * MINUTE)


class CatalogueDeps(msgspec.Struct, frozen=True, kw_only=True):
    """What these services are given."""

    db: Database
    clock: Callable[[], Millis]
    new_id: Callable[[], PublicId]
    registry: Registry
    driver: Driver
    folder_of: FolderOf
    after_commit: AfterCommit
    ttls: Ttls = Ttls()
    downloaded_of: DownloadedOf = none_downloaded
    patience: float = PATIENCE
    is_shared: bool = False
    """Whether other processes may answer readers too (R102)."""


class Catalogue(msgspec.Struct, frozen=True):
    """The services, by name."""

    browsing: BrowseService
    details: DetailsService
    chapter_lists: ChapterLists
    chapters: Chapters
    notes: CatalogueNotes
    addresses: SeriesAddresses
    cache: TtlCache
    locks: CallLocks
    deps: CatalogueDeps

    async def forget_old(self) -> int:
        """Forget lists that nobody has asked for in a month; how many."""
        before = Millis(self.deps.clock() - LISTINGS_KEPT)
        await self.locks.forget_old()
        return await self.deps.db.with_tx(lambda tx: tx.run(q.forget_listings, before=before))

    async def close(self) -> None:
        """End the calls that are under way."""
        await self.cache.close()


def build_catalogue(deps: CatalogueDeps) -> Catalogue:
    """The services over these dependencies."""
    db, clock, ttls = deps.db, deps.clock, deps.ttls
    driver = deps.driver.through(lambda fetcher: Revalidating(fetcher, clock))
    calls = Calls(db, deps.registry, driver, deps.folder_of)
    locks = CallLocks(db, clock, is_shared=deps.is_shared)
    cache = TtlCache(clock, locks, deps.patience)
    return Catalogue(
        browsing=BrowseService(db, calls, cache, ListingWriter(deps.new_id), clock=clock, ttl=ttls.lists),
        details=DetailsService(db, calls, cache, clock=clock, ttl=ttls.details),
        chapter_lists=ChapterLists(
            db,
            calls,
            cache,
            clock=clock,
            ttl=ttls.chapters,
            after_commit=deps.after_commit,
            downloaded_of=deps.downloaded_of,
        ),
        chapters=Chapters(db, calls, cache, clock),
        notes=CatalogueNotes(db, clock),
        addresses=SeriesAddresses(db, calls, ListingWriter(deps.new_id), clock),
        cache=cache,
        locks=locks,
        deps=deps,
    )
