"""What devices know a file of ours by stays known, whatever becomes of the chapter and its source (I9)."""

import hashlib
import zipfile
from io import BytesIO

from tests.books.test_chapter_files import partial_md5, path_of
from tests.builders import NOON, a_new_chapter, a_new_release, stored_series, stored_series_source
from tests.catalogue.builders import a_browsing_app, a_shelf, got
from tests.catalogue.merge_builders import a_merging
from tests.catalogue.test_chapters import follow
from tests.crawler.builders import made, the_admin
from tests.images.builders import a_picture
from tests.images.test_downloads import no_release_tx
from tests.protocols.koreader import Library, a_device, a_library, q
from tests.protocols.people import AppReader
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.books.chapters import ChapterFiles
from tsuzuki.books.export import FolderExport
from tsuzuki.db import Tx
from tsuzuki.db.queries import parse_queries
from tsuzuki.inbox.entries import EntryFilter
from tsuzuki.ingest.chapters import save_pages_tx, upsert_chapters_tx, upsert_releases_tx
from tsuzuki.model.harvest import FoundPage
from tsuzuki.model.ids import ChapterId, ItemId, PublicId, SeriesId
from tsuzuki.model.pages import FROM_THE_TOP
from tsuzuki.model.times import MINUTE, iso

_q = parse_queries(
    "tests",
    """
-- name: page_of
select progress.page from release join progress on progress.chapter_id = release.chapter_id
where release.id = :id and progress.shelf_id = :shelf_id;
""",
)


def name_md5(name: str) -> str:
    return hashlib.md5(name.encode()).hexdigest()


def names_of(disposition: str) -> str:
    """The name that a device without Unicode takes."""
    return disposition.partition('filename="')[2].partition('"')[0]


async def test_a_file_is_known_after_its_source_is_gone(tmp_path, empty_database_url):
    async with a_library(tmp_path, empty_database_url) as library:
        digest, app = await library.digest(), library.gallery.app
        await app.crawling.sources.deregister(SYSTEM, library.gallery.source_id, reason=None, release=no_release_tx)
        await library.kobo.read(digest, 5, 8)
        assert await library.state() == (4, 4, False)
        library.time.pass_(MINUTE)
        await library.report(page=6, device="Phone")
        assert (await library.kobo.get(digest))["progress"] == "7"


async def test_a_file_has_the_pages_that_it_had(tmp_path, empty_database_url):
    """Its chapter has fewer by now: page 8 of 8 is still the end of that file, and page 4 of 8 its half."""
    async with a_library(tmp_path, empty_database_url) as library:
        old = await library.digest()
        pages = [FoundPage(number, f"/s/one/1/{number}.png") for number in range(4)]
        release = library.gallery.release_id
        await library.gallery.db.with_tx(lambda tx: save_pages_tx(tx, release, pages, library.time()))
        new = await library.digest()
        assert old != new
        await library.kobo.read(old, 4, 8)
        assert await library.state() == (3, 3, False)
        library.time.pass_(MINUTE)
        await library.report(page=2, device="Phone")
        assert [(await library.kobo.get(one))["percentage"] for one in (old, new)] == [0.375, 0.75]
        library.time.pass_(MINUTE)
        await library.kobo.read(old, 8, 8)
        assert (await library.state())[2]


async def another_series(library: Library) -> tuple[PublicId, ChapterId]:
    """A series that has chapter 1, too."""
    db = library.gallery.db
    series = await stored_series(db, "The Other Cat")
    manga = await stored_series_source(db, series, library.gallery.source_id)

    async def add(tx: Tx) -> ChapterId:
        [chapter] = await upsert_chapters_tx(tx, series, [a_new_chapter(1)], NOON)
        await upsert_releases_tx(tx, series, manga, [a_new_release(1)], now=NOON)
        return chapter.id

    chapter = await db.with_tx(add)
    return await db.read(lambda tx: tx.one(PublicId, q.public_id, id=SeriesId(series))), chapter


