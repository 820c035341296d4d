"""Fan-out: entries, events and notices for new installments, in one transaction."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, Literal

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import lock_feeds_shared_tx, lock_series_tx
from tsuzuki.model.harvest import Kind
from tsuzuki.model.ids import ChapterId, EntryId, FeedId, ItemId, PublicId, SeriesId, ShelfId, show_id
from tsuzuki.model.times import MINUTE, SECOND, Millis
from tsuzuki.notifications.tasks import NOTICES, Notice
from tsuzuki.queue.tasks import enqueue_many_tx
from tsuzuki.shelves.events import EVENTS_WAKEUP, Arrived, NewEvent, add_events_tx

q = load_queries("tsuzuki.delivery")

FLOOD: Final = 20
"""R8, REL-29: a known watch that brings more than this at once is announced once."""

AT_ONCE: Final = Millis(5 * MINUTE)
"""What comes within this of each other came at once: one poll's findings are stored in several batches."""

SETTLING: Final = Millis(10 * SECOND)
"""How long a flood is left to come in before it is announced with its number."""

Loudness = Literal["none", "each", "once"]
BurstKind = Literal["item", "chapter", "catalogue"]


class Delivered(msgspec.Struct, frozen=True):
    """What a delivery wrote, and whom to wake after the commit."""

    entries: int = 0
    wakeups: tuple[str, ...] = ()

    def __add__(self, other: "Delivered") -> "Delivered":
        return Delivered(self.entries + other.entries, tuple(dict.fromkeys(self.wakeups + other.wakeups)))


NOTHING = Delivered()


class NewBatch(msgspec.Struct, frozen=True):
    """New installments of one feed or series that came at once."""

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


class ArrivingItems(msgspec.Struct, frozen=True):
    """Items of one feed, and when they arrived."""

    feed_id: FeedId
    items: Sequence[ItemId]
    at: Millis


class Placed(msgspec.Struct, frozen=True):
    """Entries just inserted on one shelf, of one batch."""

    shelf_id: ShelfId
    installment_id: int
    """One of theirs."""
    count: int
    newest: EntryId


class Reader(msgspec.Struct, frozen=True):
    """A shelf that follows something: the id and name it has there, and whether some channel notifies."""

    of_id: int
    """The feed or series."""
    shelf_id: ShelfId
    shown_id: PublicId
    name: str
    is_told: bool


class BurstDelta(msgspec.Struct, frozen=True):
    """New ones of one feed or series; `came` is how many it will be, where that is known."""

    of_id: int
    new: int
    came: int = 0
    harvest: str = ""


class Burst(msgspec.Struct, frozen=True):
    """How much came at once, and since when."""

    of_id: int
    since: Millis
    count: int
    floods: int
    """How many deliveries there were since it is a flood, this one too."""


class _Arrival(msgspec.Struct, frozen=True):
    """What came of one batch to one shelf."""

    batch: NewBatch
    reader: Reader
    count: int
    newest: EntryId


async def deliver_feeds_tx(tx: Tx, batches: Iterable[NewBatch], now: Millis) -> Delivered:
    """Entries for items inserted in this transaction (R1), on every shelf whose subscription is not suspended.

    One statement of a kind for all feeds; of a feed, one quiet batch and one other. R8: a first harvest makes entries
    and no notices. A repeat delivers nothing (I2).
    """
    batches = [batch for batch in batches if batch.installments]
    if not batches:
        return NOTHING
    feeds = sorted({FeedId(batch.of_id) for batch in batches})
    await lock_feeds_shared_tx(tx, feeds)
    arriving = [
        ArrivingItems(FeedId(batch.of_id), [ItemId(item) for item in batch.installments], batch.arrived_at or now)
        for batch in batches
    ]
    placed = await add_item_entries_tx(tx, arriving, now)
    if not placed:
        return NOTHING
    return await _announce_tx(tx, batches, placed, await feed_readers_tx(tx, feeds, now), now=now)


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
    batch = NewBatch("chapter", series_id, tuple(new_chapters), is_first_harvest, came, harvest)
    if is_first_harvest:
        return await _show_catalogue_tx(tx, batch, await series_readers_tx(tx, series_id), now)
    placed = await add_chapter_entries_tx(tx, series_id, new_chapters, now)
    if not placed:
        return NOTHING
    return await _announce_tx(tx, [batch], placed, await series_readers_tx(tx, series_id), now=now)


async def _announce_tx(
    tx: Tx, batches: Sequence[NewBatch], placed: Sequence[Placed], readers: Iterable[Reader], *, now: Millis
) -> Delivered:
    """An event for each shelf that got something of a batch, and the notices that the policy allows."""
    arrivals = _arrivals(batches, placed, readers)
    await add_events_tx(tx, [_event(arrival) for arrival in arrivals], now)
    told = {arrival.batch.of_id for arrival in arrivals if arrival.reader.is_told and not arrival.batch.is_quiet}
    loud = [batch for batch in batches if batch.of_id in told and not batch.is_quiet]
    notices = await _notices_tx(tx, loud, now) if loud else []
    if notices:
        await enqueue_many_tx(tx, NOTICES, [notice.task() for notice in notices], now=now)
    entries = sum(entry.count for entry in placed)
    return Delivered(entries, (EVENTS_WAKEUP, NOTICES.name) if notices else (EVENTS_WAKEUP,))


