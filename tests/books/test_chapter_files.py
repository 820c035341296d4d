"""Chapters as files: what is in a CBZ, that its bytes never change, and how it is answered."""

import hashlib
import zipfile
from io import BytesIO
from typing import Any, BinaryIO

import pytest
from lxml import etree

from tests.images.builders import Gallery, a_gallery, a_picture, on_sqlite
from tests.images.test_downloads import fill, no_release_tx
from tests.protocols.people import an_app_reader
from tests.protocols.test_pictures import follow_gallery
from tests.protocols.test_pictures import q as gallery_queries
from tsuzuki.accounts.types import SYSTEM, Slice
from tsuzuki.books.archives import ArchiveMember, pack
from tsuzuki.books.chapters import ChapterFiles
from tsuzuki.books.comic_info import ReleaseFacts, ascii_name, comic_info, device_names, file_name
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.errors import TooLarge
from tsuzuki.model.ids import ChapterId, PublicId, ReleaseId, SeriesId, show_id
from tsuzuki.model.times import Millis
from tsuzuki.shelves.library import SeriesFilter

q = parse_queries(
    "tests",
    """
-- name: forget_checksums
update image set crc32 = null;
-- name: checksums
select crc32 from image where crc32 is not null;
-- name: name_series
update series set title = :title, author = 'Ines Brook' where id = :id;
""",
)


def path_of(gallery: Gallery) -> str:
    return f"/chapters/{gallery.release_id}/file"


def files_of(gallery: Gallery) -> ChapterFiles:
    return ChapterFiles(gallery.db, gallery.app.pictures.images, gallery.app.catalogue.chapters)


def partial_md5(file: BinaryIO) -> str:
    """As KOReader computes it."""
    digest = hashlib.md5(usedforsecurity=False)
    for offset in (0, *(1024 << (2 * i) for i in range(11))):
        file.seek(offset)
        sample = file.read(1024)
        if not sample:
            break
        digest.update(sample)
    return digest.hexdigest()


