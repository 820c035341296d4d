"""The ledger as clients see it. Money is integer cents, with its currency beside it."""

from typing import Literal

import msgspec

from tsuzuki.accounts.activity.nouns import Activity, Snapshot
from tsuzuki.accounts.nouns import Tenant
from tsuzuki.api.views import Time, shown
from tsuzuki.billing.books import AccountStatement, FullInvoice, StatementLine
from tsuzuki.billing.nouns import Credit, CreditKind, Invoice, InvoiceItem, Method, Totals
from tsuzuki.billing.shelf_plans.nouns import RentedShelf, Used
from tsuzuki.model.ids import show_id
from tsuzuki.model.plans import CURRENCY, Plan
from tsuzuki.model.times import SECOND, Millis, iso


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


def plan_view(plan: Plan) -> PlanView:
    limits = plan.limits
    return PlanView(
        id=plan.id,
        name=plan.name,
        price_cents=plan.price_cents,
        currency=plan.currency,
        is_offered=plan.is_offered,
        limits=LimitsView(
            follows=limits.follows,
            kept_chapters=limits.kept_chapters,
            members=limits.members,
            fastest_poll_seconds=_seconds(limits.fastest_poll),
            retention_seconds=_seconds(limits.retention),
        ),
    )


def account_view(tenant: Tenant, totals: Totals) -> TenantAccountView:
    return TenantAccountView(
        id=show_id(tenant.public_id),
        name=tenant.name,
        churned_at=shown(tenant.churned_at),
        created_at=iso(tenant.created_at),
        totals=totals_view(totals),
    )


def totals_view(totals: Totals) -> TotalsView:
    cents = {f"{name}_cents": value for name, value in msgspec.structs.asdict(totals).items()}
    return TotalsView(currency=CURRENCY, credit_cents=totals.credit, balance_cents=totals.balance, **cents)


def rented_view(shelf: RentedShelf, used: Used | None = None) -> RentedShelfView:
    return RentedShelfView(
        id=show_id(shelf.public_id),
        name=shelf.name,
        plan=shelf.plan,
        status=shelf.status,
        is_synced=shelf.synced and not shelf.sync_error,
        sync_error=shelf.sync_error,
        created_at=iso(shelf.created_at),
        updated_at=iso(shelf.updated_at),
        used=None if used is None else UsedView(used.follows, used.kept_chapters),
    )


def activity_view(activity: Activity) -> ActivityView:
    return ActivityView(
        id=activity.id,
        activity_type=activity.activity_type,
        resource_type=activity.resource_type,
        snapshot=activity.snapshot,
        created_at=iso(activity.created_at),
        billed_at=shown(activity.billed_at),
    )


def invoice_view(invoice: Invoice) -> InvoiceView:
    return InvoiceView(
        id=show_id(invoice.public_id),
        number=invoice.number,
        status=invoice.status,
        amount_cents=invoice.amount_cents,
        currency=invoice.currency,
        period_start=iso(invoice.period_start),
        period_end=iso(invoice.period_end),
        method=invoice.method,
        reference=invoice.reference,
        created_at=iso(invoice.created_at),
        notices=invoice.notices,
        notified_at=shown(invoice.notified_at),
        paid_at=shown(invoice.paid_at),
        voided_at=shown(invoice.voided_at),
    )


def full_invoice_view(full: FullInvoice) -> FullInvoiceView:
    items = [_item(item) for item in full.items]
    refunds = [
        RefundView(one.amount_cents, one.written_off_cents, one.intent_id, iso(one.created_at)) for one in full.refunds
    ]
    return FullInvoiceView(invoice_view(full.invoice), full.tenant.name, items, full.credit_cents, refunds)


def statement_view(statement: AccountStatement) -> StatementView:
    return StatementView([_line(line) for line in statement.lines], totals_view(statement.totals))


def credit_view(credit: Credit) -> CreditView:
    return CreditView(credit.amount_cents, CURRENCY, credit.kind, credit.reason, iso(credit.created_at))


def _item(item: InvoiceItem) -> InvoiceItemView:
    return InvoiceItemView(item.description, item.amount_cents, iso(item.period_start), iso(item.period_end))


def _line(line: StatementLine) -> StatementLineView:
    return StatementLineView(iso(line.at), line.kind, line.description, line.amount_cents, line.balance_cents)


def _seconds(length: Millis | None) -> int | None:
    return None if length is None else length // SECOND
