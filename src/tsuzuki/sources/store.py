"""Sources, series, feeds and watches, remembered."""

from typing import Any

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import FeedId, PublicId, SeriesId, SeriesSourceId, SourceId, WatchId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.sources")


class NewSource(msgspec.Struct, frozen=True, kw_only=True):
    """A source to be registered."""

    uid: int
    name: str
    slug: str
    base_url: str
    lang: str = "all"
    connector: str | None = None
    config: dict[str, Any] = {}
    is_nsfw: bool = False
    supports_latest: bool = False


class NewWatch(msgspec.Struct, frozen=True, kw_only=True):
    """A watch on exactly one of the two."""

    feed_id: FeedId | None = None
    series_source_id: SeriesSourceId | None = None
    host: str
    priority: int = 2
    next_check_at: Millis


class ClaimedWatch(msgspec.Struct, frozen=True):
    """A watch that is ours to poll until its lease runs out."""

    id: WatchId
    lease_token: int
    feed_id: FeedId | None
    series_source_id: SeriesSourceId | None
    host: str
    priority: int
    etag: str | None
    last_modified: str | None
    body_hash: bytes | None
    consecutive_failures: int


async def add_feed_tx(tx: Tx, link: str, *, now: Millis, proxy: str = "", title: str = "") -> tuple[FeedId, bool]:
    """The feed behind this link, and whether it is new."""
    if (new := await tx.maybe(FeedId, q.add_feed, link=link, proxy=proxy, title=title, now=now)) is not None:
        return new, True
    return await tx.one(FeedId, q.find_feed, link=link, proxy=proxy), False


async def add_source_tx(tx: Tx, new: NewSource, now: Millis) -> SourceId:
    """Register a source; UniqueViolation on `source.name` or `source.slug`."""
    return await tx.one(SourceId, q.add_source, **msgspec.structs.asdict(new), now=now)


async def add_series_tx(
    tx: Tx, public_id: PublicId, title: str, *, match_key: str, now: Millis, author: str | None = None
) -> SeriesId:
    """A new series, not yet on any source."""
    return await tx.one(
        SeriesId, q.add_series, public_id=public_id, title=title, match_key=match_key, author=author, now=now
    )


async def add_series_source_tx(
    tx: Tx, series_id: SeriesId, source_id: SourceId, *, source_key: str, url: str, now: Millis, title: str = ""
) -> SeriesSourceId | None:
    """That series as this source knows it; None when the source has this key already."""
    return await tx.maybe(
        SeriesSourceId,
        q.add_series_source,
        series_id=series_id,
        source_id=source_id,
        source_key=source_key,
        url=url,
        title=title,
        now=now,
    )


async def add_watch_tx(tx: Tx, new: NewWatch, now: Millis) -> WatchId:
    """Begin to watch a feed or a series source; UniqueViolation when it is watched already."""
    return await tx.one(WatchId, q.add_watch, **msgspec.structs.asdict(new), now=now)


async def claim_due_watches_tx(tx: Tx, priority: int, *, now: Millis, lease: Millis, most: int) -> list[ClaimedWatch]:
    """Lease up to `most` due watches of one priority, the longest overdue first."""
    until = Millis(now + lease)
    return await tx.many(ClaimedWatch, q.claim_due_watches, priority=priority, now=now, until=until, most=most)
