"""A folder that has every downloaded chapter, whatever happens between two runs."""

import asyncio
import errno
import os
import zipfile
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from tests.images.builders import Gallery, a_gallery, on_sqlite, stored_digests
from tests.images.test_downloads import fill
from tests.protocols.people import AppReader, an_app_reader
from tests.protocols.test_pictures import follow_gallery
from tests.protocols.test_pictures import q as gallery_queries
from tsuzuki.books.chapters import ChapterFiles
from tsuzuki.books.export import LOCK, STATE, CopiedRelease, FolderExport, _named
from tsuzuki.cli import main
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.errors import Unavailable
from tsuzuki.model.ids import ChapterId, PublicId, ReleaseId, SeriesId
from tsuzuki.model.times import MINUTE, Millis

q = parse_queries(
    "tests",
    """
-- name: name_series
update series set title = :title where id = :id;
""",
)


def export_of(gallery: Gallery, folder: Path) -> FolderExport:
    images = gallery.app.pictures.images
    return FolderExport(gallery.db, ChapterFiles(gallery.db, images, gallery.app.catalogue.chapters), images, folder)


async def name(gallery: Gallery, title: str) -> None:
    series = await gallery.db.read(lambda tx: tx.one(SeriesId, gallery_queries.series_of, id=gallery.chapter_id))
    await gallery.db.with_tx(lambda tx: tx.run(q.name_series, id=series, title=title))


async def download(gallery: Gallery) -> AppReader:
    """Somebody who has the chapter downloaded."""
    ann = await an_app_reader(gallery.app, "opds")
    await follow_gallery(gallery, ann)
    fill(gallery)
    await gallery.app.pictures.downloads.add(ann.shelf, gallery.release_id)
    async with gallery.at_work():
        await gallery.until_idle("keep-chapters")
    return ann


