"""Watches: created, suspended, woken, and imported with their state."""

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import FeedId, SeriesId, SeriesSourceId, ShelfId, WatchId
from tsuzuki.model.times import DAY, Millis

q = load_queries("tsuzuki.sources")

LONGEST_PLAN = Millis(2 * DAY)
"""I5: as far ahead as anything is planned here."""
FULL_FETCH_IN = Millis(6 * DAY)
"""A day before the next whole fetch is due (R26)."""


class NewWatch(msgspec.Struct, frozen=True, kw_only=True):
    """A watch on exactly one of the two."""

    feed_id: FeedId | None = None
    series_source_id: SeriesSourceId | None = None
    host: str
    priority: int = 2
    next_check_at: Millis


class Unwatched(msgspec.Struct, frozen=True):
    """A series on a source that nobody watches yet."""

    id: SeriesSourceId
    url: str
    base_url: str


async def find_feed_watch_tx(tx: Tx, feed_id: FeedId) -> WatchId:
    """The watch on a feed."""
    return await tx.one(WatchId, q.find_feed_watch, feed_id=feed_id)


async def suspend_idle_watch_tx(tx: Tx, feed_id: FeedId, *, reason: str, now: Millis) -> bool:
    """Suspend the watch if nobody waits for the feed."""
    return bool(await tx.run(q.suspend_idle_watch, feed_id=feed_id, reason=reason, now=now))


class ImportedFetchState(msgspec.Struct, frozen=True):
    """How a feed was fetched where it comes from."""

    etag: str | None = None
    last_modified: str | None = None
    next_check_at: Millis | None = None


async def import_fetch_state_tx(
    tx: Tx, shelf_id: ShelfId, feed_id: FeedId, *, brought: ImportedFetchState, now: Millis
) -> None:
    """Ask as it was asked before, and when that was planned, within the next two days; only what is new here."""
    if brought == ImportedFetchState():
        return
    planned = brought.next_check_at
    await tx.run(
        q.import_fetch_state,
        shelf_id=shelf_id,
        feed_id=feed_id,
        etag=brought.etag,
        last_modified=brought.last_modified,
        next_check_at=min(planned, now + LONGEST_PLAN) if planned is not None and planned > now else None,
        full_at=now - FULL_FETCH_IN,
    )


async def fetch_whole_tx(tx: Tx, feed_id: FeedId, now: Millis) -> None:
    """Have an empty feed fetched without validators, so that its content comes for a new follower."""
    await tx.run(q.fetch_whole, feed_id=feed_id, now=now)


async def add_watch_tx(tx: Tx, new: NewWatch, now: Millis) -> WatchId:
    """Begin to watch a feed or a series source; UniqueViolation when it is watched already."""
    return await tx.one(WatchId, q.add_watch, **msgspec.structs.asdict(new), now=now)


async def unwatched_tx(tx: Tx, series_id: SeriesId) -> list[Unwatched]:
    """Sources of a series that have no watch yet."""
    return await tx.many(Unwatched, q.unwatched, series_id=series_id)


async def suspend_idle_series_tx(tx: Tx, series_id: SeriesId, *, reason: str, now: Millis) -> int:
    """Suspend a series' watches if nobody waits for it; how many."""
    return await tx.run(q.suspend_idle_series, series_id=series_id, reason=reason, now=now)


async def wake_series_tx(tx: Tx, series_id: SeriesId, *, reason: str, now: Millis) -> int:
    """Make those watches due that rest for this reason, if somebody waits; how many."""
    return await tx.run(q.wake_series, series_id=series_id, reason=reason, now=now)
