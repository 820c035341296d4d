"""The undo of an import leaves nothing of it, and takes nothing that its reader has done beside or since (I9)."""

import zlib
from itertools import count, permutations

import msgspec
import pytest

from tests.builders import NOON, a_public_id
from tests.shelves.builders import shelf_deps
from tests.transfer.imports.builders import SOMEBODY, an_importer
from tests.transfer.mihon.builders import UNKNOWN, a_backup, a_chapter, a_manga
from tsuzuki.catalogue.merges.service import SeriesMerges
from tsuzuki.db.queries import parse_queries
from tsuzuki.files.folder import FolderStore
from tsuzuki.files.stores import IMPORTS
from tsuzuki.model.errors import Conflict
from tsuzuki.model.ids import ChapterId, PublicId
from tsuzuki.model.times import Millis
from tsuzuki.shelves.follows import Follows
from tsuzuki.shelves.groups import Groups
from tsuzuki.shelves.progress import ReadingProgress
from tsuzuki.shelves.types import ChapterSelection, FollowChange, FollowRequest, ReportedReading
from tsuzuki.transfer.mihon.wire import ProtobufMessage, bytes_field, number_field, text_field

pytestmark = pytest.mark.both_engines

q = parse_queries(
    "tests",
    """
-- name: named
select series.public_id from series where series.title = :title;
-- name: chapter
select chapter.id from chapter join series on series.id = chapter.series_id
where series.title = :title and chapter.key = :key;
-- name: follow
select follow.public_id from follow join series on series.id = follow.series_id
where series.title = :title and follow.shelf_id = :shelf_id;
-- name: sizes
select (select count(*) from series) as series, (select count(*) from chapter) as chapters,
  (select count(*) from progress) as progress, (select count(*) from entry) as entries,
  (select count(*) from backup_series) as backups, (select count(*) from backup_rest) as rests,
  (select count(*) from follow) as follows, (select count(*) from former_follow) as former,
  (select count(*) from bookmark) as bookmarks, (select count(*) from subscription) as subscriptions,
  (select count(*) from shelf_group) as groups_;
-- name: notes
select (select count(*) from import_progress) + (select count(*) from import_entry) as n;
-- name: backups
select message from backup_series order by source_uid desc;
-- name: said
select message from backup_series union all select body from backup_rest;
-- name: save_chapters
insert into entry (shelf_id, series_id, chapter_id, unread, saved, sort_at, created_at)
select cast(:shelf_id as bigint), chapter.series_id, chapter.id, true, true, 0, 0 from chapter;
-- name: drop_entries
delete from entry;
""",
)


class Sizes(msgspec.Struct, frozen=True):
    series: int
    chapters: int
    progress: int
    entries: int
    backups: int
    rests: int
    follows: int
    former: int
    bookmarks: int
    subscriptions: int
    groups_: int


LATER = Millis(NOON + 5_000)

TRACKED = bytes_field(18, number_field(1, 2) + number_field(2, 0))
REST = bytes_field(600, number_field(4, 7))


def a_library(*, read=(1, 2), title="One", url="/manga/one", extra=TRACKED):
    """A series with four chapters; these are read."""
    chapters = [a_chapter(f"/c/{n}", f"Ch. {n}", number=n, read=int(n in read), order=4 - n) for n in range(1, 5)]
    chapters[2] = a_chapter("/c/3", "Ch. 3", number=3, page=5, bookmark=1, order=1)
    history = [("/c/3", NOON - 1_000)]
    return a_manga(UNKNOWN, url, title, chapters=chapters, categories=[0], history=history, extra=extra)


BACKUP = a_backup(
    a_library(),
    a_manga(0, "folder", "Local", chapters=[a_chapter("folder/1.cbz", number=1, read=1)]),
    categories=[("Action", 0)],
    sources=[("Gone", UNKNOWN)],
    extra=REST,
)


async def sizes(importer):
    return await importer.db.read(lambda tx: tx.one(Sizes, q.sizes))


async def series(importer, title="One"):
    return await importer.db.read(lambda tx: tx.one(PublicId, q.named, title=title))


async def chapter(importer, key, title="One"):
    return await importer.db.read(lambda tx: tx.one(ChapterId, q.chapter, title=title, key=key))


async def followed(importer, title="One"):
    said = {"title": title, "shelf_id": importer.reader.shelf_id}
    return await importer.db.read(lambda tx: tx.maybe(PublicId, q.follow, **said))


