"""A backup of Mihon is shown, imported with all that was read, imported again without harm, and undone."""

import pytest

from tests.builders import NOON
from tests.transfer.imports.builders import an_importer
from tests.transfer.mihon.builders import MANGADEX, UNKNOWN, UUID, a_backup, a_chapter, a_manga, packed
from tsuzuki.connectors.protocol import computed_uid
from tsuzuki.inbox.search.hits import search_series_tx
from tsuzuki.model.errors import Invalid
from tsuzuki.model.harvest import FoundChapter
from tsuzuki.model.numbers import chapter_key, release_key
from tsuzuki.transfer.mihon.wire import bytes_field, number_field, text_field

READ_AT = NOON - 86_400_000

BACKUP = a_backup(
    a_manga(
        MANGADEX,
        f"/manga/{UUID}",
        "Solo",
        chapters=[
            a_chapter("/chapter/3", "Ch. 3", number=3, order=0),
            a_chapter("/chapter/2", "Ch. 2", number=2, page=7, order=1),
            a_chapter("/chapter/1", "Ch. 1", number=1, read=1, bookmark=1, order=2),
        ],
        categories=[5, 0],
        history=[("/chapter/2", READ_AT)],
    ),
    a_manga(
        UNKNOWN,
        "/manga/lost",
        "Lost",
        chapters=[
            a_chapter("/c/10.1", "Ch. 10.1", number=10.1, read=1),
            a_chapter("/c/7", "Ch. 7", number=-1, scanlator="A"),
            a_chapter("/c/7-b", "Ch. 7", number=7, scanlator="B", read=1),
            a_chapter("/c/extra", "Extra"),
        ],
        extra=text_field(777, "of a fork") + bytes_field(18, number_field(1, 2) + number_field(2, 0)),
    ),
    a_manga(
        UNKNOWN,
        "/manga/only-read",
        "Only read",
        chapters=[a_chapter("/c/1", number=1, read=1)],
        extra=number_field(100, 0),
    ),
    categories=[("Action", 0), ("Comedy", 5)],
    sources=[("MangaDex", MANGADEX), ("Gone Scans", UNKNOWN)],
    extra=bytes_field(105, text_field(1, "source_1") + text_field(2, "hunter2")),
)


def by_title(shelf):
    return {series["title"]: series for series in shelf["series.jsonl"]}


def chapters_of(shelf, title):
    key = by_title(shelf)[title]["key"]
    return {each["key"]: each.get("progress") for each in shelf["chapters.jsonl"] if each["series"] == key}


