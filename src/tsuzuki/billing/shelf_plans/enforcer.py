"""Applies a shelf's plan and status to everything on it.

A shelf that is not synced is the marker; so nothing is missed, whoever died in between (R89). What it does:

- the poll floors of everything the shelf follows, as the fastest plan among all readers allows;
- what is beyond the plan's room is held, the newest first; a shelf that sleeps has no room at all, though everything on
  it can still be read;
- the plan's retention.
"""

from collections.abc import Sequence
from functools import partial

import msgspec
import structlog

from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.billing.policy import retry_delay
from tsuzuki.billing.store import set_retention_tx
from tsuzuki.billing.types import PlannedHold
from tsuzuki.coord.wakeup import AfterCommit
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.deadlines import with_tx_again
from tsuzuki.db.locks import lock_feed_tx, lock_reading_tx, lock_series_merges_shared_tx, lock_series_tx, lock_shelf_tx
from tsuzuki.model.errors import TsuzukiError
from tsuzuki.model.ids import FeedId, SeriesId, ShelfId
from tsuzuki.model.plans import Plan, effective_plan
from tsuzuki.model.times import MINUTE, Millis
from tsuzuki.shelves.backfill import deliver_known_items_tx, deliver_missed_chapters_tx
from tsuzuki.shelves.events import EVENTS_WAKEUP
from tsuzuki.shelves.limits import ShelfTerms, shelf_terms_tx
from tsuzuki.sources.comics import followers_changed_tx
from tsuzuki.sources.feeds import suspension_changed_tx
from tsuzuki.sources.pace import floors, last_watch_tx, repair_floors_tx, set_floors_tx

q = load_queries("tsuzuki.billing")

NEVER = Millis(2**62)
"""Given up: not tried again before the next change of the shelf."""

_UNLIMITED = 2**31 - 1
_MOST = 100
_CHUNK = 5_000
_OVERLAP = MINUTE
"""Subtracted from the time of holding back: what was being stored at that moment has an earlier time."""

_log = structlog.stdlib.get_logger("tsuzuki.billing")


class ShelfRoom(msgspec.Struct, frozen=True):
    """How much room a shelf's feeds and series have from a moment on."""

    shelf_id: ShelfId
    room: int
    now: Millis


class PlanEnforcer:
    """Syncs shelves, at once and again until it succeeds."""

    def __init__(self, deps: AccountDeps, after_commit: AfterCommit) -> None:
        self._deps = deps
        self._after_commit = after_commit

    async def sync_pending(self) -> int:
        """Sync all shelves that wait for it; how many could be."""
        done = 0
        while waiting := await self._deps.db.read(
            lambda tx: tx.many(ShelfId, q.list_shelves_pending_sync, now=self._deps.clock(), most=_MOST)
        ):
            synced = [await self.sync(shelf_id) for shelf_id in waiting]
            done += sum(synced)
            if not all(synced):  # those are put off; what is left is found by the next look
                break
        return done

    async def sync(self, shelf_id: ShelfId) -> bool:
        """Apply what its plan and status say, as one transaction; False when that failed, which is recorded."""
        try:
            missed = await with_tx_again(self._deps.db, lambda tx: self._apply_tx(tx, shelf_id))
        except TsuzukiError as error:
            reason = str(error) or type(error).__name__
            _log.warning("shelf_not_synced", shelf=shelf_id, reason=reason)
            await self._deps.db.with_tx(lambda tx: self._fail_tx(tx, shelf_id, reason))
            return False
        if missed:
            self._after_commit(EVENTS_WAKEUP)
        return True

    async def repair_floors(self) -> int:
        """See that the poll floors of all watches are right; how many were not."""
        done, last = 0, await self._deps.db.read(last_watch_tx)
        for after in range(0, last, _CHUNK):
            until = after + _CHUNK
            done += await self._deps.db.with_tx(
                partial(repair_floors_tx, floors=floors(is_billed=True), after=after, until=until)
            )
        return done

    # -- inside

    async def _apply_tx(self, tx: Tx, shelf_id: ShelfId) -> int:
        await lock_shelf_tx(tx, shelf_id)
        terms = await shelf_terms_tx(tx, shelf_id)
        plan = effective_plan(terms.plan, is_billed=terms.is_billed)
        await set_retention_tx(tx, shelf_id, plan.limits.retention)
        span = ShelfRoom(shelf_id, room_of(terms, plan), self._deps.clock())
        missed = await self._hold_series_tx(tx, span) + await self._hold_feeds_tx(tx, span)
        await set_floors_tx(tx, shelf_id, floors(is_billed=terms.is_billed))
        await tx.run(q.complete_shelf_sync, id=shelf_id)
        return missed

    async def _hold_feeds_tx(self, tx: Tx, span: ShelfRoom) -> int:
        within = msgspec.structs.asdict(span)
        since = _since(await tx.many(PlannedHold, q.feeds_to_sync, **within))
        for feed_id in since:  # by their ids, and before subscriptions and watches, like whoever else locks several
            await lock_feed_tx(tx, FeedId(feed_id))
        released = await tx.many(FeedId, q.release_subscriptions, shelf_id=span.shelf_id, room=span.room)
        suspended = await tx.many(FeedId, q.suspend_subscriptions, **within)
        for feed_id in sorted({*suspended, *released}):
            await suspension_changed_tx(tx, feed_id, by_person=False, now=span.now)
        missed = 0
        for feed_id in sorted(released):
            begun = since.get(feed_id, span.now)
            missed += await deliver_known_items_tx(tx, span.shelf_id, feed_id, since=begun, now=span.now)
        return missed

    async def _hold_series_tx(self, tx: Tx, span: ShelfRoom) -> int:
        await lock_series_merges_shared_tx(tx)
        since = _since(await tx.many(PlannedHold, q.series_to_sync, shelf_id=span.shelf_id, room=span.room))
        if not since:
            return 0
        for series_id in since:
            await lock_series_tx(tx, SeriesId(series_id))
        await lock_reading_tx(tx, span.shelf_id)
        released = await tx.many(SeriesId, q.release_follows, shelf_id=span.shelf_id, room=span.room)
        suspended = await tx.many(SeriesId, q.suspend_follows, **msgspec.structs.asdict(span))
        for series_id in sorted({*suspended, *released}):
            await followers_changed_tx(tx, series_id, span.now)
        missed = 0
        for series_id in sorted(released):
            begun = since.get(series_id, span.now)
            missed += await deliver_missed_chapters_tx(tx, span.shelf_id, series_id, since=begun, now=span.now)
        return missed

    async def _fail_tx(self, tx: Tx, shelf_id: ShelfId, error: str) -> None:
        delay = retry_delay(await tx.one(int, q.fail_shelf_sync, id=shelf_id, error=error))
        at = NEVER if delay is None else Millis(self._deps.clock() + delay)
        await tx.run(q.put_off_sync, id=shelf_id, at=at)


def room_of(terms: ShelfTerms, plan: Plan) -> int:
    """How many feeds and series are served."""
    if terms.is_billed and terms.status != "active":
        return 0
    return _UNLIMITED if plan.limits.follows is None else plan.limits.follows


def _since(held: Sequence[PlannedHold]) -> dict[int, Millis]:
    """From when on each of them missed something, by id in the order of the list."""
    return {one.of_id: Millis(max(0, (one.held_at or 0) - _OVERLAP)) for one in held}
