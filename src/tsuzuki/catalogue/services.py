"""Every service of this area, built once for a process."""

from collections.abc import Callable

import msgspec

from tsuzuki.catalogue.addresses import Addresses
from tsuzuki.catalogue.browsing import Browsing
from tsuzuki.catalogue.call_locks.service import CallLocks
from tsuzuki.catalogue.calling import Calls
from tsuzuki.catalogue.chapter_lists import ChapterLists, KeptOf, none_kept
from tsuzuki.catalogue.chapters import Chapters
from tsuzuki.catalogue.conditional import Revalidating
from tsuzuki.catalogue.details import Details
from tsuzuki.catalogue.keeping import PATIENCE, Keeper
from tsuzuki.catalogue.listing import Shelver
from tsuzuki.catalogue.notes import Notes
from tsuzuki.catalogue.store import forget_listings_tx
from tsuzuki.connectors.registry import Registry
from tsuzuki.db import Database
from tsuzuki.model.ids import PublicId
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.polling.comics import FolderOf
from tsuzuki.polling.visit import Driver

LISTINGS_KEPT = Millis(30 * DAY)


class Ttls(msgspec.Struct, frozen=True):
    """How long each kind of answer is fresh."""

    lists: Millis = Millis(10 * MINUTE)
    details: Millis = HOUR
    chapters: Millis = Millis(10 * MINUTE)


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """What these services stand on."""

    db: Database
    clock: Callable[[], Millis]
    new_id: Callable[[], PublicId]
    registry: Registry
    driver: Driver
    folder_of: FolderOf
    ring: Callable[..., None]
    ttls: Ttls = Ttls()
    kept_of: KeptOf = none_kept
    patience: float = PATIENCE
    is_shared: bool = False
    """Whether other processes may answer readers too (R102)."""


class Catalogue(msgspec.Struct, frozen=True):
    """The services, by name."""

    browsing: Browsing
    details: Details
    chapter_lists: ChapterLists
    chapters: Chapters
    notes: Notes
    addresses: Addresses
    keeper: Keeper
    locks: CallLocks
    ground: Ground

    def by_type(self) -> dict[type, object]:
        """Each service under its own type: how handlers ask for it."""
        services = (self.browsing, self.details, self.chapter_lists, self.chapters, self.notes, self.addresses)
        return {type(service): service for service in services}

    async def forget_old(self) -> int:
        """Forget lists that nobody has asked for in a month; how many."""
        before = Millis(self.ground.clock() - LISTINGS_KEPT)
        await self.locks.forget_old()
        return await self.ground.db.with_tx(lambda tx: forget_listings_tx(tx, before))

    async def close(self) -> None:
        """End the calls that are under way."""
        await self.keeper.close()


def build_catalogue(ground: Ground) -> Catalogue:
    """The services over this ground."""
    db, clock, ttls = ground.db, ground.clock, ground.ttls
    driver = ground.driver.through(lambda fetcher: Revalidating(fetcher, clock))
    calls = Calls(db, ground.registry, driver, ground.folder_of)
    locks = CallLocks(db, clock, is_shared=ground.is_shared)
    keeper = Keeper(clock, locks, ground.patience)
    return Catalogue(
        browsing=Browsing(db, calls, keeper, Shelver(ground.new_id), clock=clock, ttl=ttls.lists),
        details=Details(db, calls, keeper, clock=clock, ttl=ttls.details),
        chapter_lists=ChapterLists(
            db, calls, keeper, clock=clock, ttl=ttls.chapters, ring=ground.ring, kept_of=ground.kept_of
        ),
        chapters=Chapters(db, calls, keeper, clock),
        notes=Notes(db, clock),
        addresses=Addresses(db, calls, Shelver(ground.new_id), clock),
        keeper=keeper,
        locks=locks,
        ground=ground,
    )
