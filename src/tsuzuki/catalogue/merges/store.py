"""Queries that merge and split series."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from tsuzuki.catalogue.types import (
    CopiedChapter,
    FormerSeries,
    MergeFollowRow,
    MergeSeriesRow,
    MergeSourceRow,
    SeriesDescription,
)
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import PublicId, SeriesId, SeriesSourceId, ShelfId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.catalogue.merges")


class MovedRows(msgspec.Struct, frozen=True):
    """How many rows moved, and how many were on both sides."""

    moved: int
    shared: int


async def find_series_tx(tx: Tx, series_id: SeriesId) -> MergeSeriesRow:
    """The series itself."""
    return await tx.one(MergeSeriesRow, q.find_series, id=series_id)


async def list_sources_tx(tx: Tx, series_id: SeriesId) -> list[MergeSourceRow]:
    """Where it can be read, the oldest mapping first."""
    return await tx.many(MergeSourceRow, q.list_sources, series_id=series_id)


# -- merging


async def clashing_job_tx(tx: Tx, gone: SeriesId, into: SeriesId) -> str | None:
    """The name of a source that a job is calling for both."""
    return await tx.maybe(str, q.clashing_job, from_id=gone, into_id=into)


async def join_releases_tx(tx: Tx, gone: SeriesId, into: SeriesId) -> int:
    """Give releases of chapters that both have to the chapter that stays, with appearances, copies and books."""
    both = {"from_id": gone, "into_id": into}
    await tx.run(q.join_appearances, **both)
    await tx.run(q.join_copies, **both)
    await tx.run(q.join_books, **both)
    return await tx.run(q.join_releases, **both)


async def join_entries_tx(tx: Tx, gone: SeriesId, into: SeriesId) -> int:
    """Make one of two entries of a shelf, and give the others to the chapter that stays; how many were two."""
    both = {"from_id": gone, "into_id": into}
    joined = await tx.run(q.join_entries, **both)
    await tx.run(q.join_tags, **both)
    await tx.run(q.drop_joined_entries, **both)
    await tx.run(q.move_entries, **both)
    return joined


async def join_progress_tx(tx: Tx, gone: SeriesId, into: SeriesId) -> MovedRows:
    """Make one of two places in a chapter, and give the others to the chapter that stays; how many of each."""
    both = {"from_id": gone, "into_id": into}
    await tx.run(q.forget_own_logs, **both)
    await tx.run(q.add_joined_logs, **both)
    await tx.run(q.join_logs, **both)
    joined = await tx.run(q.join_progress, **both)
    await tx.run(q.drop_joined_progress, **both)
    moved = await tx.run(q.move_progress, **both)
    await tx.run(q.leave_joined_logs, **both)
    return MovedRows(moved, joined)


async def join_chapters_tx(tx: Tx, gone: SeriesId, into: SeriesId) -> tuple[MovedRows, list[CopiedChapter]]:
    """Give all chapters to the series that stays; those that both had, with what their twins knew, to be indexed."""
    both = {"from_id": gone, "into_id": into}
    await tx.run(q.fill_chapters, **both)
    titled = await tx.many(CopiedChapter, q.titled_pairs, **both)
    await tx.run(q.point_former_chapters, **both)
    await tx.run(q.add_former_chapters, **both)
    joined = await tx.run(q.drop_joined_chapters, **both)
    return MovedRows(await tx.run(q.move_chapters, **both), joined), titled


async def settle_entries_tx(tx: Tx, series_id: SeriesId, now: Millis) -> int:
    """Let entries follow their chapters, and entries and progress say the same; how many came from elsewhere."""
    moved = await tx.run(q.entries_follow_chapters, series_id=series_id)
    await tx.run(q.entries_follow_progress, series_id=series_id, now=now)
    await tx.run(q.progress_follows_entries, series_id=series_id, now=now)
    return moved


async def join_follows_tx(tx: Tx, gone: SeriesId, into: SeriesId, now: Millis) -> MovedRows:
    """One follow for each shelf; what shelves had when they left either is kept for them."""
    both = {"from_id": gone, "into_id": into}
    await tx.run(q.join_former_follows, **both)
    await tx.run(q.drop_joined_former_follows, **both)
    await tx.run(q.move_former_follows, **both)
    await tx.run(q.move_backups, **both)
    await tx.run(q.join_series_tags, **both)
    await tx.run(q.own_joined_follows, **both)
    joined = await tx.run(q.join_follows, **both, now=now)
    await tx.run(q.drop_joined_follows, **both)
    return MovedRows(await tx.run(q.move_follows, **both, now=now), joined)


async def end_series_tx(
    tx: Tx, gone: MergeSeriesRow, into: SeriesId, sources: Sequence[SeriesSourceId], *, now: Millis
) -> int:
    """Give sources, jobs and former names to the series that stays, and leave a pointer; how many sources."""
    both = {"from_id": gone.id, "into_id": into}
    moved = await tx.run(q.move_sources, **both, now=now)
    await tx.run(q.move_jobs, **both)
    await tx.run(q.fill_series, **both, now=now)
    await tx.run(q.move_former_series, **both)
    await tx.run(q.delete_series, id=gone.id)
    await tx.run(
        q.add_former_series, public_id=gone.public_id, series_id=into, details=gone.about, sources=sources, now=now
    )
    return moved


# -- splitting


async def add_series_tx(tx: Tx, public_id: PublicId, about: SeriesDescription, now: Millis) -> SeriesId:
    """A series that has nothing yet."""
    return await tx.one(SeriesId, q.add_series, public_id=public_id, now=now, **msgspec.structs.asdict(about))


async def split_sources_tx(
    tx: Tx, series_id: SeriesId, new_id: SeriesId, ids: Sequence[SeriesSourceId], *, now: Millis
) -> int:
    """Give these sources to the new series; how many."""
    moved = await tx.run(q.split_sources, series_id=series_id, new_id=new_id, ids=ids, now=now)
    await tx.run(q.split_jobs, series_id=series_id, new_id=new_id)
    return moved


class SplitChapters(msgspec.Struct, frozen=True):
    """What a split gave to the new series: chapters that it alone has, and copies of those that both have."""

    chapters: MovedRows
    releases: int
    entries: int
    progress: int


async def split_chapters_tx(tx: Tx, series_id: SeriesId, new_id: SeriesId, now: Millis) -> SplitChapters:
    """Chapters of the parted sources; what both sides have is copied with everything that readers have of it."""
    both: dict[str, Any] = {"series_id": series_id, "new_id": new_id}
    copied = await tx.run(q.copy_chapters, **both, now=now)
    await tx.run(q.copy_logs, **both)
    releases = await tx.run(q.split_releases, **both)
    await tx.run(q.split_appearances, **both)
    await tx.run(q.split_copies, **both)
    entries = await tx.run(q.copy_entries, **both, now=now)
    await tx.run(q.copy_tags, **both)
    progress = await tx.run(q.copy_progress, **both)
    moved = await tx.run(q.split_chapters, **both)
    return SplitChapters(MovedRows(moved, copied), releases, entries, progress)


async def chapters_of_tx(tx: Tx, series_id: SeriesId) -> list[CopiedChapter]:
    """All chapters of the new series, to be indexed."""
    return await tx.many(CopiedChapter, q.copied_chapters, new_id=series_id)


async def list_follows_tx(tx: Tx, series_id: SeriesId) -> list[MergeFollowRow]:
    """The follows of a series."""
    return await tx.many(MergeFollowRow, q.list_follows, series_id=series_id)


async def copy_follows_tx(
    tx: Tx, series_id: SeriesId, new_id: SeriesId, follows: Iterable[tuple[PublicId, MergeFollowRow]], *, now: Millis
) -> None:
    """Let everyone who follows the one follow the other too, each under a new id."""
    rows = [
        msgspec.structs.asdict(follow) | {"public_id": public_id, "notify": int(follow.notify)}
        for public_id, follow in follows
    ]
    await tx.bulk(int, q.add_follows, rows, series_id=new_id, now=now)
    await tx.run(q.copy_former_follows, series_id=series_id, new_id=new_id)


async def list_former_series_tx(tx: Tx, series_id: SeriesId) -> list[FormerSeries]:
    """What was merged into it, the last first."""
    return await tx.many(FormerSeries, q.list_former_series, series_id=series_id)


async def point_former_series_tx(tx: Tx, public_id: PublicId, series_id: SeriesId) -> None:
    """Let a former name lead to another series."""
    await tx.run(q.point_former_series, public_id=public_id, series_id=series_id)


async def delete_former_series_tx(tx: Tx, public_id: PublicId) -> None:
    """Forget that this series was merged into another: it is a series again."""
    await tx.run(q.delete_former_series, public_id=public_id)


# -- both


async def recompute_latest_tx(tx: Tx, series_id: SeriesId) -> None:
    """The highest number that it has now."""
    await tx.run(q.recompute_latest, series_id=series_id)


async def concerned_shelves_tx(tx: Tx, series_id: SeriesId, other_id: SeriesId) -> list[ShelfId]:
    """The shelves that follow either or have something of it in their inbox."""
    return await tx.many(ShelfId, q.concerned_shelves, series_id=series_id, other_id=other_id)
