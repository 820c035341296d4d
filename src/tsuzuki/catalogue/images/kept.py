"""Chapters that a shelf keeps: begun, looked at, let go."""

from collections.abc import Callable, Iterable

from tsuzuki.catalogue.chapters import NO_CHAPTER
from tsuzuki.catalogue.images.rows import KeptChapter
from tsuzuki.catalogue.images.store import (
    add_copy_tx,
    add_kept_tx,
    count_kept_tx,
    drop_kept_tx,
    drop_unkept_copy_tx,
    find_kept_tx,
    kept_among_tx,
    kept_releases_tx,
    list_kept_tx,
    lock_download_tx,
)
from tsuzuki.catalogue.images.tasks import COPIES, CopyTask, copy_key
from tsuzuki.coord.wakeup import Wakeup
from tsuzuki.db import Database, Tx
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import ReleaseId, ShelfId
from tsuzuki.model.pages import Page, PageCursor
from tsuzuki.model.times import Millis
from tsuzuki.queue.store import enqueue_tx
from tsuzuki.shelves.limits import check_shelf_limit_tx

NOT_KEPT = "This shelf does not keep this chapter."


class KeptChapters:
    """The verbs of keeping."""

    def __init__(self, db: Database, wakeup: Wakeup, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._wakeup = wakeup
        self._clock = clock

    async def keep(self, shelf_id: ShelfId, release_id: ReleaseId) -> KeptChapter:
        """Keep a chapter: its pages come by and by. Again, after it failed, tries it again; else changes nothing."""
        now = self._clock()

        async def keep(tx: Tx) -> KeptChapter:
            kept = await find_kept_tx(tx, shelf_id, release_id)
            if kept is None:
                await check_shelf_limit_tx(tx, shelf_id, "kept_chapters")
            elif kept.status == "done":
                return kept
            copy = await add_copy_tx(tx, release_id, now)
            if copy is None:
                raise NotFound(NO_CHAPTER)
            await add_kept_tx(tx, shelf_id, copy.id, now)
            if copy.status != "done":
                await enqueue_tx(tx, COPIES, copy_key(copy.id), CopyTask(copy.id), now=now)
            return _there(await find_kept_tx(tx, shelf_id, release_id))

        kept = await self._db.with_tx(keep)
        self._wakeup.wake(COPIES.name)
        return kept

    async def drop(self, shelf_id: ShelfId, release_id: ReleaseId) -> None:
        """Keep it no more; NotFound when it was not kept. What nobody else keeps may be evicted from now on."""

        async def drop(tx: Tx) -> None:
            await lock_download_tx(tx, release_id)
            if not await drop_kept_tx(tx, shelf_id, release_id):
                raise NotFound(NOT_KEPT)
            await drop_unkept_copy_tx(tx, release_id)

        await self._db.with_tx(drop)

    async def get(self, shelf_id: ShelfId, release_id: ReleaseId) -> KeptChapter:
        """How far it is; NotFound when it is not kept."""
        return _there(await self._db.read(lambda tx: find_kept_tx(tx, shelf_id, release_id)))

    async def list(self, shelf_id: ShelfId, *, after: PageCursor, most: int) -> Page[KeptChapter]:
        """What the shelf keeps, the newest first."""

        async def look(tx: Tx) -> Page[KeptChapter]:
            rows = await list_kept_tx(tx, shelf_id, after=after, most=most + 1)
            more = len(rows) > most
            rows = rows[:most]
            cursor = PageCursor(rows[-1].created_at, rows[-1].copy_id) if more else None
            return Page(rows, await count_kept_tx(tx, shelf_id), cursor)

        return await self._db.read(look)

    async def among(self, shelf_id: ShelfId, release_ids: Iterable[ReleaseId]) -> dict[ReleaseId, KeptChapter]:
        """How far those of these releases are that the shelf keeps."""
        wanted = list(release_ids)
        found = await self._db.read(lambda tx: kept_among_tx(tx, shelf_id, wanted))
        return {kept.release_id: kept for kept in found}

    async def kept_of(self, shelf_id: ShelfId, release_ids: Iterable[ReleaseId]) -> set[ReleaseId]:
        """Those of these releases that the shelf has whole: what a list shows as `is_downloaded`."""
        wanted = list(release_ids)
        return await self._db.read(lambda tx: kept_releases_tx(tx, shelf_id, wanted))


def _there(kept: KeptChapter | None) -> KeptChapter:
    if kept is None:
        raise NotFound(NOT_KEPT)
    return kept
