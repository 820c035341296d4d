"""KOReader on a device, and a library with a chapter that it has as a file."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from tests.api.people import RunningApp
from tests.app import Answer
from tests.books.test_chapter_files import partial_md5, path_of
from tests.images.builders import Gallery, a_gallery
from tests.images.test_downloads import fill
from tests.protocols.people import AppReader, an_app_reader
from tests.protocols.test_pictures import follow_gallery
from tests.protocols.test_pictures import q as gallery_queries
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.ids import PublicId, SeriesId
from tsuzuki.shelves.types import ReportedReading

BASE = "/koreader"

q = parse_queries(
    "tests",
    """
-- name: public_id
select public_id from series where id = :id;
""",
)


class Device(AppReader):
    """KOReader on one device."""

    name = "Kobo Libra"

    @property
    def hashed(self) -> str:
        return hashlib.md5(self.key.encode()).hexdigest()

    async def call(self, method: str, path: str, body: Any = None, key: str | None = None) -> Answer:
        headers = {
            "accept": "application/vnd.koreader.v1+json",
            "x-auth-user": self.user.username,
            "x-auth-key": self.hashed if key is None else key,
        }
        options = {} if body is None else {"json": body}
        return await self.app.client.ask(method, f"{BASE}{path}", headers=headers, **options)

    async def get(self, document: str) -> Any:
        answer = await self.call("GET", f"/syncs/progress/{document}")
        assert answer.status == 200, answer.text
        return answer.json()

    async def put(self, **said: Any) -> Any:
        answer = await self.call("PUT", "/syncs/progress", said)
        assert answer.status == 200, answer.text
        return answer.json()

    async def read(self, document: str, page: int, count: int) -> None:
        """The person looks at this page."""
        device = {"device": self.name, "device_id": self.name}
        await self.put(document=document, progress=str(page), percentage=page / count, **device)


async def a_device(app: RunningApp, **over: Any) -> Device:
    ann = await an_app_reader(app, "koreader", **over)
    return Device(app, ann.user, ann.shelf, ann.issued)


class Library:
    """A device that has a chapter of ours as a file."""

    def __init__(self, gallery: Gallery, kobo: Device, series: PublicId) -> None:
        self.gallery = gallery
        self.kobo = kobo
        self.series = series
        self.progress = gallery.app.reading.progress
        self.time = gallery.app.time

    async def file(self) -> bytes:
        answer = await self.gallery.reader.get(path_of(self.gallery))
        assert answer.status == 200
        return answer.body

    async def digest(self) -> str:
        return partial_md5(BytesIO(await self.file()))

    async def report(self, **said: Any) -> None:
        reading = ReportedReading(**said)
        await self.progress.report(self.kobo.shelf, self.series, self.gallery.chapter_id, reading)

    async def state(self) -> tuple[int, int, bool]:
        """The page, counted from 0, the furthest, and whether it is read."""
        found = await self.progress.get(self.kobo.shelf, self.series, self.gallery.chapter_id)
        return found.page, found.furthest_page, found.is_read


@asynccontextmanager
async def a_library(folder: Path, database_url: str) -> AsyncIterator[Library]:
    async with a_gallery(folder, database_url, pages=8) as gallery:
        kobo = await a_device(gallery.app)
        await follow_gallery(gallery, kobo)
        fill(gallery)
        chapter = gallery.chapter_id
        series = await gallery.db.read(lambda tx: tx.one(SeriesId, gallery_queries.series_of, id=chapter))
        public_id = await gallery.db.read(lambda tx: tx.one(PublicId, q.public_id, id=series))
        yield Library(gallery, kobo, public_id)
