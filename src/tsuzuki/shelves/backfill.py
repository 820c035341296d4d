"""What exists already when a shelf begins to follow (R8). It is not news: one event, no notifications."""

from collections.abc import Sequence

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import lock_feed_tx, lock_series_tx
from tsuzuki.model.harvest import Kind
from tsuzuki.model.ids import EntryId, FeedId, PublicId, SeriesId, ShelfId, show_id
from tsuzuki.model.times import Millis
from tsuzuki.shelves.events import Arrived, NewEvent, add_events_tx

q = load_queries("tsuzuki.shelves")

ALWAYS = Millis(0)
KNOWN_ITEMS = 50
"""How many entries a shelf gets at most."""


class FollowedName(msgspec.Struct, frozen=True):
    """What a shelf calls a feed or a series that it follows."""

    shown_id: PublicId
    name: str


async def deliver_known_items_tx(
    tx: Tx, shelf_id: ShelfId, feed_id: FeedId, *, now: Millis, since: Millis = ALWAYS
) -> int:
    """Entries for the newest items of a feed, for a shelf that subscribed in this very transaction; how many.

    `since` is for one that was suspended from then on: what it had before, and took off, does not come again.
    """
    await lock_feed_tx(tx, feed_id)  # what is being stored meanwhile is delivered by whoever stores it
    placed = await add_known_entries_tx(tx, shelf_id, feed_id, since=since, most=KNOWN_ITEMS, now=now)
    if placed:
        feed = await tx.one(FollowedName, q.feed_name, shelf_id=shelf_id, feed_id=feed_id)
        await add_events_tx(tx, [NewEvent(shelf_id, _arrived("item", feed, placed))], now)
    return len(placed)


async def deliver_known_chapters_tx(
    tx: Tx, shelf_id: ShelfId, series_id: SeriesId, *, now: Millis, available: int | None = None
) -> int:
    """One event with the number of chapters, for a shelf that began to follow in this transaction; how many.

    Whatever is stored later comes into its inbox, and nothing before. Call it after the follow is written, and after
    any write to the series' watches, which ingest locks first. `available` is for callers who have counted.
    """
    await lock_series_tx(tx, series_id)
    available = await tx.one(int, q.count_chapters, series_id=series_id) if available is None else available
    series = await _series_tx(tx, shelf_id, series_id)
    if not available or series is None:
        return 0
    line = Arrived(kind="chapter", id=show_id(series.shown_id), name=series.name, available=available, is_quiet=True)
    await add_events_tx(tx, [NewEvent(shelf_id, line)], now)
    return available


async def deliver_missed_chapters_tx(
    tx: Tx, shelf_id: ShelfId, series_id: SeriesId, *, since: Millis, now: Millis
) -> int:
    """Entries for the newest chapters since then, for a shelf whose follow a plan held back until now; how many.

    Where the whole series came meanwhile, it is a back-catalogue. To be called like `deliver_known_chapters_tx`, with
    the shelf's reading locked.
    """
    await lock_series_tx(tx, series_id)
    if not await tx.one(bool, q.knew_chapters, series_id=series_id, since=since):
        return await deliver_known_chapters_tx(tx, shelf_id, series_id, now=now)
    where = {"shelf_id": shelf_id, "series_id": series_id, "since": since}
    placed = await tx.many(EntryId, q.add_missed_chapters, **where, most=KNOWN_ITEMS, now=now)
    if placed and (series := await _series_tx(tx, shelf_id, series_id)) is not None:
        await add_events_tx(tx, [NewEvent(shelf_id, _arrived("chapter", series, placed))], now)
    return len(placed)


async def add_known_entries_tx(
    tx: Tx, shelf_id: ShelfId, feed_id: FeedId, *, since: Millis, most: int, now: Millis
) -> list[EntryId]:
    """Entries for the newest items that the feed has already, of those stored since then."""
    where = {"shelf_id": shelf_id, "feed_id": feed_id, "since": since}
    return await tx.many(EntryId, q.add_known_entries, **where, most=most, now=now)


async def _series_tx(tx: Tx, shelf_id: ShelfId, series_id: SeriesId) -> FollowedName | None:
    """None when its chapters do not come to the shelf: dropped, held back, or not followed."""
    return await tx.maybe(FollowedName, q.series_name, shelf_id=shelf_id, series_id=series_id)


def _arrived(kind: Kind, of: FollowedName, placed: Sequence[EntryId]) -> Arrived:
    return Arrived(
        kind=kind, id=show_id(of.shown_id), name=of.name, count=len(placed), newest=str(max(placed)), is_quiet=True
    )
