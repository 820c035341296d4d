"""Reading progress: how far chapters were read, on whichever device, and the history."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import lock_reading_tx, lock_series_merges_shared_tx
from tsuzuki.model.errors import Invalid, NotFound
from tsuzuki.model.ids import ChapterId, EntryId, PublicId, SeriesId, ShelfId
from tsuzuki.model.numbers import number_key, parse_number
from tsuzuki.model.pages import FROM_THE_TOP, Page, PageCursor
from tsuzuki.model.times import Millis
from tsuzuki.shelves.deps import ShelfDeps
from tsuzuki.shelves.events import EVENTS_WAKEUP, counts_changed_tx
from tsuzuki.shelves.policy import decided, moment
from tsuzuki.shelves.types import (
    ChapterProgress,
    ChapterSelection,
    HistoryRow,
    MarkedChapters,
    ProgressResult,
    ReadChapter,
    ReportedProgress,
    ReportedReading,
)
from tsuzuki.sources.series import known_series_tx

q = load_queries("tsuzuki.shelves.progress")


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
    """Store what a device reports, where nothing newer is known; the progress afterwards."""
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


async def find_chapter_tx(tx: Tx, series_id: SeriesId, chapter_id: ChapterId) -> ReadChapter | None:
    """A chapter of this series."""
    return await tx.maybe(ReadChapter, q.find_chapter, series_id=series_id, id=chapter_id)


async def mark_chapters_tx(
    tx: Tx, shelf_id: ShelfId, series_id: SeriesId, some: ChapterSelection, *, is_read: bool, now: Millis
) -> int:
    """Mark chapters of a series read or unread; how many changed."""
    meant: dict[str, Any] = {"ids": some.chapters, "up_to": some.up_to, "before": some.before, "series_id": series_id}
    meant["is_inclusive"] = some.is_inclusive
    if is_read:
        return await tx.run(q.mark_read, shelf_id=shelf_id, now=now, **meant)
    return await tx.run(q.mark_unread, shelf_id=shelf_id, now=now, **meant)


async def entries_follow_tx(tx: Tx, shelf_id: ShelfId, series_id: SeriesId, now: Millis) -> int:
    """Bring the entries of a series in line with its progress; how many changed."""
    return await tx.run(q.entries_follow, shelf_id=shelf_id, series_id=series_id, now=now)


async def bookmarks_follow_tx(tx: Tx, shelf_id: ShelfId, ids: Sequence[EntryId]) -> None:
    """Bring the bookmarks of chapters in line with these entries, saved or not."""
    await tx.run(q.bookmarks_follow, shelf_id=shelf_id, ids=ids)


async def progress_follows_tx(tx: Tx, shelf_id: ShelfId, ids: Sequence[EntryId], now: Millis) -> None:
    """Bring progress in line with these entries, as far as they are chapters'."""
    await tx.run(q.progress_follows, shelf_id=shelf_id, ids=ids, now=now)


async def progress_follows_all_tx(tx: Tx, shelf_id: ShelfId, *, unread: bool, now: Millis) -> None:
    """The same after all entries were marked at this moment."""
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


async def recall_one_tx(tx: Tx, shelf_id: ShelfId, chapter_id: ChapterId, at: Millis) -> bool:
    """Put a chapter back into the history; False when there is nothing to put back."""
    return bool(await tx.run(q.recall_one, shelf_id=shelf_id, chapter_id=chapter_id, at=at))


async def begin_reading_tx(tx: Tx, shelf_id: ShelfId) -> None:
    """Before anything else is locked: nobody merges or splits series, or marks chapters of this shelf, meanwhile.

    Entries and progress say the same in every transaction; two that write both, in different order, would deadlock.
    """
    await lock_series_merges_shared_tx(tx)
    await lock_reading_tx(tx, shelf_id)


NO_CHAPTER = "There is no such chapter in this series."
_NEVER = Millis(0)

Mark = Callable[[Tx, SeriesId], Awaitable[int]]


