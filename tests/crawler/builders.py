"""A comic site on loopback that does what a test wants, a server with its definition, and jobs without workers."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from tests.api.people import RunningApp, Visitor, a_running_app
from tests.net.builders import Served, a_server, answer
from tsuzuki.crawler.runner import CRAWLS, CrawlTask
from tsuzuki.crawler.store import begin_job_tx
from tsuzuki.crawler.types import BegunJob
from tsuzuki.db import Database, Tx
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.chapters import CHAPTERS, ChapterBatch, ReleaseFound
from tsuzuki.model.harvest import FoundChapter
from tsuzuki.model.ids import SeriesId, SeriesSourceId, WatchId
from tsuzuki.model.times import Millis
from tsuzuki.queue.store import TaskFailure, claim_tx, fail_tx
from tsuzuki.queue.tasks import DeadLetterId, Queue, Task, enqueue_tx

SITE = "localhost.site"
DEFINITION = """
id: localhost.site
name: A site
language: en
base_url: {url}
ratelimit: 10

popular:
  url: /list-{{page}}.html
  each: li
  link: a@href
  title: a
  next: a.next@href

details:
  title: h1
  author: .author

chapters:
  each: ol > li
  link: a@href
  title: a

pages:
  each: img
  image: "@src"
"""
PER_PAGE = 2

_q = parse_queries(
    "tests",
    """