async def test_a_file_follows_its_chapter_into_another_series(tmp_path, empty_database_url):
    """Also when the source that it came from goes afterwards."""
    async with a_library(tmp_path, empty_database_url) as library:
        digest, app = await library.digest(), library.gallery.app
        into, chapter = await another_series(library)
        merges = a_merging(app.db)
        await merges.merge(SYSTEM, library.series, into)
        await library.kobo.read(digest, 3, 8)
        progress = await library.progress.get(library.kobo.shelf, into, chapter)
        assert (progress.page, progress.device) == (2, "Kobo Libra")
        await app.crawling.sources.deregister(SYSTEM, library.gallery.source_id, reason=None, release=no_release_tx)
        library.time.pass_(MINUTE)
        await library.kobo.read(digest, 6, 8)
        assert (await library.progress.get(library.kobo.shelf, into, chapter)).page == 5


async def test_a_file_is_known_however_it_was_fetched(tmp_path, empty_database_url):
    """In ranges from the first byte on, and by asking again for the rest."""
    async with a_library(tmp_path, empty_database_url) as library:
        reader, path = library.gallery.reader, path_of(library.gallery)
        body, size = b"", 1
        while (start := len(body)) < size:
            part = await reader.get(path, range=f"bytes={start}-{start + 700}")
            assert part.status == 206
            size = int(part.headers["content-range"].rpartition("/")[2])
            body += part.body
        await library.kobo.read(partial_md5(BytesIO(body)), 5, 8)
        assert await library.state() == (4, 4, False)


async def test_files_of_the_exported_folder_are_known(tmp_path, empty_database_url):
    """By their content, and by the names that they have there."""
    async with a_library(tmp_path, empty_database_url) as library:
        gallery = library.gallery
        images = gallery.app.pictures.images
        await gallery.app.pictures.downloads.add(library.kobo.shelf, gallery.release_id)
        async with gallery.at_work():
            await gallery.until_idle("keep-chapters")
        files = ChapterFiles(gallery.db, images, gallery.app.catalogue.chapters)
        folder = tmp_path / "comics"
        assert (await FolderExport(gallery.db, files, images, folder).work()).written == 1
        [file] = folder.rglob("*.cbz")
        await library.kobo.read(partial_md5(BytesIO(file.read_bytes())), 2, 8)
        assert await library.state() == (1, 1, False)
        library.time.pass_(MINUTE)
        await library.kobo.read(name_md5(file.name), 4, 8)
        assert await library.state() == (3, 3, False)


async def test_comics_in_the_servers_own_folder_are_known(tmp_path, empty_database_url):
    """Somebody has the same files on a device: nobody fetched them from here, and one is replaced later."""
    folder = tmp_path / "library" / "The Cat"
    folder.mkdir(parents=True)
    for number in (1, 2):
        with zipfile.ZipFile(folder / f"The Cat {number}.cbz", "w") as archive:
            for page in range(8):
                archive.writestr(f"{page}.png", a_picture(color=(number, page, 9)))
    async with a_browsing_app(tmp_path / "data", empty_database_url) as app:
        reader, _ = await a_shelf(app)
        kobo = await a_device(app)
        body = {"name": "Mine", "slug": "mine", "baseurl": "local:", "extensionid": "tsuzuki.local"}
        config = {"config": {"folder": str(folder.parent)}}
        site = (await made(await the_admin(app), "/admin/crawler/sources", body | config))["id"]
        manga = (await got(reader, f"/sources/{site}/popular"))["data"][0]
        await follow(app, kobo.shelf, manga["series_id"])
        chapters = f"/manga/{manga['id']}/chapters"
        second, first = [one["id"] for one in (await got(reader, chapters))["data"]]

        async def page_of(release: str) -> int:
            where = {"id": int(release), "shelf_id": kobo.shelf}
            return await app.db.read(lambda tx: tx.one(int, _q.page_of, **where))

        known = partial_md5(BytesIO((folder / "The Cat 1.cbz").read_bytes()))
        await kobo.read(known, 5, 8)
        await kobo.read(name_md5("The Cat 2.cbz"), 3, 8)
        assert [await page_of(one) for one in (first, second)] == [4, 2]
        with zipfile.ZipFile(folder / "The Cat 1.cbz", "a") as archive:
            archive.writestr("8.png", a_picture())
        assert (await got(reader, f"{chapters}?refresh=true"))["data"]
        app.time.pass_(MINUTE)
        changed = partial_md5(BytesIO((folder / "The Cat 1.cbz").read_bytes()))
        assert changed != known
        await kobo.read(changed, 9, 9)
        app.time.pass_(MINUTE)
        await kobo.read(known, 6, 8)  # a device that has the former file
        assert await page_of(first) == 5


