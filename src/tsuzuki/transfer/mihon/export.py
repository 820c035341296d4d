"""Exports the series of a shelf as a backup that Mihon and its relatives restore."""

import asyncio
import gzip
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial

import msgspec

from tsuzuki.accounts.types import Slice
from tsuzuki.connectors.registry import Registry
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.model.ids import ChapterId, GroupId, SeriesId, ShelfId
from tsuzuki.model.requests import Parsers
from tsuzuki.model.times import Millis, iso
from tsuzuki.shelves.groups import list_groups_tx
from tsuzuki.shelves.types import FollowStatus, ReleasePreferences
from tsuzuki.sources.sites import list_sources_tx
from tsuzuki.sources.types import SourceFilter
from tsuzuki.transfer.archive.rows import ArchiveChapterRow, BackupRow, MappingRow, ReleaseRow
from tsuzuki.transfer.archive.store import archived_chapters_tx, archived_releases_tx, backups_of_tx, mappings_tx
from tsuzuki.transfer.mihon.sources import BackupSources, CallableSource
from tsuzuki.transfer.mihon.unpack import MERGED_SOURCE
from tsuzuki.transfer.mihon.writer import (
    Categories,
    ChapterToWrite,
    SeriesToWrite,
    earlier_categories,
    path_of,
    write_beginning,
    write_series,
)

q = load_queries("tsuzuki.transfer.mihon")

_PAGE = 1_000
_PORTION = 4_000
"""Chapters that are written in one call of a parser process."""
_MOST_SOURCES = 10_000


class BackupFile(msgspec.Struct, frozen=True):
    """A backup, and what a file of it is called."""

    name: str
    body: bytes


class ExportedSeries(msgspec.Struct, frozen=True):
    """A series with its follow, if there is one."""

    id: SeriesId
    title: str
    group_id: GroupId | None
    follow_status: FollowStatus | None
    preferences: ReleasePreferences | None
    created_at: Millis | None


