"""Queries that read a shelf in pages, and write what is missing."""

from collections.abc import Iterable
from typing import Any

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import ChapterId, FeedId, GroupId, ItemId, PublicId, SeriesId, SeriesSourceId, ShelfId, UserId
from tsuzuki.model.times import Millis
from tsuzuki.shelves.types import ReleasePreferences
from tsuzuki.transfer.archive.format import (
    ArchivedSeries,
    BackupLine,
    BookmarkLine,
    FeedLine,
    FormerFollowLine,
    SeriesSource,
)
from tsuzuki.transfer.archive.rows import (
    ArchiveChapterRow,
    ArchiveSourceRow,
    BackupRow,
    BookmarkRow,
    ItemRow,
    MappingRow,
    ReleaseRow,
)

q = load_queries("tsuzuki.transfer.archive")

BEGINNING = Millis(-(10**16))
"""Earlier than any time."""


# -- out


async def archived_items_tx(
    tx: Tx, shelf_id: ShelfId, feed_id: FeedId, *, after: tuple[Millis, int], most: int
) -> list[ItemRow]:
    """The next items of a feed that are in the inbox, by their time and their entry's id."""
    at, id_ = after
    return await tx.many(ItemRow, q.archived_items, shelf_id=shelf_id, feed_id=feed_id, at=at, id=id_, most=most)


async def archived_gone_tx(tx: Tx, shelf_id: ShelfId, feed_id: FeedId, *, after: str, most: int) -> list[str]:
    """The next keys of a feed's items that are not in the inbox."""
    return await tx.many(str, q.archived_gone, shelf_id=shelf_id, feed_id=feed_id, after=after, most=most)


async def mappings_tx(tx: Tx, series_id: SeriesId) -> list[MappingRow]:
    """Where a series can be read, the oldest mapping first."""
    return await tx.many(MappingRow, q.mappings, series_id=series_id)


async def list_sources_tx(tx: Tx) -> list[ArchiveSourceRow]:
    """All sources of this server."""
    return await tx.many(ArchiveSourceRow, q.list_sources)


async def archived_chapters_tx(
    tx: Tx, shelf_id: ShelfId, series_id: SeriesId, *, after: str, most: int
) -> list[ArchiveChapterRow]:
    """The next chapters of a series, by their keys."""
    return await tx.many(
        ArchiveChapterRow, q.archived_chapters, shelf_id=shelf_id, series_id=series_id, after=after, most=most
    )


async def archived_releases_tx(tx: Tx, chapters: Iterable[ChapterId]) -> list[ReleaseRow]:
    """The releases of these chapters."""
    return await tx.bulk(ReleaseRow, q.archived_releases, [[chapter] for chapter in chapters])


async def archived_bookmarks_tx(
    tx: Tx, shelf_id: ShelfId, *, after: tuple[Millis, int], most: int
) -> list[BookmarkRow]:
    """The next bookmarks, the oldest first."""
    at, id_ = after
    return await tx.many(BookmarkRow, q.archived_bookmarks, shelf_id=shelf_id, at=at, id=id_, most=most)


# -- in: the shelf and its feeds


async def has_shelf_tx(tx: Tx, shelf_id: ShelfId) -> bool:
    """Whether the shelf is there: somebody may delete its tenant at any time."""
    return await tx.one(bool, q.has_shelf, shelf_id=shelf_id)


async def add_feed_tx(tx: Tx, feed: FeedLine, now: Millis) -> FeedId | None:
    """A feed with what it says of itself; None when it is known."""
    values = q.add_feed.values_of(feed, proxy=tx.vault.seal_proxy(feed.proxy), now=now)
    return await tx.maybe(FeedId, q.add_feed, **values)


async def add_subscription_tx(
    tx: Tx, shelf_id: ShelfId, feed_id: FeedId, feed: FeedLine, *, group_id: GroupId, public_id: PublicId, now: Millis
) -> int:
    """The id of the subscription with all its settings; UniqueViolation when the shelf has this feed."""
    ids = {"public_id": public_id, "shelf_id": shelf_id, "feed_id": feed_id, "group_id": group_id}
    values = q.add_subscription.values_of(feed, **ids, site_url=feed.own_site_url, now=now)
    return await tx.one(int, q.add_subscription, **values)


