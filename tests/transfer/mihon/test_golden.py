"""The messages that Mihon's own encoder wrote: imported as they are, and written again byte for byte."""

import pytest

from tests.builders import NOON
from tests.shelves.builders import shelf_deps
from tests.transfer.imports.builders import an_importer
from tests.transfer.mihon.builders import a_backup, a_chapter, a_manga, packed
from tests.transfer.mihon.test_export import chapters_of, exported, fields_of, series_of
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.errors import Invalid
from tsuzuki.model.ids import ChapterId, PublicId
from tsuzuki.shelves.progress import ReadingProgress
from tsuzuki.shelves.types import ReportedReading
from tsuzuki.transfer.mihon.unpack import unpack
from tsuzuki.transfer.mihon.wire import ProtobufMessage, bytes_field, number_field, read_fields, text_field

pytestmark = pytest.mark.both_engines

q = parse_queries(
    "tests",
    """
-- name: chapter
select chapter.id from chapter where chapter.key = :key;
-- name: series
select series.public_id from series;
""",
)

CATEGORIES = [("First", 1), ("Last", 300)]
WITH_CATEGORIES = bytes.fromhex("0800 120175 880101 8801ac02 8207027b7d")
NOT_KEPT = bytes.fromhex("08ffffffffffffffffff01 120175 a00600 b80600 c80601 8207027b7d")
CHAPTER = bytes.fromhex("0a0163 12016e 2001 3005 4d00002841")
INT_PREFERENCE = bytes.fromhex("0a016b 120e 0a08706b672e496e7456 12020807")
SET_PREFERENCE = bytes.fromhex("0a016b 1212 0a08706b672e53657456 12060a01610a0162")
PACKED_CATEGORIES = bytes.fromhex("0800 120175 8a0103 01ac02")
NO_SOURCE = bytes.fromhex("120175")


async def imported(db, tmp_path, body):
    importer = await an_importer(db, tmp_path)
    done = await importer.import_file("golden.tachibk", packed(body))
    assert (done.status, done.error) == ("done", None)
    return importer, done


async def manga_out(importer):
    [one] = series_of((await exported(importer)).body).values()
    return one


async def test_golden_manga_of_a_local_source_in_two_categories(db, tmp_path):
    importer, done = await imported(db, tmp_path, a_backup(WITH_CATEGORIES, categories=CATEGORIES))
    assert [(left.what, left.count) for left in done.preview.left_out] == [("categories", 1)]
    [series] = (await importer.shelf())["series.jsonl"]
    assert (series["title"], series["follow"]["group"]) == ("u", "First")
    out = await manga_out(importer)
    expected = number_field(1, 0) + text_field(2, "u") + number_field(17, 0) + number_field(17, 1)
    assert fields_of(out) == sorted(each.raw for each in read_fields(expected + bytes_field(112, b"{}")))


async def test_golden_manga_that_is_not_in_the_library(db, tmp_path):
    importer, _ = await imported(db, tmp_path, a_backup(NOT_KEPT))
    assert (await importer.shelf())["series.jsonl"] == []
    assert fields_of(await manga_out(importer)) == sorted(each.raw for each in read_fields(NOT_KEPT))


async def test_golden_chapter_that_is_read(db, tmp_path):
    importer, _ = await imported(db, tmp_path, a_backup(WITH_CATEGORIES + bytes_field(16, CHAPTER)))
    [chapter] = (await importer.shelf())["chapters.jsonl"]
    assert (chapter["number"], chapter["title"], chapter["progress"]["is_read"]) == ("10.5", "n", True)
    assert (await manga_out(importer)).messages(16) == [CHAPTER]


@pytest.mark.parametrize("preference", [INT_PREFERENCE, SET_PREFERENCE], ids=["a number", "a set"])
async def test_golden_preference_is_named_and_not_taken(db, tmp_path, preference):
    body = a_backup(WITH_CATEGORIES, extra=bytes_field(104, preference))
    importer, done = await imported(db, tmp_path, body)
    assert [(left.what, left.count) for left in done.preview.left_out] == [("preferences", 1)]
    assert preference not in unpack((await exported(importer)).body).rest


async def test_golden_manga_with_packed_categories(db, tmp_path):
    importer, _ = await imported(db, tmp_path, a_backup(PACKED_CATEGORIES, categories=CATEGORIES))
    [series] = (await importer.shelf())["series.jsonl"]
    assert series["follow"]["group"] == "First"
    assert (await manga_out(importer)).numbers(17) == [0, 1]