def shown(folder: Path) -> list[str]:
    """What is in it, but for our list."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in {STATE, LOCK}]
    return sorted(str(path.relative_to(folder)) for path in files)


async def test_the_folder_is_as_the_downloads_are(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        folder = tmp_path / "comics"
        export = export_of(gallery, folder)
        assert (await export.work()).written == 0
        ann = await download(gallery)
        await name(gallery, "The Lighthouse Cat")
        assert (await export.work()).written == 1
        assert shown(folder) == ["The Lighthouse Cat/The Lighthouse Cat 1.cbz"]
        file = folder / "The Lighthouse Cat/The Lighthouse Cat 1.cbz"
        with zipfile.ZipFile(file) as archive:
            assert archive.testzip() is None
            assert "ComicInfo.xml" in archive.namelist()
        written_at = file.stat().st_mtime_ns
        assert (await export.work()).written == 0
        assert file.stat().st_mtime_ns == written_at
        await name(gallery, "The Lighthouse: Cat/Dog")
        report = await export.work()
        assert (report.written, report.removed) == (1, 1)
        assert shown(folder) == ["The Lighthouse Cat Dog/The Lighthouse Cat Dog 1.cbz"]
        assert not file.parent.exists()
        await gallery.app.pictures.downloads.remove(ann.shelf, gallery.release_id)
        assert (await export.work()).removed == 1
        assert shown(folder) == []


async def test_a_crash_at_any_moment_leaves_whole_files_only(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        folder = tmp_path / "comics"
        export = export_of(gallery, folder)
        await download(gallery)
        await name(gallery, "The Cat")
        working = asyncio.create_task(export.work())
        await asyncio.sleep(0.01)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        folder.mkdir(exist_ok=True)
        (folder / ".tsuzuki-writing.cbz").write_bytes(b"half")
        await export.work()
        assert shown(folder) == ["The Cat/The Cat 1.cbz"]
        body = (folder / "The Cat/The Cat 1.cbz").read_bytes()
        (folder / STATE).unlink()  # after the file had its name, before it was remembered
        report = await export.work()
        assert (report.written, report.refused) == (1, {})
        assert (folder / "The Cat/The Cat 1.cbz").read_bytes() == body
        (folder / "The Cat/The Cat 1.cbz").unlink()
        assert (await export.work()).written == 1  # somebody removed it


async def test_files_of_others_are_left_alone(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        folder = tmp_path / "comics"
        export = export_of(gallery, folder)
        ann = await download(gallery)
        await name(gallery, "The Cat")
        (folder / "The Cat").mkdir(parents=True)
        (folder / "The Cat/The Cat 1.cbz").write_bytes(b"mine")
        (folder / "The Cat/notes.txt").write_bytes(b"mine")
        report = await export.work()
        assert report.refused == {"The Cat/The Cat 1.cbz": "A file of somebody else has this name."}
        (folder / "The Cat/The Cat 1.cbz").unlink()
        assert (await export.work()).written == 1
        await gallery.app.pictures.downloads.remove(ann.shelf, gallery.release_id)
        await export.work()
        assert shown(folder) == ["The Cat/notes.txt"]
        outside = tmp_path / "outside.cbz"
        outside.write_bytes(b"mine")
        (folder / STATE).write_bytes(msgspec.json.encode({"../outside.cbz": "x", str(outside): "x"}))
        await export.work()
        assert outside.exists()
        (folder / STATE).write_bytes(b"{")
        with pytest.raises(Unavailable, match="cannot be read"):
            await export.work()


@on_sqlite
async def test_a_full_disk_is_said_and_leaves_nothing_behind(tmp_path, database_url, monkeypatch):
    """What was downloaded no more is removed all the same: it may be what makes room."""
    async with a_gallery(tmp_path, database_url) as gallery:
        folder = tmp_path / "comics"
        export = export_of(gallery, folder)
        await download(gallery)
        await name(gallery, "The Cat")
        await export.work()
        await name(gallery, "The Dog")

        def full(_: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patched:
            patched.setattr("tsuzuki.books.export.os.fsync", lambda number: full(number) if is_book(number) else None)
            with pytest.raises(Unavailable, match="No space left on device"):
                await export.work()
        assert shown(folder) == []
        assert (await export.work()).written == 1
        assert shown(folder) == ["The Dog/The Dog 1.cbz"]


def is_book(descriptor: int) -> bool:
    return Path(f"/proc/self/fd/{descriptor}").readlink().suffix == ".cbz"


@on_sqlite
async def test_an_unwritable_file_does_not_block_the_others(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        folder = tmp_path / "comics"
        export = export_of(gallery, folder)
        await download(gallery)
        await name(gallery, "The Cat")
        folder.mkdir()
        (folder / "The Cat").write_bytes(b"mine")
        report = await export.work()
        assert report.refused == {"The Cat/The Cat 1.cbz": "File exists"}
        assert shown(folder) == ["The Cat"]


@on_sqlite
async def test_an_irremovable_file_does_not_block_the_others(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        folder = tmp_path / "comics"
        export = export_of(gallery, folder)
        await download(gallery)
        await name(gallery, "The Cat")
        await export.work()
        (folder / "A").mkdir()
        (folder / "A/1.cbz").mkdir()  # somebody put a folder where a file of ours was
        (folder / "A/1.cbz/notes.txt").write_bytes(b"mine")
        (folder / "B").mkdir()
        (folder / "B/1.cbz").write_bytes(b"ours")
        ours = msgspec.json.decode((folder / STATE).read_bytes())
        (folder / STATE).write_bytes(msgspec.json.encode(ours | {"A/1.cbz": "x", "B/1.cbz": "x"}))
        report = await export.work()
        assert (report.removed, list(report.refused)) == (1, ["A/1.cbz"])
        assert shown(folder) == ["A/1.cbz/notes.txt", "The Cat/The Cat 1.cbz"]
        (folder / "A/1.cbz/notes.txt").unlink()
        (folder / "A/1.cbz").rmdir()
        assert (await export.work()).removed == 1
        assert shown(folder) == ["The Cat/The Cat 1.cbz"]


@on_sqlite
async def test_a_renamed_series_stays_while_new_files_are_written(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        folder = tmp_path / "comics"
        export = export_of(gallery, folder)
        await download(gallery)
        await name(gallery, "The Cat")
        await export.work()
        await name(gallery, "The Dog")
        report = await export.work(most=0)
        assert (report.left, report.removed) == (1, 0)
        assert shown(folder) == ["The Cat/The Cat 1.cbz"]
        assert (await export.work(most=1)).removed == 1
        assert shown(folder) == ["The Dog/The Dog 1.cbz"]
        await name(gallery, "the dog")  # the same file to some systems: never removed after it was written
        await export.work()
        assert shown(folder) == ["the dog/the dog 1.cbz"]


@on_sqlite
async def test_two_never_write_at_once(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        first, second = [export_of(gallery, tmp_path / "comics") for _ in range(2)]
        with first._locked(), pytest.raises(Unavailable, match="Another process"):
            await second.work()
        assert (await second.work()).written == 0


async def test_a_damaged_download_keeps_no_other_from_the_folder(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        export = export_of(gallery, tmp_path / "comics")
        await download(gallery)
        files = gallery.app.pictures.room._files
        for digest in await stored_digests(files):
            await files.remove(digest, unless_since=gallery.app.time())
        report = await export.work()
        assert (report.written, len(report.refused)) == (0, 1)
        assert shown(tmp_path / "comics") == []
        await export.work()


def a_copy(number: int, **over: object) -> CopiedRelease:
    values: dict[str, object] = {
        "release_id": ReleaseId(number),
        "chapter_id": ChapterId(number),
        "series_public_id": PublicId(b"1" * 16),
        "series_title": "The Cat",
        "author": None,
        "artist": None,
        "series_language": None,
        "is_nsfw": False,
        "number": "1",
        "volume": None,
        "title": "",
        "language": None,
        "group_name": None,
        "url": None,
        "published_at": None,
        "copy_id": number,
        "updated_at": Millis(0),
    }
    return CopiedRelease(**values | over)  # type: ignore[arg-type]


def test_what_has_one_name_is_told_apart():
    copies = [
        a_copy(1),
        a_copy(2, group_name="Gull"),
        a_copy(3),
        a_copy(4, series_title="the cat", series_public_id=PublicId(b"2" * 16)),
        a_copy(5, series_title="..", series_public_id=PublicId(b"3" * 16)),
    ]
    assert list(_named(copies)) == [
        "The Cat/The Cat 1.cbz",
        "The Cat/The Cat 1 [Gull].cbz",
        "The Cat/The Cat 1 [3].cbz",
        f"the cat [{'32' * 4}-{'32' * 2}-{'32' * 2}-{'32' * 2}-{'32' * 6}]/the cat 1.cbz",
        "untitled/untitled 1.cbz",
    ]


def test_the_command_writes_a_folder_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("tsuzuki.log.set_up_logging", lambda **_: None)
    for variable in [variable for variable in os.environ if variable.startswith("TSUZUKI_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("TSUZUKI_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("TSUZUKI_PASSWORD", "correct horse")
    missing = CliRunner().invoke(main, ["files", "export"])
    assert (missing.exit_code, missing.stderr) == (1, "Error: Name a folder, or set TSUZUKI_EXPORT_FOLDER.\n")
    done = CliRunner().invoke(main, ["files", "export", "--to", str(tmp_path / "comics")])
    assert (done.exit_code, done.stdout) == (0, "0 chapters written, 0 removed.\n")
    assert shown(tmp_path / "comics") == []


async def test_a_worker_keeps_the_folder_of_the_setting(tmp_path, database_url):
    folder = tmp_path / "comics"
    async with a_gallery(tmp_path, database_url, export_folder=folder) as gallery:
        await download(gallery)
        await name(gallery, "The Cat")
        gallery.app.worker_loops.start()
        async with asyncio.timeout(20):
            while not folder.exists() or not shown(folder):
                gallery.app.time.pass_(MINUTE)
                await asyncio.sleep(0.2)
        await gallery.app.worker_loops.stop()
        assert shown(folder) == ["The Cat/The Cat 1.cbz"]
