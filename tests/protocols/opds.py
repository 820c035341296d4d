"""An app that reads catalogues, and what it must be told."""

from typing import Any

import msgspec
from lxml import etree

from tests.api.people import RunningApp
from tests.app import Answer
from tests.builders import a_new_chapter, a_new_release, stored_series, stored_series_source, stored_source
from tests.delivery.builders import follow
from tests.protocols.komga import KomgaReader
from tests.protocols.people import an_app_reader
from tsuzuki.db import Tx
from tsuzuki.db.queries import parse_queries
from tsuzuki.delivery.fanout import deliver_chapters_tx
from tsuzuki.ingest.chapters import index_series_tx, upsert_chapters_tx, upsert_releases_tx
from tsuzuki.model.ids import PublicId, SeriesId, show_id

FIRST, SECOND = "/opds/v1.2", "/opds/v2"
NAMES = {
    "a": "http://www.w3.org/2005/Atom",
    "dc": "http://purl.org/dc/terms/",
    "opds": "http://opds-spec.org/2010/catalog",
    "os": "http://a9.com/-/spec/opensearch/1.1/",
}
PSE = "{http://vaemendis.net/opds-pse/ns}"
STREAM = "http://vaemendis.net/opds-pse/stream"
ACQUISITION = "http://opds-spec.org/acquisition"
KOREADER = {
    "accept": "application/opds+json, application/atom+xml;profile=opds-catalog, */*",
    "accept-encoding": "identity",
}

q = parse_queries(
    "tests",
    """
-- name: describe
update series set author = :author, language = :language where id = :id returning public_id;
-- name: chapters
select id from chapter where series_id = :id order by number_sort;
""",
)


class OpdsReader(KomgaReader):
    """Calls with name and password."""

    async def call(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        headers = options.pop("headers", self.basic)
        said = options if body is None else options | {"json": body}
        return await self.app.client.ask(method, path, headers=headers, **said)

    async def feed(self, path: str, **options: Any) -> Any:
        """A feed of the first version, once it keeps all its promises."""
        answer = await self.call("GET", f"{FIRST}/{path}", **options)
        assert answer.status == 200, (path, answer.status, answer.text[:500])
        feed = etree.fromstring(answer.body)
        check(feed, answer)
        return feed

    async def titles(self, path: str) -> list[str]:
        return [entry.findtext("a:title", namespaces=NAMES) for entry in entries(await self.feed(path))]

    async def json(self, path: str) -> Any:
        answer = await self.call("GET", f"{SECOND}/{path}")
        assert answer.status == 200, (path, answer.status, answer.text[:500])
        return msgspec.json.decode(answer.body)

    async def a_series(
        self, title: str, count: int, *, pages: int = 24, first: int = 1, **facts: Any
    ) -> tuple[str, list[int]]:
        """A followed series with so many chapters that can be read: its id, and theirs."""
        db = self.app.db
        series = await stored_series(db, title)
        values = {"author": "Ines Brook", "language": "en"} | facts
        await follow(db, self.shelf, series)
        public_id = await db.with_tx(lambda tx: tx.one(PublicId, q.describe, id=series, **values))
        await db.with_tx(lambda tx: index_series_tx(tx, series, titles=[title], description=""))
        await self.more(series, range(first, first + count), pages=pages)
        return show_id(public_id), await self.chapters(series)

    async def chapters(self, series: SeriesId) -> list[int]:
        return await self.app.db.read(lambda tx: tx.many(int, q.chapters, id=series))

    async def more(self, series: SeriesId, numbers: Any, *, pages: int = 24) -> None:
        """More chapters arrive."""
        db, now = self.app.db, self.app.time()
        manga = await stored_series_source(db, series, await stored_source(db))

        async def add(tx: Tx) -> None:
            new = [a_new_chapter(number, published_at=now) for number in numbers]
            stored = await upsert_chapters_tx(tx, series, new, now)
            releases = [a_new_release(number, page_count=pages, language="en") for number in numbers]
            await upsert_releases_tx(tx, series, manga, releases, now=now)
            await deliver_chapters_tx(tx, series, [one.id for one in stored], is_first_harvest=False, now=now)

        await db.with_tx(add)


async def an_opds_reader(app: RunningApp, **over: Any) -> OpdsReader:
    ann = await an_app_reader(app, "opds", **over)
    return OpdsReader(app, ann.user, ann.shelf, ann.issued)


def entries(feed: Any) -> list[Any]:
    return list(feed.iterfind("a:entry", namespaces=NAMES))


def links(node: Any, rel: str) -> list[Any]:
    return [link for link in node.iterfind("a:link", namespaces=NAMES) if link.get("rel") == rel]


def link(node: Any, rel: str) -> str:
    """The path of its one link of this kind, below the version's own."""
    [found] = links(node, rel)
    href: str = found.get("href")
    return href.removeprefix(f"{FIRST}/")


def check(feed: Any, answer: Answer) -> None:
    """What every feed promises: kinds are not mixed, ids are unique, Atom has no prefix, no link is broken."""
    assert feed.prefix is None
    ids = [entry.findtext("a:id", namespaces=NAMES) for entry in entries(feed)]
    assert len(set(ids)) == len(ids)
    kinds = set()
    for entry in entries(feed):
        assert entry.findtext("a:title", namespaces=NAMES)
        feeds = [one for one in entry.iterfind("a:link", namespaces=NAMES) if "kind=" in one.get("type", "")]
        files = links(entry, ACQUISITION)
        assert (len(feeds), len(files)) in {(1, 0), (0, 1)}
        kinds.add("navigation" if feeds else "acquisition")
        assert len(links(entry, STREAM)) <= len(files)
    said = answer.headers["content-type"]
    assert said.startswith("application/atom+xml;profile=opds-catalog;kind=")
    assert kinds <= {said.partition("kind=")[2].partition(";")[0]}
    assert "last-modified" not in answer.headers
    assert links(feed, "start")
    assert links(feed, "search")
