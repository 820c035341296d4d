"""A series and its chapters, looked up for a shelf."""

from collections.abc import Sequence

from tsuzuki.accounts.nouns import Slice
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import ChapterId, SeriesId, ShelfId
from tsuzuki.shelves.library.series.nouns import (
    ChapterName,
    ChapterProgressRow,
    Numbers,
    Offered,
    ReadCount,
    SeriesRecord,
    SeriesRelease,
    SourceOf,
)

q = load_queries("tsuzuki.shelves.library.series")


async def details_tx(tx: Tx, series_id: SeriesId) -> SeriesRecord:
    """The series itself."""
    return await tx.one(SeriesRecord, q.details, series_id=series_id)


async def sources_tx(tx: Tx, series_id: SeriesId) -> list[SourceOf]:
    """Where it can be read, the oldest mapping first."""
    return await tx.many(SourceOf, q.sources, series_id=series_id)


async def chapters_tx(tx: Tx, shelf_id: ShelfId, series_id: SeriesId, part: Slice) -> list[ChapterProgressRow]:
    """A part of its chapters, the newest first."""
    return await tx.many(
        ChapterProgressRow, q.chapters, shelf_id=shelf_id, series_id=series_id, most=part.most, skip=part.skip
    )


async def find_chapter_tx(
    tx: Tx, shelf_id: ShelfId, series_id: SeriesId, chapter_id: ChapterId
) -> ChapterProgressRow | None:
    """One of its chapters."""
    return await tx.maybe(ChapterProgressRow, q.find_chapter, shelf_id=shelf_id, series_id=series_id, id=chapter_id)


async def chapter_order_tx(tx: Tx, shelf_id: ShelfId, series_id: SeriesId, most: int) -> list[ChapterName]:
    """All of its chapters, the newest first, as far as jumping between them needs."""
    return await tx.many(ChapterName, q.chapter_order, shelf_id=shelf_id, series_id=series_id, most=most)


async def offered_tx(tx: Tx, series_id: SeriesId, most: int) -> Offered:
    """The groups and languages of its releases."""
    groups = await tx.many(str, q.groups, series_id=series_id, most=most)
    return Offered(groups, await tx.many(str, q.languages, series_id=series_id, most=most))


async def releases_tx(tx: Tx, chapters: Sequence[ChapterId]) -> list[SeriesRelease]:
    """All releases of these chapters, over all sources and groups."""
    return await tx.many(SeriesRelease, q.releases, ids=chapters)


async def numbers_tx(tx: Tx, series_id: SeriesId) -> Numbers:
    """Which chapters there are; volumes only where no chapter has a number."""
    numbers = await tx.many(int, q.numbers, series_id=series_id)
    volumes = [] if numbers else await tx.many(str, q.volumes, series_id=series_id)
    return Numbers(numbers, volumes)


async def counted_tx(tx: Tx, shelf_id: ShelfId, series_id: SeriesId) -> ReadCount:
    """How much there is, and how much of it was read."""
    return await tx.one(ReadCount, q.counted, shelf_id=shelf_id, series_id=series_id)
