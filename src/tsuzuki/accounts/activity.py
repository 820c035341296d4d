"""The log of what happened to tenants and their shelves; billing is computed from it."""

from collections.abc import Awaitable, Callable
from typing import Literal, NewType

import msgspec
import structlog

from tsuzuki.accounts.types import Slice
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import ACCOUNT, check_order
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import ShelfId, TenantId
from tsuzuki.model.times import Millis

ActivityId = NewType("ActivityId", int)
ShelfStatus = Literal["active", "inactive", "delinquent"]

ShelfActivity = Literal[
    "shelf.created",
    "shelf.adopted",
    "shelf.renamed",
    "shelf.plan_changed",
    "shelf.deactivated",
    "shelf.reactivated",
    "shelf.delinquent",
    "shelf.recovered",
]
"""`adopted`: it existed before billing was switched on. `delinquent` and `recovered` are the system's."""

TenantActivity = Literal[
    "tenant.created",
    "tenant.renamed",
    "tenant.churned",
    "tenant.returned",
    "invoice.created",
    "invoice.reminded",
    "invoice.paid",
    "invoice.voided",
    "invoice.refunded",
    "invoice.disputed",
    "credit.granted",
]

BILLABLE: tuple[ShelfActivity, ...] = (
    "shelf.created",
    "shelf.adopted",
    "shelf.plan_changed",
    "shelf.deactivated",
    "shelf.reactivated",
    "shelf.delinquent",
    "shelf.recovered",
)
"""Those that change what a shelf costs."""


class _Snapshot(msgspec.Struct, frozen=True, tag_field="resource_type"):
    """One variant for each type of resource that logs activity."""

    @property
    def resource_type(self) -> str:
        return str(type(self).__struct_config__.tag)


class ShelfSnapshot(_Snapshot, frozen=True, tag="shelf"):
    """What determines the price of a shelf, and its name."""

    name: str
    plan: str
    status: ShelfStatus


class TenantSnapshot(_Snapshot, frozen=True, tag="tenant"):
    """The tenant's name, and whether it has left."""

    name: str
    is_churned: bool = False


class InvoiceSnapshot(_Snapshot, frozen=True, tag="invoice"):
    """An invoice and its state."""

    id: str
    amount_cents: int
    currency: str
    status: Literal["open", "paid", "voided"]
    notices: int = 0
    method: str | None = None
    reference: str | None = None


class CreditSnapshot(_Snapshot, frozen=True, tag="credit"):
    """Credit of a tenant."""

    amount_cents: int
    currency: str
    reason: str


Snapshot = ShelfSnapshot | TenantSnapshot | InvoiceSnapshot | CreditSnapshot


class Activity(msgspec.Struct, frozen=True):
    """One thing that happened. `billed_at` is set once, by whoever bills it (I10)."""

    id: ActivityId
    tenant_id: TenantId
    shelf_id: ShelfId | None
    activity_type: str
    resource_type: str
    snapshot: Snapshot
    created_at: Millis
    billed_at: Millis | None


class Account(msgspec.Struct, frozen=True):
    """What the ledger knows of a tenant."""

    id: TenantId
    anchor_at: Millis
    renewed_at: Millis | None
    """Where the last period began that was renewed; None in the first one."""
    churned_at: Millis | None


q = load_queries("tsuzuki.accounts.activity")

NONE = ActivityId(0)
"""Before every id."""


async def is_billed_tx(tx: Tx) -> bool:
    """Whether TSUZUKI_BILLING is on."""
    return await tx.maybe(bool, q.is_billed) or False


async def lock_account_tx(tx: Tx, tenant_id: TenantId) -> Account:
    """Lock the tenant's account until the transaction ends; NotFound. Taken before any shelf of it."""
    check_order(tx, ACCOUNT, tenant_id)
    return await tx.one(Account, q.lock_account, tenant_id=tenant_id)


async def insert_activity_tx(
    tx: Tx, shelf_id: ShelfId, activity_type: ShelfActivity, snapshot: ShelfSnapshot, *, now: Millis
) -> Activity:
    """Log what was done to a shelf, for the tenant that its row names in this transaction; NotFound without a row.

    Its moment is never before the shelf's last one, nor in a period that was renewed already: what was charged on the
    strength of the history stays true.
    """
    account = await tx.maybe(Account, q.lock_account_of_shelf, shelf_id=shelf_id)
    if account is None:
        raise NotFound("There is no shelf for this activity.")
    check_order(tx, ACCOUNT, account.id)
    last = await tx.one(Millis, q.last_moment, shelf_id=shelf_id)
    moment = Millis(max(now, last, account.renewed_at or account.anchor_at))
    return await _add_tx(tx, account.id, shelf_id, activity_type, snapshot=snapshot, moment=moment)


async def insert_tenant_activity_tx(
    tx: Tx, tenant_id: TenantId, activity_type: TenantActivity, snapshot: Snapshot, *, now: Millis
) -> Activity:
    """Log what was done to a tenant or its account; never billed."""
    return await _add_tx(tx, tenant_id, None, activity_type, snapshot=snapshot, moment=now)


async def _add_tx(
    tx: Tx, tenant_id: TenantId, shelf_id: ShelfId | None, activity_type: str, *, snapshot: Snapshot, moment: Millis
) -> Activity:
    return await tx.one(
        Activity,
        q.add_activity,
        tenant_id=tenant_id,
        shelf_id=shelf_id,
        activity_type=activity_type,
        resource_type=snapshot.resource_type,
        snapshot=snapshot,
        moment=moment,
    )


async def list_activity_tx(tx: Tx, tenant_id: TenantId, part: Slice) -> tuple[list[Activity], int]:
    """The tenant's activities, newest first, and how many there are in all."""
    rows = await tx.many(Activity, q.list_activity, tenant_id=tenant_id, most=part.most, skip=part.skip)
    return rows, await tx.one(int, q.count_activity, tenant_id=tenant_id)


async def list_billable_activity_tx(tx: Tx, tenant_id: TenantId) -> list[Activity]:
    """What changed the tenant's costs and is not billed, oldest first."""
    return await tx.bulk(Activity, q.list_billable_activity, [[kind] for kind in BILLABLE], tenant_id=tenant_id)


async def get_latest_shelf_activity_before_tx(
    tx: Tx, shelf_id: ShelfId, before: Millis, before_id: ActivityId = NONE
) -> Activity | None:
    """What the shelf was like strictly before this moment; None when it did not exist."""
    return await tx.maybe(
        Activity, q.get_latest_shelf_activity_before, shelf_id=shelf_id, before=before, before_id=before_id
    )


async def mark_activity_billed_tx(tx: Tx, activity_id: ActivityId, now: Millis) -> bool:
    """Claim it; False when it was billed already, and then nothing may be charged for it."""
    return await tx.run(q.mark_activity_billed, id=activity_id, now=now) > 0


Listener = Callable[[Activity], Awaitable[object]]

_log = structlog.stdlib.get_logger("tsuzuki.activity")


class ActivityPublisher:
    """Calls listeners with each activity after its commit."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        """Call this listener with every activity from now on."""
        self._listeners.append(listener)

    async def publish(self, *activities: Activity | None) -> None:
        """Tell everyone of what is committed. A listener that fails is no failure of what happened."""
        for activity in filter(None, activities):
            for listener in self._listeners:
                try:
                    await listener(activity)
                except Exception:  # noqa: BLE001  what it missed, it finds by its markers within a minute
                    _log.exception("activity_listener_failed", activity=activity.id, type=activity.activity_type)
