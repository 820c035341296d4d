"""Entries as they are delivered."""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.delivery.policy import AT_ONCE, FLOOD
from tsuzuki.model.ids import ChapterId, EntryId, FeedId, ItemId, PublicId, SeriesId, ShelfId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.delivery")

SurgeKind = Literal["item", "chapter", "catalogue"]


class ArrivingItems(msgspec.Struct, frozen=True):
    """Items of one feed, and when they arrived."""

    feed_id: FeedId
    items: Sequence[ItemId]
    at: Millis


class Placed(msgspec.Struct, frozen=True):
    """Entries that were inserted just now on one shelf, of one lot."""

    shelf_id: ShelfId
    installment_id: int
    """One of theirs."""
    count: int
    newest: EntryId


class Reader(msgspec.Struct, frozen=True):
    """A shelf that follows something: under which id and name, and whether some channel is to be told."""

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


async def lock_feeds_shared_tx(tx: Tx, feeds: Iterable[FeedId]) -> None:
    """From here on, nobody's subscription to one of these feeds is committed unseen."""
    await tx.bulk(str, q.lock_feeds_shared, [[feed_id] for feed_id in feeds])


async def add_item_entries_tx(tx: Tx, lots: Iterable[ArrivingItems], now: Millis) -> list[Placed]:
    """An entry for each of these items on each shelf that is subscribed; only the new ones come back (I2).

    An item that is not of the feed it is said to be of is left out.
    """
    rows = [(item, lot.feed_id, number, lot.at) for number, lot in enumerate(lots) for item in dict.fromkeys(lot.items)]
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


async def swell_tx(tx: Tx, kind: SurgeKind, swells: Iterable[BurstDelta], now: Millis) -> dict[int, Burst]:
    """Count new ones towards what came at once, each feed or series once; the surges by whose they are."""
    rows = [(each.of_id, each.new, int(max(each.new, each.came) > FLOOD), each.harvest) for each in swells]
    surges = await tx.bulk(Burst, q.swell, rows, kind=kind, flood=FLOOD, now=now, fresh=now - AT_ONCE)
    return {surge.of_id: surge for surge in surges}


async def prune_surges_tx(tx: Tx, *, before: Millis) -> int:
    """Forget those that began before then."""
    return await tx.run(q.prune_surges, before=before)
