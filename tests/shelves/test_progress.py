"""How far a chapter was read: the newest word counts, the furthest page is kept, and the inbox says the same."""

import asyncio
import itertools
import random
from functools import partial

import pytest

from tests.builders import NOON
from tests.delivery.builders import a_reader, entry_ids, events_of
from tests.delivery.builders import release as deliver
from tests.inbox.builders import an_inbox
from tests.shelves.library_builders import (
    Clock,
    Published,
    a_published_series,
    chapter_of,
    disagreeing,
    entries_in,
    library_deps,
    progress_in,
    release,
)
from tsuzuki.accounts.types import Slice
from tsuzuki.inbox.entries import MarkScope
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import ChapterId, ShelfId
from tsuzuki.model.pages import FROM_THE_TOP
from tsuzuki.model.times import HOUR, MINUTE, Millis
from tsuzuki.shelves.follows import Follows
from tsuzuki.shelves.progress import ReadingProgress
from tsuzuki.shelves.series import SeriesService
from tsuzuki.shelves.types import ChapterProgress, ChapterSelection, FollowRequest, ReportedProgress, ReportedReading
from tsuzuki.sources.comics import delete_mapping_tx


class ReadingSetup:
    """A reader with a followed series whose chapters 1 to 3 lie in the inbox."""

    def __init__(self, db, series: Published, shelf: ShelfId, clock: Clock) -> None:
        self.db = db
        self.series = series
        self.shelf = shelf
        self.clock = clock
        deps = library_deps(db, clock)
        self.progress = ReadingProgress(deps)
        self.inbox = an_inbox(db, clock)
        self.follows = Follows(deps)

    async def tell(self, key: object, **said: object) -> ChapterProgress:
        chapter = await self.chapter(key)
        return await self.progress.report(self.shelf, self.series.public_id, chapter, ReportedReading(**said))  # type: ignore[arg-type]  # a test's words

    async def chapter(self, key: object) -> ChapterId:
        return await chapter_of(self.db, self.series.id, key)

    async def unread(self) -> list[str]:
        return [entry.key for entry in await entries_in(self.db, self.shelf, self.series.id) if entry.unread]


@pytest.fixture
async def place(db) -> ReadingSetup:
    place = ReadingSetup(db, await a_published_series(db, sources=2), await a_reader(db), Clock())
    await place.follows.add(place.shelf, FollowRequest(series=place.series.public_id))
    await release(db, place.series, [1, 2, 3], page_count=20)
    return place


def ago(place: ReadingSetup, span: int) -> Millis:
    return Millis(place.clock.now - span)


# -- the newest wins


async def test_the_newest_report_wins_and_the_furthest_is_offered(place):
    await place.tell(1, page=12, at=ago(place, MINUTE), device="phone")
    late = await place.tell(1, page=15, at=ago(place, HOUR), device="tablet")
    assert (late.page, late.furthest_page, late.device) == (12, 15, "phone")
    back = await place.tell(1, page=3, at=ago(place, 1), device="desk")
    assert (back.page, back.furthest_page, back.device) == (3, 15, "desk")


async def test_a_device_with_a_fast_clock_does_not_win(place):
    ahead = await place.tell(1, page=5, at=Millis(NOON + 100 * HOUR), device="ahead")
    assert ahead.paged_at is not None
    assert ahead.paged_at <= place.clock.now
    assert (await place.tell(1, page=6, device="right")).page == 6


async def test_a_time_before_all_times_is_taken_as_the_first(place):
    assert (await place.tell(1, page=5, at=Millis(-5))).paged_at == 0


