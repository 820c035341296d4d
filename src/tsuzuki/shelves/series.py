"""Series as a reader sees them: sources, chapters, releases, gaps."""

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from tsuzuki.accounts.types import Slice
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import ChapterId, PublicId, SeriesId, ShelfId
from tsuzuki.shelves.follows import find_follow_of_tx
from tsuzuki.shelves.policy import Gaps, gaps, preferred
from tsuzuki.shelves.progress import NO_CHAPTER
from tsuzuki.shelves.types import (
    ChapterName,
    ChapterNumbers,
    ChapterProgressRow,
    OfferedReleases,
    PlainFollowRow,
    ReadCount,
    ReleasePreferences,
    SeriesRecord,
    SeriesRelease,
    SeriesSourceState,
)
from tsuzuki.sources.series import known_series_tx

q = load_queries("tsuzuki.shelves.series")


async def sources_tx(tx: Tx, series_id: SeriesId) -> list[SeriesSourceState]:
    """Where it can be read, the oldest mapping first."""
    return await tx.many(SeriesSourceState, q.sources, series_id=series_id)


async def chapters_tx(tx: Tx, shelf_id: ShelfId, series_id: SeriesId, part: Slice) -> list[ChapterProgressRow]:
    """A part of its chapters, the newest first."""
    return await tx.many(
        ChapterProgressRow, q.chapters, shelf_id=shelf_id, series_id=series_id, most=part.most, skip=part.skip
    )


async def find_listed_chapter_tx(
    tx: Tx, shelf_id: ShelfId, series_id: SeriesId, chapter_id: ChapterId
) -> ChapterProgressRow | None:
    """One of its chapters."""
    return await tx.maybe(ChapterProgressRow, q.find_chapter, shelf_id=shelf_id, series_id=series_id, id=chapter_id)


async def offered_tx(tx: Tx, series_id: SeriesId, most: int) -> OfferedReleases:
    """The groups and languages of its releases."""
    groups = await tx.many(str, q.groups, series_id=series_id, most=most)
    return OfferedReleases(groups, await tx.many(str, q.languages, series_id=series_id, most=most))


async def releases_tx(tx: Tx, chapters: Sequence[ChapterId]) -> list[SeriesRelease]:
    """All releases of these chapters, over all sources and groups."""
    return await tx.many(SeriesRelease, q.releases, ids=chapters)


class ChapterPreferences(msgspec.Struct, frozen=True):
    """What a reader wants of the releases of a chapter."""

    chapter_id: ChapterId
    preferences: ReleasePreferences


async def numbers_tx(tx: Tx, series_id: SeriesId) -> ChapterNumbers:
    """Which chapters there are; volumes only where no chapter has a number."""
    numbers = await tx.many(int, q.numbers, series_id=series_id)
    volumes = [] if numbers else await tx.many(str, q.volumes, series_id=series_id)
    return ChapterNumbers(numbers, volumes)


async def counted_tx(tx: Tx, shelf_id: ShelfId, series_id: SeriesId) -> ReadCount:
    """How much there is, and how much of it was read."""
    return await tx.one(ReadCount, q.counted, shelf_id=shelf_id, series_id=series_id)


MOST_NAMED = 10_000
MOST_OFFERED = 200


class ChapterWithReleases(msgspec.Struct, frozen=True):
    """A chapter with its releases, and which of them the reader would take."""

    row: ChapterProgressRow
    releases: list[SeriesRelease]
    preferred: SeriesRelease | None


class SeriesOverview(msgspec.Struct, frozen=True):
    """A series over all its sources; `follow` is None where the shelf does not follow it."""

    details: SeriesRecord
    sources: list[SeriesSourceState]
    gaps: Gaps
    counted: ReadCount
    follow: PlainFollowRow | None


