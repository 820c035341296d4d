"""What is known already when a shelf begins to follow (R8). It is no news: one event for open pages, and no notices."""

from collections.abc import Sequence

from tsuzuki.db import Tx
from tsuzuki.db.locks import lock_feed_tx, lock_series_tx
from tsuzuki.model.ids import EntryId, FeedId, SeriesId, ShelfId, show_id
from tsuzuki.model.installments import Kind
from tsuzuki.model.times import Millis
from tsuzuki.shelves.events import Arrived, NewEvent, add_events_tx
from tsuzuki.shelves.store import (
    FollowedName,
    add_known_entries_tx,
    add_missed_chapters_tx,
    count_chapters_tx,
    feed_name_tx,
    knew_chapters_tx,
    series_name_tx,
)

ALWAYS = Millis(0)
KNOWN_ITEMS = 50
"""How many entries a shelf gets at most."""


async def deliver_known_items_tx(
    tx: Tx, shelf_id: ShelfId, feed_id: FeedId, *, now: Millis, since: Millis = ALWAYS
) -> int:
    """Entries for the newest items of a feed, for a shelf that subscribed in this very transaction; how many.

    `since` is for one that was suspended from then on: what it had before, and took off, does not come again.
    """
    await lock_feed_tx(tx, feed_id)  # what is being stored meanwhile is delivered by whoever stores it
    placed = await add_known_entries_tx(tx, shelf_id, feed_id, since=since, most=KNOWN_ITEMS, now=now)
    if placed and (feed := await feed_name_tx(tx, shelf_id, feed_id)) is not None:
        await add_events_tx(tx, [NewEvent(shelf_id, _arrived("item", feed, placed))], now)
    return len(placed)


async def deliver_known_chapters_tx(
    tx: Tx, shelf_id: ShelfId, series_id: SeriesId, *, now: Millis, available: int | None = None
) -> int:
    """Tell in one line how many chapters there are, for a shelf that began to follow in this transaction; how many.

    Whatever is stored later comes into its inbox, and nothing comes both ways: call it after the follow is written, and
    after any write to the series' watches, which ingest locks first. `available` is for callers who have counted.
    """
    await lock_series_tx(tx, series_id)
    available = await count_chapters_tx(tx, series_id) if available is None else available
    series = await series_name_tx(tx, shelf_id, series_id)
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
    if not await knew_chapters_tx(tx, series_id, since):
        return await deliver_known_chapters_tx(tx, shelf_id, series_id, now=now)
    placed = await add_missed_chapters_tx(tx, shelf_id, series_id, since=since, most=KNOWN_ITEMS, now=now)
    if placed and (series := await series_name_tx(tx, shelf_id, series_id)) is not None:
        await add_events_tx(tx, [NewEvent(shelf_id, _arrived("chapter", series, placed))], now)
    return len(placed)


def _arrived(kind: Kind, of: FollowedName, placed: Sequence[EntryId]) -> Arrived:
    return Arrived(
        kind=kind, id=show_id(of.shown_id), name=of.name, count=len(placed), newest=str(max(placed)), is_quiet=True
    )