@pytest.mark.parametrize("seed", range(2))
async def test_the_same_words_in_any_order_come_to_the_same(place, seed):
    """Pages, marks and equal moments: three devices that were away arrive as they like."""
    start = ago(place, HOUR)
    words = [
        ReportedReading(page=page, at=Millis(start + at), device=device, is_read=is_read)
        for page, at, device, is_read in [
            (3, 10, "phone", None),
            (9, 10, "tablet", None),
            (4, 20, "phone", None),
            (19, 15, "desk", None),
            (0, 17, "desk", False),
            (2, 18, "phone", True),
        ]
    ]
    random.Random(seed).shuffle(words)
    chapter = await place.chapter(1)
    for word in words:
        await place.progress.report(place.shelf, place.series.public_id, chapter, word)
    found = await place.progress.get(place.shelf, place.series.public_id, chapter)
    assert (found.page, found.device, found.furthest_page, found.is_read) == (4, "phone", 19, True)


async def test_twenty_concurrent_reports_converge_to_the_newest(place):
    start = ago(place, HOUR)
    devices = itertools.cycle(("phone", "tablet", "desk"))
    words = [ReportedReading(page=number, at=Millis(start + number), device=next(devices)) for number in range(18)]
    words += [
        ReportedReading(page=2, at=Millis(start + 90), device="phone"),
        ReportedReading(page=1, at=Millis(start + 80)),
    ]
    random.shuffle(words)
    chapter = await place.chapter(1)
    told = [place.progress.report(place.shelf, place.series.public_id, chapter, word) for word in words]
    await asyncio.gather(*told)
    found = await place.progress.get(place.shelf, place.series.public_id, chapter)
    assert (found.page, found.device, found.furthest_page) == (2, "phone", 17)


# -- read once is read everywhere


async def test_the_last_page_makes_it_read_in_the_inbox_too(db, place):
    assert not (await place.tell(1, page=18)).is_read
    assert await place.unread() == ["1", "2", "3"]
    before = len(await events_of(db, place.shelf))
    assert (await place.tell(1, page=19)).is_read
    assert await place.unread() == ["2", "3"]
    assert [event.kind for event in (await events_of(db, place.shelf))[before:]] == ["counts"]


async def test_a_device_may_report_an_unknown_page_count(place):
    await release(place.db, place.series, [4])
    assert not (await place.tell(4, page=500)).is_read
    assert (await place.tell(4, page=9, page_count=10)).is_read


async def test_reading_again_does_not_mark_as_unread(place):
    await place.tell(1, page=19)
    assert (await place.tell(1, page=2)).is_read
    assert not (await place.tell(1, is_read=False)).is_read
    assert await place.unread() == ["1", "2", "3"]


async def test_what_was_read_before_it_was_marked_unread_stays_unread(place):
    """A device that was away tells of the last page, which somebody has unmarked since."""
    await place.tell(1, is_read=False)
    assert not (await place.tell(1, page=19, at=ago(place, HOUR))).is_read


async def test_marking_entries_marks_their_chapters(db, place):
    ids = await entry_ids(db, place.shelf)
    await place.inbox.mark_entries(place.shelf, ids[:2], unread=False)
    assert [row.key for row in await progress_in(db, place.shelf, place.series.id) if row.is_read] == ["1", "2"]
    await place.inbox.mark_entries(place.shelf, ids[:1], unread=True)
    assert [row.key for row in await progress_in(db, place.shelf, place.series.id) if row.is_read] == ["2"]
    marked = await place.inbox.mark_scope(place.shelf, MarkScope(with_chapters=True), unread=False)
    assert await disagreeing(db) == 0
    await place.inbox.undo(place.shelf, marked.at)
    assert await place.unread() == ["1", "3"]
    await place.inbox.mark_scope(place.shelf, MarkScope(with_chapters=True), unread=True)
    assert await disagreeing(db) == 0
    assert await place.unread() == ["1", "2", "3"]


async def test_saved_entries_and_bookmarks_of_a_series_agree(db, place):
    entry, *_ = await entry_ids(db, place.shelf)
    await place.inbox.save_chapter(place.shelf, entry, saved=True)
    chapter = await place.chapter(1)
    assert (await place.progress.get(place.shelf, place.series.public_id, chapter)).is_bookmarked
    await place.tell(1, is_bookmarked=False)
    assert [row.saved for row in await entries_in(db, place.shelf, place.series.id)] == [False, False, False]
    with pytest.raises(NotFound):
        await place.inbox.save_chapter(await a_reader(db), entry, saved=True)


