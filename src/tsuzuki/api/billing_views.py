"""The ledger as clients see it. Money is integer cents, with its currency beside it."""

from typing import Literal

import msgspec

from tsuzuki.accounts.activity.nouns import Activity, Snapshot
from tsuzuki.accounts.nouns import Tenant
from tsuzuki.api.views import Time, view_of
from tsuzuki.billing.books import AccountStatement, FullInvoice
from tsuzuki.billing.nouns import Credit, CreditKind, Invoice, Method, Refund, Totals
from tsuzuki.billing.shelf_plans.nouns import RentedShelf, Used
from tsuzuki.model.plans import CURRENCY, Plan, PlanLimits
from tsuzuki.model.times import SECOND, Millis


class LimitsView(msgspec.Struct, frozen=True):
    """What a plan allows; null is without limit."""

    follows: int | None
    kept_chapters: int | None
    members: int | None
    fastest_poll_seconds: int | None
    retention_seconds: int | None


class PlanView(msgspec.Struct, frozen=True):
    """What can be rented; one that is not offered can be assigned by the operator only."""

    id: str
    name: str
    price_cents: int
    currency: str
    is_offered: bool
    limits: LimitsView


class TotalsView(msgspec.Struct, frozen=True):
    """Sums over the whole account. What is charged is invoiced, paid for by credit, or not on an invoice yet."""

    currency: str
    charged_cents: int
    invoiced_cents: int
    paid_cents: int
    settled_cents: int
    written_off_cents: int
    open_cents: int
    unbilled_cents: int
    credited_cents: int
    applied_cents: int
    credit_cents: int
    balance_cents: int


class TenantAccountView(msgspec.Struct, frozen=True):
    """A tenant and where it stands."""

    id: str
    name: str
    churned_at: Time | None
    created_at: Time
    totals: TotalsView


class UsedView(msgspec.Struct, frozen=True):
    """What a shelf uses of what its plan counts."""

    follows: int
    kept_chapters: int


class RentedShelfView(msgspec.Struct, frozen=True):
    """A shelf as what it is rented on. Not synced: its plan is still being applied; `sync_error` says what hinders."""

    id: str
    name: str
    plan: str
    status: Literal["active", "inactive", "delinquent"]
    is_synced: bool
    sync_error: str
    created_at: Time
    updated_at: Time
    used: UsedView | None
    """In the list of a tenant's shelves; null elsewhere."""


class ActivityView(msgspec.Struct, frozen=True):
    """Something that happened, with what its resource looked like right after it."""

    id: int
    activity_type: str
    resource_type: str
    snapshot: Snapshot
    created_at: Time
    billed_at: Time | None


class InvoiceView(msgspec.Struct, frozen=True):
    """An invoice; it is due as soon as it is made."""

    id: str
    number: str
    status: Literal["open", "paid", "voided"]
    amount_cents: int
    currency: str
    period_start: Time
    period_end: Time
    method: Method | None
    reference: str | None
    created_at: Time
    notices: int
    notified_at: Time | None
    paid_at: Time | None
    voided_at: Time | None


class InvoiceItemView(msgspec.Struct, frozen=True):
    """One line of an invoice."""

    description: str
    amount_cents: int
    period_start: Time
    period_end: Time


class RefundView(msgspec.Struct, frozen=True):
    """Money of this invoice's payments that went back; `written_off_cents` of it had paid the invoice."""

    amount_cents: int
    written_off_cents: int
    reference: str
    at: Time


class FullInvoiceView(msgspec.Struct, frozen=True):
    """An invoice with its lines: their sum less the credit is its amount."""

    invoice: InvoiceView
    tenant: str
    items: list[InvoiceItemView]
    credit_cents: int
    refunds: list[RefundView]


class StatementLineView(msgspec.Struct, frozen=True):
    """One movement, and what is owed after it."""

    at: Time
    kind: Literal["charge", "payment", "credit", "written_off", "refund"]
    description: str
    amount_cents: int
    balance_cents: int


class StatementView(msgspec.Struct, frozen=True):
    """Every movement of an account, oldest first, and the sums of them."""

    lines: list[StatementLineView]
    totals: TotalsView


class CreditView(msgspec.Struct, frozen=True):
    """Money that a tenant has with us."""

    amount_cents: int
    currency: str
    kind: CreditKind
    reason: str
    created_at: Time


_limits_view = view_of(
    LimitsView,
    PlanLimits,
    fastest_poll_seconds=lambda limits: _seconds(limits.fastest_poll),
    retention_seconds=lambda limits: _seconds(limits.retention),
)
plan_view = view_of(PlanView, Plan, limits=lambda plan: _limits_view(plan.limits))
_account = view_of(TenantAccountView, Tenant, "totals")
_rented = view_of(RentedShelfView, RentedShelf, "used", is_synced=lambda shelf: shelf.synced and not shelf.sync_error)
_used_view = view_of(UsedView, Used)
activity_view = view_of(ActivityView, Activity)
invoice_view = view_of(InvoiceView, Invoice)
_refund_view = view_of(RefundView, Refund, reference="intent_id", at="created_at")
full_invoice_view = view_of(
    FullInvoiceView,
    FullInvoice,
    tenant=lambda full: full.tenant.name,
    refunds=lambda full: [_refund_view(refund) for refund in full.refunds],
)
credit_view = view_of(CreditView, Credit, currency=lambda _: CURRENCY)


def account_view(tenant: Tenant, totals: Totals) -> TenantAccountView:
    return _account(tenant, totals=totals_view(totals))


def totals_view(totals: Totals) -> TotalsView:
    cents = {f"{name}_cents": value for name, value in msgspec.structs.asdict(totals).items()}
    return TotalsView(currency=CURRENCY, credit_cents=totals.credit, balance_cents=totals.balance, **cents)


statement_view = view_of(StatementView, AccountStatement, totals=lambda statement: totals_view(statement.totals))


def rented_view(shelf: RentedShelf, used: Used | None = None) -> RentedShelfView:
    return _rented(shelf, used=None if used is None else _used_view(used))


def _seconds(length: Millis | None) -> int | None:
    return None if length is None else length // SECOND