class SeriesService:
    """Series as a shelf's reader sees them. Every series may be seen; progress is the shelf's own (I8)."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def preferred_releases(
        self, shelf_id: ShelfId, chapters: Sequence[ChapterId]
    ) -> dict[ChapterId, SeriesRelease]:
        """The release of each of these chapters that this shelf would take, where there is one."""

        async def read(tx: Tx) -> dict[ChapterId, SeriesRelease]:
            known = await tx.many(ChapterPreferences, q.preferences_of, shelf_id=shelf_id, ids=chapters)
            wanted = {one.chapter_id: one.preferences for one in known}
            releases = defaultdict[ChapterId, list[SeriesRelease]](list)
            for release in await releases_tx(tx, chapters):
                releases[release.chapter_id].append(release)
            best = {
                chapter: preferred(found, wanted.get(chapter, ReleasePreferences()))
                for chapter, found in releases.items()
            }
            return {chapter: release for chapter, release in best.items() if release is not None}

        return await self._db.read(read) if chapters else {}

    async def get(self, shelf_id: ShelfId, series: PublicId) -> SeriesOverview:
        """The series without its chapters, or NotFound."""

        async def read(tx: Tx) -> SeriesOverview:
            series_id = await known_series_tx(tx, series)
            numbers = await numbers_tx(tx, series_id)
            return SeriesOverview(
                details=await tx.one(SeriesRecord, q.details, series_id=series_id),
                sources=await sources_tx(tx, series_id),
                gaps=gaps(numbers.numbers, numbers.volumes),
                counted=await counted_tx(tx, shelf_id, series_id),
                follow=await find_follow_of_tx(tx, shelf_id, series_id),
            )

        return await self._db.read(read)

    async def chapters(
        self, shelf_id: ShelfId, series: PublicId, part: Slice
    ) -> tuple[Sequence[ChapterWithReleases], int]:
        """A part of its chapters, the newest first, and how many there are in all."""

        async def read(tx: Tx) -> tuple[Sequence[ChapterWithReleases], int]:
            series_id = await known_series_tx(tx, series)
            rows = await chapters_tx(tx, shelf_id, series_id, part)
            counted = await counted_tx(tx, shelf_id, series_id)
            return await _with_releases_tx(tx, shelf_id, series_id, rows), counted.chapters

        return await self._db.read(read)

    async def chapter(self, shelf_id: ShelfId, series: PublicId, chapter_id: ChapterId) -> ChapterWithReleases:
        """One of its chapters, or NotFound."""

        async def read(tx: Tx) -> ChapterWithReleases:
            series_id = await known_series_tx(tx, series)
            row = await find_listed_chapter_tx(tx, shelf_id, series_id, chapter_id)
            if row is None:
                raise NotFound(NO_CHAPTER)
            return (await _with_releases_tx(tx, shelf_id, series_id, [row]))[0]

        return await self._db.read(read)

    async def order(self, shelf_id: ShelfId, series: PublicId) -> Sequence[ChapterName]:
        """All of its chapters by name, the newest first."""

        async def read(tx: Tx) -> Sequence[ChapterName]:
            return await tx.many(
                ChapterName,
                q.chapter_order,
                shelf_id=shelf_id,
                series_id=await known_series_tx(tx, series),
                most=MOST_NAMED,
            )

        return await self._db.read(read)

    async def offered(self, series: PublicId) -> OfferedReleases:
        """The groups and languages that a reader can prefer."""

        async def read(tx: Tx) -> OfferedReleases:
            return await offered_tx(tx, await known_series_tx(tx, series), MOST_OFFERED)

        return await self._db.read(read)


async def _with_releases_tx(
    tx: Tx, shelf_id: ShelfId, series_id: SeriesId, rows: Sequence[ChapterProgressRow]
) -> Sequence[ChapterWithReleases]:
    follow = await find_follow_of_tx(tx, shelf_id, series_id)
    wanted = ReleasePreferences() if follow is None else follow.preferences
    of_chapter: dict[ChapterId, list[SeriesRelease]] = defaultdict(list)
    for release in await releases_tx(tx, [row.id for row in rows]):
        of_chapter[release.chapter_id].append(release)
    return [ChapterWithReleases(row, of_chapter[row.id], preferred(of_chapter[row.id], wanted)) for row in rows]
