"""New installments into the inboxes of those who follow, with their events and notices, all in one transaction."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

import msgspec

from tsuzuki.db import Tx
from tsuzuki.delivery.events.news import EVENTS_BELL, Arrived, NewEvent
from tsuzuki.delivery.events.store import add_events_tx
from tsuzuki.delivery.notices.tasks import NOTICES, Notice
from tsuzuki.delivery.policy import KNOWN_ITEMS, SETTLING, loudness
from tsuzuki.delivery.store import (
    Placed,
    Reader,
    add_chapter_entries_tx,
    add_item_entries_tx,
    add_known_entries_tx,
    add_missed_chapters_tx,
    count_chapters_tx,
    feed_readers_tx,
    hold_feed_tx,
    hold_series_tx,
    knew_chapters_tx,
    series_readers_tx,
    share_feed_tx,
    share_series_tx,
    swell_tx,
)
from tsuzuki.model.ids import ChapterId, EntryId, FeedId, ItemId, SeriesId, ShelfId, show_id
from tsuzuki.model.times import Millis
from tsuzuki.queue.store import enqueue_many_tx


class Delivered(msgspec.Struct, frozen=True):
    """What a delivery wrote, and which bells to ring after the commit."""

    entries: int = 0
    bells: tuple[str, ...] = ()

    def __add__(self, other: "Delivered") -> "Delivered":
        return Delivered(self.entries + other.entries, tuple(dict.fromkeys(self.bells + other.bells)))


NOTHING = Delivered()
ALWAYS = Millis(0)


async def deliver_items_tx(
    tx: Tx, feed_id: FeedId, new_items: Sequence[ItemId], *, is_first_harvest: bool, now: Millis, came: int = 0
) -> Delivered:
    """Entries for items inserted in this transaction (R1), on every shelf whose subscription is not suspended.

    R8: a first harvest makes entries and no notices. A repeat delivers nothing (I2). `came` is how many came at once,
    where these are only a part of them.
    """
    if not new_items:
        return NOTHING
    await share_feed_tx(tx, feed_id)
    placed = await add_item_entries_tx(tx, feed_id, new_items, now)
    if not placed:
        return NOTHING
    batch = _Batch("item", feed_id, tuple(new_items), is_first_harvest, now, came)
    return await _announce_tx(tx, batch, placed, await feed_readers_tx(tx, feed_id, now))


async def deliver_chapters_tx(
    tx: Tx,
    series_id: SeriesId,
    new_chapters: Sequence[ChapterId],
    *,
    is_first_harvest: bool,
    now: Millis,
    came: int = 0,
) -> Delivered:
    """Entries for chapters inserted in this transaction (R1, R7), on every shelf that has not dropped the series.

    R8: a first harvest is a back-catalogue: one event "N chapters available" for each shelf, no entries, no notices.
    """
    if not new_chapters:
        return NOTHING
    await share_series_tx(tx, series_id)
    batch = _Batch("chapter", series_id, tuple(new_chapters), is_first_harvest, now, came)
    if is_first_harvest:
        return await _show_catalogue_tx(tx, batch, await series_readers_tx(tx, series_id))
    placed = await add_chapter_entries_tx(tx, series_id, new_chapters, now)
    if not placed:
        return NOTHING
    return await _announce_tx(tx, batch, placed, await series_readers_tx(tx, series_id))


async def deliver_known_items_tx(
    tx: Tx, shelf_id: ShelfId, feed_id: FeedId, *, now: Millis, since: Millis = ALWAYS
) -> Delivered:
    """R8: the newest items of a feed that is known already, for a shelf that subscribed in this very transaction.

    `since` is for one that was held back from then on: what it had before, and took off, does not come again.
    """
    await hold_feed_tx(tx, feed_id)
    placed = await add_known_entries_tx(tx, shelf_id, feed_id, since=since, most=KNOWN_ITEMS, now=now)
    if not placed:
        return NOTHING
    told = await feed_readers_tx(tx, feed_id, now, and_shelf=shelf_id)
    readers = [reader for reader in told if reader.shelf_id == shelf_id]
    return await _announce_tx(tx, _Batch("item", feed_id, (), is_quiet=True, now=now), placed, readers)


async def deliver_known_chapters_tx(
    tx: Tx, shelf_id: ShelfId, series_id: SeriesId, *, now: Millis, available: int | None = None
) -> Delivered:
    """R8: one line "N chapters available" for a shelf that began to follow in this very transaction.

    Whatever is stored later comes into its inbox, and nothing comes both ways: call it after the follow is written, and
    after any write to the series' watches, which ingest holds first. `available` is how many, for whoever has counted
    them while nothing could be stored.
    """
    await hold_series_tx(tx, series_id)
    available = await count_chapters_tx(tx, series_id) if available is None else available
    readers = [reader for reader in await series_readers_tx(tx, series_id) if reader.shelf_id == shelf_id]
    if not available or not readers:
        return NOTHING
    await add_events_tx(tx, [_catalogue(reader, available) for reader in readers], now)
    return Delivered(0, (EVENTS_BELL,))


async def deliver_missed_chapters_tx(
    tx: Tx, shelf_id: ShelfId, series_id: SeriesId, *, since: Millis, now: Millis
) -> Delivered:
    """The newest chapters since then, for a shelf whose follow was held back and is released in this transaction.

    One line and no notices, as a back-catalogue (R8); where the whole series came meanwhile, it is one. To be called
    like `deliver_known_chapters_tx`, with the shelf's reading held.
    """
    await hold_series_tx(tx, series_id)
    if not await knew_chapters_tx(tx, series_id, since):
        return await deliver_known_chapters_tx(tx, shelf_id, series_id, now=now)
    placed = await add_missed_chapters_tx(tx, shelf_id, series_id, since=since, most=KNOWN_ITEMS, now=now)
    if not placed:
        return NOTHING
    readers = [reader for reader in await series_readers_tx(tx, series_id) if reader.shelf_id == shelf_id]
    return await _announce_tx(tx, _Batch("chapter", series_id, (), is_quiet=True, now=now), placed, readers)


class _Batch(msgspec.Struct, frozen=True):
    """What was new at once."""

    kind: Literal["item", "chapter"]
    of_id: int
    installments: tuple[int, ...]
    is_quiet: bool
    now: Millis
    came: int = 0


async def _announce_tx(tx: Tx, batch: _Batch, placed: Sequence[Placed], readers: Sequence[Reader]) -> Delivered:
    """An event for each shelf that got something, and the notices that the policy allows."""
    entries: dict[ShelfId, list[EntryId]] = defaultdict(list)
    for entry in placed:
        entries[entry.shelf_id].append(entry.id)
    reached = [reader for reader in readers if reader.shelf_id in entries]
    await add_events_tx(tx, [_arrival(batch, reader, entries[reader.shelf_id]) for reader in reached], batch.now)
    is_wanted = not batch.is_quiet and any(reader.is_told for reader in reached)
    notices = await _notices_tx(tx, batch) if is_wanted else []
    if notices:
        await enqueue_many_tx(tx, NOTICES, [notice.task() for notice in notices], now=batch.now)
    return Delivered(len(placed), (EVENTS_BELL, NOTICES.name) if notices else (EVENTS_BELL,))


async def _show_catalogue_tx(tx: Tx, batch: _Batch, readers: Sequence[Reader]) -> Delivered:
    """Each batch of a back-catalogue tells how much of it is there by now."""
    if not readers:
        return NOTHING
    so_far = await swell_tx(tx, "catalogue", batch.of_id, new=len(batch.installments), now=batch.now)
    await add_events_tx(tx, [_catalogue(reader, so_far.count) for reader in readers], batch.now)
    return Delivered(0, (EVENTS_BELL,))


def _catalogue(reader: Reader, available: int) -> NewEvent:
    shown = show_id(reader.shown_id)
    return NewEvent(
        reader.shelf_id, Arrived(kind="chapter", id=shown, name=reader.name, available=available, is_quiet=True)
    )


def _arrival(batch: _Batch, reader: Reader, entries: Sequence[EntryId]) -> NewEvent:
    arrived = Arrived(
        kind=batch.kind,
        id=show_id(reader.shown_id),
        name=reader.name,
        count=len(entries),
        newest=str(max(entries)),
        is_quiet=batch.is_quiet,
    )
    return NewEvent(reader.shelf_id, arrived)


async def _notices_tx(tx: Tx, batch: _Batch) -> list[Notice]:
    new = len(batch.installments)
    surge = await swell_tx(tx, batch.kind, batch.of_id, new=new, now=batch.now, came=batch.came)
    how = loudness(surge.floods)
    if how == "each":
        return [
            Notice(kind=batch.kind, of_id=batch.of_id, installment_id=each, at=batch.now) for each in batch.installments
        ]
    flood = Notice(
        kind=batch.kind,
        of_id=batch.of_id,
        installment_id=None,
        count=surge.count,
        at=surge.since,
        run_at=Millis(batch.now + SETTLING),
    )
    return [flood] if how == "once" else []
