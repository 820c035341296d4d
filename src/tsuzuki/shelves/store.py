"""Terms and room of a shelf, and entries for what it begins to follow."""

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import EntryId, FeedId, PublicId, SeriesId, ShelfId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.shelves")


class Terms(msgspec.Struct, frozen=True):
    """On what terms a shelf is rented."""

    plan: str
    status: str
    is_billed: bool
    """False: TSUZUKI_BILLING is off, and neither plan nor status count."""


async def shelf_terms_tx(tx: Tx, shelf_id: ShelfId) -> Terms:
    """The shelf's terms, or NotFound."""
    return await tx.one(Terms, q.shelf_terms, shelf_id=shelf_id)


async def count_follows_tx(tx: Tx, shelf_id: ShelfId) -> int:
    """The feeds and series of a shelf."""
    return await tx.one(int, q.count_follows, shelf_id=shelf_id)


async def count_kept_chapters_tx(tx: Tx, shelf_id: ShelfId) -> int:
    """The chapters that a shelf keeps."""
    return await tx.one(int, q.count_kept_chapters, shelf_id=shelf_id)


async def desync_shelf_tx(tx: Tx, shelf_id: ShelfId) -> None:
    """What its plan says has to be applied to something new."""
    await tx.run(q.desync_shelf, shelf_id=shelf_id)


async def is_held_tx(tx: Tx, subscription_id: int) -> bool:
    """Whether a plan holds this subscription back."""
    return await tx.one(bool, q.is_held, id=subscription_id)


# -- what is known already


class FollowedName(msgspec.Struct, frozen=True):
    """What a shelf calls a feed or a series that it follows."""

    shown_id: PublicId
    name: str


async def feed_name_tx(tx: Tx, shelf_id: ShelfId, feed_id: FeedId) -> FollowedName | None:
    """None when the shelf has no subscription to it."""
    return await tx.maybe(FollowedName, q.feed_name, shelf_id=shelf_id, feed_id=feed_id)


async def series_name_tx(tx: Tx, shelf_id: ShelfId, series_id: SeriesId) -> FollowedName | None:
    """None when its chapters do not come to the shelf: dropped, held back, or not followed."""
    return await tx.maybe(FollowedName, q.series_name, shelf_id=shelf_id, series_id=series_id)


async def add_known_entries_tx(
    tx: Tx, shelf_id: ShelfId, feed_id: FeedId, *, since: Millis, most: int, now: Millis
) -> list[EntryId]:
    """Entries for the newest items that the feed has already, of those stored since then."""
    where = {"shelf_id": shelf_id, "feed_id": feed_id, "since": since}
    return await tx.many(EntryId, q.add_known_entries, **where, most=most, now=now)


async def count_chapters_tx(tx: Tx, series_id: SeriesId) -> int:
    """How many chapters the series has."""
    return await tx.one(int, q.count_chapters, series_id=series_id)


async def knew_chapters_tx(tx: Tx, series_id: SeriesId, since: Millis) -> bool:
    """Whether the series had chapters before."""
    return await tx.one(bool, q.knew_chapters, series_id=series_id, since=since)


async def add_missed_chapters_tx(
    tx: Tx, shelf_id: ShelfId, series_id: SeriesId, *, since: Millis, most: int, now: Millis
) -> list[EntryId]:
    """Entries for the newest chapters since then that were not read."""
    where = {"shelf_id": shelf_id, "series_id": series_id, "since": since}
    return await tx.many(EntryId, q.add_missed_chapters, **where, most=most, now=now)
