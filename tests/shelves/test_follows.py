"""Series come onto a shelf and leave it, and nothing that a reader did is lost (I9)."""

import asyncio
from typing import Any

import pytest

from tests.builders import NOON
from tests.delivery.builders import a_reader, add_group, events_of, task_keys
from tests.inbox.builders import an_inbox
from tests.shelves.builders import on_plan
from tests.shelves.library_builders import (
    Clock,
    a_published_series,
    chapter_of,
    disagreeing,
    entries_in,
    library_deps,
    release,
    watches_of,
    wrong_tallies,
)
from tsuzuki.accounts.types import Slice
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.errors import Conflict, LimitExceeded, NotFound
from tsuzuki.model.ids import PublicId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.shelves.follows import Follows
from tsuzuki.shelves.progress import ReadingProgress
from tsuzuki.shelves.types import (
    ChapterSelection,
    FollowChange,
    FollowFilter,
    FollowRequest,
    ReleasePreferences,
    ReportedReading,
)
from tsuzuki.sources.comics import NOBODY_FOLLOWS

ALL = Slice(most=100)

q = parse_queries("tests", "-- name: group_id\nselect public_id from shelf_group where id = :id;")


@pytest.fixture
def deps(db):
    return library_deps(db)


@pytest.fixture
def follows(deps):
    return Follows(deps)


@pytest.fixture
def progress(deps):
    return ReadingProgress(deps)


# -- coming


async def test_following_a_known_series_gives_one_notice_without_entries(db, follows):
    """R8."""
    series, shelf = await a_published_series(db, range(1, 31)), await a_reader(db)
    followed = await follows.add(shelf, FollowRequest(series=series.public_id))
    assert (followed.available, followed.restored) == (30, 0)
    assert (followed.follow.chapters, followed.follow.unread, followed.follow.new) == (30, 30, 0)
    assert await entries_in(db, shelf, series.id) == []
    (event,) = await events_of(db, shelf)
    assert (event.kind, event.payload["available"]) == ("entry", 30)
    assert await task_keys(db, "notifications") == []


async def test_what_comes_out_after_following_comes_into_the_inbox(db, follows):
    series, shelf = await a_published_series(db, [1, 2]), await a_reader(db)
    await follows.add(shelf, FollowRequest(series=series.public_id))
    await release(db, series, [3])
    assert [entry.key for entry in await entries_in(db, shelf, series.id)] == ["3"]


async def test_a_series_can_be_followed_once_only(db, follows):
    """R75."""
    series, shelf = await a_published_series(db), await a_reader(db)
    await follows.add(shelf, FollowRequest(series=series.public_id))
    with pytest.raises(Conflict):
        await follows.add(shelf, FollowRequest(series=series.public_id))


async def test_what_is_no_series_cannot_be_followed(db, follows):
    with pytest.raises(NotFound):
        await follows.add(await a_reader(db), FollowRequest(series=PublicId(bytes(16))))


async def test_following_starts_the_polling_of_every_source_that_has_it(db, follows):
    series, shelf = await a_published_series(db, sources=2, watched=False), await a_reader(db)
    assert await watches_of(db, series.id) == []
    await follows.add(shelf, FollowRequest(series=series.public_id))
    watches = await watches_of(db, series.id)
    assert [(watch.reason, watch.priority) for watch in watches] == [(None, 1), (None, 1)]
    assert all(watch.next_check_at < NOON + 1000 for watch in watches)


async def test_a_plan_s_room_is_asked_for(db, follows):
    shelf = await a_reader(db)
    await on_plan(db, shelf, "free")
    for number in range(10):
        await follows.add(shelf, FollowRequest(series=(await a_published_series(db, title=str(number))).public_id))
    with pytest.raises(LimitExceeded):
        await follows.add(shelf, FollowRequest(series=(await a_published_series(db)).public_id))


# -- going, and coming back


