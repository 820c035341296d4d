"""The steps of retention. Each removes one small portion at a time, and says where to go on."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.deadlines import with_tx_again
from tsuzuki.db.locks import lock_feed_tx, lock_items_tx, lock_reading_tx
from tsuzuki.model.ids import FeedId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.retention.policy import FOR_EVER, ITEM_GRACE, NEWEST_KEPT, RetentionRules
from tsuzuki.retention.store import (
    EntryRange,
    list_old_entries_tx,
    next_feed_tx,
    next_subscription_tx,
    prune_audit_tx,
    prune_entries_tx,
    prune_items_tx,
)

q = load_queries("tsuzuki.retention")

SUBSCRIPTIONS = 200
"""Looked at together."""
ROWS = 500
"""Removed in one transaction: about 10 ms of SQLite's writer."""
ITEMS = 50
"""Items of one transaction: fewer, as their words leave the search index too."""


class PruneResult(msgspec.Struct, frozen=True):
    """What one portion removed, and where to go on."""

    pruned: int
    after: int | None
    """Where to go on; None at the end."""


class PruneDeps(msgspec.Struct, frozen=True):
    """What every step is given."""

    db: Database
    clock: Callable[[], Millis]
    rules: RetentionRules


class PruneStep(Protocol):
    """A step: it deletes old rows of one kind."""

    name: str

    async def portion(self, deps: PruneDeps, after: int) -> PruneResult:
        """Remove one portion, from there on."""
        ...


class EntryStep:
    """Read articles leave the shelves that keep them no longer."""

    name = "entries"

    async def portion(self, deps: PruneDeps, after: int) -> PruneResult:
        """Some subscriptions, or one transaction's worth of them."""
        now, keep = deps.clock(), deps.rules.keep_read
        last = await deps.db.read(lambda tx: next_subscription_tx(tx, after=after, most=SUBSCRIPTIONS))
        if last is None:
            return PruneResult(0, None)
        within = EntryRange(after, last, now, keep)
        entries = await deps.db.read(lambda tx: list_old_entries_tx(tx, within, most=ROWS))
        if not entries:
            return PruneResult(0, last)
        pruned = await with_tx_again(deps.db, lambda tx: prune_entries_tx(tx, entries, now=now, keep_read=keep))
        return PruneResult(pruned, after if pruned and len(entries) == ROWS else last)


class ChapterStep:
    """Read chapters leave inboxes that a plan limits."""

    name = "chapters"

    async def portion(self, deps: PruneDeps, after: int) -> PruneResult:
        """One shelf, or one transaction's worth of it."""
        now = deps.clock()
        found = await deps.db.read(lambda tx: tx.maybe(int, q.next_limited_shelf, after=after))
        if found is None:
            return PruneResult(0, None)
        shelf_id = ShelfId(found)
        entries = await deps.db.read(
            lambda tx: tx.many(int, q.list_old_chapters, shelf_id=shelf_id, now=now, most=ROWS)
        )
        if not entries:
            return PruneResult(0, shelf_id)

        async def prune(tx: Tx) -> int:
            """Those that are still read and old leave the inbox; their progress stays (I9)."""
            await lock_reading_tx(tx, shelf_id)
            return await tx.run(q.prune_chapters, rows=[[entry] for entry in entries], now=now)

        pruned = await with_tx_again(deps.db, prune)
        return PruneResult(pruned, after if pruned and len(entries) == ROWS else shelf_id)


class ItemStep:
    """Articles that no shelf has any more are removed, but each feed's newest."""

    name = "items"

    async def portion(self, deps: PruneDeps, after: int) -> PruneResult:
        """One feed, or one transaction's worth of it."""
        now = deps.clock()
        found = await deps.db.read(lambda tx: next_feed_tx(tx, after=after))
        if found is None:
            return PruneResult(0, None)
        feed_id = FeedId(found)
        items = await deps.db.read(
            lambda tx: tx.many(int, q.list_spare_items, feed_id=feed_id, newest=NEWEST_KEPT, most=ITEMS)
        )
        if not items:
            return PruneResult(0, feed_id)

        async def prune(tx: Tx) -> int:
            await lock_items_tx(tx, feed_id)
            await lock_feed_tx(tx, feed_id)  # whoever subscribes now waits, and gets what is left
            return await prune_items_tx(tx, feed_id, items, before=Millis(now - ITEM_GRACE), now=now)

        pruned = await with_tx_again(deps.db, prune)
        return PruneResult(pruned, after if pruned and len(items) == ITEMS else feed_id)


class JobStep:
    """Old crawl jobs."""

    name = "jobs"

    async def portion(self, deps: PruneDeps, after: int) -> PruneResult:
        """One transaction's worth."""
        if deps.rules.keep_jobs == FOR_EVER:
            return PruneResult(0, None)
        before = Millis(deps.clock() - deps.rules.keep_jobs)
        jobs = await deps.db.read(lambda tx: tx.many(int, q.list_old_jobs, before=before, most=ROWS))
        pruned = (
            await with_tx_again(deps.db, lambda tx: tx.run(q.prune_jobs, rows=[[job] for job in jobs])) if jobs else 0
        )
        return PruneResult(pruned, after if pruned else None)


class AuditStep:
    """Old rows of the audit log."""

    name = "audit"

    async def portion(self, deps: PruneDeps, after: int) -> PruneResult:
        """One transaction's worth."""
        if deps.rules.keep_audit == FOR_EVER:
            return PruneResult(0, None)
        before = Millis(deps.clock() - deps.rules.keep_audit)
        pruned = await with_tx_again(deps.db, lambda tx: prune_audit_tx(tx, self.name, before=before, most=ROWS))
        return PruneResult(pruned, after if pruned else None)


STEPS: tuple[PruneStep, ...] = (EntryStep(), ChapterStep(), ItemStep(), JobStep(), AuditStep())
"""In this order: an item goes when the last entry of it has gone."""
