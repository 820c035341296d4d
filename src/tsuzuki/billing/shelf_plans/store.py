"""Rented shelves as rows, and what their plans do to what hangs on them."""

import msgspec

from tsuzuki.accounts.activity import ShelfStatus
from tsuzuki.billing.types import RentedShelf
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import ShelfId, TenantId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.billing.shelf_plans")


async def list_shelves_for_tenant_tx(tx: Tx, tenant_id: TenantId) -> list[RentedShelf]:
    """Oldest first."""
    return await tx.many(RentedShelf, q.list_shelves_for_tenant, tenant_id=tenant_id)


async def get_rented_tx(tx: Tx, shelf_id: ShelfId) -> RentedShelf:
    """By its id, or NotFound."""
    return await tx.one(RentedShelf, q.get_rented, id=shelf_id)


async def rename_shelf_tx(tx: Tx, shelf_id: ShelfId, name: str, now: Millis) -> RentedShelf:
    """UniqueViolation when the tenant has one of that name. Not synced any more, like after every change."""
    return await tx.one(RentedShelf, q.rename_shelf, id=shelf_id, name=name, now=now)


async def set_shelf_status_tx(tx: Tx, shelf_id: ShelfId, status: ShelfStatus, now: Millis) -> RentedShelf:
    """Awake or asleep; not synced any more."""
    return await tx.one(RentedShelf, q.set_shelf_status, id=shelf_id, status=status, now=now)


# -- the reactor


class Span(msgspec.Struct, frozen=True):
    """How much room a shelf's feeds and series have from a moment on."""

    shelf_id: ShelfId
    room: int
    now: Millis


async def set_retention_tx(tx: Tx, shelf_id: ShelfId, retention: Millis | None) -> None:
    """How long the plan keeps what was read."""
    await tx.run(q.set_retention, id=shelf_id, retention=retention)
