"""A server that may browse sample sites, and readers of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.api.people import RunningApp, Visitor, a_running_app
from tests.catalogue.sample import Plan, Sample
from tests.crawler.builders import made, the_admin
from tsuzuki.accounts.caller import Caller
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.times import Millis

SMALL = Plan(series=12, chapters=200)

_q = parse_queries(
    "tests",
    """
-- name: count_rows
select
  (select count(*) from series) as series, (select count(*) from series_source) as sources,
  (select count(*) from chapter) as chapters, (select count(*) from release) as releases,
  (select count(*) from page) as pages, (select count(*) from listing) as listings;
-- name: read_chapter
insert into progress (shelf_id, chapter_id, page, furthest_page, is_read, is_bookmarked, updated_at)
values (:shelf_id, :chapter_id, :page, :page, true, true, :now);
""",
)


class _Counts(msgspec.Struct, frozen=True):
    series: int
    sources: int
    chapters: int
    releases: int
    pages: int
    listings: int


@asynccontextmanager
async def a_browsing_app(folder: Path, database_url: str, *samples: Sample, **over: Any) -> AsyncIterator[RunningApp]:
    """A server that may call loopback and knows these sites."""
    (folder / "sources").mkdir(parents=True, exist_ok=True)
    for sample in samples:
        (folder / "sources" / f"{sample.name}.yaml").write_text(sample.definition, "utf-8")
    settings = {"database_url": database_url, "allow_private_networks": "127.0.0.0/8", "task_lease": "3s"} | over
    async with a_running_app(folder, **settings) as app:
        yield app


async def a_reader(app: RunningApp) -> Visitor:
    return await app.signed_in(await app.add())


async def a_site(app: RunningApp, sample: Sample, **over: Any) -> int:
    """The id of a source for this site."""
    body: dict[str, Any] = {"name": sample.name.title(), "slug": sample.name, "baseurl": sample.url}
    body |= {"extensionid": f"localhost.{sample.name}", "config": {"ratelimit": 50}}
    return int((await made(await the_admin(app), "/admin/crawler/sources", body | over))["id"])


async def got(who: Visitor, path: str) -> Any:
    """The body of a 200."""
    answered = await who.get(path)
    assert answered.status == 200, answered.text
    return answered.json()


async def counted(app: RunningApp) -> dict[str, int]:
    """How many rows there are of each kind."""

    return msgspec.structs.asdict(await app.db.read(lambda tx: tx.one(_Counts, _q.count_rows)))


async def read_chapter(app: RunningApp, shelf_id: int, chapter_id: str, page: int = 2) -> None:
    """Somebody has read a chapter and bookmarked it."""
    now = Millis(app.time())
    values = {"shelf_id": shelf_id, "chapter_id": int(chapter_id), "page": page, "now": now}
    await app.db.with_tx(lambda tx: tx.run(_q.read_chapter, **values))


async def a_shelf(app: RunningApp, **over: Any) -> tuple[Visitor, ShelfId]:
    """A reader and the shelf that it reads from."""
    user = await app.add(**over)
    resumed = await app.accounts.sessions.resume(await app.session(user), "")
    assert resumed is not None
    caller: Caller = resumed.caller
    return await app.signed_in(user), (await app.accounts.current_user.pick_shelf(caller, None)).id
