"""A shelf goes out as a backup that Mihon restores, with what other apps had put into it."""

from tests.builders import HERE, NOON
from tests.transfer.imports.builders import an_importer
from tests.transfer.mihon.builders import MANGADEX, UNKNOWN, UUID, a_backup, a_chapter, a_manga, packed
from tests.transfer.mihon.test_import import BACKUP, READ_AT
from tsuzuki.connectors.registry import Registry, builtin
from tsuzuki.db.queries import parse_queries
from tsuzuki.transfer.mihon.export import MihonExport
from tsuzuki.transfer.mihon.unpack import MERGED_SOURCE, unpack
from tsuzuki.transfer.mihon.wire import ProtobufMessage, bytes_field, number_field, read_fields, text_field

q = parse_queries(
    "tests",
    """
-- name: read_all
update progress set is_read = true where shelf_id = :shelf_id;
-- name: open_all
update progress set is_read = true, page = 0, opened_at = :now where shelf_id = :shelf_id;
-- name: forget_backups
delete from backup_series where shelf_id = :shelf_id;
""",
)


async def exported(importer):
    export = MihonExport(importer.db, HERE, Registry(builtin()), lambda: NOON)
    return await export.write(importer.reader.shelf_id)


def series_of(body):
    found = {}
    for portion in unpack(body).portions:
        for head, raw in zip(portion.heads, portion.series, strict=True):
            found[head.title] = ProtobufMessage(raw, "a series")
    return found


def chapters_of(series):
    return {one.required(1): one for one in (ProtobufMessage(raw, "a chapter") for raw in series.messages(16))}


def fields_of(series):
    return sorted(field.raw for field in series.fields)


