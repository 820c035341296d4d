"""Images of every kind and of none, a site that shows them, and a server that knows the site."""

import asyncio
import io
import struct
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PIL import Image as Picture

from tests.api.people import RunningApp, Visitor
from tests.builders import NOON, a_new_chapter, a_new_release, stored_series, stored_series_source
from tests.crawler.builders import DEFINITION, SITE, Site, a_crawling_app
from tests.net.builders import a_server, answer
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.db import Database, Tx
from tsuzuki.db.queries import parse_queries
from tsuzuki.files.folder import FolderStore
from tsuzuki.files.stores import IMAGES
from tsuzuki.images.downloads import DOWNLOADS
from tsuzuki.images.files import ImageCache, ImageFiles, ImageSubject, NewImage, at_address, save_image_tx
from tsuzuki.ingest.chapters import save_pages_tx, upsert_chapters_tx, upsert_releases_tx
from tsuzuki.model.harvest import FoundPage
from tsuzuki.model.ids import ChapterId, ReleaseId, SeriesSourceId, SourceId
from tsuzuki.queue.leases import WorkerContext
from tsuzuki.queue.worker import Worker
from tsuzuki.sources.types import SourceRegistration

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
"""For tests about what happens outside the database."""

Write = Callable[[asyncio.StreamWriter], Awaitable[None]]

q = parse_queries(
    "tests",
    """
-- name: set_cover
update series_source set cover_url = :url where id = :id;
-- name: count_images
select count(*) from image;
-- name: image_hashes
select hash from image order by id;
-- name: failures
select failures from image_of where subject = :subject and thumbnail = 0;
-- name: stored_addresses
select address from image_of where address is not null
union all select image_url from page where image_url is not null;
-- name: open_tasks
select count(*) from task where queue = :queue and status in ('queued', 'running');
-- name: break_watches
update watch set consecutive_failures = 5;
-- name: watch_failures
select consecutive_failures from watch;
-- name: set_used
update image set used_at = :at where id = :id;
""",
)


def a_picture(kind: str = "PNG", size: tuple[int, int] = (60, 90), *, color: Any = "red", noisy: bool = False) -> bytes:
    """An image; a noisy one does not pack well, so that it has as many bytes as pixels."""
    image = Picture.effect_noise(size, 90).convert("RGB") if noisy else Picture.new("RGB", size, color)
    return packed(image, kind)


def packed(image: Picture.Image, kind: str, **options: Any) -> bytes:
    written = io.BytesIO()
    image.save(written, kind, **options)
    return written.getvalue()


