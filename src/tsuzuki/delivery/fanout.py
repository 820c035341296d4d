"""Fan-out: entries, events and notices for new installments, in one transaction; those of very many in portions."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import lock_feeds_shared_tx, lock_series_tx
from tsuzuki.delivery.tasks import DELIVERIES, EVERYONE, PORTION, Delivery, Reach
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

TOGETHER: Final = 4
"""Portions in one transaction of ingest, where several feeds share it."""

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
    """R8: a back-catalogue, which makes no notices."""
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
    is_notified: bool


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


class _FeedReaders(msgspec.Struct, frozen=True):
    of_id: int
    readers: int


class ShelfArrival(msgspec.Struct, frozen=True):
    """What came of one batch to one shelf."""

    batch: NewBatch
    reader: Reader
    count: int
    newest: EntryId

    @property
    def is_notified(self) -> bool:
        """Whether some channel wants a notice."""
        return self.reader.is_notified and not self.batch.is_quiet


async def deliver_feeds_tx(tx: Tx, batches: Iterable[NewBatch], now: Millis, *, most: int = PORTION) -> Delivered:
    """Entries for items inserted in this transaction (R1), on every shelf whose subscription is not suspended.

    One statement of a kind for all feeds; of a feed, one quiet batch and one other. R8: a first harvest makes entries
    and no notices. A repeat delivers nothing (I2). Feeds with more than `most` entries are delivered by tasks.
    """
    batches = [batch for batch in batches if batch.installments]
    if not batches:
        return NOTHING
    feeds = sorted({FeedId(batch.of_id) for batch in batches})
    await lock_feeds_shared_tx(tx, feeds)
    large = await _large_feeds_tx(tx, batches, most)
    small = [batch for batch in batches if batch.of_id not in large]
    arriving = [
        ArrivingItems(FeedId(batch.of_id), [ItemId(item) for item in batch.installments], batch.arrived_at or now)
        for batch in small
    ]
    placed = await add_item_entries_tx(tx, arriving, now, appeared_at=now) if arriving else []
    if not placed and not large:
        return NOTHING
    readers = await feed_readers_tx(tx, [feed for feed in feeds if feed not in large], now) if placed else []
    later = [batch for batch in batches if batch.of_id in large]
    return await _announce_tx(tx, small, placed, readers, later=later, now=now)


async def _large_feeds_tx(tx: Tx, batches: Iterable[NewBatch], most: int) -> set[int]:
    """The feeds whose followers, or those of all, are too many for one transaction."""
    items: dict[int, int] = defaultdict(int)
    for batch in batches:
        items[batch.of_id] += len(batch.installments)
    rows = [[feed_id] for feed_id in items]
    found = await tx.bulk(_FeedReaders, q.count_subscribers, rows, most=most // min(items.values()) + 1)
    return large_ones({each.of_id: each.readers * items[each.of_id] for each in found}, most)


def large_ones(entries: Mapping[int, int], most: int) -> set[int]:
    """Which feeds are too large for this transaction: with more than `most` entries, or too many beside the others."""
    large, total = set(), 0
    for of_id, count in entries.items():
        if count > most or total + count > TOGETHER * most:
            large.add(of_id)
        else:
            total += count
    return large


async def deliver_chapters_tx(
    tx: Tx,
    series_id: SeriesId,
    new_chapters: Sequence[ChapterId],
    *,
    is_first_harvest: bool,
    now: Millis,
    came: int = 0,
    harvest: str = "",
    most: int = PORTION,
) -> Delivered:
    """Entries for chapters inserted in this transaction (R1, R7), on every shelf that has not dropped the series.

    R8: a first harvest is a back-catalogue: one event "N chapters available" for each shelf, no entries, no notices.
    What makes more than `most` of them is delivered by tasks.
    """
    if not new_chapters:
        return NOTHING
    await lock_series_tx(tx, series_id)  # as ingest does first: nobody's follow is committed unseen
    batch = NewBatch("chapter", series_id, tuple(new_chapters), is_first_harvest, came, harvest)
    places = most if is_first_harvest else most // len(new_chapters)
    is_large = await tx.one(int, q.count_followers, id=series_id, most=places + 1) > places
    if is_first_harvest:
        return await _show_catalogue_tx(tx, batch, is_large=is_large, now=now)
    if is_large:
        return await _announce_tx(tx, [], [], [], later=[batch], now=now)
    placed = await add_chapter_entries_tx(tx, series_id, new_chapters, now, appeared_at=now)
    if not placed:
        return NOTHING
    return await _announce_tx(tx, [batch], placed, await series_readers_tx(tx, series_id, now), later=[], now=now)


async def _announce_tx(
    tx: Tx,
    batches: Sequence[NewBatch],
    placed: Sequence[Placed],
    readers: Iterable[Reader],
    *,
    later: Sequence[NewBatch],
    now: Millis,
) -> Delivered:
    """An event for each shelf that got something of a batch, and the notices that the policy allows.

    `later` are those that tasks deliver: their notices are decided now, and sent when everybody has the entries.
    """
    arrivals = arrivals_of(batches, placed, readers)
    await add_arrivals_tx(tx, arrivals, now)
    told = {arrival.batch.of_id for arrival in arrivals if arrival.is_notified}
    loud = [batch for batch in (*batches, *later) if not batch.is_quiet and (batch in later or batch.of_id in told)]
    notices = await _notices_tx(tx, loud, now) if loud else []
    wakeups: tuple[str, ...] = (EVENTS_WAKEUP,) if placed else ()
    if due := [notice for notice in notices if notice.of_id in told]:
        await enqueue_many_tx(tx, NOTICES, [notice.task() for notice in due], now=now)
        wakeups += (NOTICES.name,)
    if later:
        await _deliver_later_tx(tx, later, notices, now=now)
        wakeups += (DELIVERIES.name,)
    return Delivered(sum(entry.count for entry in placed), wakeups)


async def _deliver_later_tx(
    tx: Tx, batches: Sequence[NewBatch], notices: Sequence[Notice], *, now: Millis, available: int = 0
) -> None:
    """Leave these to tasks: whoever follows by now gets them, and notices follow when everyone has them."""
    is_items = batches[0].kind == "item"
    newest = await tx.one(int, q.newest_subscription if is_items else q.newest_follow)
    deliveries = [
        Delivery(
            kind=batch.kind,
            of_id=batch.of_id,
            installments=batch.installments,
            is_quiet=batch.is_quiet,
            at=now,
            arrived_at=batch.arrived_at or now,
            newest=newest,
            available=available,
            notices=() if batch.is_quiet else tuple(each for each in notices if each.of_id == batch.of_id),
        )
        for batch in batches
    ]
    await enqueue_many_tx(tx, DELIVERIES, [delivery.task() for delivery in deliveries], now=now)


async def add_arrivals_tx(tx: Tx, arrivals: Iterable[ShelfArrival], now: Millis) -> None:
    """Write an event for each shelf."""
    await add_events_tx(tx, [_event(arrival) for arrival in arrivals], now)


def arrivals_of(batches: Sequence[NewBatch], placed: Iterable[Placed], readers: Iterable[Reader]) -> list[ShelfArrival]:
    """What came of each batch to each shelf."""
    batch_of = {each: number for number, batch in enumerate(batches) for each in batch.installments}
    came: dict[tuple[int, ShelfId], list[Placed]] = defaultdict(list)
    for entry in placed:
        came[batch_of[entry.installment_id], entry.shelf_id].append(entry)
    readers_of: dict[int, list[Reader]] = defaultdict(list)
    for reader in readers:
        readers_of[reader.of_id].append(reader)
    return [
        ShelfArrival(batch, reader, sum(entry.count for entry in some), max(entry.newest for entry in some))
        for number, batch in enumerate(batches)
        for reader in readers_of[batch.of_id]
        if (some := came.get((number, reader.shelf_id)))
    ]


async def _show_catalogue_tx(tx: Tx, batch: NewBatch, *, is_large: bool, now: Millis) -> Delivered:
    """Send an event with how much of a back-catalogue is there after this batch."""
    readers = [] if is_large else await series_readers_tx(tx, SeriesId(batch.of_id), now)
    if not readers and not is_large:
        return NOTHING
    so_far = await count_burst_tx(tx, "catalogue", [BurstDelta(batch.of_id, len(batch.installments))], now)
    available = so_far[batch.of_id].count
    if is_large:
        await _deliver_later_tx(tx, [batch], [], now=now, available=available)
        return Delivered(0, (DELIVERIES.name,))
    await add_catalogues_tx(tx, readers, available, now=now)
    return Delivered(0, (EVENTS_WAKEUP,))


async def add_catalogues_tx(tx: Tx, readers: Iterable[Reader], available: int, *, now: Millis) -> None:
    """Tell each how many chapters there are."""
    await add_events_tx(tx, [_catalogue(reader, available) for reader in readers], now)


def _catalogue(reader: Reader, available: int) -> NewEvent:
    shown = show_id(reader.shown_id)
    return NewEvent(
        reader.shelf_id, Arrived(kind="chapter", id=shown, name=reader.name, available=available, is_quiet=True)
    )


def _event(arrival: ShelfArrival) -> NewEvent:
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


async def add_item_entries_tx(
    tx: Tx, batches: Iterable[ArrivingItems], now: Millis, *, appeared_at: Millis, reach: Reach = EVERYONE
) -> list[Placed]:
    """An entry for each of these items on each shelf that is subscribed; only the new ones come back (I2).

    An item that is not of the feed it is said to be of is left out.
    """
    rows = [
        (item, batch.feed_id, number, batch.at)
        for number, batch in enumerate(batches)
        for item in dict.fromkeys(batch.items)
    ]
    of = msgspec.structs.asdict(reach)
    return await tx.bulk(Placed, q.add_item_entries, rows, now=now, appeared_at=appeared_at, **of)


async def add_chapter_entries_tx(
    tx: Tx,
    series_id: SeriesId,
    chapters: Iterable[ChapterId],
    now: Millis,
    *,
    appeared_at: Millis,
    reach: Reach = EVERYONE,
) -> list[Placed]:
    """An entry for each of these chapters on each shelf that follows; only the new ones come back (I2)."""
    rows = [[chapter] for chapter in chapters]
    of = msgspec.structs.asdict(reach)
    when = {"now": now, "appeared_at": appeared_at}
    return await tx.bulk(Placed, q.add_chapter_entries, rows, series_id=series_id, **when, **of)


async def feed_readers_tx(tx: Tx, feeds: Iterable[FeedId], now: Millis, reach: Reach = EVERYONE) -> list[Reader]:
    """The shelves that get these feeds' items."""
    rows = [[feed_id] for feed_id in feeds]
    return await tx.bulk(Reader, q.feed_readers, rows, now=now, **msgspec.structs.asdict(reach))


async def series_readers_tx(tx: Tx, series_id: SeriesId, now: Millis, reach: Reach = EVERYONE) -> list[Reader]:
    """The shelves that get this series' chapters."""
    return await tx.many(Reader, q.series_readers, id=series_id, now=now, **msgspec.structs.asdict(reach))


async def count_burst_tx(tx: Tx, kind: BurstKind, deltas: Iterable[BurstDelta], now: Millis) -> dict[int, Burst]:
    """Count new ones towards what came at once, each feed or series once; the bursts by whose they are."""
    rows = [(each.of_id, each.new, int(max(each.new, each.came) > FLOOD), each.harvest) for each in deltas]
    bursts = await tx.bulk(Burst, q.count_burst, rows, kind=kind, flood=FLOOD, now=now, fresh=now - AT_ONCE)
    return {burst.of_id: burst for burst in bursts}
