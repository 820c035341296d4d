"""Releases that vanish from a listing, return, or have another group (R100, R101)."""

from typing import Any

import msgspec
import pytest

from tests.builders import NOON, stored_series, stored_series_source, stored_source
from tests.net.builders import answer
from tests.polling.builders import chapter_batches, poll_one
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.chapters import store_chapters_tx
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.sources.watches import NewWatch, add_watch_tx

q = parse_queries(
    "tests",
    """
-- name: set_url
update series_source set url = :url where id = :id;
-- name: releases
select chapter.number, release.group_name, release.is_available, release.last_seen_at, release.id
from release join chapter on chapter.id = release.chapter_id
where series_source_id = :id order by number_sort, release.id;
-- name: count_events
select count(*) from appearance;
""",
)


class Row(msgspec.Struct, frozen=True):
    number: str
    group_name: str | None
    is_available: bool
    last_seen_at: Millis
    id: int


class Site:
    """A series on a publisher's site, polled and stored."""

    def __init__(self, **parts: Any) -> None:
        self.db = parts["db"]
        self.poller = parts["poller"]
        self.publisher = parts["publisher"]
        self.clock = parts["clock"]
        self.mapping = parts["mapping"]

    async def lists(self, *releases: str, after: int = 15 * MINUTE) -> list[Row]:
        """Poll what the site lists now; what is stored then."""
        self.clock.turn(after)
        self.publisher.response = answer(200, msgspec.json.encode(releases))
        await poll_one(self.poller)
        for batch in await chapter_batches(self.db):
            await self.db.with_tx(lambda tx, batch=batch: store_chapters_tx(tx, batch, self.clock()))
        rows: list[Row] = await self.db.read(lambda tx: tx.many(Row, q.releases, id=self.mapping))
        return rows


@pytest.fixture
async def site(db, poller, publisher, clock):
    series = await stored_series(db)
    mapping = await stored_series_source(db, series, await stored_source(db, connector="org.example.plain"))
    await db.with_tx(lambda tx: tx.run(q.set_url, id=mapping, url=f"{publisher.url}/one"))
    new = NewWatch(series_source_id=mapping, host="127.0.0.1", next_check_at=NOON)
    await db.with_tx(lambda tx: add_watch_tx(tx, new, NOON))
    return Site(db=db, poller=poller, publisher=publisher, clock=clock, mapping=mapping)


async def test_r100_a_release_absent_twice_is_unavailable_until_it_returns(site):
    available = [
        [row.is_available for row in await site.lists(*listed)]
        for listed in (["2", "1"], ["2"], ["2"], ["2"], ["2", "1"])
    ]
    assert available == [[True, True], [True, True], [False, True], [False, True], [True, True]]


async def test_r100_absences_count_only_in_a_row(site):
    for listed in (["2", "1"], ["2"], ["2", "1"]):
        await site.lists(*listed)
    assert [row.is_available for row in await site.lists("2")] == [True, True]


async def test_r100_last_seen_moves_at_most_once_a_day(site):
    [first] = await site.lists("1")
    [soon] = await site.lists("1", after=DAY - HOUR)
    [later] = await site.lists("1", after=HOUR)
    assert soon.last_seen_at == first.last_seen_at
    assert later.last_seen_at == first.last_seen_at + DAY


async def test_r101_a_renamed_group_is_the_same_release(site, db):
    before = await site.lists("2@Moon", "1@Moon")
    after = await site.lists("2@Sun", "1@Sun")
    assert [(row.number, row.group_name, row.id) for row in after] == [
        ("1", "Sun", before[0].id),
        ("2", "Sun", before[1].id),
    ]
    assert await db.read(lambda tx: tx.one(int, q.count_events)) == 2
    again = await site.lists("2@Sun", "1@Sun")
    assert [(row.id, row.is_available) for row in again] == [(row.id, True) for row in before]
