"""Queries on items, invoices, credit, rented shelves and payments."""

import msgspec

from tsuzuki.accounts.activity import Account, ShelfStatus
from tsuzuki.accounts.types import Slice
from tsuzuki.billing.policy import CHURN_AFTER, DELINQUENT_AFTER, REMINDERS, SHORTEST_PERIOD
from tsuzuki.billing.types import (
    Credit,
    CreditKind,
    Intent,
    Invoice,
    InvoiceId,
    InvoiceItem,
    Method,
    NewInvoiceItem,
    Payment,
    Refund,
    RentedShelf,
    Totals,
)
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import PublicId, ShelfId, TenantId
from tsuzuki.model.plans import list_plans
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.billing")


# -- items


async def insert_item_tx(tx: Tx, new: NewInvoiceItem, now: Millis) -> InvoiceItem:
    """The line; UniqueViolation when its activity, or its shelf's period, has one (I10)."""
    return await tx.one(InvoiceItem, q.insert_item, now=now, **msgspec.structs.asdict(new))


async def list_unbilled_invoice_items_tx(tx: Tx, tenant_id: TenantId) -> list[InvoiceItem]:
    """The tenant's lines that are on no invoice yet."""
    return await tx.many(InvoiceItem, q.list_unbilled_invoice_items, tenant_id=tenant_id)


async def list_items_for_tenant_tx(tx: Tx, tenant_id: TenantId) -> list[InvoiceItem]:
    """Every line of a tenant, oldest first."""
    return await tx.many(InvoiceItem, q.list_items_for_tenant, tenant_id=tenant_id)


async def place_item_tx(tx: Tx, item_id: int, invoice_id: InvoiceId | None, cents: int) -> None:
    """Put a line on an invoice, or on none, with what is left of its amount."""
    await tx.run(q.place_item, id=item_id, invoice_id=invoice_id, amount_cents=cents)


async def insert_part_tx(tx: Tx, part: InvoiceItem) -> None:
    """A part of a line, on the invoice that this one names."""
    await tx.run(q.insert_part, **q.insert_part.values_of(part, part_of=part.part_of or part.id))


# -- invoices


async def find_invoice_tx(tx: Tx, public_id: PublicId) -> Invoice | None:
    """An invoice by its public id."""
    return await tx.maybe(Invoice, q.find_invoice, public_id=public_id)


async def get_invoice_tx(tx: Tx, invoice_id: InvoiceId) -> Invoice:
    """The invoice, or NotFound."""
    return await tx.one(Invoice, q.get_invoice, id=invoice_id)


async def list_invoices_for_tenant_tx(tx: Tx, tenant_id: TenantId, part: Slice) -> tuple[list[Invoice], int]:
    """Newest first, and how many there are in all."""
    rows = await tx.many(Invoice, q.list_invoices_for_tenant, tenant_id=tenant_id, most=part.most, skip=part.skip)
    return rows, await tx.one(int, q.count_invoices, tenant_id=tenant_id)


async def list_open_invoices_tx(tx: Tx, tenant_id: TenantId) -> list[Invoice]:
    """Neither paid nor voided, oldest first."""
    return await tx.many(Invoice, q.list_open_invoices, tenant_id=tenant_id)


async def lower_invoice_tx(tx: Tx, invoice_id: InvoiceId, cents: int) -> None:
    """An open invoice asks for so much less."""
    await tx.run(q.lower_invoice, id=invoice_id, cents=cents)


async def mark_invoice_paid_tx(
    tx: Tx, invoice_id: InvoiceId, method: Method, *, reference: str | None, now: Millis
) -> bool:
    """It is paid; False when it was paid or voided before, and then this money is credit."""
    return await tx.run(q.mark_invoice_paid, id=invoice_id, method=method, reference=reference, now=now) > 0


# -- credit


async def insert_credit_tx(
    tx: Tx, tenant_id: TenantId, cents: int, kind: CreditKind, *, reason: str, invoice_id: InvoiceId | None, now: Millis
) -> Credit:
    """Money that came in for a tenant beside its invoices, or was used for one."""
    return await tx.one(
        Credit,
        q.insert_credit,
        tenant_id=tenant_id,
        invoice_id=invoice_id,
        amount_cents=cents,
        kind=kind,
        reason=reason,
        now=now,
    )


