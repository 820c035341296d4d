"""A server that may browse sample sites, and readers of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.api.people import Town, Visitor, a_town
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
async def a_browsing_town(folder: Path, database_url: str, *samples: Sample, **over: Any) -> AsyncIterator[Town]:
    """A server that may call loopback and knows these sites."""
    (folder / "sources").mkdir(parents=True, exist_ok=True)
    for sample in samples:
        (folder / "sources" / f"{sample.name}.yaml").write_text(sample.definition, "utf-8")
    settings = {"database_url": database_url, "allow_private_networks": "127.0.0.0/8", "task_lease": "3s"} | over
    async with a_town(folder, **settings) as town:
        yield town


async def a_reader(town: Town) -> Visitor:
    return await town.signed_in(await town.add())


async def a_site(town: Town, sample: Sample, **over: Any) -> int:
    """The id of a source for this site."""
    body: dict[str, Any] = {"name": sample.name.title(), "slug": sample.name, "baseurl": sample.url}
    body |= {"extensionid": f"localhost.{sample.name}", "config": {"ratelimit": 50}}
    return int((await made(await the_admin(town), "/admin/crawler/sources", body | over))["id"])


async def got(who: Visitor, path: str) -> Any:
    """The body of a 200."""
    answered = await who.get(path)
    assert answered.status == 200, answered.text
    return answered.json()


async def counted(town: Town) -> dict[str, int]:
    """How many rows there are of each kind."""

    return msgspec.structs.asdict(await town.db.read(lambda tx: tx.one(_Counts, _q.count_rows)))


async def read_chapter(town: Town, shelf_id: int, chapter_id: str, page: int = 2) -> None:
    """Somebody has read a chapter and bookmarked it."""
    now = Millis(town.time())
    values = {"shelf_id": shelf_id, "chapter_id": int(chapter_id), "page": page, "now": now}
    await town.db.with_tx(lambda tx: tx.run(_q.read_chapter, **values))


async def a_shelf(town: Town, **over: Any) -> tuple[Visitor, ShelfId]:
    """A reader and the shelf that it reads from."""
    user = await town.add(**over)
    resumed = await town.accounts.sessions.resume(await town.session(user), "")
    assert resumed is not None
    caller: Caller = resumed.caller
    return await town.signed_in(user), (await town.accounts.current_user.pick_shelf(caller, None)).id