-- name: letter_of
select id from dead_letter where task_id = :task_id;
-- name: watched
select watch.id as watch_id, series_source.series_id, series_source.id as series_source_id
from series_source join watch on watch.series_source_id = series_source.id
where series_source.url = :url;
""",
)


class Site(Served):
    """Series by their slug with their chapter numbers; may be slow, and may be down."""

    def __init__(self) -> None:
        self.series: dict[str, list[int]] = {"one": [1, 2]}
        self.authors: dict[str, str] = {}
        self.pages = 3
        """Of every chapter."""
        self.is_down = False
        self.retry_after: list[int] = []
        """The next calls are answered 429, with these seconds to wait."""
        self.delay = 0.0
        self.is_listed = asyncio.Event()
        """Set once somebody has asked for its list."""
        self.gates: dict[str, asyncio.Event] = {}
        """Whoever asks for one of these paths waits for its event."""
        self.waiting: asyncio.Queue[str] = asyncio.Queue()
        """Paths in the order in which somebody began to wait."""
        self.most_at_once = 0
        """Calls that it had to answer at the same time."""
        self._open = 0

    async def handle(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        path = head.split(b" ", 2)[1].decode()
        if path.startswith("/list-"):
            self.is_listed.set()
        self._open += 1
        self.most_at_once = max(self.most_at_once, self._open)
        await asyncio.sleep(self.delay)
        if path in self.gates:
            self.waiting.put_nowait(path)
            await self.gates[path].wait()
        self._open -= 1
        if self.retry_after:
            writer.write(answer(429, b"slow down", retry_after=str(self.retry_after.pop(0))))
        elif self.is_down:
            writer.write(answer(500, b"down"))
        elif path.startswith("/list-"):
            writer.write(self._page(self._list(int(path[6:].partition(".")[0]))))
        elif path.count("/") == 3:
            writer.write(self._page("".join(f'<img src="{path}/{number}.png">' for number in range(self.pages))))
        elif path.removeprefix("/s/") in self.series:
            writer.write(self._page(self._one(path.removeprefix("/s/"))))
        else:
            writer.write(answer(404, b"", content_type="text/html"))

    def _list(self, page: int) -> str:
        slugs = list(self.series)
        shown = slugs[(page - 1) * PER_PAGE : page * PER_PAGE]
        following = f'<a class="next" href="/list-{page + 1}.html">more</a>' if len(slugs) > page * PER_PAGE else ""
        return "".join(f'<li><a href="/s/{slug}">{slug.title()}</a></li>' for slug in shown) + following

    def _one(self, slug: str) -> str:
        chapters = "".join(
            f'<li><a href="/s/{slug}/{number}">Chapter {number}</a></li>' for number in reversed(self.series[slug])
        )
        author = f'<p class="author">{self.authors[slug]}</p>' if slug in self.authors else ""
        return f"<h1>{slug.title()}</h1>{author}<ol>{chapters}</ol>"

    def _page(self, body: str) -> bytes:
        return answer(200, f"<html><body>{body}</body></html>".encode(), content_type="text/html; charset=utf-8")


@asynccontextmanager
async def a_site() -> AsyncIterator[Site]:
    site = Site()
    async with a_server(site.handle) as server:
        site.server = server
        yield site


@asynccontextmanager
async def a_crawling_app(
    folder: Path, database_url: str, site: Site | None = None, **over: Any
) -> AsyncIterator[RunningApp]:
    """A server that may call loopback and knows this site."""
    (folder / "sources").mkdir(parents=True, exist_ok=True)
    if site is not None:
        (folder / "sources" / "site.yaml").write_text(DEFINITION.format(url=site.url), "utf-8")
    settings = {"database_url": database_url, "allow_private_networks": "127.0.0.0/8", "task_lease": "3s"} | over
    async with a_running_app(folder, **settings) as app:
        yield app


async def the_admin(app: RunningApp) -> Visitor:
    return await app.signed_in(await app.admin())


def a_source_body(**over: Any) -> dict[str, Any]:
    return {"name": "MangaFire", "slug": "mangafire", "baseurl": "https://mangafire.example"} | over


async def made(admin: Visitor, path: str, body: dict[str, Any]) -> Any:
    """The data of a 201."""
    answered = await admin.post(path, body)
    assert answered.status == 201, answered.text
    return answered.json()["data"]


async def a_mapped_comic(admin: Visitor, site_url: str, slug: str = "one", **source: Any) -> tuple[int, str]:
    """The ids of a source for the site and of a comic that it has."""
    config = {"ratelimit": 50} | source.pop("config", {})
    body = a_source_body(name="Site", slug="site", baseurl=site_url, extensionid=SITE, config=config) | source
    source_id = (await made(admin, "/admin/crawler/sources", body))["id"]
    comic = (await made(admin, "/admin/comics", {"title": slug.title()}))["id"]
    mapping = {"sourceid": source_id, "sourceid_ext": slug, "sourceurl": f"{site_url}/s/{slug}"}
    await made(admin, f"/admin/comics/{comic}/sources", mapping)
    return source_id, comic


async def until_over(admin: Visitor, job_id: str, seconds: float = 20.0) -> dict[str, Any]:
    """The job once it is over."""
    async with asyncio.timeout(seconds):
        while True:
            job: dict[str, Any] = (await admin.get(f"/admin/crawler/jobs/{job_id}")).json()["data"]
            if job["status"] not in ("queued", "running"):
                return job
            await asyncio.sleep(0.05)


# -- without workers


class _Nothing(msgspec.Struct, frozen=True):
    pass


class _Watched(msgspec.Struct, frozen=True):
    watch_id: WatchId
    series_id: SeriesId
    series_source_id: SeriesSourceId


async def a_dead_letter(db: Database, now: Millis) -> DeadLetterId:
    """A task that was given up, of a queue that nobody works."""
    return await given_up(db, Queue("nobody", _Nothing), _Nothing(), now)


async def a_lost_chapter(db: Database, series_url: str, now: Millis) -> DeadLetterId:
    """Chapter 99 of a series, found by a poll and given up before it was stored."""
    batch = await db.read(lambda tx: tx.one(_Watched, _q.watched, url=series_url))
    found = FoundChapter(url=f"{series_url}/99", title="Chapter 99", number=Decimal(99))
    chapters = ChapterBatch(
        watch_id=batch.watch_id,
        series_id=batch.series_id,
        series_source_id=batch.series_source_id,
        releases=(ReleaseFound(found, 99),),
        is_first_harvest=False,
    )
    return await given_up(db, CHAPTERS, chapters, now)


async def given_up(db: Database, queue: Queue[Any], payload: Any, now: Millis) -> DeadLetterId:
    """A dead letter of this queue, made in one step, so that no worker comes between."""

    async def give_up(tx: Tx) -> DeadLetterId:
        key = os.urandom(4).hex()
        await enqueue_tx(tx, queue, key, payload, now=now)
        [row] = await claim_tx(tx, queue.name, queue.settings, worker="w", now=now, most=1)
        await fail_tx(tx, row, TaskFailure(error="It broke.", code="broken", stack="here"), now=now)
        return DeadLetterId(row.id)

    task = await db.with_tx(give_up)
    return await db.read(lambda tx: tx.one(DeadLetterId, _q.letter_of, task_id=task))


async def claimed(db: Database, now: Millis) -> tuple[Task[CrawlTask], BegunJob]:
    """The next crawl task, as a worker that has begun its job would hold it."""

    async def claim(tx: Tx) -> tuple[Task[CrawlTask], BegunJob]:
        [row] = await claim_tx(tx, CRAWLS.name, CRAWLS.settings, worker="w", now=now, most=1)
        task = Task(
            id=row.id,
            lease_token=row.lease_token,
            key=row.key,
            payload=CRAWLS.decode(row.payload),
            priority=row.priority,
            attempt=1,
            losses=0,
            created_at=row.created_at,
        )
        job = await begin_job_tx(tx, task.payload.job_id, lease_token=task.lease_token, now=now)
        assert job is not None
        return task, job

    return await db.with_tx(claim)
