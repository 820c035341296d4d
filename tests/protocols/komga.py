"""An app that speaks Komga's API, and what it must be told."""

import base64
from typing import Any

import msgspec

from tests.api.people import RunningApp
from tests.app import Answer
from tests.builders import a_new_chapter, a_new_release, stored_series, stored_series_source, stored_source
from tests.delivery.builders import follow
from tests.protocols.people import AppReader, an_app_reader
from tsuzuki.db import Tx
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.chapters import NewChapter, index_series_tx, raise_latest_tx, upsert_chapters_tx, upsert_releases_tx
from tsuzuki.model.ids import PublicId, show_id

q = parse_queries(
    "tests",
    """
-- name: describe
update series set author = :author, artist = :artist, description = :description, language = :language,
  status = :status where id = :id returning public_id;
""",
)

BASE = "/komga"


def said(answer: Answer) -> Any:
    """What it says, with times as Komga writes them."""
    return msgspec.json.decode(answer.body)


def unnumbered(said: str) -> NewChapter:
    volume = said[1:] if said[:1] == "v" and said[1:].isdigit() else None
    return NewChapter(key=f"id:{said}", title="" if volume else said, volume=volume)


class KomgaReader(AppReader):
    """Calls below `/komga` with name and password."""

    @property
    def basic(self) -> dict[str, str]:
        pair = base64.b64encode(f"{self.user.username}:{self.key}".encode()).decode()
        return {"authorization": f"Basic {pair}"}

    async def call(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        headers = options.pop("headers", self.basic)
        sent = options if body is None else options | {"json": body}
        return await self.app.client.ask(method, f"{BASE}{path}", headers=headers, **sent)

    async def get(self, path: str, **options: Any) -> Any:
        """What is there."""
        answer = await self.call("GET", path, **options)
        assert answer.status == 200, (path, answer.status, answer.text[:500])
        return said(answer)

    async def content(self, path: str) -> list[dict[str, Any]]:
        """The rows of a page of results."""
        found: list[dict[str, Any]] = (await self.get(path))["content"]
        return found

    async def names(self, path: str) -> list[str]:
        """What they are called."""
        return [row["name"] for row in await self.content(path)]

    async def refused(self, status: int, method: str, path: str, body: Any = None, **options: Any) -> str:
        """The sentence that comes with this status."""
        answer = await self.call(method, path, body, **options)
        assert answer.status == status, (method, path, answer.status, answer.text[:300])
        failure = answer.json()
        assert failure["status"] == status
        assert failure["message"]
        sentence: str = failure["message"]
        return sentence

    async def done(self, method: str, path: str, body: Any = None, **options: Any) -> None:
        """It is so, and nothing is said of it."""
        answer = await self.call(method, path, body, **options)
        assert (answer.status, answer.body) == (204, b""), answer.text

    async def add(
        self, title: str, *numbers: float | str, group: int | None = None, is_ready: bool = True, **facts: Any
    ) -> str:
        """A followed series with these chapters, by the id that it has here; with releases, if it `is_ready`.

        A text is the title of one without a number, `v2` a volume.
        """
        db, now = self.app.db, self.app.time()
        series = await stored_series(db, title)
        chapters = [unnumbered(each) if isinstance(each, str) else a_new_chapter(f"{each:g}") for each in numbers]
        manga = await stored_series_source(db, series, await stored_source(db))
        releases = [a_new_release(each.key, url=f"https://example.org/{manga}/{each.key}") for each in chapters]
        values = {"author": None, "artist": None, "description": None, "language": None, "status": 1} | facts

        async def fill(tx: Tx) -> PublicId:
            stored = await upsert_chapters_tx(tx, series, chapters, now)
            for each in stored:
                if each.number is None or each.number_sort is None:
                    continue
                await raise_latest_tx(tx, series, number=each.number, number_sort=each.number_sort, now=now)
            if is_ready:
                await upsert_releases_tx(tx, series, manga, releases, now=now)
            await index_series_tx(tx, series, titles=[title], description="")
            return await tx.one(PublicId, q.describe, id=series, **values)

        public_id = await db.with_tx(fill)
        await follow(db, self.shelf, series, group_id=group)
        return show_id(public_id)

    async def books(self, series: str, query: str = "") -> list[dict[str, Any]]:
        return await self.content(f"/api/v1/series/{series}/books?unpaged=true&{query}")


async def a_komga_reader(app: RunningApp, **over: Any) -> KomgaReader:
    ann = await an_app_reader(app, "komga", **over)
    return KomgaReader(app, ann.user, ann.shelf, ann.issued)