async def test_a_chapter_stays_read_when_its_source_is_gone(db, place):
    """I9, R51: progress and entries hang on chapters, never on releases."""
    await place.tell(1, page=4, is_read=True)
    for mapping in place.series.sources:
        await db.with_tx(partial(delete_mapping_tx, mapping_id=mapping))
    assert await place.unread() == ["2", "3"]
    chapters, total = await SeriesService(db).chapters(place.shelf, place.series.public_id, Slice())
    assert ([chapter.row.is_read for chapter in chapters], total) == ([False, False, True], 3)
    assert [chapter.preferred for chapter in chapters] == [None, None, None]


async def test_a_chapter_that_was_read_is_read_on_every_source(db, place):
    """R7, R51: progress hangs on the chapter."""
    await place.tell(1, is_read=True)
    await release(db, place.series, [1], mapping=place.series.sources[1])
    assert await place.unread() == ["2", "3"]
    assert (await place.progress.get(place.shelf, place.series.public_id, await place.chapter(1))).is_read


async def test_another_shelf_reads_for_itself(db, place):
    """I8, R70."""
    other = await a_reader(db)
    await place.tell(1, page=19)
    found = await place.progress.get(other, place.series.public_id, await place.chapter(1))
    assert (found.page, found.is_read) == (0, False)


async def test_counts_stay_exact_while_devices_mark_at_once(db, place):
    await deliver(db, place.series.id, range(4, 20))
    chapters = [await place.chapter(number) for number in range(1, 20)]
    ids = await entry_ids(db, place.shelf)
    series, shelf = place.series.public_id, place.shelf
    await asyncio.gather(
        *(place.progress.report(shelf, series, chapter, ReportedReading(is_read=True)) for chapter in chapters[::2]),
        place.inbox.mark_entries(shelf, ids, unread=False),
        place.progress.mark(shelf, series, ChapterSelection(up_to=9_000_000), is_read=False),
    )
    assert await disagreeing(db) == 0


# -- marking many


async def test_a_chapter_marked_unread_can_be_read_at_once(db, place):
    """Only that mark is taken back: what was unread before it, and what was read since, stays."""
    mark, series = place.progress.mark, place.series.public_id
    await mark(place.shelf, series, ChapterSelection(up_to=2_000_000), is_read=True)
    unmarked = await mark(place.shelf, series, ChapterSelection(), is_read=False)
    assert (unmarked.changed, await place.unread()) == (2, ["1", "2", "3"])
    other = await a_reader(db)
    assert (await place.progress.mark_again(other, series, unmarked.at)).changed == 0
    assert (await place.progress.mark_again(place.shelf, series, unmarked.at)).changed == 2
    assert await place.unread() == ["3"]
    assert (await place.progress.mark_again(place.shelf, series, unmarked.at)).changed == 0
    assert await disagreeing(db) == 0


async def test_a_late_mass_mark_does_not_change_newer_reports(db, place):
    mark, series = place.progress.mark, place.series.public_id
    made_at = ago(place, MINUTE)
    await place.tell(1, is_read=True)
    assert (await mark(place.shelf, series, ChapterSelection(), is_read=False, made_at=made_at)).changed == 0
    await place.tell(1, is_read=False, at=ago(place, 0))
    marked = await mark(place.shelf, series, ChapterSelection(), is_read=True, made_at=made_at)
    assert (marked.changed, marked.at) == (2, made_at)
    assert await place.unread() == ["1"]
    await place.inbox.undo(place.shelf, made_at)  # by the moment that its reader knows
    assert await place.unread() == ["1", "2", "3"]
    assert await disagreeing(db) == 0


