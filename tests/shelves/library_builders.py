"""A series with sources, chapters and releases, a shelf that may follow it, and a look at what is stored."""

from collections.abc import Iterable
from typing import Any

import msgspec

from tests.builders import (
    NOON,
    a_new_chapter,
    a_new_release,
    stored_series,
    stored_series_source,
    stored_source,
)
from tests.shelves.builders import shelf_deps
from tsuzuki.db import Database, Tx
from tsuzuki.db.locks import lock_series_merges_shared_tx
from tsuzuki.db.queries import parse_queries
from tsuzuki.delivery.fanout import Delivered, deliver_chapters_tx
from tsuzuki.ingest.chapters import add_appearances_tx, raise_latest_tx, upsert_chapters_tx, upsert_releases_tx
from tsuzuki.model.ids import ChapterId, PublicId, SeriesId, SeriesSourceId, ShelfId, SourceId
from tsuzuki.model.times import Millis
from tsuzuki.shelves.deps import ShelfDeps
from tsuzuki.sources.watches import NewWatch, add_watch_tx

q = parse_queries(
    "tests",
    """
-- name: public_id
select public_id from series where id = :id;
-- name: chapter_id
select id from chapter where series_id = :series_id and key = :key;
-- name: watches
select watch.suspended_reason, watch.next_check_at, watch.priority from watch
join series_source on series_source.id = watch.series_source_id
where series_source.series_id = :series_id order by watch.id;
-- name: entries
select chapter.key, entry.unread, entry.saved from entry join chapter on chapter.id = entry.chapter_id
where entry.shelf_id = :shelf_id and entry.series_id = :series_id order by chapter.number_sort, chapter.id;
-- name: progress
select chapter.key, progress.page, progress.furthest_page, progress.is_read, progress.device, progress.paged_at
from progress join chapter on chapter.id = progress.chapter_id
where progress.shelf_id = :shelf_id and chapter.series_id = :series_id order by chapter.number_sort, chapter.id;
-- name: disagreeing
select count(*) from entry
left join progress on progress.shelf_id = entry.shelf_id and progress.chapter_id = entry.chapter_id
where entry.chapter_id is not null and entry.unread = coalesce(progress.is_read, false);
-- name: wrong_tallies
select count(*) from (
  select tally.shelf_id, tally.of_id from tally
  where tally.kind = 'chapter' and (
    tally.entries <> (select count(*) from entry where shelf_id = tally.shelf_id and series_id = tally.of_id)
    or tally.unread <> (
      select count(*) from entry where shelf_id = tally.shelf_id and series_id = tally.of_id and unread
    )
  )
  union all
  select distinct entry.shelf_id, entry.series_id from entry
  where entry.series_id is not null and not exists (
    select 1 from tally where shelf_id = entry.shelf_id and kind = 'chapter' and of_id = entry.series_id
  )
) as wrong;
""",
)


class WatchRow(msgspec.Struct, frozen=True):
    reason: str | None
    next_check_at: Millis
    priority: int


class EntryRow(msgspec.Struct, frozen=True):
    key: str
    unread: bool
    saved: bool


class ProgressRow(msgspec.Struct, frozen=True):
    key: str
    page: int
    furthest_page: int
    is_read: bool
    device: str | None
    paged_at: Millis | None


class Clock:
    """Goes on by a millisecond whenever it is asked, so that no two moments are the same."""

    def __init__(self, now: Millis = NOON) -> None:
        self.now = now

    def __call__(self) -> Millis:
        self.now = Millis(self.now + 1)
        return self.now


def library_deps(db: Database, clock: Clock | None = None) -> ShelfDeps:
    return shelf_deps(db, clock or Clock())


class Published(msgspec.Struct, frozen=True):
    """A series, and where it is published."""

    id: SeriesId
    public_id: PublicId
    sources: list[SeriesSourceId]
    source_ids: list[SourceId]


async def a_published_series(
    db: Database, numbers: Iterable[object] = (), *, title: str = "One", sources: int = 1, watched: bool = True
) -> Published:
    """A series on so many sources, with these chapters on each of them, as a back-catalogue."""
    series = await stored_series(db, title)
    source_ids = [await stored_source(db) for _ in range(sources)]
    mappings = [await stored_series_source(db, series, source) for source in source_ids]
    if watched:
        for mapping in mappings:
            await watch(db, mapping)
    published = Published(series, await public_id_of(db, series), mappings, source_ids)
    for mapping in mappings:
        await release(db, published, numbers, mapping=mapping, first=True)
    return published


async def watch(db: Database, mapping: SeriesSourceId) -> None:
    new = NewWatch(series_source_id=mapping, host="example.org", next_check_at=Millis(NOON + 10**7))
    await db.with_tx(lambda tx: add_watch_tx(tx, new, NOON))


async def release(
    db: Database,
    published: Published,
    numbers: Iterable[object],
    *,
    mapping: SeriesSourceId | None = None,
    first: bool = False,
    now: Millis = NOON,
    **over: Any,
) -> Delivered:
    """Chapters with a release each on one source, stored and delivered as ingest does it."""
    wanted = list(numbers)

    async def ingest(tx: Tx) -> Delivered:
        await lock_series_merges_shared_tx(tx)
        return await store_tx(tx, published.id, mapping or published.sources[0], wanted, first=first, now=now, **over)

    return await db.with_tx(ingest)


async def store_tx(
    tx: Tx, series: SeriesId, mapping: SeriesSourceId, numbers: list[object], *, first: bool, now: Millis, **over: Any
) -> Delivered:
    keys = [str(number) for number in numbers]
    stored = await upsert_chapters_tx(tx, series, [a_new_chapter(key) for key in keys], now)
    values = {"url": f"https://example.org/{mapping}"} | over
    await upsert_releases_tx(tx, series, mapping, [a_new_release(key, **values) for key in keys], now=now)
    await add_appearances_tx(tx, series, mapping, keys, now=now)
    for chapter in stored:
        if chapter.number is not None and chapter.number_sort is not None:
            await raise_latest_tx(tx, series, number=chapter.number, number_sort=chapter.number_sort, now=now)
    new = [chapter.id for chapter in stored if chapter.is_new]
    return await deliver_chapters_tx(tx, series, new, is_first_harvest=first, now=now)


async def public_id_of(db: Database, series: SeriesId) -> PublicId:
    return await db.read(lambda tx: tx.one(PublicId, q.public_id, id=series))


async def chapter_of(db: Database, series: SeriesId, key: object) -> ChapterId:
    return await db.read(lambda tx: tx.one(ChapterId, q.chapter_id, series_id=series, key=str(key)))


async def watches_of(db: Database, series: SeriesId) -> list[WatchRow]:
    return await db.read(lambda tx: tx.many(WatchRow, q.watches, series_id=series))


async def entries_in(db: Database, shelf: ShelfId, series: SeriesId) -> list[EntryRow]:
    return await db.read(lambda tx: tx.many(EntryRow, q.entries, shelf_id=shelf, series_id=series))


async def progress_in(db: Database, shelf: ShelfId, series: SeriesId) -> list[ProgressRow]:
    return await db.read(lambda tx: tx.many(ProgressRow, q.progress, shelf_id=shelf, series_id=series))


async def wrong_tallies(db: Database) -> int:
    """Of shelves and series whose counts are not those of their entries."""
    return await db.read(lambda tx: tx.one(int, q.wrong_tallies))


async def disagreeing(db: Database) -> int:
    """Entries of chapters that say something else than progress does."""
    return await db.read(lambda tx: tx.one(int, q.disagreeing))
