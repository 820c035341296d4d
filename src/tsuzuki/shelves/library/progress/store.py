"""Progress and history, remembered."""

from collections.abc import Sequence
from typing import Any

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import ChapterId, EntryId, SeriesId, ShelfId
from tsuzuki.model.pages import PageCursor
from tsuzuki.model.times import Millis
from tsuzuki.shelves.library.progress.nouns import ChapterProgress, HistoryRow, ReadChapter, ReportedReading, Some

q = load_queries("tsuzuki.shelves.library.progress")


async def write_progress_tx(
    tx: Tx,
    shelf_id: ShelfId,
    chapter_id: ChapterId,
    reading: ReportedReading,
    *,
    is_read: bool | None,
    at: Millis,
    now: Millis,
) -> ChapterProgress:
    """Take what a device says, where nothing newer is known; how it stands now."""
    return await tx.one(
        ChapterProgress,
        q.write_progress,
        shelf_id=shelf_id,
        chapter_id=chapter_id,
        page=reading.page or 0,
        device=reading.device,
        paged_at=None if reading.page is None else at,
        is_read=bool(is_read),
        marked_at=None if is_read is None else at,
        is_bookmarked=reading.is_bookmarked,
        now=now,
    )


async def find_progress_tx(tx: Tx, shelf_id: ShelfId, chapter_id: ChapterId) -> ChapterProgress | None:
    """How far a chapter was read; None when nobody began."""
    return await tx.maybe(ChapterProgress, q.find_progress, shelf_id=shelf_id, chapter_id=chapter_id)


async def find_chapter_tx(tx: Tx, series_id: SeriesId, chapter_id: ChapterId) -> ReadChapter | None:
    """A chapter of this series."""
    return await tx.maybe(ReadChapter, q.find_chapter, series_id=series_id, id=chapter_id)


async def find_chapter_keyed_tx(tx: Tx, series_id: SeriesId, key: str) -> ReadChapter | None:
    """The chapter of this series with this number or key."""
    return await tx.maybe(ReadChapter, q.find_chapter_keyed, series_id=series_id, key=key)


async def mark_chapters_tx(
    tx: Tx, shelf_id: ShelfId, series_id: SeriesId, some: Some, *, is_read: bool, now: Millis
) -> int:
    """Mark chapters of a series read or unread; how many changed."""
    meant: dict[str, Any] = {"ids": some.chapters, "up_to": some.up_to, "before": some.before, "series_id": series_id}
    meant["is_inclusive"] = some.is_inclusive
    if is_read:
        return await tx.run(q.mark_read, shelf_id=shelf_id, now=now, **meant)
    return await tx.run(q.mark_unread, shelf_id=shelf_id, now=now, **meant)


async def mark_again_tx(tx: Tx, shelf_id: ShelfId, series_id: SeriesId, *, at: Millis, now: Millis) -> int:
    """Make chapters read again that were marked unread at that moment; how many."""
    return await tx.run(q.mark_again, shelf_id=shelf_id, series_id=series_id, at=at, now=now)


async def entries_follow_tx(tx: Tx, shelf_id: ShelfId, series_id: SeriesId, now: Millis) -> int:
    """Let the entries of a series say what its progress says; how many changed."""
    return await tx.run(q.entries_follow, shelf_id=shelf_id, series_id=series_id, now=now)


async def saved_follows_tx(tx: Tx, shelf_id: ShelfId, chapter_id: ChapterId, *, saved: bool) -> int:
    """Let a chapter's entry be saved or not; how many changed."""
    return await tx.run(q.saved_follows, shelf_id=shelf_id, chapter_id=chapter_id, saved=saved)


async def bookmark_follows_tx(tx: Tx, shelf_id: ShelfId, entry_id: EntryId) -> None:
    """Let a chapter be bookmarked as far as its entry is saved."""
    await tx.run(q.bookmark_follows, shelf_id=shelf_id, entry_id=entry_id)


async def progress_follows_tx(tx: Tx, shelf_id: ShelfId, ids: Sequence[EntryId], now: Millis) -> None:
    """Let progress say what these entries say, as far as they are chapters'."""
    await tx.run(q.progress_follows, shelf_id=shelf_id, ids=ids, now=now)


async def progress_follows_all_tx(tx: Tx, shelf_id: ShelfId, *, unread: bool, now: Millis) -> None:
    """The same after a mass mark at this moment."""
    if unread:
        await tx.run(q.progress_follows_unread, shelf_id=shelf_id, now=now)
    else:
        await tx.run(q.progress_follows_read, shelf_id=shelf_id, now=now)


async def unmark_since_tx(tx: Tx, shelf_id: ShelfId, at: Millis, now: Millis) -> int:
    """Make chapters unread again that were marked read at that moment; how many."""
    return await tx.run(q.unmark_since, shelf_id=shelf_id, at=at, now=now)


async def history_tx(
    tx: Tx, shelf_id: ShelfId, *, after: PageCursor, most: int, series_id: SeriesId | None = None
) -> list[HistoryRow]:
    """Chapters that were opened, the last one first; of one series, or of all."""
    values = {"shelf_id": shelf_id, "series_id": series_id, "at": after.at, "id": after.id}
    return await tx.many(HistoryRow, q.history, **values, most=most)


async def count_history_tx(tx: Tx, shelf_id: ShelfId) -> int:
    """How long the history is."""
    return await tx.one(int, q.count_history, shelf_id=shelf_id)


async def forget_one_tx(tx: Tx, shelf_id: ShelfId, chapter_id: ChapterId) -> bool:
    """Take one chapter out of the history; False when it is not there."""
    return bool(await tx.run(q.forget_one, shelf_id=shelf_id, chapter_id=chapter_id))


async def find_opened_tx(tx: Tx, shelf_id: ShelfId, chapter_id: ChapterId) -> Millis | None:
    """When a chapter of the history was opened; None when it is not in it."""
    return await tx.maybe(Millis, q.find_opened, shelf_id=shelf_id, chapter_id=chapter_id)


async def recall_one_tx(tx: Tx, shelf_id: ShelfId, chapter_id: ChapterId, at: Millis) -> bool:
    """Put a chapter back into the history; False when there is nothing to put back."""
    return bool(await tx.run(q.recall_one, shelf_id=shelf_id, chapter_id=chapter_id, at=at))


async def forget_all_tx(tx: Tx, shelf_id: ShelfId) -> int:
    """Empty the history; how many went."""
    return await tx.run(q.forget_all, shelf_id=shelf_id)