async def credit_left_tx(tx: Tx, tenant_id: TenantId) -> int:
    """What the tenant has with us, in cents."""
    return await tx.one(int, q.credit_left, tenant_id=tenant_id)


async def credit_applied_tx(tx: Tx, invoice_id: InvoiceId) -> int:
    """What an invoice used up of it."""
    return await tx.one(int, q.credit_applied, invoice_id=invoice_id)


async def list_refunds_of_tx(tx: Tx, invoice_id: InvoiceId) -> list[Refund]:
    """What was given back of an invoice's payments, oldest first."""
    return await tx.many(Refund, q.list_refunds_of, invoice_id=invoice_id)


# -- tenants


async def mark_returned_tx(tx: Tx, tenant_id: TenantId, now: Millis) -> bool:
    """It came back; False when it had not left."""
    return await tx.run(q.mark_returned, tenant_id=tenant_id, now=now) > 0


async def list_tenants_to_bill_tx(tx: Tx, now: Millis) -> list[TenantId]:
    """Those with something to bill, renew or invoice, or who are to be reminded, put to sleep or woken by now."""
    first, second, third = (now - after for after in REMINDERS)
    return await tx.many(
        TenantId,
        q.list_tenants_to_bill,
        renewed_before=now - SHORTEST_PERIOD,
        first_from=first,
        second_from=second,
        third_from=third,
        delinquent_from=now - DELINQUENT_AFTER,
        churned_from=now - CHURN_AFTER,
        paid_plans=[[plan.id] for plan in list_plans() if plan.price_cents > 0],
    )


async def totals_tx(tx: Tx, tenant_id: TenantId) -> Totals:
    """The sums of the tenant's ledger."""
    return await tx.one(Totals, q.totals, tenant_id=tenant_id)


# -- the switch


class UnloggedShelf(msgspec.Struct, frozen=True):
    """A shelf that no activity knows of."""

    id: ShelfId
    name: str
    plan: str
    status: ShelfStatus


async def get_account_tx(tx: Tx, tenant_id: TenantId) -> Account:
    """The tenant's, or NotFound."""
    return await tx.one(Account, q.get_account, tenant_id=tenant_id)


# -- answered requests


class AnsweredRequest(msgspec.Struct, frozen=True):
    """What a request was, and what it was answered."""

    request_hash: bytes
    answer: str


# -- rented shelves


async def list_shelves_for_tenant_tx(tx: Tx, tenant_id: TenantId) -> list[RentedShelf]:
    """Oldest first."""
    return await tx.many(RentedShelf, q.list_shelves_for_tenant, tenant_id=tenant_id)


async def get_rented_tx(tx: Tx, shelf_id: ShelfId) -> RentedShelf:
    """The rented shelf, or NotFound."""
    return await tx.one(RentedShelf, q.get_rented, id=shelf_id)


async def rename_shelf_tx(tx: Tx, shelf_id: ShelfId, name: str, now: Millis) -> RentedShelf:
    """UniqueViolation when the tenant has one of that name. Not synced any more, like after every change."""
    return await tx.one(RentedShelf, q.rename_shelf, id=shelf_id, name=name, now=now)


async def set_shelf_status_tx(tx: Tx, shelf_id: ShelfId, status: ShelfStatus, now: Millis) -> RentedShelf:
    """Awake or asleep; not synced any more."""
    return await tx.one(RentedShelf, q.set_shelf_status, id=shelf_id, status=status, now=now)


async def set_retention_tx(tx: Tx, shelf_id: ShelfId, retention: Millis | None) -> None:
    """How long the plan keeps what was read."""
    await tx.run(q.set_retention, id=shelf_id, retention=retention)


# -- payments


async def insert_intent_tx(tx: Tx, intent_id: str, invoice_id: InvoiceId, payment: Payment, *, now: Millis) -> bool:
    """Claim a payment of Stripe's; False when it was settled before."""
    values = q.insert_intent.values_of(payment, id=intent_id, invoice_id=invoice_id, now=now)
    return await tx.run(q.insert_intent, **values) > 0


async def find_intent_tx(tx: Tx, intent_id: str) -> Intent | None:
    """A payment by the id that Stripe has for it; None when we never heard of it."""
    return await tx.maybe(Intent, q.find_intent, id=intent_id)