async def test_golden_manga_without_a_source_is_refused(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    with pytest.raises(Invalid, match="a series has no source"):
        await importer.show("golden.tachibk", packed(a_backup(WITH_CATEGORIES, NO_SOURCE)))
    assert await importer.imports.list(importer.reader.shelf_id) == []


async def test_golden_empty_backup_has_nothing_to_import(db, tmp_path):
    found = unpack(b"")
    assert (found.portions, found.categories, found.chapters) == ([], {}, 0)
    importer = await an_importer(db, tmp_path)
    with pytest.raises(Invalid, match="nothing in this file"):
        await importer.show("golden.tachibk", packed(b""))


SY_MERGED = bytes_field(600, number_field(1, 1) + text_field(6, "/merge") + number_field(8, 7))
SY_METADATA = bytes_field(601, bytes_field(1, text_field(3, "e-hentai")))
SY_CUSTOM = number_field(602, 2) + text_field(800, "My title") + text_field(805, "My genre")
SY_SEARCH = bytes_field(600, text_field(1, "search") + text_field(3, "[]") + number_field(4, 9))
KOMIKKU_FEED = bytes_field(610, number_field(1, 9) + number_field(2, 1))
KOMIKKU_STORE = bytes_field(106, text_field(1, "https://example.org/index.json") + text_field(2, "Store"))
NEKO = text_field(2_001, "of a fork") + bytes.fromhex("8d7d00002841") + bytes.fromhex("917d0102030405060708")
HIDDEN = number_field(900, 1) + number_field(602, 77)
TRACKED = bytes_field(18, number_field(1, 60) + number_field(2, 0) + number_field(100, 5) + text_field(2_002, "x"))
HISTORY = bytes_field(104, text_field(1, "c") + number_field(2, NOON - 10_000) + number_field(3, 60_000) + NEKO)


@pytest.mark.parametrize("pack", [packed, bytes], ids=["packed", "plain"])
async def test_what_forks_put_into_a_backup_survives_reading_on_here(db, tmp_path, pack):
    """TachiyomiSY, Komikku and Neko: in the backup, a category, a series, a chapter, its history and a tracker."""
    chapter = bytes_field(16, text_field(1, "c") + text_field(2, "Ch. 1") + bytes.fromhex("4d0000803f") + NEKO)
    series = a_manga(url="/u", title="One", categories=[3])
    series += SY_MERGED + SY_METADATA + SY_CUSTOM + NEKO + TRACKED + HISTORY + chapter
    category = bytes_field(2, text_field(1, "Action") + number_field(2, 3) + HIDDEN)
    body = a_backup(series, extra=category + SY_SEARCH + KOMIKKU_FEED + KOMIKKU_STORE + NEKO)
    importer = await an_importer(db, tmp_path)
    await importer.import_file("app.tachibk", pack(body))
    progress = ReadingProgress(shelf_deps(db, clock=lambda: NOON))
    chapter_id = await db.read(lambda tx: tx.one(ChapterId, q.chapter, key="1"))
    series_id = await db.read(lambda tx: tx.one(PublicId, q.series))
    here = ReportedReading(page=6, at=NOON, device="phone")
    await progress.report(importer.reader.shelf_id, series_id, chapter_id, here)
    file = await exported(importer)
    rest = unpack(file.body).rest
    for kept in (SY_SEARCH, KOMIKKU_FEED, KOMIKKU_STORE, *(each.raw for each in read_fields(NEKO + HIDDEN))):
        assert kept in rest
    [out] = series_of(file.body).values()
    kept = SY_MERGED + SY_METADATA + SY_CUSTOM + NEKO + TRACKED
    assert {each.raw for each in read_fields(kept)} <= set(fields_of(out))
    [read_on] = chapters_of(out).values()
    assert read_on.number(6) == 6
    assert {each.raw for each in read_fields(NEKO)} <= {each.raw for each in read_on.fields}
    [opened] = [ProtobufMessage(raw, "a line of the history") for raw in out.messages(104)]
    assert (opened.number(2), opened.number(3)) == (NOON, 60_000)
    assert {each.raw for each in read_fields(NEKO)} <= {each.raw for each in opened.fields}


async def test_a_backup_that_is_not_packed_needs_no_name(db, tmp_path):
    """The API is sent files without one."""
    importer = await an_importer(db, tmp_path)
    for series in (a_manga(url="/u"), a_manga(0, "folder", chapters=[a_chapter("c" * 90_000, number=1)])):
        assert (await importer.show("?", a_backup(series))).kind == "mihon"
    with pytest.raises(Invalid, match="ends in the middle"):
        await importer.show("?", a_backup(series)[:-1])


@pytest.mark.parametrize("body", [b"{}", b'{"version":2,"mangas":[]}', b'{\n "version": 2}'])
@pytest.mark.parametrize("name", ["backup.json", "backup.tachibk"])
async def test_a_backup_of_before_2020_is_refused_by_name(db, tmp_path, body, name):
    importer = await an_importer(db, tmp_path)
    with pytest.raises(Invalid, match="JSON backup of Tachiyomi from before 2020"):
        await importer.show(name, body)


async def test_a_packed_backup_of_before_2020_is_refused_by_name(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    with pytest.raises(Invalid, match="JSON backup of Tachiyomi from before 2020"):
        await importer.show("tachiyomi.json.gz", packed(b'{"version":2,"mangas":[]}'))
