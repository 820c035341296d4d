"""The verbs about lines."""

from collections.abc import Sequence

from tsuzuki.db import Database, Tx
from tsuzuki.delivery.timeline.nouns import EntryNeighbours, State, TimelineFilter, TimelineLine, TimelinePage
from tsuzuki.delivery.timeline.store import (
    lately_read_tx,
    newer_lines_tx,
    newest_id_tx,
    older_lines_tx,
    save_chapter_tx,
    states_tx,
    unread_ids_tx,
    where_tx,
)
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import EntryId, ShelfId
from tsuzuki.model.pages import PageCursor
from tsuzuki.model.times import Millis
from tsuzuki.shelves.library.progress.holding import begin_reading_tx
from tsuzuki.shelves.library.progress.store import bookmark_follows_tx


class Timeline:
    """Everything is asked for by the shelf first (I8)."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def page(self, shelf_id: ShelfId, wanted: TimelineFilter, *, after: PageCursor, most: int) -> TimelinePage:
        """Lines from this place on, the newest first; NotFound for another shelf's feed or group."""

        async def look(tx: Tx) -> TimelinePage:
            where = await where_tx(tx, shelf_id, wanted)
            newest = await newest_id_tx(tx, shelf_id)
            found = await older_lines_tx(tx, where, wanted, after=after, most=most + 1)
            return TimelinePage(found[:most], found[most - 1].place(wanted) if len(found) > most else None, newest)

        return await self._db.read(look)

    async def neighbours(self, shelf_id: ShelfId, wanted: TimelineFilter, at: PageCursor) -> EntryNeighbours:
        """What comes before and after a place, whether or not the list still holds what stands there."""

        async def look(tx: Tx) -> EntryNeighbours:
            where = await where_tx(tx, shelf_id, wanted)
            newer = await newer_lines_tx(tx, where, wanted, before=at, most=1)
            older = await older_lines_tx(tx, where, wanted, after=at, most=1)
            if wanted.only_unread and wanted.read_since is not None:
                read_newer, read_older = await lately_read_tx(tx, where, wanted, since=wanted.read_since, at=at)
                newer, older = newer + read_newer, older + read_older

            def order(line: TimelineLine) -> tuple[Millis, Millis, EntryId]:
                place = line.place(wanted)
                return place.at, place.then or Millis(0), line.id

            return EntryNeighbours(min(newer, key=order, default=None), max(older, key=order, default=None))

        return await self._db.read(look)

    async def unread_ids(self, shelf_id: ShelfId, wanted: TimelineFilter, newest: EntryId) -> list[EntryId]:
        """What a mass mark is about: the unread of a list, up to the newest entry when it was looked at."""

        async def collect(tx: Tx) -> list[EntryId]:
            return await unread_ids_tx(tx, await where_tx(tx, shelf_id, wanted), wanted, newest)

        return await self._db.read(collect)

    async def states(self, shelf_id: ShelfId, ids: Sequence[EntryId]) -> list[State]:
        """How these entries stand now; those that are gone or another shelf's are left out."""
        return await self._db.read(lambda tx: states_tx(tx, shelf_id, ids))

    async def save_chapter(self, shelf_id: ShelfId, entry_id: EntryId, *, saved: bool) -> None:
        """Save an entry of a chapter, which bookmarks it in its series, or let it go; NotFound for anything else."""

        async def save(tx: Tx) -> bool:
            await begin_reading_tx(tx, shelf_id)
            found = await save_chapter_tx(tx, shelf_id, entry_id, saved=saved)
            await bookmark_follows_tx(tx, shelf_id, entry_id)
            return bool(found)

        if not await self._db.with_tx(save):
            raise NotFound("There is no such chapter in the inbox.")
