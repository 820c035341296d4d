"""Two series become one and two again, and nobody loses what was read (I9)."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOON
from tests.catalogue.merge_builders import (
    a_merging,
    audited,
    lost_rows,
    series_named,
    state,
    structure,
    told,
)
from tests.delivery.builders import a_reader
from tests.ingest.builders import a_task
from tests.scale import examples
from tests.shelves.library_builders import (
    Published,
    a_published_series,
    chapter_of,
    disagreeing,
    entries_in,
    library_deps,
    progress_in,
    release,
    watches_of,
    wrong_tallies,
)
from tsuzuki.accounts.types import SYSTEM, Slice
from tsuzuki.db import Database
from tsuzuki.db.queries import parse_queries
from tsuzuki.inbox.search.hits import search_series_tx
from tsuzuki.ingest.chapters import CHAPTERS, ChapterBatch, SeriesChapters, in_order
from tsuzuki.ingest.service import Ingest
from tsuzuki.model.errors import Conflict, Invalid, NotFound
from tsuzuki.model.harvest import FoundChapter
from tsuzuki.model.ids import PublicId, WatchId
from tsuzuki.model.numbers import parse_number
from tsuzuki.shelves.follows import Follows
from tsuzuki.shelves.progress import ReadingProgress
from tsuzuki.shelves.series import SeriesService
from tsuzuki.shelves.types import FollowFilter, FollowRequest, ReportedReading
from tsuzuki.sources.comics import NOBODY_FOLLOWS

pytestmark = pytest.mark.both_engines

q = parse_queries(
    "tests",
    """