async def test_polling_stops_and_starts_with_its_followers(db, follows):
    series = await a_published_series(db)
    first, second = await a_reader(db), await a_reader(db)
    ones = [(await follows.add(shelf, FollowRequest(series=series.public_id))).follow for shelf in (first, second)]
    await follows.leave(first, ones[0].public_id)
    assert [watch.reason for watch in await watches_of(db, series.id)] == [None]
    await follows.leave(second, ones[1].public_id)
    assert [watch.reason for watch in await watches_of(db, series.id)] == [NOBODY_FOLLOWS]
    await follows.add(first, FollowRequest(series=series.public_id))
    (watch,) = await watches_of(db, series.id)
    assert watch.reason is None
    assert watch.next_check_at < NOON + 1000


async def test_what_everyone_dropped_is_not_polled(db, follows):
    series, shelf = await a_published_series(db), await a_reader(db)
    follow = (await follows.add(shelf, FollowRequest(series=series.public_id))).follow
    await follows.change(shelf, follow.public_id, FollowChange(status="dropped"))
    assert [watch.reason for watch in await watches_of(db, series.id)] == [NOBODY_FOLLOWS]
    await follows.change(shelf, follow.public_id, FollowChange(status="reading"))
    assert [watch.reason for watch in await watches_of(db, series.id)] == [None]


async def test_following_again_restores_entries_progress_and_settings(db, follows, deps, progress):
    """I9: leaving is undone by following again; what was read meanwhile stays read."""
    series, shelf = await a_published_series(db, [1]), await a_reader(db)
    group = await add_group(db, shelf, "Weekly")
    named = await db.read(lambda tx: tx.one(PublicId, q.group_id, id=group))
    request = FollowRequest(
        series=series.public_id, group=named, status="plan", preferences=ReleasePreferences(languages=("en",))
    )
    follow = (await follows.add(shelf, request)).follow
    await release(db, series, [2, 3, 4])
    second, third = await chapter_of(db, series.id, 2), await chapter_of(db, series.id, 3)
    await progress.report(shelf, series.public_id, second, ReportedReading(page=7, is_read=True, is_bookmarked=True))
    before = await entries_in(db, shelf, series.id)
    await follows.leave(shelf, follow.public_id)
    assert await entries_in(db, shelf, series.id) == []
    assert (await follows.list(shelf, FollowFilter(), ALL))[1] == 0
    assert (await progress.get(shelf, series.public_id, second)).page == 7
    await release(db, series, [5])
    back = await follows.add(shelf, FollowRequest(series=series.public_id))
    assert (back.available, back.restored) == (2, 3)
    assert (back.follow.group_public_id, back.follow.status) == (named, "plan")
    assert back.follow.preferences == ReleasePreferences(languages=("en",))
    assert await entries_in(db, shelf, series.id) == before
    await progress.mark(shelf, series.public_id, ChapterSelection(chapters=[third]), is_read=True)
    assert await disagreeing(db) == 0
    assert await wrong_tallies(db) == 0


async def test_an_entry_that_was_saved_is_saved_again(db, follows, progress):
    series, shelf = await a_published_series(db), await a_reader(db)
    follow = (await follows.add(shelf, FollowRequest(series=series.public_id))).follow
    await release(db, series, [1])
    chapter = await chapter_of(db, series.id, 1)
    await progress.report(shelf, series.public_id, chapter, ReportedReading(is_bookmarked=True))
    await follows.leave(shelf, follow.public_id)
    await follows.add(shelf, FollowRequest(series=series.public_id))
    assert [(entry.unread, entry.saved) for entry in await entries_in(db, shelf, series.id)] == [(True, True)]


async def test_another_shelfs_follow_is_not_found(db, follows):
    """I8."""
    series, mine, other = await a_published_series(db), await a_reader(db), await a_reader(db)
    follow = (await follows.add(mine, FollowRequest(series=series.public_id))).follow
    for attempt in (
        follows.get(other, follow.public_id),
        follows.change(other, follow.public_id, FollowChange(notify=False)),
        follows.leave(other, follow.public_id),
    ):
        with pytest.raises(NotFound):
            await attempt


# -- lists


async def a_full_library(db, follows, progress, shelf):
    """Old is read to the end, Gappy lacks chapter 2, New has nothing yet."""
    old = await a_published_series(db, [1, 2], title="old")
    gappy = await a_published_series(db, [1, 3, "3.5"], title="Gappy")
    new = await a_published_series(db, title="New")
    for series in (old, gappy, new):
        await follows.add(shelf, FollowRequest(series=series.public_id))
    await progress.mark(shelf, old.public_id, ChapterSelection(), is_read=True)
    chapter = await chapter_of(db, gappy.id, 1)
    await progress.report(shelf, gappy.public_id, chapter, ReportedReading(page=3))
    return old, gappy, new


