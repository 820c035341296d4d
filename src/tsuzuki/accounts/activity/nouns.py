"""An activity, and what its resource looked like right after it."""

from typing import Literal, NewType

import msgspec

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
    """What decides what a shelf costs, and its name."""

    name: str
    plan: str
    status: ShelfStatus


class TenantSnapshot(_Snapshot, frozen=True, tag="tenant"):
    """The tenant's name and whether it left."""

    name: str
    is_churned: bool = False


class InvoiceSnapshot(_Snapshot, frozen=True, tag="invoice"):
    """An invoice and what became of it."""

    id: str
    amount_cents: int
    currency: str
    status: Literal["open", "paid", "voided"]
    notices: int = 0
    method: str | None = None
    reference: str | None = None


class CreditSnapshot(_Snapshot, frozen=True, tag="credit"):
    """Money that the tenant has with us."""

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