def _arrivals(batches: Sequence[NewBatch], placed: Iterable[Placed], readers: Iterable[Reader]) -> list[_Arrival]:
    batch_of = {each: number for number, batch in enumerate(batches) for each in batch.installments}
    came: dict[tuple[int, ShelfId], list[Placed]] = defaultdict(list)
    for entry in placed:
        came[batch_of[entry.installment_id], entry.shelf_id].append(entry)
    readers_of: dict[int, list[Reader]] = defaultdict(list)
    for reader in readers:
        readers_of[reader.of_id].append(reader)
    return [
        _Arrival(batch, reader, sum(entry.count for entry in some), max(entry.newest for entry in some))
        for number, batch in enumerate(batches)
        for reader in readers_of[batch.of_id]
        if (some := came.get((number, reader.shelf_id)))
    ]


async def _show_catalogue_tx(tx: Tx, batch: NewBatch, readers: Sequence[Reader], now: Millis) -> Delivered:
    """Each batch of a back-catalogue tells how much of it is there by now."""
    if not readers:
        return NOTHING
    so_far = await count_burst_tx(tx, "catalogue", [BurstDelta(batch.of_id, len(batch.installments))], now)
    await add_events_tx(tx, [_catalogue(reader, so_far[batch.of_id].count) for reader in readers], now)
    return Delivered(0, (EVENTS_WAKEUP,))


def _catalogue(reader: Reader, available: int) -> NewEvent:
    shown = show_id(reader.shown_id)
    return NewEvent(
        reader.shelf_id, Arrived(kind="chapter", id=shown, name=reader.name, available=available, is_quiet=True)
    )


def _event(arrival: _Arrival) -> NewEvent:
    arrived = Arrived(
        kind=arrival.batch.kind,
        id=show_id(arrival.reader.shown_id),
        name=arrival.reader.name,
        count=arrival.count,
        newest=str(arrival.newest),
        is_quiet=arrival.batch.is_quiet,
    )
    return NewEvent(arrival.reader.shelf_id, arrived)


async def _notices_tx(tx: Tx, batches: Sequence[NewBatch], now: Millis) -> list[Notice]:
    """The notices of new batches, all of items or all of chapters; the policy says how many."""
    deltas = [BurstDelta(batch.of_id, len(batch.installments), batch.came, batch.harvest) for batch in batches]
    bursts = await count_burst_tx(tx, batches[0].kind, deltas, now)
    return [notice for batch in batches for notice in _notices(batch, bursts[batch.of_id], now)]


def _notices(batch: NewBatch, burst: Burst, now: Millis) -> list[Notice]:
    how = loudness(burst.floods)
    if how == "each":
        return [Notice(kind=batch.kind, of_id=batch.of_id, installment_id=each, at=now) for each in batch.installments]
    flood = Notice(
        kind=batch.kind,
        of_id=batch.of_id,
        installment_id=None,
        count=burst.count,
        at=burst.since,
        run_at=Millis(now + SETTLING),
    )
    return [flood] if how == "once" else []


def loudness(floods: int) -> Loudness:
    """How loud new ones are: of so many deliveries since the burst began only the first notifies."""
    if floods == 0:
        return "each"
    return "once" if floods == 1 else "none"


# -- rows


async def add_item_entries_tx(tx: Tx, batches: Iterable[ArrivingItems], now: Millis) -> list[Placed]:
    """An entry for each of these items on each shelf that is subscribed; only the new ones come back (I2).

    An item that is not of the feed it is said to be of is left out.
    """
    rows = [
        (item, batch.feed_id, number, batch.at)
        for number, batch in enumerate(batches)
        for item in dict.fromkeys(batch.items)
    ]
    return await tx.bulk(Placed, q.add_item_entries, rows, now=now)


async def add_chapter_entries_tx(
    tx: Tx, series_id: SeriesId, chapters: Sequence[ChapterId], now: Millis
) -> list[Placed]:
    """An entry for each of these chapters on each shelf that follows; only the new ones come back (I2)."""
    rows = [[chapter] for chapter in chapters]
    return await tx.bulk(Placed, q.add_chapter_entries, rows, series_id=series_id, now=now)


async def feed_readers_tx(tx: Tx, feeds: Iterable[FeedId], now: Millis) -> list[Reader]:
    """The shelves that get these feeds' items."""
    return await tx.bulk(Reader, q.feed_readers, [[feed_id] for feed_id in feeds], now=now)


async def series_readers_tx(tx: Tx, series_id: SeriesId) -> list[Reader]:
    """The shelves that get this series' chapters."""
    return await tx.many(Reader, q.series_readers, id=series_id)


async def count_burst_tx(tx: Tx, kind: BurstKind, deltas: Iterable[BurstDelta], now: Millis) -> dict[int, Burst]:
    """Count new ones towards what came at once, each feed or series once; the bursts by whose they are."""
    rows = [(each.of_id, each.new, int(max(each.new, each.came) > FLOOD), each.harvest) for each in deltas]
    bursts = await tx.bulk(Burst, q.count_burst, rows, kind=kind, flood=FLOOD, now=now, fresh=now - AT_ONCE)
    return {burst.of_id: burst for burst in bursts}
