"""What an import changes, noted in the same transactions, so that all of it can be undone together."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Literal, NewType

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.ingest.detached import shelf_items_tx
from tsuzuki.model.ids import ChapterId, FeedId, SeriesId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.transfer.archive.format import BackupLine
from tsuzuki.transfer.archive.store import as_row

q = load_queries("tsuzuki.transfer.archive")

ImportId = NewType("ImportId", int)
Made = Literal["group", "subscription", "follow", "bookmark"]


class ProgressBefore(msgspec.Struct, frozen=True):
    """How far a chapter was read before the import wrote it."""

    chapter_id: ChapterId
    page: int = 0
    furthest_page: int = 0
    is_read: bool = False
    is_bookmarked: bool = False
    device: str | None = None
    paged_at: Millis | None = None
    marked_at: Millis | None = None
    opened_at: Millis | None = None


class EntryBefore(msgspec.Struct, frozen=True):
    """What was said of an entry before the import wrote it."""

    entry_id: int
    unread: bool
    saved: bool
    read_at: Millis | None


_NOTHING_READ = ProgressBefore(ChapterId(0))


class UndoLog(msgspec.Struct, frozen=True):
    """The log of one import. Without an id nothing is noted: imports on the command line cannot be undone."""

    import_id: ImportId | None = None

    async def note_made_tx(self, tx: Tx, kind: Made, of_id: int) -> None:
        """Note that the import put this onto the shelf, and in which state."""
        said = {"import_id": self.import_id, "of_id": of_id}
        if self.import_id is None:
            return
        match kind:
            case "group":
                await tx.run(q.note_group, **said)
            case "subscription":
                await tx.run(q.note_subscription, **said)
            case "follow":
                await tx.run(q.note_follow, **said)
            case "bookmark":
                await tx.run(q.note_bookmark, **said)

    async def note_former_tx(self, tx: Tx, shelf_id: ShelfId, series_id: SeriesId) -> None:
        """Note that the import brought what the shelf had when it left this series."""
        if self.import_id is not None:
            await tx.run(q.note_former, import_id=self.import_id, shelf_id=shelf_id, of_id=series_id)

    async def note_backup_tx(self, tx: Tx, backup_id: int) -> None:
        """Note that the import wrote what a backup said of a series; what it wrote over is noted before."""
        if self.import_id is not None:
            await tx.run(q.note_backup, import_id=self.import_id, of_id=backup_id)

    async def note_series_tx(self, tx: Tx, series_id: SeriesId) -> None:
        """Note that the import made this series."""
        if self.import_id is not None:
            await tx.run(q.note_series, import_id=self.import_id, series_id=series_id)

    async def note_chapters_tx(self, tx: Tx, series_id: SeriesId, chapters: Sequence[ChapterId]) -> None:
        """Note that the import made these chapters of a series without a source."""
        if self.import_id is not None and chapters:
            rows = [[each] for each in chapters]
            await tx.run(q.note_chapters, import_id=self.import_id, series_id=series_id, rows=rows)

    async def keep_former_tx(self, tx: Tx, shelf_id: ShelfId, series_id: SeriesId) -> None:
        """Keep what the shelf had when it left this series, before the import follows it again."""
        if self.import_id is not None:
            await tx.run(q.keep_former, import_id=self.import_id, shelf_id=shelf_id, series_id=series_id)

    async def keep_backup_tx(self, tx: Tx, shelf_id: ShelfId, backup: BackupLine) -> bool:
        """Keep what an earlier backup said of the series, if that was something else; False if a later one said it."""
        if self.import_id is None:
            return True
        said = {"shelf_id": shelf_id, "import_id": self.import_id}
        if await tx.maybe(int, q.was_put, source=backup.source, url=backup.url, **said):
            return False
        await tx.run(q.keep_backup, **q.keep_backup.values_of(backup, **said))
        return True

    async def keep_rest_tx(self, tx: Tx, shelf_id: ShelfId, body: bytes) -> bool:
        """Keep what an earlier backup said beside its series, if that was something else; False if a later one did."""
        if self.import_id is None:
            return True
        if await tx.maybe(int, q.was_rest_put, import_id=self.import_id, shelf_id=shelf_id):
            return False
        await tx.run(q.keep_rest, import_id=self.import_id, shelf_id=shelf_id, body=body)
        return True

    @asynccontextmanager
    async def progress_tx(self, tx: Tx, shelf_id: ShelfId, *, chapters: Sequence[ChapterId]) -> AsyncIterator[None]:
        """Log how far these chapters were read before and after the block."""
        if self.import_id is None or not chapters:
            yield
            return
        rows = [{"chapter_id": each} for each in chapters]
        known = await tx.bulk(ProgressBefore, q.progress_before, rows, shelf_id=shelf_id)
        before = dict.fromkeys(chapters, _NOTHING_READ) | {each.chapter_id: each for each in known}
        yield
        noted = [as_row(each, chapter_id=id_, was_there=each.chapter_id == id_) for id_, each in before.items()]
        await tx.run(q.note_progress, shelf_id=shelf_id, import_id=self.import_id, rows=noted)

    @asynccontextmanager
    async def chapter_entries_tx(
        self, tx: Tx, shelf_id: ShelfId, *, chapters: Sequence[ChapterId]
    ) -> AsyncIterator[None]:
        """Log what the block changes about the entries of these chapters."""
        if self.import_id is None or not chapters:
            yield
            return
        rows = [[each] for each in chapters]
        async with self._entries_tx(tx, lambda: tx.bulk(EntryBefore, q.chapter_entries, rows, shelf_id=shelf_id)):
            yield

    @asynccontextmanager
    async def item_entries_tx(
        self, tx: Tx, shelf_id: ShelfId, feed_id: FeedId, *, keys: Sequence[str]
    ) -> AsyncIterator[None]:
        """Log what the block changes about the entries of these items."""
        if self.import_id is None or not keys:
            yield
            return

        async def entries_tx() -> list[EntryBefore]:
            items = await shelf_items_tx(tx, shelf_id, feed_id, keys)
            return await tx.bulk(EntryBefore, q.item_entries, [[each] for each in items.values()], shelf_id=shelf_id)

        async with self._entries_tx(tx, entries_tx):
            yield

    @asynccontextmanager
    async def _entries_tx(self, tx: Tx, entries_tx: Callable[[], Awaitable[list[EntryBefore]]]) -> AsyncIterator[None]:
        before = {each.entry_id: each for each in await entries_tx()}
        yield
        changed = [each for each in await entries_tx() if each != before.get(each.entry_id)]
        rows = [
            as_row(
                before.get(each.entry_id, each),
                was_there=each.entry_id in before,
                left_unread=each.unread,
                left_saved=each.saved,
                left_read_at=each.read_at,
            )
            for each in changed
        ]
        if rows:
            await tx.run(q.note_entries, import_id=self.import_id, rows=rows)
