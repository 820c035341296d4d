"""What a tenant rents and pays. Its people see and change it, the operator everybody's; 404 while billing is off."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tsuzuki.accounts.activity import Activity, Snapshot
from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import Tenant
from tsuzuki.api.endpoints import Access, Body, declaring
from tsuzuki.api.ids import InvoicePath, ShelfPath, TenantPath
from tsuzuki.api.paging import PageQuery
from tsuzuki.api.tenants import PlanName
from tsuzuki.api.views import ListAnswer, PageMeta, Time, view_of
from tsuzuki.billing.books import AccountStatement, FullInvoice, scope_of
from tsuzuki.billing.services import Billing
from tsuzuki.billing.types import Credit, CreditKind, Invoice, Method, PlanUsage, Refund, RentedShelf, Totals
from tsuzuki.model.errors import Conflict, LimitExceeded, NotFound
from tsuzuki.model.plans import CURRENCY, Plan, PlanLimits, list_plans
from tsuzuki.model.times import SECOND, Millis


class LimitsView(msgspec.Struct, frozen=True):
    """What a plan allows; null is unlimited."""

    follows: int | None
    kept_chapters: int | None
    members: int | None
    fastest_poll_seconds: int | None
    retention_seconds: int | None


class PlanView(msgspec.Struct, frozen=True):
    """A plan; one that is not offered can only be assigned by the operator."""

    id: str
    name: str
    price_cents: int
    currency: str
    is_offered: bool
    limits: LimitsView


class TotalsView(msgspec.Struct, frozen=True):
    """Totals of the whole account. What is charged is invoiced, covered by credit, or not invoiced yet."""

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
    """A tenant and the totals of its account."""

    id: str
    name: str
    churned_at: Time | None
    created_at: Time
    totals: TotalsView


class UsedView(msgspec.Struct, frozen=True):
    """A shelf's usage of what its plan limits."""

    follows: int
    kept_chapters: int


class RentedShelfView(msgspec.Struct, frozen=True):
    """A rented shelf and its plan. If not synced, it is still being applied; `sync_error` says what prevents it."""

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
    """An event, with a snapshot of its resource right after it."""

    id: int
    activity_type: str
    resource_type: str
    snapshot: Snapshot
    created_at: Time
    billed_at: Time | None


class InvoiceView(msgspec.Struct, frozen=True):
    """An invoice; it is due as soon as it is created."""

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
    """A refund of this invoice's payments; `written_off_cents` of it had paid the invoice."""

    amount_cents: int
    written_off_cents: int
    reference: str
    at: Time


class FullInvoiceView(msgspec.Struct, frozen=True):
    """An invoice with its lines; its amount is their sum minus the credit."""

    invoice: InvoiceView
    tenant: str
    items: list[InvoiceItemView]
    credit_cents: int
    refunds: list[RefundView]


class StatementLineView(msgspec.Struct, frozen=True):
    """One movement, and the balance after it."""

    at: Time
    kind: Literal["charge", "payment", "credit", "written_off", "refund"]
    description: str
    amount_cents: int
    balance_cents: int


class StatementView(msgspec.Struct, frozen=True):
    """Every movement of an account, oldest first, and their totals."""

    lines: list[StatementLineView]
    totals: TotalsView


class CreditView(msgspec.Struct, frozen=True):
    """Credit of a tenant."""

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
_used_view = view_of(UsedView, PlanUsage)
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


def rented_view(shelf: RentedShelf, used: PlanUsage | None = None) -> RentedShelfView:
    return _rented(shelf, used=None if used is None else _used_view(used))


def _seconds(length: Millis | None) -> int | None:
    return None if length is None else length // SECOND


ShelfName = Annotated[str, Meta(min_length=1, max_length=200)]


class NewShelfBody(Body, frozen=True, kw_only=True):
    """A new shelf."""

    name: ShelfName
    plan: PlanName


class ShelfNameBody(Body, frozen=True, kw_only=True):
    """The name of a shelf."""

    name: ShelfName


class PlanBody(Body, frozen=True, kw_only=True):
    """The plan of a shelf from now on."""

    plan: PlanName


async def show_plans(billing: Billing) -> list[PlanView]:
    """Cheapest first; prices are per calendar month, paid in advance."""
    billing.opened()
    return [plan_view(plan) for plan in list_plans()]


async def show_account(payer_id: TenantPath, caller: Caller, billing: Billing) -> TenantAccountView:
    """A tenant and the totals of its account."""
    return account_view(*await billing.opened().books.tenant(scope_of(caller), payer_id))


async def list_rented_shelves(payer_id: TenantPath, caller: Caller, billing: Billing) -> list[RentedShelfView]:
    """Oldest first, each with its usage of the plan."""
    used = await billing.opened().rented.use(scope_of(caller), payer_id)
    rented = await billing.rented.list(scope_of(caller), payer_id)
    return [rented_view(shelf, used.get(shelf.public_id)) for shelf in rented]


