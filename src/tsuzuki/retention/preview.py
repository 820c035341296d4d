"""What retention would remove, shown before it does: counts within a bound of time, and about how many bytes."""

import time
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any

import msgspec

from tsuzuki.db import Database, load_queries
from tsuzuki.model.ids import FeedId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.retention.policy import FOR_EVER, NEWEST_KEPT, RetentionRules, kept_for
from tsuzuki.retention.steps import SUBSCRIPTIONS
from tsuzuki.retention.store import (
    MOST_COUNTED,
    EntryRange,
    ShelfSpans,
    StepRow,
    average_item_tx,
    count_old_audit_tx,
    count_old_entries_tx,
    count_old_jobs_tx,
    count_old_of_feed_tx,
    count_old_of_shelf_tx,
    count_spare_items_tx,
    list_steps_tx,
    next_feed_tx,
    next_subscription_tx,
)

q = load_queries("tsuzuki.retention")

PATIENCE = 1.0
"""Seconds that counting on a page may take, for each kind that is walked."""
MOST_SHOWN = 10_000
"""The highest count that a form shows."""
ENTRY_BYTES = 330
ITEM_BYTES = 700
JOB_BYTES = 800
AUDIT_BYTES = 500
TEXT_FACTOR = 1.5
"""An article's text, with its words in the index."""


class RemovableRows(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows of one kind would be deleted."""

    what: str
    keep: Millis | None
    """The server's setting; None where there is none."""
    rows: int
    bytes: int
    is_more: bool
    """Whether counting ended before everything was counted."""


class RemovableEntries(msgspec.Struct, frozen=True):
    """How many articles a setting would remove."""

    keep: Millis
    entries: int
    is_more: bool


class Preview:
    """Counts, and removes nothing."""

    def __init__(
        self,
        db: Database,
        clock: Callable[[], Millis],
        rules: RetentionRules,
        *,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._db = db
        self._clock = clock
        self._rules = rules
        self._steady = steady

    @property
    def rules(self) -> RetentionRules:
        """The retention that the settings say."""
        return self._rules

    async def steps(self) -> list[StepRow]:
        """How far each step has come."""
        return await self._db.read(list_steps_tx)

    async def removable(self, patience: float | None = PATIENCE) -> list[RemovableRows]:
        """By kind. Without `patience` everything is counted, however long it takes."""
        entries, more_entries = await self._entries(patience)
        items, more_items = await self._items(patience)
        jobs = await self._old(self._rules.keep_jobs, count_old_jobs_tx)
        audit = await self._old(self._rules.keep_audit, count_old_audit_tx)
        size = ITEM_BYTES + int(TEXT_FACTOR * await self._db.read(average_item_tx))
        keep = self._rules
        return [
            _removable("entries", entries, ENTRY_BYTES, keep=keep.keep_read, is_more=more_entries),
            _removable("items", items, size, keep=None, is_more=more_items),
            _removable("jobs", jobs, JOB_BYTES, keep=keep.keep_jobs, is_more=jobs >= MOST_COUNTED),
            _removable("audit", audit, AUDIT_BYTES, keep=keep.keep_audit, is_more=audit >= MOST_COUNTED),
        ]

    async def of_feed(self, shelf_id: ShelfId, feed_id: FeedId, spans: Iterable[Millis]) -> list[RemovableEntries]:
        """How many articles of a feed would go with each of these settings of it."""
        count = partial(count_old_of_feed_tx, shelf_id=shelf_id, feed_id=feed_id, most=MOST_SHOWN)
        return [await self._would_go(keep, count) for keep in spans]

    async def of_shelf(self, shelf_id: ShelfId, spans: Iterable[Millis]) -> list[RemovableEntries]:
        """The same for a shelf, of the feeds that have no setting of their own."""
        count = partial(count_old_of_shelf_tx, shelf_id=shelf_id, most=MOST_SHOWN)
        return [await self._would_go(keep, count) for keep in spans]

    async def shelf_keeps(self, shelf_id: ShelfId) -> Millis | None:
        """How long the shelf keeps articles of feeds without a setting of their own; None is for ever."""
        spans = await self.spans(shelf_id)
        return kept_for(feed=None, shelf=spans.own_retention, server=self._rules.keep_read, plan=spans.plan)

    async def usual(self, shelf_id: ShelfId) -> Millis | None:
        """How long a shelf without a setting of its own keeps them; None is for ever."""
        spans = await self.spans(shelf_id)
        return kept_for(feed=None, shelf=None, server=self._rules.keep_read, plan=spans.plan)

    async def spans(self, shelf_id: ShelfId) -> ShelfSpans:
        """The spans set for a shelf and its feeds."""
        return await self._db.read(lambda tx: tx.one(ShelfSpans, q.shelf_retention, id=shelf_id))

    # -- counting

    async def _would_go(self, keep: Millis, count: Callable[..., Coroutine[Any, Any, int]]) -> RemovableEntries:
        rows = await self._old(keep, count)
        return RemovableEntries(keep, rows, rows >= MOST_SHOWN)

    async def _old(self, keep: Millis, count: Callable[..., Coroutine[Any, Any, int]]) -> int:
        if keep == FOR_EVER:
            return 0
        return await self._db.read(partial(count, before=Millis(self._clock() - keep)))

    async def _entries(self, patience: float | None) -> tuple[int, bool]:
        now, until = self._clock(), self._until(patience)
        total, after = 0, 0
        while self._steady() < until:
            last = await self._db.read(partial(next_subscription_tx, after=after, most=SUBSCRIPTIONS))
            if last is None:
                return total, False
            within = EntryRange(after, last, now, self._rules.keep_read)
            total += await self._db.read(partial(count_old_entries_tx, within=within, most=MOST_COUNTED))
            after = last
        return total, True

    async def _items(self, patience: float | None) -> tuple[int, bool]:
        until = self._until(patience)
        count = partial(count_spare_items_tx, newest=NEWEST_KEPT, now=self._clock(), keep_read=self._rules.keep_read)
        total, after = 0, 0
        while self._steady() < until:
            feed = await self._db.read(partial(next_feed_tx, after=after))
            if feed is None:
                return total, False
            total += await self._db.read(partial(count, feed_id=FeedId(feed)))
            after = feed
        return total, True

    def _until(self, patience: float | None) -> float:
        return float("inf") if patience is None else self._steady() + patience


def _removable(what: str, rows: int, size: int, *, keep: Millis | None, is_more: bool) -> RemovableRows:
    return RemovableRows(what=what, keep=keep, rows=rows, bytes=rows * size, is_more=is_more)