def an_animation(frames: int, size: tuple[int, int] = (8, 8), kind: str = "GIF") -> bytes:
    pictures = [Picture.new("RGB", size, (number % 256, number // 256 % 256, 9)) for number in range(frames)]
    return packed(pictures[0], kind, save_all=True, append_images=pictures[1:])


def a_bomb(width: int = 9000, height: int = 9000) -> bytes:
    """A PNG of 81 megapixels in a few kilobytes."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(b"\0" * (1 + width)) for _ in range(height)) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def a_flicker(width: int, height: int, *, frames: int) -> bytes:
    """A GIF of a few bytes: one pixel that comes and goes on a large canvas."""
    head = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    frame = b"\x21\xf9\x04\x04\x01\0\0\0" + b"\x2c" + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\0"
    return head + frame * frames + b";"


class PictureSite(Site):
    """A site whose chapters show what is in `pictures` by its path; what is not there is a 404."""

    def __init__(self) -> None:
        super().__init__()
        self.pictures: dict[str, bytes | Write] = {}
        self.types: dict[str, str] = {}
        self.suffix = ""
        """Of every image's address, such as a signature."""

    async def handle(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        path = head.split(b" ", 2)[1].decode()
        name = path.partition("?")[0]
        if name.endswith(".png"):
            await self._show(path, name, writer)
        elif path.count("/") == 3 and not self.is_down:
            images = "".join(f'<img src="{path}/{number}.png{self.suffix}">' for number in range(self.pages))
            writer.write(self._page(images))
        else:
            await super().handle(head, writer)

    async def _show(self, path: str, name: str, writer: asyncio.StreamWriter) -> None:
        shown = self.pictures.get(path, self.pictures.get(name))
        if shown is None:
            writer.write(answer(404, b"<p>gone</p>", content_type="text/html"))
        elif isinstance(shown, bytes):
            writer.write(answer(200, shown, content_type=self.types.get(name, "image/png")))
        else:
            await shown(writer)

    def asked_for(self, ending: str) -> int:
        return sum(path.endswith(ending) for path in self.asked)


def in_folder(folder: Path) -> ImageFiles:
    return ImageFiles(FolderStore(folder, IMAGES), folder)


async def stored_digests(files: ImageFiles) -> set[bytes]:
    return {digest async for some in files.digests() for digest, _ in some}


async def stored_picture(app: RunningApp, address: str) -> bytes:
    """An image that an article shows from there, on disk already."""
    files, picture = app.pictures.room._files, a_picture()
    with files.draft() as draft:
        draft.write(picture)
        new = NewImage(await draft.keep(), "image/png", 60, 90, len(picture))
    subject = at_address(address)
    await app.db.with_tx(lambda tx: save_image_tx(tx, subject, new, address=None, now=app.time()))
    return picture


class Gallery(msgspec.Struct, frozen=True):
    """A running server, a site, and a chapter of it with pages /s/one/1/0.png and so on."""

    app: RunningApp
    site: PictureSite
    reader: Visitor
    source_id: SourceId
    manga_id: SeriesSourceId
    chapter_id: ChapterId
    release_id: ReleaseId

    def page(self, position: int) -> str:
        return f"/chapters/{self.release_id}/pages/{position}/image"

    @property
    def cover(self) -> str:
        return f"/manga/{self.manga_id}/cover"

    @property
    def download(self) -> str:
        return f"/chapters/{self.release_id}/download"

    @property
    def db(self) -> Database:
        return self.app.db

    def show(self, position: int, data: bytes | Write) -> str:
        """The site shows this as a page."""
        path = f"/s/one/1/{position}.png"
        self.site.pictures[path] = data
        return path

    async def show_cover(self, data: bytes) -> None:
        self.site.pictures["/cover.png"] = data
        url = f"{self.site.url}/cover.png"
        await self.db.with_tx(lambda tx: tx.run(q.set_cover, id=self.manga_id, url=url))

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """A worker keeps chapters within this block; what it has not finished then is given back."""
        worker_context = WorkerContext(db=self.db, wakeup=self.app.wakeup, clock=self.app.time, name="test")
        worker = Worker(worker_context, DOWNLOADS, self.app.pictures.downloader)
        working = asyncio.create_task(worker.run())
        try:
            yield
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    async def until_idle(self, queue: str) -> None:
        """Return when the queue has nothing to do."""
        async with asyncio.timeout(20):
            while await self.db.read(lambda tx: tx.one(int, q.open_tasks, queue=queue)):  # noqa: ASYNC110  as above
                await asyncio.sleep(0.02)

    async def evict_everything(self) -> None:
        """As if the cache had no room for anything."""
        room = self.app.pictures.room
        await ImageCache(self.db, room._files, self.app.time, size=0).evict()

    async def until_kept(self, *statuses: str, seconds: float = 20.0) -> dict[str, Any]:
        """The download once it has one of these states."""
        async with asyncio.timeout(seconds):
            while True:
                found: dict[str, Any] = (await self.reader.get(self.download)).json()["data"]
                if found["status"] in statuses:
                    return found
                await asyncio.sleep(0.02)

    async def count_images(self) -> int:
        return await self.db.read(lambda tx: tx.one(int, q.count_images))

    async def until_images(self, count: int) -> None:
        """Return when there are so many."""
        async with asyncio.timeout(20):
            while await self.count_images() < count:  # noqa: ASYNC110  the database wakes no test
                await asyncio.sleep(0.02)

    async def failures(self, subject: ImageSubject) -> int:
        return await self.db.read(lambda tx: tx.one(int, q.failures, subject=subject.key))


@asynccontextmanager
async def a_gallery(folder: Path, database_url: str, **over: Any) -> AsyncIterator[Gallery]:
    """All of it, running; `pages` is how many the chapter has, `is_listed` whether its page list is known already,
    `definition` what the site's adds to that of any site.
    """
    site = PictureSite()
    site.pages, is_listed = over.pop("pages", 3), over.pop("is_listed", True)
    more = over.pop("definition", "")
    async with a_server(site.handle) as server:
        site.server = server
        (folder / "sources").mkdir()
        (folder / "sources" / "site.yaml").write_text(DEFINITION.format(url=site.url) + more, "utf-8")
        async with a_crawling_app(folder, database_url, **over) as app:
            yield await _filled(app, site, is_listed=is_listed)


async def _filled(app: RunningApp, site: PictureSite, *, is_listed: bool) -> Gallery:
    source = await app.crawling.sources.register(SYSTEM, a_wanted(site))
    series = await stored_series(app.db)
    manga = await stored_series_source(app.db, series, source.id)

    async def add(tx: Tx) -> tuple[ChapterId, ReleaseId]:
        [chapter] = await upsert_chapters_tx(tx, series, [a_new_chapter(1)], NOON)
        new = a_new_release(1, url=f"{site.url}/s/one/1")
        [release] = await upsert_releases_tx(tx, series, manga, [new], now=NOON)
        if is_listed:
            listed = [FoundPage(each, new.url, f"{new.url}/{each}.png") for each in range(site.pages)]
            await save_pages_tx(tx, release.id, listed, NOON)
        return chapter.id, release.id

    chapter_id, release_id = await app.db.with_tx(add)
    reader = await app.signed_in(await app.add())
    return Gallery(app, site, reader, source.id, manga, chapter_id, release_id)


def a_wanted(site: PictureSite) -> SourceRegistration:
    return SourceRegistration(name="Site", slug="site", base_url=site.url, connector=SITE, config={"ratelimit": 50})