async def test_extra_fields_of_forks_survive_the_round_trip(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    await importer.add_mangadex()
    extra = bytes_field(600, text_field(1, "a saved search"))
    backup = a_backup(
        a_manga(
            title="Lost",
            chapters=[
                a_chapter("/c/2", "Ch. 2", number=2, page=4, extra=text_field(9000, "meta")),
                a_chapter("/c/1", number=1, read=1),
            ],
            categories=[3],
            history=[("/c/2", READ_AT)],
            extra=text_field(777, "of a fork") + bytes_field(18, number_field(1, 2) + number_field(2, 0)),
        ),
        categories=[("Action", 3)],
        extra=extra,
    )
    await importer.import_file("app.mihon.tachibk", packed(backup))
    file = await exported(importer)
    assert file.name == "app.mihon_2026-02-22_12-00.tachibk"
    [before], [after] = series_of(backup).values(), series_of(file.body).values()
    assert [raw for raw in fields_of(after) if raw not in fields_of(before)] == [number_field(17, 0)]
    assert unpack(file.body).categories == {0: "Action"}
    assert extra in unpack(file.body).rest


TWO_RELEASES = a_backup(
    a_manga(
        title="Lost",
        chapters=[
            a_chapter("/c/3-b", "Ch. 3", number=3, scanlator="B", page=4),
            a_chapter("/c/3-a", "Ch. 3", number=3, scanlator="A"),
            a_chapter("/c/2-b", "Ch. 2", number=2, scanlator="B"),
            a_chapter("/c/2-a", "Ch. 2", number=2, scanlator="A", read=1, bookmark=1, page=30),
            a_chapter("/c/1-b", "Ch. 1", number=1, scanlator="B"),
            a_chapter("/c/1-a", "Ch. 1", number=1, scanlator="A"),
        ],
        history=[("/c/3-b", READ_AT), ("/c/2-a", READ_AT - 1), ("/c/2-b", READ_AT - 2)],
    )
)


async def test_of_several_releases_the_read_one_is_exported_read(db, tmp_path):
    """Here they are one chapter; nobody has read the others in the app."""
    importer = await an_importer(db, tmp_path)
    await importer.import_file("app.mihon.tachibk", packed(TWO_RELEASES))
    [before], [after] = series_of(TWO_RELEASES).values(), series_of((await exported(importer)).body).values()
    assert fields_of(after) == fields_of(before)


async def test_what_was_read_here_is_read_in_all_its_releases(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    await importer.import_file("app.mihon.tachibk", packed(TWO_RELEASES))
    await importer.db.with_tx(lambda tx: tx.run(q.open_all, shelf_id=importer.reader.shelf_id, now=NOON))
    [after] = series_of((await exported(importer)).body).values()
    said = {url: (one.number(4), one.number(5), one.number(6)) for url, one in chapters_of(after).items()}
    assert said == {
        "/c/3-b": (1, 0, 0),
        "/c/3-a": (1, 0, 0),
        "/c/2-b": (0, 0, 0),
        "/c/2-a": (1, 1, 30),
        "/c/1-b": (0, 0, 0),
        "/c/1-a": (0, 0, 0),
    }
    opened = {one.required(1): one.number(2) for one in (ProtobufMessage(raw, "") for raw in after.messages(104))}
    assert opened == {"/c/3-b": NOON, "/c/2-a": NOON, "/c/2-b": READ_AT - 2}


def a_part(source, url):
    return bytes_field(
        600, number_field(1, 1) + text_field(6, "/merged") + text_field(7, url) + number_field(8, source)
    )


async def test_a_merged_series_is_one_with_several_sources(db, tmp_path):
    """TachiyomiSY keeps what it was made of beside it, outside of the library."""
    importer = await an_importer(db, tmp_path)
    await importer.add_mangadex()
    not_kept = number_field(100, 0)
    backup = a_backup(
        a_manga(MANGADEX, f"/manga/{UUID}", "Solo", chapters=[a_chapter("/c/1", number=1, read=1)], extra=not_kept),
        a_manga(UNKNOWN, "/lost", "Solo elsewhere", chapters=[a_chapter("/l/1", number=1)], extra=not_kept),
        a_manga(
            MERGED_SOURCE,
            "/merged",
            "My Solo",
            categories=[0],
            extra=a_part(MANGADEX, f"/manga/{UUID}") + a_part(UNKNOWN, "/lost") + bytes_field(600, b"\xff"),
        ),
        categories=[("Action", 0)],
    )
    done = await importer.import_file("app.tachibk", packed(backup))
    assert (done.status, done.preview.unlinked_series) == ("done", 1)
    shelf = await importer.shelf()
    [followed] = [one for one in shelf["series.jsonl"] if "follow" in one]
    assert (followed["key"], followed["title"], len(followed["backups"])) == (f"mangadex/{UUID}", "My Solo", 2)
    assert [one["progress"]["is_read"] for one in shelf["chapters.jsonl"] if one["series"] == followed["key"]] == [True]
    before, after = series_of(backup), series_of((await exported(importer)).body)
    assert {title: fields_of(one) for title, one in after.items()} == {
        title: fields_of(one) for title, one in before.items()
    }


async def test_categories_outside_the_library_are_exported_again(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    backup = a_backup(
        a_manga(url="/a", title="Only read", categories=[0, 1], extra=number_field(100, 0)),
        a_manga(url="/b", title="In ours", categories=[1, 0]),
        categories=[("Action", 0), ("Default", 1)],
    )
    await importer.import_file("app.mihon.tachibk", packed(backup))
    file = await exported(importer)
    names = unpack(file.body).categories
    assert {title: [names[order] for order in one.numbers(17)] for title, one in series_of(file.body).items()} == {
        "Only read": ["Action", "Default"],
        "In ours": ["Default", "Action"],
    }


async def test_what_was_read_here_is_in_it(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    await importer.import_file("app.mihon.tachibk", packed(BACKUP))
    await importer.db.with_tx(lambda tx: tx.run(q.read_all, shelf_id=importer.reader.shelf_id))
    chapters = chapters_of(series_of((await exported(importer)).body)["Solo"])
    assert {url: bool(one.number(4)) for url, one in chapters.items()} == {
        "/chapter/3": False,
        "/chapter/2": True,
        "/chapter/1": True,
    }
    assert (chapters["/chapter/2"].number(6), chapters["/chapter/2"].number(12)) == (0, 1)


async def test_series_without_backup_are_exported_as_extensions_know_them(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    await importer.add_mangadex()
    await importer.import_file("app.mihon.tachibk", packed(BACKUP))
    await importer.db.with_tx(lambda tx: tx.run(q.forget_backups, shelf_id=importer.reader.shelf_id))
    [solo] = series_of((await exported(importer)).body).values()
    assert (solo.number(1), solo.required(2), solo.number(109)) == (MANGADEX, f"/manga/{UUID}", 1)
    chapters = chapters_of(solo)
    assert [(url, one.number(10), one.decimal(9)) for url, one in chapters.items()] == [
        ("/chapter/3", 0, 3.0),
        ("/chapter/2", 1, 2.0),
        ("/chapter/1", 2, 1.0),
    ]
    assert [ProtobufMessage(raw, "").required(1) for raw in solo.messages(104)] == ["/chapter/2"]


async def test_what_was_only_read_is_not_in_the_library(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    await importer.import_file("app.mihon.tachibk", packed(BACKUP))
    series = series_of((await exported(importer)).body)
    assert {title: one.number(100, 1) for title, one in series.items()} == {"Solo": 1, "Lost": 1, "Only read": 0}


async def test_zeros_that_mihon_requires_are_written(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    await importer.import_file(
        "local.tachibk", a_backup(a_manga(source=0, url="folder", chapters=[a_chapter("folder/1")]))
    )
    [local] = series_of((await exported(importer)).body).values()
    assert number_field(1, 0) in [field.raw for field in local.fields]
    assert text_field(2, "") in [field.raw for field in read_fields(local.messages(16)[0])]


async def test_out_in_and_out_again_is_the_same(db, tmp_path):
    first, second = await an_importer(db, tmp_path), await an_importer(db, tmp_path / "second")
    (tmp_path / "second").mkdir()
    await first.add_mangadex()
    await first.import_file("app.mihon.tachibk", packed(BACKUP))
    out = await exported(first)
    await second.import_file("app.mihon.tachibk", out.body)
    assert (await exported(second)).body == out.body


async def test_nobodys_passwords_go_out(db, tmp_path):
    importer = await an_importer(db, tmp_path)
    await importer.import_file("app.mihon.tachibk", packed(BACKUP))
    export = MihonExport(importer.db, HERE, Registry(builtin()), lambda: NOON)
    assert b"hunter2" not in await export.write_plain(importer.reader.shelf_id)
    assert UNKNOWN in unpack((await exported(importer)).body).sources
