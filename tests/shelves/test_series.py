"""What the pages of a series stand on: its chapters in order, marks up to one of them, and what was opened of it."""

from tests.builders import NOON
from tests.delivery.builders import a_reader
from tests.shelves.library_builders import a_published_series, chapter_of, library_deps, release
from tsuzuki.accounts.types import Slice
from tsuzuki.model.times import Millis
from tsuzuki.shelves.follows import Follows
from tsuzuki.shelves.progress import ReadingProgress
from tsuzuki.shelves.series import SeriesService
from tsuzuki.shelves.types import (
    ChapterSelection,
    FollowChange,
    FollowFilter,
    FollowRequest,
    ReleasePreferences,
    ReportedReading,
)


async def test_chapters_come_in_list_order_with_progress(db):
    series = await a_published_series(db, [1, "2.5", 2, 10])
    shelf = await a_reader(db)
    progress, looks = ReadingProgress(library_deps(db)), SeriesService(db)
    await progress.mark(
        shelf, series.public_id, ChapterSelection(chapters=[await chapter_of(db, series.id, 2)]), is_read=True
    )
    order = await looks.order(shelf, series.public_id)
    listed, _ = await looks.chapters(shelf, series.public_id, Slice())
    assert [each.id for each in order] == [each.row.id for each in listed]
    assert [each.number for each in order if each.is_read] == ["2"]


async def test_up_to_a_chapter_means_that_one_too(db):
    series = await a_published_series(db, [1, 2, 3])
    shelf, other = await a_reader(db), await a_reader(db)
    progress, looks = ReadingProgress(library_deps(db)), SeriesService(db)
    second = await chapter_of(db, series.id, 2)
    included = await progress.mark(
        shelf, series.public_id, ChapterSelection(before=second, is_inclusive=True), is_read=True
    )
    assert included.changed == 2
    assert [each.is_read for each in await looks.order(shelf, series.public_id)] == [False, True, True]
    assert (await progress.mark(other, series.public_id, ChapterSelection(before=second), is_read=True)).changed == 1


async def test_groups_and_languages_of_all_releases_can_be_preferred(db):
    series = await a_published_series(db, [], sources=2)
    await release(db, series, [1], group_name="Beta", language="en")
    await release(db, series, [1, 2], mapping=series.sources[1], group_name="Alpha", language="ja")
    offered = await SeriesService(db).offered(series.public_id)
    assert (offered.groups, offered.languages) == (["Alpha", "Beta"], ["en", "ja"])


async def test_what_was_opened_of_one_series_has_nothing_of_another(db):
    series, other = await a_published_series(db, [1, 2]), await a_published_series(db, [1], title="Other")
    shelf = await a_reader(db)
    progress = ReadingProgress(library_deps(db))
    for which, number, at in ((series, 1, 1), (other, 1, 2), (series, 2, 3)):
        chapter = await chapter_of(db, which.id, number)
        await progress.report(shelf, which.public_id, chapter, ReportedReading(page=0, at=Millis(NOON - 1000 + at)))
    opened = await progress.opened_of(shelf, series.public_id, 10)
    assert [each.number for each in opened] == ["2", "1"]
    assert len(await progress.opened_of(shelf, series.public_id, 1)) == 1


async def test_i9_a_follow_restores_its_reading_mode(db):
    series = await a_published_series(db, [1])
    shelf = await a_reader(db)
    follows = Follows(library_deps(db))
    followed = await follows.add(shelf, FollowRequest(series=series.public_id))
    wanted = ReleasePreferences(languages=("en",), mode="rtl", fit="width")
    await follows.change(shelf, followed.follow.public_id, FollowChange(preferences=wanted))
    await follows.leave(shelf, followed.follow.public_id)
    await follows.add(shelf, FollowRequest(series=series.public_id))
    [follow], _ = await follows.list(shelf, FollowFilter(), Slice())
    assert follow.preferences == wanted