SORTED = {
    "title": ["Gappy", "New", "old"],
    "unread": ["Gappy", "New", "old"],
    "added": ["New", "Gappy", "old"],
    "last_read": ["Gappy", "New", "old"],
    "last_chapter": ["Gappy", "old", "New"],
}
NARROWED: list[tuple[dict[str, Any], list[str]]] = [
    ({"unread": True}, ["Gappy"]),
    ({"unread": False}, ["New", "old"]),
    ({"has_gaps": True}, ["Gappy"]),
    ({"has_gaps": False}, ["New", "old"]),
    ({"status": "plan"}, []),
    ({"status": "reading"}, ["Gappy", "New", "old"]),
]


async def test_a_library_is_sorted_filtered_and_paged(db, follows, progress):
    shelf = await a_reader(db)
    _, gappy, _ = await a_full_library(db, follows, progress, shelf)
    await release(db, gappy, [4], now=Millis(NOON + 1))
    for sort, titles in SORTED.items():
        rows, total = await follows.list(shelf, FollowFilter(sort=sort), ALL)  # type: ignore[arg-type]  # a key of the table
        assert (sort, [row.title for row in rows], total) == (sort, titles, 3)
    for wanted, titles in NARROWED:
        rows, total = await follows.list(shelf, FollowFilter(**wanted), ALL)
        assert (wanted, [row.title for row in rows], total) == (wanted, titles, len(titles))
        page, total = await follows.list(shelf, FollowFilter(**wanted), Slice(most=1, skip=1))
        assert ([row.title for row in page], total) == (titles[1:2], len(titles))


async def test_reading_continues_at_the_open_or_next_chapter(db, follows, progress):
    shelf = await a_reader(db)
    _, gappy, new = await a_full_library(db, follows, progress, shelf)
    assert [(next_.title, next_.number, next_.page) for next_ in await follows.continue_reading(shelf, 10)] == [
        ("Gappy", "1", 3)
    ]
    await progress.mark(shelf, gappy.public_id, ChapterSelection(up_to=3_000_000), is_read=True)
    await release(db, new, [1])
    found = await follows.continue_reading(shelf, 10)
    assert [(next_.title, next_.number, next_.unread) for next_ in found] == [("Gappy", "3.5", 1), ("New", "1", 1)]


# -- races


async def test_chapters_delivered_during_following_come_exactly_once(db):
    """R8, I2: whatever the order in which they meet."""
    deps = library_deps(db, Clock())
    follows, series = Follows(deps), await a_published_series(db, [1])
    shelves = [await a_reader(db) for _ in range(6)]

    async def publish() -> None:
        for number in range(2, 8):
            await release(db, series, [number])

    async def come(shelf: ShelfId) -> int:
        return (await follows.add(shelf, FollowRequest(series=series.public_id))).available

    publishing = asyncio.create_task(publish())
    available = await asyncio.gather(*(come(shelf) for shelf in shelves))
    await publishing
    for shelf, told in zip(shelves, available, strict=True):
        keys = [int(entry.key) for entry in await entries_in(db, shelf, series.id)]
        assert keys == list(range(told + 1, 8))


async def test_entries_and_progress_agree_after_undoing_a_mass_mark(db, follows, deps):
    series, shelf = await a_published_series(db), await a_reader(db)
    await follows.add(shelf, FollowRequest(series=series.public_id))
    await release(db, series, [1, 2, 3])
    marked = await ReadingProgress(deps).mark(shelf, series.public_id, ChapterSelection(up_to=2_000_000), is_read=True)
    assert marked.changed == 2
    assert [entry.unread for entry in await entries_in(db, shelf, series.id)] == [False, False, True]
    undone = await an_inbox(db).undo(shelf, marked.at)
    assert undone.changed == 2
    assert [entry.unread for entry in await entries_in(db, shelf, series.id)] == [True, True, True]
    assert await disagreeing(db) == 0