async def test_a_preview_says_what_is_there_and_writes_nothing(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    await importer.add_mangadex()
    shown = await importer.show("app.mihon.tachibk", packed(BACKUP))
    preview = shown.preview
    assert (shown.status, shown.kind) == ("shown", "mihon")
    assert preview.counts == {"groups": 2, "series": 3, "chapters": 7, "follows": 2}
    assert (preview.unlinked, preview.unlinked_series, preview.known) == (
        {"Gone Scans": 2},
        2,
        {"feeds": 0, "series": 0},
    )
    assert [(left.what, left.count) for left in preview.left_out] == [
        ("preferences", 1),
        ("categories", 1),
        ("trackers", 1),
    ]
    assert (await importer.shelf())["series.jsonl"] == []


async def test_everything_that_was_read_comes_along(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    await importer.add_mangadex()
    done = await importer.import_file("app.mihon.tachibk", packed(BACKUP))
    assert (done.status, done.error) == ("done", None)
    shelf = await importer.shelf()
    assert [group["name"] for group in shelf["groups.jsonl"]] == ["Default", "Action", "Comedy"]
    solo, lost = by_title(shelf)["Solo"], by_title(shelf)["Lost"]
    assert (solo["key"], solo["follow"]["group"]) == (f"mangadex/{UUID}", "Comedy")
    assert "sources" not in lost
    assert "follow" in lost
    assert "follow" not in by_title(shelf)["Only read"]
    progress = chapters_of(shelf, "Solo")
    assert progress["3"] is None
    assert (progress["2"]["page"], progress["2"]["opened_at"], progress["2"]["device"]) == (7, READ_AT, "mihon")
    assert (progress["1"]["is_read"], progress["1"]["is_bookmarked"]) == (True, True)
    assert {key: bool(one) for key, one in chapters_of(shelf, "Lost").items()} == {
        "10.1": True,
        "7": True,
        "url:/c/extra": False,
    }
    assert chapters_of(shelf, "Only read")["1"]["is_read"]


async def test_an_account_names_nothing_that_a_backup_has_not(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    done = await importer.import_file("app.mihon.tachibk", packed(BACKUP))
    assert done.report is not None
    parts = {part: counts for part, counts in done.report.parts.items() if counts.created or counts.existing}
    assert set(parts) == {"groups", "series", "chapters"}


async def test_importing_again_links_a_source_added_later(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    await importer.import_file("app.mihon.tachibk", packed(BACKUP))
    assert not any("sources" in series for series in (await importer.shelf())["series.jsonl"])
    await importer.add_mangadex()
    again = await importer.import_file("app.mihon.tachibk", packed(BACKUP))
    shelf = await importer.shelf()
    assert again.preview.unlinked == {"Gone Scans": 2}
    assert sorted(by_title(shelf)) == ["Lost", "Only read", "Solo"]
    assert by_title(shelf)["Solo"]["key"] == f"mangadex/{UUID}"
    assert {key for key, one in chapters_of(shelf, "Solo").items() if one and one.get("is_read")} == {"1"}


@pytest.mark.parametrize(
    ("uid", "name", "url"),
    [
        (MANGADEX + 1, "mangadex", f"/manga/{UUID}"),
        (MANGADEX + 1, "Another name", f"https://mangadex.org/title/{UUID}"),
    ],
    ids=["by name", "by site"],
)
async def test_a_source_with_another_id_is_known(db, tmp_path, uid, name, url):
    importer = await an_importer(db, tmp_path)
    await importer.add_mangadex()
    await importer.import_file("app.tachibk", a_backup(a_manga(uid, url, "Solo"), sources=[(name, uid)]))
    assert by_title(await importer.shelf())["Solo"]["key"] == f"mangadex/{UUID}"


async def test_a_source_of_another_language_is_another(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    await importer.add_mangadex()
    japanese = computed_uid("MangaDex", "ja")
    done = await importer.import_file(
        "app.tachibk", a_backup(a_manga(japanese, f"/manga/{UUID}", "Solo"), sources=[("MangaDex", japanese)])
    )
    assert done.preview.unlinked == {"MangaDex (JA)": 1}
    assert "sources" not in by_title(await importer.shelf())["Solo"]


async def test_chapters_are_those_that_the_source_tells_of(db, tmp_path):
    """By its own ids: else a one-shot that was read comes again, unread, with the first poll."""
    importer = await an_importer(db, tmp_path)
    await importer.add_mangadex()
    chapters = [a_chapter(f"/chapter/{UUID}", "Oneshot", read=1), a_chapter("/chapter/1-b", "Ch. 1", number=1)]
    await importer.import_file("app.tachibk", a_backup(a_manga(MANGADEX, f"/manga/{UUID}", "Solo", chapters=chapters)))
    url = f"https://mangadex.org/chapter/{UUID}"
    told = FoundChapter(url=url, title="Oneshot", source_key=UUID, language="en")
    shelf = await importer.shelf()
    assert {one["key"]: "progress" in one for one in shelf["chapters.jsonl"]} == {chapter_key(told): True, "1": False}
    [release] = next(one["releases"] for one in shelf["chapters.jsonl"] if one["key"] == chapter_key(told))
    assert (release["key"], release["source_key"], release["url"]) == (release_key(told), UUID, url)


async def test_imported_content_is_found_by_its_reader_only(db, tmp_path):
    """I8: what somebody reads elsewhere, and what somebody thinks up, is nobody else's."""
    importer, other = await an_importer(db, tmp_path), await an_importer(db, tmp_path)
    done = await importer.import_file("app.mihon.tachibk", packed(BACKUP))

    async def found(shelf_id):
        return [hit.title for hit in await db.read(lambda tx: search_series_tx(tx, shelf_id, "lost"))]

    assert (await found(importer.reader.shelf_id), await found(other.reader.shelf_id)) == (["Lost"], [])
    await importer.imports.drop(importer.reader.shelf_id, done.public_id)
    assert (await found(importer.reader.shelf_id), await found(other.reader.shelf_id)) == (["Lost"], [])


async def test_imported_chapters_are_no_news(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    await importer.add_mangadex()
    await importer.import_file("app.mihon.tachibk", packed(BACKUP))
    assert not any("entry" in chapter for chapter in (await importer.shelf())["chapters.jsonl"])


async def test_a_repeat_changes_nothing(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    await importer.add_mangadex()
    await importer.import_file("app.mihon.tachibk", packed(BACKUP))
    first = await importer.shelf()
    again = await importer.import_file("app.mihon.tachibk", BACKUP)
    assert await importer.shelf() == first
    assert again.preview.known == {"feeds": 0, "series": 2}
    assert again.report is not None
    assert again.report.parts["series"].created == 0


async def test_an_interrupted_import_continues(db, tmp_path):
    """As when a worker is stopped, or dies; and the undo still knows how all was before."""
    chapters = [a_chapter(f"/c/{n}", number=n, read=1) for n in range(150)]
    backup = a_backup(*(a_manga(url=f"/{n}", title=f"Series {n}", chapters=chapters) for n in range(10)))
    whole, cut = await an_importer(db, tmp_path), await an_importer(db, tmp_path)
    await whole.import_file("large.tachibk", backup)
    before = await cut.shelf()
    shown = await cut.show("large.tachibk", backup)
    await cut.imports.start(cut.reader.shelf_id, shown.public_id)
    stops, done = 0, shown
    while done.status != "done":
        stops += 1
        done = await cut.finished(shown, within=stops * 0.01)
    assert stops > 1
    first, second = await whole.shelf(), await cut.shelf()
    assert first["series.jsonl"] == second["series.jsonl"]
    assert first["chapters.jsonl"] == second["chapters.jsonl"]
    await cut.undo(done)
    after = await cut.shelf()
    assert not [one for one in after["series.jsonl"] if "follow" in one]
    assert (after["groups.jsonl"], [one for one in after["chapters.jsonl"] if "progress" in one]) == (
        before["groups.jsonl"],
        [],
    )


async def test_undo_removes_all_but_what_was_read_since(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    await importer.add_mangadex()
    before = await importer.shelf()
    done = await importer.import_file("app.mihon.tachibk", packed(BACKUP))
    undone = await importer.undo(done)
    assert (undone.status, undone.error) == ("undone", None)
    after = await importer.shelf()
    assert after["groups.jsonl"] == before["groups.jsonl"]
    assert not [series for series in after["series.jsonl"] if "follow" in series]
    assert not [chapter for chapter in after["chapters.jsonl"] if "progress" in chapter]
    assert (await importer.undo(undone)).status == "undone"


async def test_undo_restores_what_was_read_before(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    mine = a_backup(a_manga(url="/m", chapters=[a_chapter("/c/1", number=1, page=3)], history=[("/c/1", READ_AT)]))
    await importer.import_file("mine.tachibk", mine)
    before = await importer.shelf()
    theirs = a_backup(a_manga(url="/m", chapters=[a_chapter("/c/1", number=1, read=1)], history=[("/c/1", NOON)]))
    await importer.undo(await importer.import_file("theirs.tachibk", theirs))
    after = await importer.shelf()
    assert after["chapters.jsonl"] == before["chapters.jsonl"]
    assert "follow" in after["series.jsonl"][0]


async def test_what_no_archive_can_hold_is_left_out_alone(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    long = "/" + "x" * 6_000
    chapters = [a_chapter("/c/1", number=1, read=1), a_chapter(long, "Extra")]
    done = await importer.import_file(
        "long.tachibk", a_backup(a_manga(title="One", chapters=chapters), a_manga(url=long))
    )
    assert (done.status, done.error) == ("done", None)
    assert sorted((left.what, left.count) for left in done.preview.left_out) == [("chapters", 1), ("series", 1)]
    assert {left.why.partition("(")[0] for left in done.preview.left_out} == {
        "Something in them is too long or out of range "
    }
    shelf = await importer.shelf()
    assert [series["title"] for series in shelf["series.jsonl"]] == ["One"]
    assert list(chapters_of(shelf, "One")) == ["1"]


async def test_passwords_of_sources_go_nowhere(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    await importer.import_file("app.mihon.tachibk", packed(BACKUP))
    assert "hunter2" not in repr(await importer.shelf())


REFUSED = {
    "cut": (packed(BACKUP)[:-20], "ends in the middle"),
    "no series of it has a source": (packed(a_backup(text_field(2, "u"))), "a series has no source"),
    "json of old": (b'{"version":2}', "JSON backup of Tachiyomi"),
    "three bytes": (b"\x1f\x8b\x08", "ends in the middle"),
    "a photo": (b"\xff\xd8\xff\xe0\x00\x10JFIF", "damaged"),
    "a bomb": (packed(b"\0" * 60_000_000), "larger than"),
    "nothing": (packed(b""), "nothing in this file"),
    "wrong wire types": (packed(a_backup(number_field(1, 1) + number_field(2, 7))), "field 2 of a series is a number"),
    "chapters without end": (
        packed(a_backup(a_manga(chapters=[b"\x0a\x00\x12\x00"] * 60_000))),
        "more than 50,000 chapters",
    ),
}


@pytest.mark.parametrize(("body", "why"), REFUSED.values(), ids=REFUSED)
async def test_what_is_no_backup_ends_in_a_sentence(db, tmp_path, body, why):
    importer = await an_importer(db, tmp_path)
    with pytest.raises(Invalid, match=why):
        await importer.show("backup.tachibk", body)
    assert await importer.imports.list(importer.reader.shelf_id) == []