async def test_a_chapter_is_a_comic_book_archive(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        pictures = fill(gallery)
        answer = await gallery.reader.get(path_of(gallery))
        assert answer.status == 200, answer.text
        assert answer.headers["content-type"] == "application/vnd.comicbook+zip"
        assert int(answer.headers["content-length"]) == len(answer.body)
        with zipfile.ZipFile(BytesIO(answer.body)) as archive:
            assert archive.testzip() is None
            assert archive.namelist() == ["001.png", "002.png", "003.png", "ComicInfo.xml"]
            assert [archive.read(name) for name in archive.namelist()[:3]] == pictures
            assert {one.compress_type for one in archive.infolist()} == {zipfile.ZIP_STORED}
            assert {one.date_time for one in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
            info = etree.fromstring(archive.read("ComicInfo.xml"))
        assert (info.findtext("Number"), info.findtext("PageCount")) == ("1", "3")


async def test_the_same_pages_are_the_same_bytes_each_time(tmp_path, database_url):
    """Also once the chapter is downloaded, and where checksums had been forgotten."""
    async with a_gallery(tmp_path, database_url) as gallery:
        fill(gallery)
        first = await gallery.reader.get(path_of(gallery))
        await gallery.db.with_tx(lambda tx: tx.run(q.forget_checksums))
        second = await gallery.reader.get(path_of(gallery))
        await gallery.reader.post(gallery.download)
        async with gallery.at_work():
            await gallery.until_kept("done")
        gallery.site.pictures.clear()
        third = await gallery.reader.get(path_of(gallery))
        assert first.body == second.body == third.body
        assert first.headers["etag"] == third.headers["etag"]
        assert len(await gallery.db.read(lambda tx: tx.many(int, q.checksums))) == 3


async def test_a_downloaded_chapter_outlives_its_source_as_a_file(tmp_path, database_url):
    """I9; nobody else reads it."""
    async with a_gallery(tmp_path, database_url) as gallery:
        fill(gallery)
        await gallery.reader.post(gallery.download)
        async with gallery.at_work():
            await gallery.until_kept("done")
        await gallery.app.crawling.sources.deregister(SYSTEM, gallery.source_id, reason=None, release=no_release_tx)
        answer = await gallery.reader.get(path_of(gallery))
        assert answer.status == 200, answer.text
        neighbour = await gallery.app.signed_in(await gallery.app.add())
        assert (await neighbour.get(path_of(gallery))).status == 404


async def test_parts_and_heads_are_those_of_the_whole(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        fill(gallery)
        early = await gallery.reader.ask("HEAD", path_of(gallery))
        assert early.status == 200
        assert gallery.site.asked_for(".png") == 0  # nobody waits for pages that a name does not need
        whole = await gallery.reader.get(path_of(gallery))
        assert early.headers["content-disposition"] == whole.headers["content-disposition"]
        size = len(whole.body)
        for first, last in ((0, 0), (10, 400), (size - 5, size + 100), (0, size)):
            part = await gallery.reader.get(path_of(gallery), range=f"bytes={first}-{last}")
            assert part.status == 206
            assert part.body == whole.body[first : last + 1]
            assert part.headers["content-range"] == f"bytes {first}-{min(last, size - 1)}/{size}"
        last_bytes = await gallery.reader.get(path_of(gallery), range="bytes=-7")
        assert last_bytes.body == whole.body[-7:]
        beyond = await gallery.reader.get(path_of(gallery), range=f"bytes={size}-")
        assert (beyond.status, beyond.headers["content-range"]) == (416, f"bytes */{size}")
        held = await gallery.reader.ask("HEAD", path_of(gallery), range="bytes=5-9")
        assert (held.status, held.headers["content-length"]) == (200, str(size))
        for condition in ('"another"', "Wed, 21 Oct 2026 07:28:00 GMT", f"W/{whole.headers['etag']}"):
            answer = await gallery.reader.get(path_of(gallery), range="bytes=5-9", if_range=condition)
            assert (answer.status, answer.body) == (200, whole.body), condition
        known = await gallery.reader.get(path_of(gallery), if_none_match=whole.headers["etag"])
        assert (known.status, known.body) == (304, b"")
        await gallery.reader.post(gallery.download)
        async with gallery.at_work():
            await gallery.until_kept("done")
        head = await gallery.reader.ask("HEAD", path_of(gallery))
        assert (head.status, head.headers["content-length"], head.body) == (200, str(size), b"")
        assert head.headers["etag"] == whole.headers["etag"]


async def test_large_pages_are_read_in_pieces(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url, pages=2) as gallery:
        pictures = [a_picture(size=(700, 900), noisy=True), a_picture(size=(800, 900), noisy=True)]
        for position, picture in enumerate(pictures):
            gallery.show(position, picture)
        assert min(map(len, pictures)) > 1024 * 1024
        whole = await gallery.reader.get(path_of(gallery))
        with zipfile.ZipFile(BytesIO(whole.body)) as archive:
            assert archive.testzip() is None
        start = len(pictures[0]) - 1000
        part = await gallery.reader.get(path_of(gallery), range=f"bytes={start}-{start + 3000}")
        assert part.body == whole.body[start : start + 3001]
        user = await gallery.app.add()
        file = await files_of(gallery).open(gallery.release_id, user.id)
        assert await files_of(gallery).digest(file) == partial_md5(BytesIO(whole.body))


async def test_a_device_finds_the_chapter_by_its_file(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        fill(gallery)
        db, files = gallery.db, files_of(gallery)
        ann, ben = [await an_app_reader(gallery.app, "fever") for _ in range(2)]
        await follow_gallery(gallery, ann)
        series = await db.read(lambda tx: tx.one(SeriesId, gallery_queries.series_of, id=gallery.chapter_id))
        await db.with_tx(lambda tx: tx.run(q.name_series, id=series, title="The Lighthouse Cat"))
        body = (await gallery.reader.get(path_of(gallery))).body
        names = (b"The Lighthouse Cat 1.cbz", b"Ines Brook - The Lighthouse Cat 1.cbz")
        for digest in (partial_md5(BytesIO(body)), *(hashlib.md5(name).hexdigest() for name in names)):
            found = await files.find(ann.shelf, digest)
            assert found is not None
            assert (found.chapter_id, found.page_count) == (gallery.chapter_id, 3)
            assert await files.find(ben.shelf, digest) is None  # I8: it follows no such series
        assert await files.find(ann.shelf, "0" * 32) is None


@on_sqlite
async def test_the_page_of_a_series_leads_to_the_file(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        ann = await an_app_reader(gallery.app, "fever")
        await follow_gallery(gallery, ann)
        [series] = (await gallery.app.reading.library.list(ann.shelf, SeriesFilter(), Slice()))[0]
        headers = (await gallery.app.signed_in(ann.user)).headers
        page = await gallery.app.client.get(f"/series/{show_id(series.row.public_id)}", headers=headers)
        assert f'href="/api/v1{path_of(gallery)}" download' in page.text


@on_sqlite
async def test_a_chapter_without_all_its_pages_is_no_file(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        fill(gallery)
        del gallery.site.pictures["/s/one/1/1.png"]
        answer = await gallery.reader.get(path_of(gallery))
        assert answer.status == 503
        for number in (0, 10**9, 2**62):
            assert (await gallery.reader.get(f"/chapters/{number}/file")).status == 404


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("The Lighthouse Cat 3", "The Lighthouse Cat 3.cbz"),
        ("../../etc/passwd", "etc passwd.cbz"),
        ('A/B\\C: "D" <E>|F? *;\x01\n', "A B C D E F.cbz"),
        ("...", "untitled.cbz"),
        ("con", "_con.cbz"),
        ("Aux.1", "_Aux.1.cbz"),
        ("Console", "Console.cbz"),
        ("gpj.\u202ezbc\x85", "gpj. zbc.cbz"),
        ("灯台の猫 3", "灯台の猫 3.cbz"),
    ],
)
def test_names_of_files_are_no_paths(title, name):
    assert file_name(title, ".cbz") == name
    assert len(file_name("猫" * 500, ".cbz").encode()) <= 204


def test_names_for_devices_without_unicode_say_something():
    assert ascii_name("The Cat 3.cbz", "chapter 9") == "The Cat 3.cbz"
    assert ascii_name("灯台の猫 3.cbz", "chapter 9") == "chapter 9.cbz"
    assert ascii_name("Café 3.cbz", "chapter 9") == "Caf 3 (chapter 9).cbz"


def test_chapter_files_of_a_series_have_different_names():
    chapters: list[tuple[str | None, str | None, str]] = [
        ("3", None, "Fog"),
        ("4", None, "Fog"),
        (None, "2", ""),
        (None, None, "Extra 夏"),
        (None, None, "Extra 冬"),
        (None, None, "Extra"),
        (None, None, "Extra"),
        (None, None, ""),
    ]
    for series in ("The Cat", "Re:Zero", "灯台の猫" * 40, "Café", ""):
        names = [
            a_release(series_title=series, number=number, volume=volume, title=title, chapter_id=ChapterId(place))
            for place, (number, volume, title) in enumerate(chapters)
        ]
        assert len({one.file_name for one in names}) == len(chapters), series
        assert len({ascii_name(one.file_name, f"chapter {one.chapter_id}") for one in names}) == len(chapters), series
        assert all(len(one.file_name.encode()) <= 210 for one in names)
    assert a_release(series_title="Re:Zero").file_name == "Re Zero 3.5.cbz"
    assert a_release(number=None, volume="2").file_name == "The Cat Vol. 2.cbz"
    assert a_release(number=None, title="Extra").file_name == "The Cat Extra [2].cbz"


def a_release(**over: Any) -> ReleaseFacts:
    values: dict[str, Any] = dict.fromkeys(ReleaseFacts.__struct_fields__)
    values |= {"release_id": ReleaseId(1), "chapter_id": ChapterId(2), "series_public_id": PublicId(b"1" * 16)}
    return ReleaseFacts(**values | {"series_title": "The Cat", "number": "3.5", "title": "", "is_nsfw": False} | over)


def test_a_device_may_name_a_file_after_its_entry():
    facts = a_release(title="Fog: 1/2", author="Ines")
    assert {
        "Ines - The Cat 3.5_ Fog_ 1_2.cbz",
        "Ines - The Cat 3.5: Fog: 1_2.cbz",
        "The Cat 3.5_ Fog_ 1_2.cbz",
        "The Cat 3.5.cbz",
    } <= device_names(facts)
    nobody = device_names(a_release(title="Fog..."))
    assert {"Unknown Author - The Cat 3.5_ Fog.cbz", "Unknown Author - The Cat 3.5: Fog....cbz"} <= nobody
    long = device_names(a_release(series_title="灯" * 100, author="Ines"))
    assert f"Ines - {'灯' * 77}.cbz" in long
    assert max(len(name.encode()) for name in long) <= 240 + len(".cbz")


def test_what_a_file_says_of_its_chapter_is_well_formed():
    facts = a_release(
        series_title="A & B <i>]]>\x01𠮷",
        author="Ines",
        series_language="ja",
        is_nsfw=True,
        volume="x",
        title='"Fog"',
        group_name="Gull Scans",
        url="https://example.org/?a=1&b=2",
        published_at=Millis(-1),
    )
    info = etree.fromstring(comic_info(facts, 24))
    said = {child.tag: child.text for child in info}
    assert said == {
        "Title": '"Fog"',
        "Series": "A & B <i>]]>\ufffd𠮷",
        "Number": "3.5",
        "Year": "1969",
        "Month": "12",
        "Day": "31",
        "Writer": "Ines",
        "Translator": "Gull Scans",
        "Web": "https://example.org/?a=1&b=2",
        "PageCount": "24",
        "LanguageISO": "ja",
        "Manga": "YesAndRightToLeft",
        "AgeRating": "Adults Only 18+",
    }


def test_what_no_zip_can_hold_is_refused():
    class Huge(bytes):
        def __len__(self) -> int:
            return 2**32

    with pytest.raises(TooLarge):
        pack("x.cbz", "application/zip", [ArchiveMember("x", Huge())])


async def test_ten_thousand_pages_fit_and_a_hundred_thousand_do_not():
    nothing: Any = None
    members = [ArchiveMember(f"{place:05}.png", b"%d" % place) for place in range(10_000)]
    archive = pack("x.cbz", "application/zip", members)
    whole = b"".join([piece async for piece in archive.pieces(nothing)])
    assert len(whole) == archive.size
    with zipfile.ZipFile(BytesIO(whole)) as opened:
        assert opened.testzip() is None
        assert opened.namelist() == [member.name for member in members]
    with pytest.raises(TooLarge):
        pack("x.cbz", "application/zip", members * 10)