# -- in: series


async def add_series_tx(
    tx: Tx, series: ArchivedSeries, *, public_id: PublicId, match_key: str, latest_sort: int | None, now: Millis
) -> SeriesId:
    """A new series, not yet on any source."""
    latest = {"latest_sort": latest_sort, "latest_number": None if latest_sort is None else series.latest_number}
    values = q.add_series.values_of(series, public_id=public_id, match_key=match_key, **latest, now=now)
    return await tx.one(SeriesId, q.add_series, **values)


async def add_mapping_tx(
    tx: Tx, series_id: SeriesId, source_id: int, mapping: SeriesSource, *, now: Millis
) -> SeriesSourceId | None:
    """The series on a source; None when the source has this key already."""
    ids = {"series_id": series_id, "source_id": source_id, "source_key": mapping.key}
    return await tx.maybe(SeriesSourceId, q.add_mapping, **q.add_mapping.values_of(mapping, **ids, now=now))


async def others_have_series_tx(tx: Tx, shelf_id: ShelfId, series_id: SeriesId) -> bool:
    """Whether another shelf follows it."""
    return await tx.one(bool, q.others_have_series, shelf_id=shelf_id, series_id=series_id)


async def add_former_tx(
    tx: Tx,
    shelf_id: ShelfId,
    series_id: SeriesId,
    former: FormerFollowLine,
    *,
    group_id: GroupId,
    preferences: ReleasePreferences,
) -> bool:
    """What following again restores; False when the shelf left the series here too, which counts."""
    if await tx.one(bool, q.has_former, shelf_id=shelf_id, series_id=series_id):
        return False
    ids = {"shelf_id": shelf_id, "series_id": series_id, "group_id": group_id}
    await tx.run(q.add_former, **q.add_former.values_of(former, **ids, preferences=preferences))
    return True


async def put_backup_tx(
    tx: Tx, shelf_id: ShelfId, series_id: SeriesId, backup: BackupLine, *, import_id: int | None, now: Millis
) -> int | None:
    """What a backup said of a series; its id, None where that is what was known."""
    ids = {"shelf_id": shelf_id, "series_id": series_id, "import_id": import_id}
    return await tx.maybe(int, q.put_backup, **q.put_backup.values_of(backup, **ids, now=now))


async def backups_of_tx(tx: Tx, shelf_id: ShelfId, series_id: SeriesId) -> list[BackupRow]:
    """What backups said of this series."""
    return await tx.many(BackupRow, q.backups_of, shelf_id=shelf_id, series_id=series_id)


# -- in: the rest


async def has_bookmark_tx(tx: Tx, shelf_id: ShelfId, mark: BookmarkLine, item_id: ItemId | None) -> bool:
    """R71: whether the shelf has it."""
    said = {"link": mark.link, "title": mark.title, "feed_name": mark.feed_name, "created_at": mark.created_at}
    return await tx.one(bool, q.has_bookmark, shelf_id=shelf_id, item_id=item_id, **said)


async def owns_shelf_tx(tx: Tx, shelf_id: ShelfId, user_id: UserId) -> bool:
    """Whether this person is an owner of the shelf."""
    return await tx.one(bool, q.owns_shelf, shelf_id=shelf_id, user_id=user_id)


async def has_room_for_channel_tx(tx: Tx, shelf_id: ShelfId, name: str, *, most: int) -> bool:
    """Whether the shelf has fewer channels than that, or already one of this name."""
    return await tx.one(bool, q.has_room_for_channel, shelf_id=shelf_id, name=name, most=most)


async def add_channel_tx(
    tx: Tx,
    shelf_id: ShelfId,
    user_id: UserId,
    public_id: PublicId,
    *,
    kind: str,
    name: str,
    config: dict[str, Any],
    now: Millis,
) -> bool:
    """Add a disabled channel of this person; False when the shelf has one of its name."""
    said = {"kind": kind, "name": name, "config": tx.vault.seal_channel(config)}
    return bool(await tx.run(q.add_channel, shelf_id=shelf_id, user_id=user_id, public_id=public_id, **said, now=now))


def as_row(line: msgspec.Struct, **more: Any) -> dict[str, Any]:
    """A line as a row of a batch."""
    return msgspec.structs.asdict(line) | more