-- name: watch_of
select id from watch where series_source_id = :id;
-- name: add_copy
insert into chapter_copy (chapter_id, release_id, created_at, updated_at)
select chapter_id, id, 0, 0 from release where series_source_id = :id;
-- name: copied_keys
select chapter.series_id from chapter_copy join chapter on chapter.id = chapter_copy.chapter_id order by 1;
""",
)


@pytest.fixture
def merging(db):
    return a_merging(db)


@pytest.fixture
def follows(db):
    return Follows(library_deps(db))


@pytest.fixture
def progress(db):
    return ReadingProgress(library_deps(db))


async def read(db, progress, shelf, series: Published, key: object, **said: object) -> None:
    reading = ReportedReading(**said)  # type: ignore[arg-type]  # a test's words
    await progress.report(shelf, series.public_id, await chapter_of(db, series.id, key), reading)


# -- merging


async def test_chapters_of_two_series_become_one_by_their_number(db, merging):
    one = await a_published_series(db, [1, 2, 3], title="One")
    other = await a_published_series(db, [2, 3, 4, "4.5"], title="Ichi")
    outcome = await merging.merge(SYSTEM, other.public_id, one.public_id)
    assert (outcome.sources, outcome.chapters_moved, outcome.chapters_shared, outcome.releases) == (1, 2, 2, 2)
    found = await structure(db, one.id)
    assert (found.chapters, found.latest, len(found.releases)) == (["1", "2", "3", "4", "4.5"], "4.5", 7)
    assert await series_named(db, other.public_id) is None
    assert await audited(db) == ["series.merge"]


async def test_progress_of_both_sides_is_merged_into_the_inbox(db, merging, follows, progress):
    """I2, I9: one entry, the newest page, the furthest page, and no notice."""
    one, other = await a_published_series(db, title="One"), await a_published_series(db, title="Ichi")
    shelf = await a_reader(db)
    for series in (one, other):
        await follows.add(shelf, FollowRequest(series=series.public_id))
        await release(db, series, [1, 2, 3])
    await read(db, progress, shelf, one, 1, page=9)
    await read(db, progress, shelf, other, 1, page=4, device="phone")
    await read(db, progress, shelf, other, 2, is_read=True, is_bookmarked=True)
    before = await told(db)
    outcome = await merging.merge(SYSTEM, other.public_id, one.public_id)
    assert (outcome.entries_shared, outcome.progress_shared, outcome.progress_moved) == (3, 1, 1)
    assert (outcome.follows_shared, outcome.follows_moved, outcome.shelves) == (1, 0, 1)
    entries = await entries_in(db, shelf, one.id)
    assert [(entry.key, entry.unread, entry.saved) for entry in entries] == [
        ("1", True, False),
        ("2", False, True),
        ("3", True, False),
    ]
    first, second = await progress_in(db, shelf, one.id)
    assert (first.page, first.furthest_page, first.device, second.is_read) == (4, 9, "phone", True)
    assert await told(db) == before
    assert (await disagreeing(db), await wrong_tallies(db), await lost_rows(db)) == (0, 0, 0)


async def test_an_entry_is_read_when_the_other_side_was(db, merging, follows, progress):
    one, other = await a_published_series(db, [1], title="One"), await a_published_series(db, title="Ichi")
    shelf = await a_reader(db)
    await follows.add(shelf, FollowRequest(series=other.public_id))
    await release(db, other, [1])
    await read(db, progress, shelf, one, 1, is_read=True)
    await merging.merge(SYSTEM, other.public_id, one.public_id)
    assert [entry.unread for entry in await entries_in(db, shelf, one.id)] == [False]
    assert await disagreeing(db) == 0


async def test_followers_of_both_follow_the_remaining_polled_series(db, merging, follows):
    one, other = await a_published_series(db, title="One"), await a_published_series(db, title="Ichi")
    mine, theirs = await a_reader(db), await a_reader(db)
    followed = await follows.add(mine, FollowRequest(series=one.public_id))
    await follows.leave(mine, followed.follow.public_id)
    assert [watch.reason for watch in await watches_of(db, one.id)] == [NOBODY_FOLLOWS]
    await follows.add(theirs, FollowRequest(series=other.public_id, status="plan"))
    outcome = await merging.merge(SYSTEM, other.public_id, one.public_id)
    assert (outcome.follows_moved, outcome.follows_shared) == (1, 0)
    assert [watch.reason for watch in await watches_of(db, one.id)] == [None, None]
    assert (await state(db, theirs, one.id)).follow == "plan"


async def test_after_a_merge_former_followers_find_both_entries(db, merging, follows):
    one, other = await a_published_series(db, title="One"), await a_published_series(db, title="Ichi")
    shelf = await a_reader(db)
    for series, number in ((one, 1), (other, 2)):
        follow = (await follows.add(shelf, FollowRequest(series=series.public_id))).follow
        await release(db, series, [number])
        await follows.leave(shelf, follow.public_id)
    await merging.merge(SYSTEM, other.public_id, one.public_id)
    assert (await follows.add(shelf, FollowRequest(series=one.public_id))).restored == 2


async def test_the_former_id_leads_to_the_series_that_it_became(db, merging, follows):
    one, other = await a_published_series(db, [1], title="One"), await a_published_series(db, [1], title="Ichi")
    third = await a_published_series(db, [1], title="Uno")
    await merging.merge(SYSTEM, other.public_id, one.public_id)
    await merging.merge(SYSTEM, one.public_id, third.public_id)
    shelf = await a_reader(db)
    found = await SeriesService(db).get(shelf, other.public_id)
    assert found.details.public_id == third.public_id
    assert (await follows.add(shelf, FollowRequest(series=one.public_id))).follow.series_public_id == third.public_id


async def test_a_merged_series_is_found_by_every_title(db, merging):
    one, other = await a_published_series(db, title="Onepiece"), await a_published_series(db, title="Ichi")
    await merging.merge(SYSTEM, other.public_id, one.public_id)
    shelf = await a_reader(db)
    hits = await db.read(lambda tx: search_series_tx(tx, shelf, "Onepiece"))
    assert [hit.public_id for hit in hits] == [one.public_id]


async def test_kept_copies_go_with_their_chapter(db, merging):
    one, other = await a_published_series(db, [1], title="One"), await a_published_series(db, [1], title="Ichi")
    await db.with_tx(lambda tx: tx.run(q.add_copy, id=other.sources[0]))
    await merging.merge(SYSTEM, other.public_id, one.public_id)
    assert await db.read(lambda tx: tx.many(int, q.copied_keys)) == [one.id]
    outcome = await merging.split(SYSTEM, one.public_id, other.sources)
    again = await series_named(db, outcome.other)
    assert await db.read(lambda tx: tx.many(int, q.copied_keys)) == [again]


async def test_a_series_cannot_be_merged_into_itself_or_into_nothing(db, merging):
    one = await a_published_series(db)
    with pytest.raises(Conflict):
        await merging.merge(SYSTEM, one.public_id, one.public_id)
    with pytest.raises(NotFound):
        await merging.merge(SYSTEM, one.public_id, PublicId(bytes(16)))


# -- previews


async def test_a_preview_says_what_will_happen_and_nothing_does(db, merging, follows, progress):
    one, other = await a_published_series(db, [1, 2], title="One"), await a_published_series(db, [2], title="Ichi")
    shelf = await a_reader(db)
    await follows.add(shelf, FollowRequest(series=other.public_id))
    await read(db, progress, shelf, other, 2, page=3)
    before = [await structure(db, one.id), await structure(db, other.id), await state(db, shelf, other.id)]
    preview = await merging.merge(SYSTEM, other.public_id, one.public_id, is_preview=True)
    assert preview.is_preview
    assert [await structure(db, one.id), await structure(db, other.id), await state(db, shelf, other.id)] == before
    assert await audited(db) == []
    done = await merging.merge(SYSTEM, other.public_id, one.public_id)
    assert (done.chapters_shared, done.progress_moved) == (preview.chapters_shared, preview.progress_moved) == (1, 1)


# -- splitting


async def test_after_a_split_progress_and_follows_are_on_both(db, merging, follows, progress):
    whole = await a_published_series(db, title="One", sources=2)
    shelf = await a_reader(db)
    await follows.add(shelf, FollowRequest(series=whole.public_id))
    await release(db, whole, [1, 2], mapping=whole.sources[0])
    await release(db, whole, [2, 3], mapping=whole.sources[1])
    for key in (1, 2, 3):
        await read(db, progress, shelf, whole, key, page=key, is_read=key > 1)
    before = await told(db)
    outcome = await merging.split(SYSTEM, whole.public_id, [whole.sources[1]], title="Two")
    assert (outcome.chapters_moved, outcome.chapters_shared, outcome.follows_shared) == (1, 1, 1)
    new = await series_named(db, outcome.other)
    assert new is not None
    kept, parted = await structure(db, whole.id), await structure(db, new)
    assert (kept.chapters, kept.latest, parted.chapters, parted.latest) == (["1", "2"], "2", ["2", "3"], "3")
    assert parted.title == "Two"
    assert {key: one.is_read for key, one in (await state(db, shelf, new)).progress.items()} == {"2": True, "3": True}
    assert {key: one.is_read for key, one in (await state(db, shelf, whole.id)).progress.items()} == {
        "1": False,
        "2": True,
    }
    assert await told(db) == before
    assert (await disagreeing(db), await wrong_tallies(db), await lost_rows(db)) == (0, 0, 0)
    titles = [follow.title for follow in (await follows.list(shelf, FollowFilter(), Slice(most=10)))[0]]
    assert titles == ["One", "Two"]


async def test_a_split_takes_some_sources_never_all(db, merging):
    whole, other = await a_published_series(db, sources=2), await a_published_series(db)
    for wanted in (whole.sources, [*whole.sources[:1], other.sources[0]], [10**9]):
        with pytest.raises(Invalid) as refused:
            await merging.split(SYSTEM, whole.public_id, wanted)
        assert refused.value.problems


KEYS = st.lists(st.sampled_from(["1", "2", "2.5", "3", "4"]), unique=True, max_size=4)
WORDS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.integers(0, 1),
        st.sampled_from(["1", "2", "2.5", "3", "4"]),
        st.integers(0, 30),
        st.booleans(),
    ),
    max_size=6,
)
FOLLOWING = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), unique=True, max_size=4)


@examples(100)
@given(old=KEYS, new=KEYS, other_old=KEYS, other_new=KEYS, following=FOLLOWING, words=WORDS)
async def test_merging_and_splitting_again_gives_back_what_was(db, old, new, other_old, other_new, following, words):
    """The catalogue is as it was; of what readers have nothing is gone, and what they read is read on both sides."""
    merging, deps = a_merging(db), library_deps(db)
    follows, progress = Follows(deps), ReadingProgress(deps)
    both = [
        await a_published_series(db, old, title="One", sources=2),
        await a_published_series(db, other_old, title="Ichi"),
    ]
    shelves = [await a_reader(db), await a_reader(db)]
    for shelf, series in following:
        await follows.add(shelves[shelf], FollowRequest(series=both[series].public_id))
    await release(db, both[0], new, mapping=both[0].sources[1])
    await release(db, both[1], other_new)
    for shelf, series, key, page, is_read in words:
        if key in (await structure(db, both[series].id)).chapters:
            await read(db, progress, shelves[shelf], both[series], key, page=page, is_read=is_read or None)
    before = [await structure(db, series.id) for series in both]
    had = [[await state(db, shelf, series.id) for series in both] for shelf in shelves]
    heard = await told(db)
    await merging.merge(SYSTEM, both[1].public_id, both[0].public_id)
    assert await disagreeing(db) == 0
    assert await wrong_tallies(db) == 0
    outcome = await merging.split(SYSTEM, both[0].public_id, both[1].sources)
    assert outcome.other == both[1].public_id
    again = await series_named(db, both[1].public_id)
    assert again is not None
    ids = [both[0].id, again]
    assert [await structure(db, series) for series in ids] == before
    for shelf, states in zip(shelves, had, strict=True):
        for series, earlier in zip(ids, states, strict=True):
            assert earlier.is_kept_in(await state(db, shelf, series))
    assert await told(db) == heard
    assert (await disagreeing(db), await wrong_tallies(db), await lost_rows(db)) == (0, 0, 0)


# -- against running ingest


def a_batch(watch: WatchId, series: Published, numbers: list[int]) -> ChapterBatch:
    found = [FoundChapter(url=f"https://example.org/{n}", title="", number=parse_number(n)) for n in reversed(numbers)]
    return ChapterBatch(
        watch_id=watch,
        series_id=series.id,
        series_source_id=series.sources[0],
        releases=tuple(in_order(found)),
        is_first_harvest=False,
    )


async def watch_id(db: Database, series: Published) -> WatchId:
    return await db.read(lambda tx: tx.one(WatchId, q.watch_of, id=series.sources[0]))


async def test_harvests_from_before_a_merge_go_to_the_survivor(db, merging, follows):
    """A batch names the series that its source had when it was found."""
    one, other = await a_published_series(db, [1], title="One"), await a_published_series(db, [1], title="Ichi")
    shelf = await a_reader(db)
    await follows.add(shelf, FollowRequest(series=one.public_id))
    task = await a_task(db, CHAPTERS, a_batch(await watch_id(db, other), other, [1, 2]))
    await merging.merge(SYSTEM, other.public_id, one.public_id)
    await Ingest(db, SeriesChapters(), clock=lambda: NOON, after_commit=lambda *_: None).handle(task)
    assert (await structure(db, one.id)).chapters == ["1", "2"]
    assert [entry.key for entry in await entries_in(db, shelf, one.id)] == ["2"]


async def test_a_merge_against_running_ingest_and_reading_devices_loses_nothing(db):
    """Whatever the order in which they meet; both engines."""
    merging, deps = a_merging(db), library_deps(db)
    follows, progress = Follows(deps), ReadingProgress(deps)
    one, other = await a_published_series(db, [1], title="One"), await a_published_series(db, [1], title="Ichi")
    shelf = await a_reader(db)
    await follows.add(shelf, FollowRequest(series=other.public_id))
    ingest = Ingest(db, SeriesChapters(), clock=lambda: NOON, after_commit=lambda *_: None)
    watches = {series.id: await watch_id(db, series) for series in (one, other)}
    tasks = [
        await a_task(
            db, CHAPTERS, a_batch(watches[series.id], series, [number, number + 1]), key=f"{series.id}-{number}"
        )
        for number in range(2, 8)
        for series in (one, other)
    ]
    first = await chapter_of(db, other.id, 1)

    async def read_on() -> list[object]:
        told_ = [progress.report(shelf, other.public_id, first, ReportedReading(page=page)) for page in range(6)]
        return list(await asyncio.gather(*told_, return_exceptions=True))

    reading = asyncio.create_task(read_on())
    await asyncio.gather(
        merging.merge(SYSTEM, other.public_id, one.public_id), *(ingest.handle(task) for task in tasks)
    )
    answers = await reading
    assert all(not isinstance(answer, Exception) or isinstance(answer, NotFound) for answer in answers)
    found = await structure(db, one.id)
    assert found.chapters == [str(number) for number in range(1, 9)]
    assert len(found.releases) == 16
    entries = [entry.key for entry in await entries_in(db, shelf, one.id)]
    assert entries == sorted(set(entries), key=int)
    assert (await disagreeing(db), await wrong_tallies(db), await lost_rows(db)) == (0, 0, 0)