class ReadingProgress:
    """How far a shelf has read. It hangs on chapters, not on releases: read once is read everywhere (R51)."""

    def __init__(self, deps: ShelfDeps) -> None:
        self._deps = deps

    async def get(self, shelf_id: ShelfId, series: PublicId, chapter_id: ChapterId) -> ChapterProgress:
        """How far a chapter was read; page 0 where nobody began. NotFound for a chapter of another series."""

        async def read(tx: Tx) -> ChapterProgress:
            chapter = await _chapter_tx(tx, await known_series_tx(tx, series), chapter_id)
            found = await tx.maybe(ChapterProgress, q.find_progress, shelf_id=shelf_id, chapter_id=chapter.id)
            return found or ChapterProgress(chapter.id, 0, 0, False, False, None, None, None, _NEVER)  # noqa: FBT003  a row

        return await self._deps.db.read(read)

    # -- what devices say

    async def report(
        self, shelf_id: ShelfId, series: PublicId, chapter_id: ChapterId, reading: ReportedReading
    ) -> ChapterProgress:
        """Store what a device reports of a chapter, where nothing newer is known; the progress afterwards."""

        async def write(tx: Tx) -> tuple[ChapterProgress, bool]:
            await begin_reading_tx(tx, shelf_id)
            series_id = await known_series_tx(tx, series)
            chapter = await _chapter_tx(tx, series_id, chapter_id)
            progress = await self._write_tx(tx, shelf_id, chapter, reading)
            return progress, await self._settle_tx(tx, shelf_id, {series_id})

        progress, has_events = await self._deps.db.with_tx(write)
        if has_events or reading.is_bookmarked is not None:
            self._deps.after_commit(EVENTS_WAKEUP)
        return progress

    async def report_many(self, shelf_id: ShelfId, reports: Sequence[ReportedProgress]) -> Sequence[ProgressResult]:
        """Store what a device collected while offline, each with its own result; bad ones spoil no good ones."""

        async def write(tx: Tx) -> tuple[list[ProgressResult], bool]:
            await begin_reading_tx(tx, shelf_id)
            touched: set[SeriesId] = set()
            answers = [await self._report_one_tx(tx, shelf_id, each, touched) for each in reports]
            return answers, await self._settle_tx(tx, shelf_id, touched)

        answers, has_events = await self._deps.db.with_tx(write)
        if has_events or any(each.reading.is_bookmarked is not None for each in reports):
            self._deps.after_commit(EVENTS_WAKEUP)
        return answers

    async def _report_one_tx(
        self, tx: Tx, shelf_id: ShelfId, report: ReportedProgress, touched: set[SeriesId]
    ) -> ProgressResult:
        try:
            chapter = await _reported_chapter_tx(tx, report)
        except (NotFound, Invalid) as error:
            return ProgressResult(report.chapter, error=error)
        touched.add(chapter.series_id)
        return ProgressResult(chapter.id, await self._write_tx(tx, shelf_id, chapter, report.reading))

    async def _write_tx(
        self, tx: Tx, shelf_id: ShelfId, chapter: ReadChapter, reading: ReportedReading
    ) -> ChapterProgress:
        now = self._deps.clock()
        is_read, at = decided(reading, chapter), moment(reading.at, now)
        if reading.is_bookmarked is not None:
            await tx.run(q.saved_follows, shelf_id=shelf_id, chapter_id=chapter.id, saved=reading.is_bookmarked)
            await counts_changed_tx(tx, [shelf_id], now)
        return await write_progress_tx(tx, shelf_id, chapter.id, reading, is_read=is_read, at=at, now=now)

    async def _settle_tx(self, tx: Tx, shelf_id: ShelfId, series: set[SeriesId]) -> bool:
        """Set the entries of a series to its progress; True when some changed, so that open pages get an event."""
        now = self._deps.clock()
        changed = sum([await entries_follow_tx(tx, shelf_id, each, now) for each in sorted(series)])
        if changed:
            await counts_changed_tx(tx, [shelf_id], now)
        return bool(changed)

    # -- marking

    async def mark(
        self,
        shelf_id: ShelfId,
        series: PublicId,
        some: ChapterSelection,
        *,
        is_read: bool,
        made_at: Millis | None = None,
    ) -> MarkedChapters:
        """Mark chapters of a series read or unread, in the inbox or not; NotFound for a `before` of another series.

        `made_at` is when the reader did it, where it is sent later: what was said since then stays.
        """
        at = moment(made_at, self._deps.clock())

        async def mark(tx: Tx, series_id: SeriesId) -> int:
            if some.before is not None:
                await _chapter_tx(tx, series_id, some.before)
            return await mark_chapters_tx(tx, shelf_id, series_id, some, is_read=is_read, now=at)

        return await self._mark(shelf_id, series, mark, at)

    async def mark_again(self, shelf_id: ShelfId, series: PublicId, at: Millis) -> MarkedChapters:
        """Make read again what was marked unread at that moment."""
        now = self._deps.clock()
        return await self._mark(
            shelf_id,
            series,
            lambda tx, series_id: tx.run(q.mark_again, shelf_id=shelf_id, series_id=series_id, at=at, now=now),
            now,
        )

    async def _mark(self, shelf_id: ShelfId, series: PublicId, mark: Mark, at: Millis) -> MarkedChapters:
        async def work(tx: Tx) -> tuple[int, bool]:
            await begin_reading_tx(tx, shelf_id)
            series_id = await known_series_tx(tx, series)
            changed = await mark(tx, series_id)
            has_events = changed > 0 and await entries_follow_tx(tx, shelf_id, series_id, at) > 0
            if has_events:
                await counts_changed_tx(tx, [shelf_id], self._deps.clock())
            return changed, has_events

        changed, has_events = await self._deps.db.with_tx(work)
        if has_events:
            self._deps.after_commit(EVENTS_WAKEUP)
        return MarkedChapters(changed, at)

    # -- history

    async def history(self, shelf_id: ShelfId, *, after: PageCursor, most: int) -> Page[HistoryRow]:
        """Opened chapters, the last opened first."""

        async def read(tx: Tx) -> Page[HistoryRow]:
            found = await history_tx(tx, shelf_id, after=after, most=most + 1)
            rows = found[:most]
            further = PageCursor(rows[-1].opened_at, rows[-1].chapter_id) if len(found) > most else None
            return Page(rows, await tx.one(int, q.count_history, shelf_id=shelf_id), further)

        return await self._deps.db.read(read)

    async def opened_of(self, shelf_id: ShelfId, series: PublicId, most: int) -> Sequence[HistoryRow]:
        """What was opened of one series, the last first."""

        async def read(tx: Tx) -> Sequence[HistoryRow]:
            series_id = await known_series_tx(tx, series)
            return await history_tx(tx, shelf_id, after=FROM_THE_TOP, most=most, series_id=series_id)

        return await self._deps.db.read(read)

    async def forget(self, shelf_id: ShelfId, chapter_id: ChapterId) -> Millis:
        """Take a chapter out of the history and say when it was opened; NotFound if it was not. Its progress stays."""

        async def forget(tx: Tx) -> Millis | None:
            opened_at = await tx.maybe(Millis, q.find_opened, shelf_id=shelf_id, chapter_id=chapter_id)
            await tx.run(q.forget_one, shelf_id=shelf_id, chapter_id=chapter_id)
            return opened_at

        opened_at = await self._deps.db.with_tx(forget)
        if opened_at is None:
            raise NotFound("There is no such chapter in the history.")
        return opened_at

    async def recall(self, shelf_id: ShelfId, chapter_id: ChapterId, opened_at: Millis) -> None:
        """Put a chapter back that was forgotten; nothing happens when it is in the history, or was never read here."""
        at = moment(opened_at, self._deps.clock())
        await self._deps.db.with_tx(lambda tx: recall_one_tx(tx, shelf_id, chapter_id, at))

    async def forget_all(self, shelf_id: ShelfId) -> int:
        """Empty the history; how many went."""
        return await self._deps.db.with_tx(lambda tx: tx.run(q.forget_all, shelf_id=shelf_id))


async def _chapter_tx(tx: Tx, series_id: SeriesId, chapter_id: ChapterId) -> ReadChapter:
    chapter = await find_chapter_tx(tx, series_id, chapter_id)
    if chapter is None:
        raise NotFound(NO_CHAPTER)
    return chapter


async def _reported_chapter_tx(tx: Tx, report: ReportedProgress) -> ReadChapter:
    """By its id; by its number where that is gone or unknown."""
    series_id = await known_series_tx(tx, report.series)
    chapter = None if report.chapter is None else await find_chapter_tx(tx, series_id, report.chapter)
    if chapter is None and report.number is not None:
        number = parse_number(report.number)
        if number is None:
            raise Invalid(f"{report.number!r} is not a chapter number.")
        chapter = await tx.maybe(ReadChapter, q.find_chapter_keyed, series_id=series_id, key=number_key(number))
    if chapter is None:
        raise NotFound(NO_CHAPTER)
    return chapter
