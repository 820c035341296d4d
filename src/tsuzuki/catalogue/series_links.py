"""Links a series that no source of this server has, as it came from a backup, to one that a source has."""

from typing import Any

import msgspec

from tsuzuki.accounts.types import Actor
from tsuzuki.catalogue.browse import SeriesAddresses
from tsuzuki.catalogue.merges.service import SeriesMerges
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.deadlines import with_tx_again
from tsuzuki.db.locks import lock_reading_tx, lock_series_merges_shared_tx, lock_series_tx
from tsuzuki.model.errors import Conflict, Invalid
from tsuzuki.model.ids import PublicId, SeriesId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.shelves.events import EVENTS_WAKEUP
from tsuzuki.shelves.progress import entries_follow_tx
from tsuzuki.sources.comics import followers_changed_tx, watch_everywhere_tx
from tsuzuki.sources.series import known_series_tx

q = load_queries("tsuzuki.catalogue.series_links")


class Sides(msgspec.Struct, frozen=True):
    """The series and the one that it becomes, and who else has something of them."""

    series_id: SeriesId
    target_id: SeriesId
    target: PublicId
    has_source: bool
    is_shared: bool
    """Whether another shelf has anything of either."""


class SeriesLinks(msgspec.Struct, frozen=True):
    """Links series."""

    addresses: SeriesAddresses
    merges: SeriesMerges

    async def link(self, actor: Actor, shelf_id: ShelfId, series: PublicId, url: str) -> PublicId:
        """The series that it is now: the one at this address, with all that was read.

        Where nobody else has either, both become one. Else the other series stays as it is for everybody, and what was
        read is copied to it, chapter by chapter. Invalid where no source has a series there.
        """
        manga = await self.addresses.find(url)
        if manga is None:
            raise Invalid("No source of this server has a series at this address.")
        db = self.merges.db

        async def look(tx: Tx) -> Sides:
            series_id = await known_series_tx(tx, series)
            return await tx.one(Sides, q.sides, shelf_id=shelf_id, series_id=series_id, manga_id=manga)

        sides = await db.read(look)
        if sides.has_source:
            raise Conflict("This series has a source already.")
        if not sides.is_shared:
            await self.merges.merge(actor, series, sides.target)
            return sides.target
        await with_tx_again(db, lambda tx: self._carry_tx(tx, shelf_id, sides, self.merges.clock()))
        self.merges.after_commit(EVENTS_WAKEUP)
        return sides.target

    async def _carry_tx(self, tx: Tx, shelf_id: ShelfId, sides: Sides, now: Millis) -> None:
        await lock_series_merges_shared_tx(tx)
        for series_id in sorted((sides.series_id, sides.target_id)):
            await lock_series_tx(tx, series_id)
        await lock_reading_tx(tx, shelf_id)
        both: dict[str, Any] = {"shelf_id": shelf_id, "from_id": sides.series_id, "into_id": sides.target_id}
        await tx.run(q.copy_progress, **both, now=now)
        await tx.run(q.point_follow, **both, now=now)
        await tx.run(q.drop_follow, shelf_id=shelf_id, series_id=sides.series_id)
        await tx.run(q.point_backups, **both)
        await entries_follow_tx(tx, shelf_id, sides.target_id, now)
        await watch_everywhere_tx(tx, sides.target_id, now)
        await followers_changed_tx(tx, sides.series_id, now)