# -- articles


async def articles_of(ann: AppReader) -> list[ItemId]:
    """The unread ones, the oldest first."""
    wanted = EntryFilter(kind="item", unread=True)
    rows = (await ann.app.inbox.list(ann.shelf, wanted, after=FROM_THE_TOP, most=99)).rows
    return [row.item_id for row in reversed(rows) if row.item_id is not None]


async def test_an_article_is_known_by_its_files_names(tmp_path, empty_database_url):
    async with a_library(tmp_path, empty_database_url) as library:
        kobo = library.kobo
        feed = await kobo.add_feed("The Gull Letters")
        await kobo.release(feed, 1, title="Wind/Waves", author="Mara Quill")
        await kobo.release(feed, 1, prefix="m", title="Storm: 2", author="Mara Quill")
        own = await kobo.app.signed_in(kobo.user)
        for item in await articles_of(kobo):
            await own.get(f"/items/{item}/file")
        assert await kobo.get(name_md5("Wind Waves.epub")) == {}
        told = {"progress": "/body/DocFragment[1]/body/p[2]/a/text().0", "percentage": 1.0, "device": "Kobo Libra"}
        await kobo.put(document=name_md5("Wind Waves.epub"), **told)
        assert len(await articles_of(kobo)) == 1
        await kobo.put(document=name_md5("Mara Quill - Storm_ 2.epub"), **told)
        assert await articles_of(kobo) == []


async def test_a_days_book_is_read_with_its_articles(tmp_path, empty_database_url):
    """Read to its end there, all of them are read here; read here, the book is at its end there."""
    async with a_library(tmp_path, empty_database_url) as library:
        kobo = library.kobo
        feed = await kobo.add_feed("The Gull Letters", items=2)
        own = await kobo.app.signed_in(kobo.user)
        now = kobo.app.time()
        answer = await own.get(f"/items/-/digest?until={iso(now)}")
        assert answer.status == 200
        digest = partial_md5(BytesIO(answer.body))
        kobo.app.time.pass_(MINUTE)
        await kobo.release(feed, 1, prefix="later")
        half = {"document": digest, "progress": "/body/DocFragment[2]/body/p[1]", "device": "Kobo Libra"}
        await kobo.put(**half, percentage=0.4)
        assert len(await articles_of(kobo)) == 3
        assert (await kobo.get(digest))["percentage"] == 0.4
        kobo.app.time.pass_(MINUTE)
        first, second, later = await articles_of(kobo)
        await kobo.app.inbox.mark_items(kobo.shelf, [first, second], unread=False)
        found = await kobo.get(digest)
        assert (found["percentage"], found["device"]) == (1.0, "Tsuzuki")
        assert found["progress"] == "/body/DocFragment[3]/body/p[2]"
        with zipfile.ZipFile(BytesIO(answer.body)) as archive:
            assert b"<p>" in archive.read("EPUB/article-002.xhtml").rsplit(b"</div>", 1)[1]
        await kobo.app.inbox.mark_items(kobo.shelf, [first, second], unread=True)
        assert (await kobo.get(digest))["percentage"] == 0.4
        await kobo.put(**half | {"progress": found["progress"]}, percentage=0.998)
        assert await articles_of(kobo) == [later]
        other = await a_device(kobo.app)
        await other.put(**half, percentage=1.0)
        assert await articles_of(kobo) == [later]
        assert await other.get(digest) != await kobo.get(digest)
