"""New installments into the inboxes of those who follow, with their events and notices, all in one transaction."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from tsuzuki.db import Tx
from tsuzuki.delivery.notices.tasks import NOTICES, Notice
from tsuzuki.delivery.policy import SETTLING, loudness
from tsuzuki.delivery.store import (
    ArrivingItems,
    Burst,
    BurstDelta,
    Placed,
    Reader,
    add_chapter_entries_tx,
    add_item_entries_tx,
    feed_readers_tx,
    lock_feeds_shared_tx,
    series_readers_tx,
    swell_tx,
)
from tsuzuki.model.ids import ChapterId, EntryId, FeedId, ItemId, SeriesId, ShelfId, show_id
from tsuzuki.model.installments import Kind
from tsuzuki.model.times import Millis
from tsuzuki.queue.store import enqueue_many_tx
from tsuzuki.shelves.events import EVENTS_WAKEUP, Arrived, NewEvent, add_events_tx
from tsuzuki.sources.store import lock_series_tx


class Delivered(msgspec.Struct, frozen=True):
    """What a delivery wrote, and whom to wake after the commit."""

    entries: int = 0
    wakeups: tuple[str, ...] = ()

    def __add__(self, other: "Delivered") -> "Delivered":
        return Delivered(self.entries + other.entries, tuple(dict.fromkeys(self.wakeups + other.wakeups)))


NOTHING = Delivered()


class NewBatch(msgspec.Struct, frozen=True):
    """What was new at once of one feed or series."""

    kind: Kind
    of_id: int
    installments: tuple[int, ...]
    is_quiet: bool
    """R8: a back-catalogue, of which nobody is told."""
    came: int = 0
    """How many came at once, where these are only a part of them."""
    harvest: str = ""
    """Names what found them, where others of one flood may come later."""
    arrived_at: Millis | None = None
    """R92: when all of a first harvest arrived, of which this may be a part; None for now."""


async def deliver_items_tx(
    tx: Tx, feed_id: FeedId, new_items: Sequence[ItemId], *, is_first_harvest: bool, now: Millis, came: int = 0
) -> Delivered:
    """Entries for items inserted in this transaction (R1), on every shelf whose subscription is not suspended.

    R8: a first harvest makes entries and no notices. A repeat delivers nothing (I2). `came` is how many came at once,
    where these are only a part of them.
    """
    return await deliver_feeds_tx(tx, [NewBatch("item", feed_id, tuple(new_items), is_first_harvest, came)], now)


async def deliver_feeds_tx(tx: Tx, lots: Iterable[NewBatch], now: Millis) -> Delivered:
    """`deliver_items_tx` for several feeds, one statement of a kind for all; of a feed, one quiet lot and one other."""
    lots = [lot for lot in lots if lot.installments]
    if not lots:
        return NOTHING
    feeds = sorted({FeedId(lot.of_id) for lot in lots})
    await lock_feeds_shared_tx(tx, feeds)
    arriving = [
        ArrivingItems(FeedId(lot.of_id), [ItemId(item) for item in lot.installments], lot.arrived_at or now)
        for lot in lots
    ]
    placed = await add_item_entries_tx(tx, arriving, now)
    if not placed:
        return NOTHING
    return await _announce_tx(tx, lots, placed, await feed_readers_tx(tx, feeds, now), now=now)


async def deliver_chapters_tx(
    tx: Tx,
    series_id: SeriesId,
    new_chapters: Sequence[ChapterId],
    *,
    is_first_harvest: bool,
    now: Millis,
    came: int = 0,
    harvest: str = "",
) -> Delivered:
    """Entries for chapters inserted in this transaction (R1, R7), on every shelf that has not dropped the series.

    R8: a first harvest is a back-catalogue: one event "N chapters available" for each shelf, no entries, no notices.
    """
    if not new_chapters:
        return NOTHING
    await lock_series_tx(tx, series_id)  # as ingest does first: nobody's follow is committed unseen
    lot = NewBatch("chapter", series_id, tuple(new_chapters), is_first_harvest, came, harvest)
    if is_first_harvest:
        return await _show_catalogue_tx(tx, lot, await series_readers_tx(tx, series_id), now)
    placed = await add_chapter_entries_tx(tx, series_id, new_chapters, now)
    if not placed:
        return NOTHING
    return await _announce_tx(tx, [lot], placed, await series_readers_tx(tx, series_id), now=now)


class _Arrival(msgspec.Struct, frozen=True):
    """What came of one lot to one shelf."""

    lot: NewBatch
    reader: Reader
    count: int
    newest: EntryId


async def _announce_tx(
    tx: Tx, lots: Sequence[NewBatch], placed: Sequence[Placed], readers: Iterable[Reader], *, now: Millis
) -> Delivered:
    """An event for each shelf that got something of a lot, and the notices that the policy allows."""
    arrivals = _arrivals(lots, placed, readers)
    await add_events_tx(tx, [_event(arrival) for arrival in arrivals], now)
    told = {arrival.lot.of_id for arrival in arrivals if arrival.reader.is_told and not arrival.lot.is_quiet}
    loud = [lot for lot in lots if lot.of_id in told and not lot.is_quiet]
    notices = await _notices_tx(tx, loud, now) if loud else []
    if notices:
        await enqueue_many_tx(tx, NOTICES, [notice.task() for notice in notices], now=now)
    entries = sum(entry.count for entry in placed)
    return Delivered(entries, (EVENTS_WAKEUP, NOTICES.name) if notices else (EVENTS_WAKEUP,))


def _arrivals(lots: Sequence[NewBatch], placed: Iterable[Placed], readers: Iterable[Reader]) -> list[_Arrival]:
    lot_of = {each: number for number, lot in enumerate(lots) for each in lot.installments}
    came: dict[tuple[int, ShelfId], list[Placed]] = defaultdict(list)
    for entry in placed:
        came[lot_of[entry.installment_id], entry.shelf_id].append(entry)
    readers_of: dict[int, list[Reader]] = defaultdict(list)
    for reader in readers:
        readers_of[reader.of_id].append(reader)
    return [
        _Arrival(lot, reader, sum(entry.count for entry in some), max(entry.newest for entry in some))
        for number, lot in enumerate(lots)
        for reader in readers_of[lot.of_id]
        if (some := came.get((number, reader.shelf_id)))
    ]


async def _show_catalogue_tx(tx: Tx, lot: NewBatch, readers: Sequence[Reader], now: Millis) -> Delivered:
    """Each batch of a back-catalogue tells how much of it is there by now."""
    if not readers:
        return NOTHING
    so_far = await swell_tx(tx, "catalogue", [BurstDelta(lot.of_id, len(lot.installments))], now)
    await add_events_tx(tx, [_catalogue(reader, so_far[lot.of_id].count) for reader in readers], now)
    return Delivered(0, (EVENTS_WAKEUP,))


def _catalogue(reader: Reader, available: int) -> NewEvent:
    shown = show_id(reader.shown_id)
    return NewEvent(
        reader.shelf_id, Arrived(kind="chapter", id=shown, name=reader.name, available=available, is_quiet=True)
    )


def _event(arrival: _Arrival) -> NewEvent:
    arrived = Arrived(
        kind=arrival.lot.kind,
        id=show_id(arrival.reader.shown_id),
        name=arrival.reader.name,
        count=arrival.count,
        newest=str(arrival.newest),
        is_quiet=arrival.lot.is_quiet,
    )
    return NewEvent(arrival.reader.shelf_id, arrived)


async def _notices_tx(tx: Tx, lots: Sequence[NewBatch], now: Millis) -> list[Notice]:
    """Of lots of one kind."""
    swells = [BurstDelta(lot.of_id, len(lot.installments), lot.came, lot.harvest) for lot in lots]
    surges = await swell_tx(tx, lots[0].kind, swells, now)
    return [notice for lot in lots for notice in _notices(lot, surges[lot.of_id], now)]


def _notices(lot: NewBatch, surge: Burst, now: Millis) -> list[Notice]:
    how = loudness(surge.floods)
    if how == "each":
        return [Notice(kind=lot.kind, of_id=lot.of_id, installment_id=each, at=now) for each in lot.installments]
    flood = Notice(
        kind=lot.kind,
        of_id=lot.of_id,
        installment_id=None,
        count=surge.count,
        at=surge.since,
        run_at=Millis(now + SETTLING),
    )
    return [flood] if how == "once" else []
