"""Queries that find and remove what is old. Finding is for `db.read`, removing for small transactions."""

from collections.abc import Sequence

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import lock_reading_tx
from tsuzuki.model.ids import FeedId, ShelfId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.retention")


class StepRow(msgspec.Struct, frozen=True):
    """How far one part of the work has come."""

    name: str
    after_id: int
    finished_at: Millis
    """When it last came to its end; 0 if it never did."""
    counted_from: Millis
    """The time from which it waits for its next run: `finished_at`, or the time it was added with if it never ran.

    The table has the latter in finished_at too, as a negative number.
    """
    pruned: int
    """Rows in all, since the beginning."""


class ShelfSpans(msgspec.Struct, frozen=True):
    """How long a shelf keeps what was read: by its owners' wish, and by its plan."""

    own_retention: Millis | None
    plan: Millis | None


class EntryRange(msgspec.Struct, frozen=True):
    """The subscriptions that are looked at together, by their ids, and what counts as old there."""

    after: int
    last: int
    now: Millis
    keep_read: Millis


# -- articles on shelves


async def next_subscription_tx(tx: Tx, *, after: int, most: int) -> int | None:
    """The last id of the next so many subscriptions; None when there are no more."""
    return await tx.maybe(int, q.next_subscription, after=after, most=most)


async def list_old_entries_tx(tx: Tx, within: EntryRange, *, most: int) -> list[int]:
    """Entries that were read and are older than they are kept."""
    return await tx.many(int, q.list_old_entries, **msgspec.structs.asdict(within), most=most)


async def count_old_entries_tx(tx: Tx, within: EntryRange, *, most: int) -> int:
    """The number of these entries, up to `most`."""
    return await tx.one(int, q.count_old_entries, **msgspec.structs.asdict(within), most=most)


async def count_old_of_feed_tx(tx: Tx, shelf_id: ShelfId, feed_id: FeedId, *, before: Millis, most: int) -> int:
    """How many entries of a feed would go if it kept them from then on only."""
    return await tx.one(int, q.count_old_of_feed, shelf_id=shelf_id, feed_id=feed_id, before=before, most=most)


async def count_old_of_shelf_tx(tx: Tx, shelf_id: ShelfId, *, before: Millis, most: int) -> int:
    """The number of old entries of a whole shelf, without feeds that have a setting of their own."""
    return await tx.one(int, q.count_old_of_shelf, shelf_id=shelf_id, before=before, most=most)


async def prune_entries_tx(tx: Tx, entries: Sequence[int], *, now: Millis, keep_read: Millis) -> int:
    """Remove those of these entries that are still old, read, and neither saved nor bookmarked; how many."""
    rows = [[entry] for entry in entries]
    await lock_reading_tx(tx, *await tx.many(ShelfId, q.list_shelves_of_entries, rows=rows))  # or marks would deadlock
    await tx.run(q.add_tombstones_of_pruned, rows=rows, now=now, keep_read=keep_read)
    return await tx.run(q.prune_entries, rows=rows, now=now, keep_read=keep_read)


# -- articles that no shelf has


async def next_feed_tx(tx: Tx, *, after: int) -> int | None:
    """The next feed."""
    return await tx.maybe(int, q.next_feed, after=after)


async def count_spare_items_tx(tx: Tx, feed_id: FeedId, *, newest: int, now: Millis, keep_read: Millis) -> int:
    """How many items no shelf will have when old entries are gone, up to a bound."""
    where = {"feed_id": feed_id, "newest": newest, "now": now, "keep_read": keep_read}
    return await tx.one(int, q.count_spare_items, **where, most=MOST_COUNTED)


async def prune_items_tx(tx: Tx, feed_id: FeedId, items: Sequence[int], *, before: Millis, now: Millis) -> int:
    """Remove those of these items that no shelf has; each leaves its key, so that it is not new when listed (REL-39d).

    To be called with the feed and its items locked.
    """
    where = {"rows": [[item] for item in items], "feed_id": feed_id, "before": before}
    await tx.run(q.add_tombstones, **where, now=now)
    return await tx.run(q.prune_items, **where)


# -- records


async def count_old_jobs_tx(tx: Tx, *, before: Millis) -> int:
    """The number of jobs that may be deleted, up to `MOST_COUNTED`."""
    return await tx.one(int, q.count_old_jobs, before=before, most=MOST_COUNTED)


async def prune_audit_tx(tx: Tx, step: str, *, before: Millis, most: int) -> int:
    """Remove up to so many rows of the audit log from before then; the schema lets nothing else be removed."""
    await tx.run(q.allow_audit_pruning, name=step, before=before)
    return await tx.run(q.prune_audit, before=before, most=most)


async def count_old_audit_tx(tx: Tx, *, before: Millis) -> int:
    """How many rows of the audit log are from before then, up to a bound."""
    return await tx.one(int, q.count_old_audit, before=before, most=MOST_COUNTED)


async def average_item_tx(tx: Tx) -> int:
    """How long the text of an item is, about."""
    return await tx.one(int, q.average_item)


# -- how far it has come


async def list_steps_tx(tx: Tx) -> list[StepRow]:
    """Every part of the work."""
    return await tx.many(StepRow, q.list_steps)


MOST_COUNTED = 100_000
"""The highest count of a preview."""