class MihonExport:
    """Writes backups."""

    def __init__(self, db: Database, parsers: Parsers, registry: Registry, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._parsers = parsers
        self._registry = registry
        self._clock = clock

    async def write(self, shelf_id: ShelfId) -> BackupFile:
        """The shelf's series, packed; the same shelf makes the same bytes at the same moment."""
        raw = await self.write_plain(shelf_id)
        # Gzip would write the time into its header.
        packed = await asyncio.to_thread(partial(gzip.compress, raw, mtime=0))
        stamp = iso(self._clock())[:16].replace("T", "_").replace(":", "-")
        return BackupFile(f"app.mihon_{stamp}.tachibk", packed)

    async def write_plain(self, shelf_id: ShelfId) -> bytes:
        """The backup before compression."""
        run = await _Export.open(self._db, self._registry, shelf_id)
        earlier = await self._parsers.run(earlier_categories, (run.rest,))
        # Categories that only an app has stay in its backup, behind the groups of the shelf.
        names = list(dict.fromkeys([*run.groups.values(), *earlier.values()]))
        categories = Categories({name: place for place, name in enumerate(names)}, earlier, run.default)
        parts: list[bytes] = []
        portion: list[SeriesToWrite] = []
        now = self._clock()
        async for series in run.series():
            portion.append(series)
            if sum(1 + len(each.chapters) for each in portion) > _PORTION:
                parts.append(await self._parsers.run(write_series, (portion, categories, now)))
                portion = []
        parts.append(await self._parsers.run(write_series, (portion, categories, now)))
        beginning = await self._parsers.run(write_beginning, (run.rest, categories.now, run.names))
        return b"".join([*parts, beginning])  # fields of a message may stand in any order


class _Export:
    """One export."""

    def __init__(self, db: Database, shelf_id: ShelfId, sources: BackupSources, slugs: Mapping[str, int]) -> None:
        self._db = db
        self._shelf_id = shelf_id
        self._sources = sources
        self._slugs = slugs
        self.groups: dict[int, str] = {}
        self.default = ""
        """The default group's name."""
        self.rest = b""
        self.names: dict[int, str] = {}
        """Names of the sources that occurred, by their uids."""

    @classmethod
    async def open(cls, db: Database, registry: Registry, shelf_id: ShelfId) -> "_Export":
        found, _ = await db.read(lambda tx: list_sources_tx(tx, SourceFilter(), Slice(most=_MOST_SOURCES)))
        run = cls(db, shelf_id, BackupSources(registry, found), {source.slug: source.uid for source in found})
        rows = await db.read(lambda tx: list_groups_tx(tx, shelf_id))
        ordered = sorted(rows, key=lambda row: (row.position, row.name))
        run.groups = {row.id: row.name for row in ordered if not row.is_default}
        run.default = next((row.name for row in ordered if row.is_default), "")

        async def rest(tx: Tx) -> bytes:
            return await tx.maybe(bytes, q.rest, shelf_id=shelf_id) or b""

        run.rest = await db.read(rest)
        return run

    async def series(self) -> AsyncIterator[SeriesToWrite]:
        """Every series, once for each of its sources."""
        rows = await self._db.read(lambda tx: tx.many(ExportedSeries, q.exported_series, shelf_id=self._shelf_id))
        for row in rows:

            async def read(tx: Tx, row: ExportedSeries = row) -> tuple[list[MappingRow], list[BackupRow]]:
                backups = await backups_of_tx(tx, self._shelf_id, row.id)
                return await mappings_tx(tx, row.id), backups

            mappings, backups = await self._db.read(read)
            chapters, releases = await self._chapters(row)
            for one in self._of(row, mappings, backups):
                yield msgspec.structs.replace(one[0], chapters=_written(chapters, releases, one[1]))

    def _of(
        self, row: ExportedSeries, mappings: Sequence[MappingRow], backups: Sequence[BackupRow]
    ) -> list[tuple[SeriesToWrite, MappingRow | None]]:
        """What earlier backups said, updated with what is known here; then sources that were in no backup."""
        by_uid = {self._slugs[mapping.slug]: mapping for mapping in mappings}
        found: list[tuple[SeriesToWrite, MappingRow | None]] = []
        is_merged = any(backup.source == MERGED_SOURCE for backup in backups)
        for backup in backups:
            self.names[backup.source] = backup.source_name
            one = self._line(row, backup.source, backup.url)
            one = msgspec.structs.replace(one, earlier=backup.message, is_merged=is_merged)
            found.append((one, by_uid.pop(backup.source, None)))
        # A series that was left goes out only because a backup brought it, as one that is not in the library.
        if row.follow_status is None:
            return found
        for uid, mapping in by_uid.items():
            source = self._sources.by_uid(uid)
            if source is not None:
                self.names[uid] = source.connector.info.name
                found.append((_fresh(self._line(row, uid, ""), mapping, source), mapping))
        return found

    def _line(self, row: ExportedSeries, source: int, url: str) -> SeriesToWrite:
        return SeriesToWrite(
            source=source,
            url=url,
            title=row.title,
            is_kept=row.follow_status is not None,
            group=None if row.group_id is None else self.groups.get(row.group_id),
            added_at=row.created_at or 0,
            mode=None if row.preferences is None else row.preferences.mode,
            chapters=[],
        )

    async def _chapters(self, row: ExportedSeries) -> tuple[list[ArchiveChapterRow], dict[ChapterId, list[ReleaseRow]]]:
        chapters: list[ArchiveChapterRow] = []
        releases: dict[ChapterId, list[ReleaseRow]] = defaultdict(list)
        after = ""
        while page := await self._db.read(
            lambda tx: archived_chapters_tx(tx, self._shelf_id, row.id, after=after, most=_PAGE)  # noqa: B023  awaited
        ):
            after = page[-1].key
            chapters += page
            ids = [each.id for each in page]
            for release in await self._db.read(partial(archived_releases_tx, chapters=ids)):
                releases[release.chapter_id].append(release)
        return chapters, releases


def _fresh(one: SeriesToWrite, mapping: MappingRow, source: CallableSource) -> SeriesToWrite:
    """A series that was in no backup, from its source's data."""
    return msgspec.structs.replace(
        one,
        url=source.connector.backup_url(mapping.url),
        title=mapping.title or one.title,
        author=mapping.author,
        artist=mapping.artist,
        description=mapping.description,
        genres=mapping.genres,
        status=mapping.status,
        cover_url=mapping.cover_url,
    )


def _written(
    chapters: Sequence[ArchiveChapterRow],
    releases: Mapping[ChapterId, Sequence[ReleaseRow]],
    mapping: MappingRow | None,
) -> list[ChapterToWrite]:
    """The chapters, each release of this source by itself; those of other sources only for what was read of them."""
    own: list[tuple[int, ArchiveChapterRow, ReleaseRow]] = []
    found: list[ChapterToWrite] = []
    for chapter in chapters:
        here = [
            release
            for release in releases.get(chapter.id, ())
            if mapping is not None and (release.slug, release.series_key) == (mapping.slug, mapping.source_key)
        ]
        own += [(release.source_order, chapter, release) for release in here]
        if not here:
            found.append(_chapter(chapter, None, 0))
    own.sort(key=lambda each: (-each[0], each[2].key))  # in a backup, the newest has order 0
    return [*(_chapter(chapter, release, place) for place, (_, chapter, release) in enumerate(own)), *found]


def _chapter(chapter: ArchiveChapterRow, release: ReleaseRow | None, order: int) -> ChapterToWrite:
    title = chapter.title if release is None else release.title or chapter.title
    named = title or (f"Chapter {chapter.number}" if chapter.number else "?")
    return ChapterToWrite(
        key=chapter.key,
        url="" if release is None else path_of(release.url),
        name=named,
        group=None if release is None else release.group_name,
        number=chapter.number,
        order=order,
        fetched_at=chapter.first_seen_at,
        published_at=chapter.published_at if release is None else release.published_at,
        is_read=bool(chapter.is_read),
        is_bookmarked=bool(chapter.is_bookmarked),
        page=chapter.page or 0,
        opened_at=chapter.opened_at,
        changed_at=chapter.updated_at,
    )