async def test_chapters_are_marked_up_to_by_id_or_all(db, place):
    await release(db, place.series, ["2.5", 10])

    async def read() -> list[str]:
        return [row.key for row in await progress_in(db, place.shelf, place.series.id) if row.is_read]

    mark, series = place.progress.mark, place.series.public_id
    assert (await mark(place.shelf, series, ChapterSelection(up_to=2_500_000), is_read=True)).changed == 3
    assert await read() == ["1", "2", "2.5"]
    assert (
        await mark(place.shelf, series, ChapterSelection(before=await place.chapter(10)), is_read=True)
    ).changed == 1
    assert await read() == ["1", "2", "2.5", "3"]
    assert (
        await mark(place.shelf, series, ChapterSelection(chapters=[await place.chapter(1)]), is_read=False)
    ).changed == 1
    assert (await mark(place.shelf, series, ChapterSelection(), is_read=True)).changed == 2
    assert (await mark(place.shelf, series, ChapterSelection(), is_read=True)).changed == 0
    assert await place.unread() == []


async def test_marking_a_chapter_of_another_series_changes_nothing(db, place):
    other = await a_published_series(db, [1], title="Other")
    foreign = await chapter_of(db, other.id, 1)
    with pytest.raises(NotFound):
        await place.progress.report(place.shelf, place.series.public_id, foreign, ReportedReading(page=1))
    with pytest.raises(NotFound):
        await place.progress.mark(place.shelf, place.series.public_id, ChapterSelection(before=foreign), is_read=True)
    changed = await place.progress.mark(
        place.shelf, place.series.public_id, ChapterSelection(chapters=[foreign]), is_read=True
    )
    assert changed.changed == 0


# -- devices that were away


async def test_reports_are_answered_separately_and_bad_ones_skipped(place):
    series, first = place.series.public_id, await place.chapter(1)
    told = [
        ReportedProgress(series=series, chapter=first, number=None, reading=ReportedReading(page=4)),
        ReportedProgress(series=series, chapter=ChapterId(10**9), number=None, reading=ReportedReading(page=4)),
        ReportedProgress(series=series, chapter=ChapterId(10**9), number="02.0", reading=ReportedReading(page=19)),
        ReportedProgress(series=series, chapter=None, number="Extra", reading=ReportedReading(page=4)),
        ReportedProgress(series=series, chapter=first, number=None, reading=ReportedReading(page=5)),
    ]
    answers = await place.progress.report_many(place.shelf, told)
    assert [answer.progress and answer.progress.page for answer in answers] == [4, None, 19, None, 5]
    assert [answer.error and answer.error.code for answer in answers] == [
        None,
        "NOT_FOUND",
        None,
        "VALIDATION_ERROR",
        None,
    ]
    assert await place.unread() == ["1", "3"]


# -- history


async def test_the_history_lists_opened_chapters_newest_first(place):
    for key in (1, 2, 3):
        await place.tell(key, page=1)
    await place.tell(1, page=2)
    await place.tell(2, is_read=True)
    page = await place.progress.history(place.shelf, after=FROM_THE_TOP, most=2)
    assert ([row.number for row in page.rows], page.total) == (["1", "3"], 3)
    assert page.next_cursor is not None
    rest = await place.progress.history(place.shelf, after=page.next_cursor, most=2)
    assert ([row.number for row in rest.rows], rest.next_cursor) == (["2"], None)


async def test_forgetting_history_keeps_the_progress(place):
    chapter = await place.chapter(1)
    await place.tell(1, page=7)
    await place.tell(2, page=7)
    before = await place.progress.history(place.shelf, after=FROM_THE_TOP, most=2)
    opened_at = await place.progress.forget(place.shelf, chapter)
    with pytest.raises(NotFound):
        await place.progress.forget(place.shelf, chapter)
    await place.progress.recall(place.shelf, chapter, opened_at)
    await place.progress.recall(place.shelf, chapter, Millis(opened_at - HOUR))  # it is there already
    assert await place.progress.history(place.shelf, after=FROM_THE_TOP, most=2) == before
    await place.progress.forget(place.shelf, chapter)
    assert (await place.progress.get(place.shelf, place.series.public_id, chapter)).page == 7
    assert await place.progress.forget_all(place.shelf) == 1
    assert (await place.progress.history(place.shelf, after=FROM_THE_TOP, most=2)).rows == []
