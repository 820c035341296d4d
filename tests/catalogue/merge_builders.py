"""A look at everything that hangs on a series, to be compared before and after."""

from typing import Any

import msgspec

from tests.builders import a_public_id
from tests.shelves.library_builders import Clock
from tsuzuki.catalogue.merges.service import SeriesMerges
from tsuzuki.db import Database, Tx
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.ids import PublicId, SeriesId, SeriesSourceId, ShelfId

q = parse_queries(
    "tests",
    """
-- name: series_id
select id from series where public_id = :public_id;
-- name: title
select title from series where id = :id;
-- name: latest
select latest_number from series where id = :id;
-- name: chapters
select key from chapter where series_id = :id order by key;
-- name: releases
select release.series_source_id, release.key, chapter.key as chapter_key, release.url from release
join series_source on series_source.id = release.series_source_id
join chapter on chapter.id = release.chapter_id and chapter.series_id = series_source.series_id
where series_source.series_id = :id order by release.series_source_id, release.key;
-- name: appearances
select appearance.series_source_id, chapter.key from appearance
join chapter on chapter.id = appearance.chapter_id
join series_source on series_source.id = appearance.series_source_id
where series_source.series_id = :id and chapter.series_id = :id order by appearance.series_source_id, chapter.key;
-- name: entries
select chapter.key, entry.unread, entry.saved from entry join chapter on chapter.id = entry.chapter_id
where entry.shelf_id = :shelf_id and entry.series_id = :id and chapter.series_id = :id;
-- name: progress
select chapter.key, progress.furthest_page, progress.is_read, progress.is_bookmarked from progress
join chapter on chapter.id = progress.chapter_id
where progress.shelf_id = :shelf_id and chapter.series_id = :id;
-- name: follow
select status from follow where shelf_id = :shelf_id and series_id = :id;
-- name: lost_rows
select count(*) from entry join chapter on chapter.id = entry.chapter_id where entry.series_id <> chapter.series_id;
-- name: arrivals
select count(*) from event where kind = 'entry';
-- name: notices
select count(*) from task where queue = 'notifications';
-- name: audited
select action from audit where entity_type = 'series' order by id;
""",
)


class ReleaseRow(msgspec.Struct, frozen=True):
    mapping: SeriesSourceId
    key: str
    chapter_key: str
    url: str


class AppearanceRow(msgspec.Struct, frozen=True):
    mapping: SeriesSourceId
    key: str


class Structure(msgspec.Struct, frozen=True):
    """What the catalogue knows of a series."""

    title: str
    latest: str | None
    chapters: list[str]
    releases: list[ReleaseRow]
    appearances: list[AppearanceRow]


class EntryState(msgspec.Struct, frozen=True):
    key: str
    unread: bool
    saved: bool


class ProgressState(msgspec.Struct, frozen=True):
    key: str
    furthest_page: int
    is_read: bool
    is_bookmarked: bool


class State(msgspec.Struct, frozen=True):
    """What a reader has of a series."""

    entries: dict[str, EntryState]
    progress: dict[str, ProgressState]
    follow: str | None

    def is_kept_in(self, after: "State") -> bool:
        """I9: nothing is gone, nothing that was read is unread, nothing saved is unsaved."""
        return (
            all(key in after.entries and _keeps(one, after.entries[key]) for key, one in self.entries.items())
            and all(key in after.progress and _went_on(one, after.progress[key]) for key, one in self.progress.items())
            and (self.follow is None or after.follow is not None)
        )


def _keeps(before: EntryState, after: EntryState) -> bool:
    return after.unread <= before.unread and after.saved >= before.saved


def _went_on(before: ProgressState, after: ProgressState) -> bool:
    return (
        after.furthest_page >= before.furthest_page
        and after.is_read >= before.is_read
        and after.is_bookmarked >= before.is_bookmarked
    )


def a_merging(db: Database) -> SeriesMerges:
    return SeriesMerges(db, Clock(), a_public_id, after_commit=lambda *_: None)


async def series_named(db: Database, public_id: PublicId) -> SeriesId | None:
    return await db.read(lambda tx: tx.maybe(SeriesId, q.series_id, public_id=public_id))


async def structure(db: Database, series: SeriesId) -> Structure:
    async def look(tx: Tx) -> Structure:
        return Structure(
            title=await tx.one(str, q.title, id=series),
            latest=await tx.maybe(str, q.latest, id=series),
            chapters=await tx.many(str, q.chapters, id=series),
            releases=await tx.many(ReleaseRow, q.releases, id=series),
            appearances=await tx.many(AppearanceRow, q.appearances, id=series),
        )

    return await db.read(look)


async def state(db: Database, shelf: ShelfId, series: SeriesId) -> State:
    async def look(tx: Tx) -> State:
        ids: dict[str, Any] = {"shelf_id": shelf, "id": series}
        return State(
            entries={one.key: one for one in await tx.many(EntryState, q.entries, **ids)},
            progress={one.key: one for one in await tx.many(ProgressState, q.progress, **ids)},
            follow=await tx.maybe(str, q.follow, **ids),
        )

    return await db.read(look)


async def told(db: Database) -> tuple[int, int]:
    """How many arrivals and notices there are."""
    return await db.read(_told_tx)


async def _told_tx(tx: Tx) -> tuple[int, int]:
    return await tx.one(int, q.arrivals), await tx.one(int, q.notices)


async def lost_rows(db: Database) -> int:
    """Entries that name another series than their chapter does."""
    return await db.read(lambda tx: tx.one(int, q.lost_rows))


async def audited(db: Database) -> list[str]:
    return await db.read(lambda tx: tx.many(str, q.audited))
