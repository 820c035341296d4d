"""Rented shelves as rows, and what their plans do to what hangs on them."""

import msgspec

from tsuzuki.accounts.activity import ShelfStatus
from tsuzuki.billing.types import PlannedHold, RentedShelf, Used
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import FeedId, PublicId, SeriesId, ShelfId, TenantId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.billing.shelf_plans")


async def list_shelves_for_tenant_tx(tx: Tx, tenant_id: TenantId) -> list[RentedShelf]:
    """Oldest first."""
    return await tx.many(RentedShelf, q.list_shelves_for_tenant, tenant_id=tenant_id)


async def list_use_for_tenant_tx(tx: Tx, tenant_id: TenantId) -> list[Used]:
    """What each of the tenant's shelves uses."""
    return await tx.many(Used, q.list_use_for_tenant, tenant_id=tenant_id)


async def find_rented_tx(tx: Tx, public_id: PublicId) -> RentedShelf | None:
    """By its public id."""
    return await tx.maybe(RentedShelf, q.find_rented, public_id=public_id)


async def get_rented_tx(tx: Tx, shelf_id: ShelfId) -> RentedShelf:
    """By its id, or NotFound."""
    return await tx.one(RentedShelf, q.get_rented, id=shelf_id)


async def rename_shelf_tx(tx: Tx, shelf_id: ShelfId, name: str, now: Millis) -> RentedShelf:
    """UniqueViolation when the tenant has one of that name. Not synced any more, like after every change."""
    return await tx.one(RentedShelf, q.rename_shelf, id=shelf_id, name=name, now=now)


async def set_shelf_plan_tx(tx: Tx, shelf_id: ShelfId, plan: str, now: Millis) -> RentedShelf:
    """On another plan; not synced any more."""
    return await tx.one(RentedShelf, q.set_shelf_plan, id=shelf_id, plan=plan, now=now)


async def set_shelf_status_tx(tx: Tx, shelf_id: ShelfId, status: ShelfStatus, now: Millis) -> RentedShelf:
    """Awake or asleep; not synced any more."""
    return await tx.one(RentedShelf, q.set_shelf_status, id=shelf_id, status=status, now=now)


# -- the reactor


class Span(msgspec.Struct, frozen=True):
    """How much room a shelf's feeds and series have from a moment on."""

    shelf_id: ShelfId
    room: int
    now: Millis


async def list_shelves_pending_sync_tx(tx: Tx, now: Millis, *, most: int) -> list[ShelfId]:
    """Not synced, or with an error; those that are put off come later."""
    return await tx.many(ShelfId, q.list_shelves_pending_sync, now=now, most=most)


async def complete_shelf_sync_tx(tx: Tx, shelf_id: ShelfId) -> None:
    """What plan and status say is applied."""
    await tx.run(q.complete_shelf_sync, id=shelf_id)


async def fail_shelf_sync_tx(tx: Tx, shelf_id: ShelfId, error: str) -> int:
    """It could not be applied; how often that was so since the last change."""
    return await tx.one(int, q.fail_shelf_sync, id=shelf_id, error=error)


async def put_off_sync_tx(tx: Tx, shelf_id: ShelfId, at: Millis) -> None:
    """Not to be tried before then."""
    await tx.run(q.put_off_sync, id=shelf_id, at=at)


async def set_retention_tx(tx: Tx, shelf_id: ShelfId, retention: Millis | None) -> None:
    """How long the plan keeps what was read."""
    await tx.run(q.set_retention, id=shelf_id, retention=retention)


async def feeds_to_sync_tx(tx: Tx, span: Span) -> list[PlannedHold]:
    """The feeds that are about to be held or released, by their ids."""
    return await tx.many(PlannedHold, q.feeds_to_sync, shelf_id=span.shelf_id, room=span.room, now=span.now)


async def series_to_sync_tx(tx: Tx, span: Span) -> list[PlannedHold]:
    """The same for series."""
    return await tx.many(PlannedHold, q.series_to_sync, shelf_id=span.shelf_id, room=span.room)


async def suspend_feeds_tx(tx: Tx, span: Span) -> list[FeedId]:
    """Suspend the feeds beyond the room; which that are now."""
    return await tx.many(FeedId, q.suspend_subscriptions, shelf_id=span.shelf_id, room=span.room, now=span.now)


async def release_feeds_tx(tx: Tx, span: Span) -> list[FeedId]:
    """Wake the feeds that there is room for and that a plan held; which."""
    return await tx.many(FeedId, q.release_subscriptions, shelf_id=span.shelf_id, room=span.room)


async def suspend_follows_tx(tx: Tx, span: Span) -> list[SeriesId]:
    """Deliver nothing of the series beyond the room; which that are now."""
    return await tx.many(SeriesId, q.suspend_follows, shelf_id=span.shelf_id, room=span.room, now=span.now)


async def release_follows_tx(tx: Tx, span: Span) -> list[SeriesId]:
    """Deliver again of the series that there is room for; which."""
    return await tx.many(SeriesId, q.release_follows, shelf_id=span.shelf_id, room=span.room)