def reading(importer, now=LATER):
    return ReadingProgress(shelf_deps(importer.db, clock=lambda: now))


async def progress(importer):
    usual = {"page": 0, "is_read": False, "is_bookmarked": False}
    chapters = (await importer.shelf())["chapters.jsonl"]
    return {one["key"]: usual | one["progress"] for one in chapters if "progress" in one}


async def test_nothing_of_it_is_left(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    before, shelf = await sizes(importer), await importer.shelf()
    done = await importer.import_file("a.tachibk", BACKUP)
    assert (await sizes(importer)).backups == 2
    assert (await importer.undo(done)).status == "undone"
    assert await sizes(importer) == before
    assert await importer.shelf() == shelf


async def test_what_another_import_brought_is_as_it_was(db, tmp_path):
    """The chapters that the second one added to the series go, and what the first backup said goes out again."""
    importer = await an_importer(db, tmp_path)
    await importer.import_file("a.tachibk", BACKUP)
    before, shelf = await sizes(importer), await importer.shelf()
    more = [a_chapter(f"/c/{n}", number=n, read=1) for n in range(1, 9)]
    other = a_backup(a_manga(UNKNOWN, "/manga/one", "One", chapters=more), extra=bytes_field(600, number_field(4, 8)))
    await importer.undo(await importer.import_file("b.tachibk", other))
    assert await sizes(importer) == before
    assert await importer.shelf() == shelf


async def test_a_repeat_notes_nothing(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    await importer.import_file("a.tachibk", BACKUP)
    noted = await db.read(lambda tx: tx.one(int, q.notes))
    before = await importer.shelf()
    again = await importer.import_file("a.tachibk", BACKUP)
    assert await db.read(lambda tx: tx.one(int, q.notes)) == noted
    await importer.undo(again)
    assert await importer.shelf() == before


@pytest.mark.parametrize("turned", [False, True], ids=["in turn", "the last first"])
@pytest.mark.parametrize("count", [1, 2])
async def test_nothing_is_left_of_several_backups(db, tmp_path, turned, count):
    """The same library again, then as it is a month later, and later still; whichever is undone first."""
    importer = await an_importer(db, tmp_path)
    before = await sizes(importer)
    imports = [await importer.import_file("a.tachibk", BACKUP), await importer.import_file("a.tachibk", BACKUP)]
    for month in range(count):
        grown = a_library(read=range(1, 3 + month), extra=TRACKED + text_field(110, f"Month {month}"))
        rest = bytes_field(600, number_field(4, 8 + month))
        imports.append(await importer.import_file("b.tachibk", a_backup(grown, extra=rest)))
    for each in reversed(imports) if turned else imports:
        await importer.undo(each)
    assert await sizes(importer) == before


@pytest.mark.parametrize("turned", [False, True], ids=["looked at in turn", "the last looked at first"])
@pytest.mark.parametrize("order", [*permutations(range(3)), (1, 2), (2, 1)], ids=str)
async def test_backups_are_undone_in_any_order(db, tmp_path, turned, order):
    """What the last says of those that are left is what counts; all are looked at before one is imported."""
    importer = await an_importer(db, tmp_path, clock=map(Millis, count(NOON)).__next__)
    nothing = await sizes(importer)
    shown = {n: await importer.show("a.tachibk", a_month(n)) for n in ((2, 1, 0) if turned else (0, 1, 2))}
    states = {}
    for n in range(3):
        await importer.import_shown(shown[n])
        states[n] = await said(importer)
    for n in order:
        await importer.undo(shown[n])
        del states[n]
        assert await said(importer) == (states[max(states)] if states else [])
    assert states or await sizes(importer) == nothing


@pytest.mark.parametrize("order", [*permutations(range(3))], ids=str)
async def test_a_continued_import_leaves_what_a_later_one_wrote(db, tmp_path, order):
    """The first of three was cut off, and goes on once the second is done."""
    importer = await an_importer(db, tmp_path, clock=map(Millis, count(NOON)).__next__)
    nothing, done, states = await sizes(importer), {}, {}
    for n in range(3):
        done[n] = await importer.import_file("a.tachibk", a_month(n))
        states[n] = await said(importer)
        if n == 1:
            await put_file_again(importer, done[0], a_month(0), tmp_path)
            await importer.imports.runner.do("import", done[0])
            assert await said(importer) == states[1]
    for n in order:
        await importer.undo(done[n])
        del states[n]
        assert await said(importer) == (states[max(states)] if states else [])
    assert await sizes(importer) == nothing


def a_month(n):
    """A backup of one series that has a chapter and a note more in each month, and other categories beside it."""
    chapters = [a_chapter(f"/c/{each}", number=each, read=1) for each in range(n + 1)]
    series = a_manga(UNKNOWN, "/manga/one", "One", chapters=chapters, extra=text_field(110, f"Month {n}"))
    return a_backup(series, extra=bytes_field(600, number_field(4, n + 1)))


async def said(importer):
    """What the next backup repeats of earlier ones."""
    return await importer.db.read(lambda tx: tx.many(bytes, q.said))


async def test_what_a_later_backup_says_outlives_the_one_before_it(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    first = await importer.import_file("a.tachibk", BACKUP)
    grown = a_backup(a_library(read=(1, 2, 3), extra=TRACKED + text_field(110, "Mine")), extra=REST)
    second = await importer.import_file("b.tachibk", grown)
    await importer.undo(first)
    assert await notes(importer) == ["Mine"]
    third = await importer.import_file("c.tachibk", a_backup(a_library(extra=text_field(110, "Later"))))
    await importer.undo(third)
    assert await notes(importer) == ["Mine"]
    await importer.undo(second)
    assert await notes(importer) == []


async def notes(importer):
    """What is said of the series in the next backup, by the notes in it."""
    messages = await importer.db.read(lambda tx: tx.many(bytes, q.backups))
    return [ProtobufMessage(zlib.decompress(each), "a series").text(110) for each in messages]


async def test_what_was_marked_read_or_bookmarked_since_stays(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    done = await importer.import_file("a.tachibk", BACKUP)
    one, shelf_id, progress_ = await series(importer), importer.reader.shelf_id, reading(importer)
    selection = ChapterSelection(chapters=[await chapter(importer, "1")])
    await progress_.mark(shelf_id, one, selection, is_read=False)
    await progress_.mark(shelf_id, one, ChapterSelection(chapters=[await chapter(importer, "4")]), is_read=True)
    read_on = ReportedReading(page=9, at=LATER, device="phone")
    await progress_.report(shelf_id, one, await chapter(importer, "3"), read_on)
    bookmarked = ReportedReading(is_bookmarked=True, at=LATER)
    await progress_.report(shelf_id, one, await chapter(importer, "2"), bookmarked)
    await importer.undo(done)
    after = await progress(importer)
    assert {key: (one["is_read"], one["is_bookmarked"]) for key, one in after.items()} == {
        "1": (False, False),
        "2": (False, True),  # the bookmark is the reader's, the mark was the import's
        "3": (False, False),
        "4": (True, False),
    }
    assert (after["3"]["page"], after["3"]["device"]) == (9, "phone")


async def test_what_was_read_to_its_end_since_stays_read(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    done = await importer.import_file("a.tachibk", BACKUP)
    again = ReportedReading(page=17, is_read=True, at=LATER, device="phone")
    await reading(importer).report(
        importer.reader.shelf_id, await series(importer), await chapter(importer, "1"), again
    )
    await importer.undo(done)
    assert (await progress(importer))["1"]["is_read"]


async def test_a_series_that_was_moved_since_is_followed_still(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    done = await importer.import_file("a.tachibk", BACKUP)
    mine, shelf_id = await Groups(shelf_deps(db)).add(importer.reader.shelf_id, "Mine"), importer.reader.shelf_id
    follow_id = await followed(importer)
    await Follows(shelf_deps(db)).change(shelf_id, follow_id, FollowChange(group=mine.public_id))
    await importer.undo(done)
    assert (await followed(importer), await followed(importer, "Local")) == (follow_id, None)


async def test_a_series_followed_again_stays_followed(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    done = await importer.import_file("a.tachibk", a_backup(a_library()))
    follows, shelf_id = Follows(shelf_deps(db)), importer.reader.shelf_id
    await follows.leave(shelf_id, await followed(importer))
    await follows.add(shelf_id, FollowRequest(series=await series(importer)))
    await importer.undo(done)
    assert await followed(importer) is not None


async def test_a_series_left_before_the_import_stays_left(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    await importer.import_file("a.tachibk", a_backup(a_library()))
    follows, shelf_id = Follows(shelf_deps(db)), importer.reader.shelf_id
    await follows.change(shelf_id, await followed(importer), FollowChange(status="dropped"))
    await follows.leave(shelf_id, await followed(importer))
    before = (await importer.shelf())["series.jsonl"]
    assert before[0]["former"]["status"] == "dropped"
    await importer.undo(await importer.import_file("b.tachibk", a_backup(a_library())))
    assert (await importer.shelf())["series.jsonl"] == before


async def test_nothing_is_bookmarked_that_an_undone_import_had_saved(db, tmp_path):
    """Whoever leaves a series keeps what was saved of it as bookmarks."""
    importer = await an_importer(db, tmp_path)
    chapters = [a_chapter(f"/c/{n}", number=n) for n in range(3)]
    await importer.import_file("a.tachibk", a_backup(a_manga(UNKNOWN, chapters=chapters)))
    await db.with_tx(lambda tx: tx.run(q.save_chapters, shelf_id=importer.reader.shelf_id))
    archive = (await importer.reader.export()).read_bytes()
    await db.with_tx(lambda tx: tx.run(q.drop_entries))
    await Follows(shelf_deps(db)).leave(importer.reader.shelf_id, await followed(importer))
    done = await importer.import_file("mine.zip", archive)
    assert (await sizes(importer)).entries == 3
    await importer.undo(done)
    assert ((await sizes(importer)).entries, await progress(importer)) == (0, {})


async def test_times_to_come_do_not_count_as_read_since(db, tmp_path):
    """And what is read from now on counts as newer."""
    importer = await an_importer(db, tmp_path)
    future = NOON + 10 * 365 * 86_400_000
    chapters = [a_chapter("/c/1", number=1, read=1), a_chapter("/c/2", number=2, page=3)]
    history = [("/c/1", future), ("/c/2", future)]
    done = await importer.import_file("a.tachibk", a_backup(a_manga(UNKNOWN, chapters=chapters, history=history)))
    here = ReportedReading(page=8, at=LATER, device="phone")
    await reading(importer).report(importer.reader.shelf_id, await series(importer), await chapter(importer, "2"), here)
    assert (await progress(importer))["2"]["page"] == 8
    await importer.undo(done)
    assert list(await progress(importer)) == ["2"]


async def test_what_was_read_while_it_was_cut_off_stays(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    shown = await importer.show("a.tachibk", BACKUP)
    shelf_id = importer.reader.shelf_id
    found = await importer.imports.start(shelf_id, shown.public_id)
    await importer.imports.runner.do("import", found)
    here = ReportedReading(page=8, is_bookmarked=True, at=LATER, device="phone")
    await reading(importer).report(shelf_id, await series(importer), await chapter(importer, "4"), here)
    selection = ChapterSelection(chapters=[await chapter(importer, "1")])
    await reading(importer).mark(shelf_id, await series(importer), selection, is_read=False)
    await put_file_again(importer, shown, BACKUP, tmp_path)
    await importer.imports.runner.do("import", found)  # as if its worker had died right before the end
    await importer.undo(await importer.row(shown))
    after = await progress(importer)
    assert {key: (one["page"], one["is_read"], one["is_bookmarked"]) for key, one in after.items()} == {
        "1": (0, False, False),
        "4": (8, False, True),
    }


async def put_file_again(importer, row, backup, folder):
    """The stored file of an import, as it was until its end."""
    files = FolderStore(folder / "imports", IMPORTS)
    shown = await importer.show("again.tachibk", backup)
    async with files.local(shown.file_key) as path:
        (folder / "again.zip").write_bytes(path.read_bytes())
    await files.put(row.file_key, folder / "again.zip")


@pytest.mark.parametrize("turned", [False, True], ids=["into the first", "into the second"])
async def test_two_series_of_it_that_are_one_now_go_both(db, tmp_path, turned):
    importer = await an_importer(db, tmp_path)
    backup = a_backup(a_library(), a_library(title="Two", url="/manga/two", read=(2, 4)))
    done = await importer.import_file("a.tachibk", backup)
    await merged(importer, turned=turned)
    assert {key for key, one in (await progress(importer)).items() if one["is_read"]} == {"1", "2", "4"}
    await importer.undo(done)
    after = await sizes(importer)
    assert (after.progress, after.follows, after.backups, after.series) == (0, 0, 0, 0)


@pytest.mark.parametrize("turned", [False, True], ids=["into mine", "into that of the import"])
async def test_what_was_mine_of_a_merged_series_stays(db, tmp_path, turned):
    importer = await an_importer(db, tmp_path)
    await importer.import_file("mine.tachibk", a_backup(a_library(read=(1,))))
    mine = await progress(importer)
    done = await importer.import_file("b.tachibk", a_backup(a_library(title="Two", url="/manga/two", read=(1, 2))))
    await merged(importer, turned=turned)
    await importer.undo(done)
    after = await progress(importer)
    assert {key: (one["page"], one["is_read"], one["is_bookmarked"]) for key, one in after.items()} == {
        key: (one["page"], one["is_read"], one["is_bookmarked"]) for key, one in mine.items()
    }
    assert await followed(importer, "Two" if turned else "One") is not None


async def test_what_was_read_after_a_merge_stays(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    backup = a_backup(a_library(), a_library(title="Two", url="/manga/two"))
    done = await importer.import_file("a.tachibk", backup)
    await merged(importer)
    here = ReportedReading(page=8, at=LATER, device="phone")
    await reading(importer).report(importer.reader.shelf_id, await series(importer), await chapter(importer, "4"), here)
    await importer.undo(done)
    assert list(await progress(importer)) == ["4"]


async def test_a_merged_series_keeps_later_backups_of_both(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    both = a_library(read=()), a_library(title="Two", url="/manga/two", read=())
    await importer.import_file("a.tachibk", a_backup(*both))
    await merged(importer)
    later = a_library(read=(1,)), a_library(title="Two", url="/manga/two", read=(4,))
    await importer.import_file("b.tachibk", a_backup(*later))
    assert {key for key, one in (await progress(importer)).items() if one["is_read"]} == {"1", "4"}


async def merged(importer, *, turned=False):
    """The second series into the first, or the first into the second."""
    merges = SeriesMerges(importer.db, lambda: NOON, a_public_id, lambda *_: None)
    one, two = await series(importer, "One"), await series(importer, "Two")
    await merges.merge(SOMEBODY, *((one, two) if turned else (two, one)))


async def test_an_import_is_undone_once(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    done = await importer.import_file("a.tachibk", BACKUP)
    undone = await importer.undo(done)
    await importer.import_file("b.tachibk", BACKUP)
    shelf = await importer.shelf()
    assert (await importer.undo(undone)).status == "undone"
    assert await importer.shelf() == shelf
    with pytest.raises(Conflict, match="was undone"):
        await importer.imports.start(importer.reader.shelf_id, done.public_id)


async def test_a_worker_without_its_lease_ends_nothing(db, tmp_path):
    """Another one has imported it meanwhile, and its reader has asked to undo it."""
    importer = await an_importer(db, tmp_path)
    shown = await importer.show("a.tachibk", BACKUP)
    stale = await importer.imports.start(importer.reader.shelf_id, shown.public_id)
    done = await importer.finished(shown)
    undoing = await importer.imports.undo(importer.reader.shelf_id, done.public_id)
    await importer.imports.runner.do("import", stale)
    assert await importer.row(done) == undoing
    assert (await importer.finished(done)).status == "undone"
    await importer.imports.runner.do("import", stale)
    assert (await importer.row(done)).status == "undone"


async def test_an_import_that_runs_is_not_undone(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    shown = await importer.show("a.tachibk", BACKUP)
    await importer.imports.start(importer.reader.shelf_id, shown.public_id)
    with pytest.raises(Conflict, match="not ended"):
        await importer.imports.undo(importer.reader.shelf_id, shown.public_id)


async def test_an_import_that_was_just_started_is_not_dropped(db, tmp_path, monkeypatch):
    """Its file would be gone under it: somebody drops it in one page and starts it in another."""
    importer = await an_importer(db, tmp_path)
    shown = await importer.show("a.tachibk", BACKUP)
    shelf_id, imports = importer.reader.shelf_id, importer.imports
    looked_at = imports.get

    async def get(*said):
        row = await looked_at(*said)
        monkeypatch.undo()
        await imports.start(shelf_id, shown.public_id)
        return row

    monkeypatch.setattr(imports, "get", get)
    with pytest.raises(Conflict, match="just been started"):
        await imports.drop(shelf_id, shown.public_id)
    assert (await importer.finished(shown)).status == "done"