async def rent_shelf(payer_id: TenantPath, caller: Caller, body: NewShelfBody, billing: Billing) -> RentedShelfView:
    """Adds another shelf, charged from now on."""
    made = await billing.opened().rented.create(scope_of(caller), payer_id, name=body.name, plan=body.plan)
    return rented_view(made)


async def list_tenant_activity(
    payer_id: TenantPath, caller: Caller, page: PageQuery, billing: Billing
) -> ListAnswer[ActivityView, PageMeta]:
    """Newest first."""
    found, total = await billing.opened().books.activity(scope_of(caller), payer_id, page.part)
    return ListAnswer([activity_view(activity) for activity in found], page.meta(total))


async def list_tenant_invoices(
    payer_id: TenantPath, caller: Caller, page: PageQuery, billing: Billing
) -> ListAnswer[InvoiceView, PageMeta]:
    """Newest first."""
    found, total = await billing.opened().books.invoices(scope_of(caller), payer_id, page.part)
    return ListAnswer([invoice_view(invoice) for invoice in found], page.meta(total))


async def show_statement(payer_id: TenantPath, caller: Caller, billing: Billing) -> StatementView:
    """Every movement with the balance after it; the last balance equals the balance of the totals."""
    return statement_view(await billing.opened().books.statement(scope_of(caller), payer_id))


async def show_invoice(invoice_id: InvoicePath, caller: Caller, billing: Billing) -> FullInvoiceView:
    """An invoice with its lines."""
    return full_invoice_view(await billing.opened().books.invoice(scope_of(caller), invoice_id))


async def rename_rented_shelf(
    rented_id: ShelfPath, caller: Caller, body: ShelfNameBody, billing: Billing
) -> RentedShelfView:
    """Renames a shelf."""
    return rented_view(await billing.opened().rented.rename(scope_of(caller), rented_id, body.name))


async def change_plan(rented_id: ShelfPath, caller: Caller, body: PlanBody, billing: Billing) -> RentedShelfView:
    """Takes effect now; the rest of the month is charged or credited.

    Refused while the shelf uses more than the plan allows.
    """
    return rented_view(await billing.opened().rented.change_plan(scope_of(caller), rented_id, body.plan))


async def deactivate_shelf(rented_id: ShelfPath, caller: Caller, billing: Billing) -> RentedShelfView:
    """The shelf can still be read and costs nothing, but receives nothing new."""
    return rented_view(await billing.opened().rented.deactivate(scope_of(caller), rented_id))


async def reactivate_shelf(rented_id: ShelfPath, caller: Caller, billing: Billing) -> RentedShelfView:
    """Charged from now on; not possible while invoices are overdue."""
    return rented_view(await billing.opened().rented.reactivate(scope_of(caller), rented_id))


_read = declaring("billing", Access.READ)
_write = declaring("billing", Access.WRITE)

ENDPOINTS = (
    _read("GET", "/plans", show_plans, "List plans", errors=(NotFound,)),
    _read("GET", "/tenants/{payer_id}", show_account, "Show a tenant's account", errors=(NotFound,)),
    _read(
        "GET", "/tenants/{payer_id}/shelves", list_rented_shelves, "List a tenant's rented shelves", errors=(NotFound,)
    ),
    _write(
        "POST",
        "/tenants/{payer_id}/shelves",
        rent_shelf,
        "Rent another shelf",
        status=201,
        errors=(NotFound, Conflict, LimitExceeded),
    ),
    _read("GET", "/tenants/{payer_id}/activity", list_tenant_activity, "List a tenant's activity", errors=(NotFound,)),
    _read("GET", "/tenants/{payer_id}/invoices", list_tenant_invoices, "List a tenant's invoices", errors=(NotFound,)),
    _read("GET", "/tenants/{payer_id}/statement", show_statement, "Show a tenant's statement", errors=(NotFound,)),
    _read("GET", "/invoices/{invoice_id}", show_invoice, "Show an invoice", errors=(NotFound,)),
    _write("PATCH", "/shelves/{rented_id}", rename_rented_shelf, "Rename a rented shelf", errors=(NotFound, Conflict)),
    _write(
        "PUT",
        "/shelves/{rented_id}/plan",
        change_plan,
        "Change a shelf's plan",
        errors=(NotFound, Conflict, LimitExceeded),
    ),
    _write("POST", "/shelves/{rented_id}/deactivate", deactivate_shelf, "Deactivate a shelf", errors=(NotFound,)),
    _write(
        "POST", "/shelves/{rented_id}/reactivate", reactivate_shelf, "Reactivate a shelf", errors=(NotFound, Conflict)
    ),
)
