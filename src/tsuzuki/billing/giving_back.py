"""Time that is given back goes to the invoices that charged for it: nobody is asked, or paid, for it twice."""

from collections.abc import Sequence

import msgspec

from tsuzuki.accounts.activity.nouns import Activity
from tsuzuki.accounts.activity.store import insert_tenant_activity_tx, lock_account_tx
from tsuzuki.billing.nouns import Invoice, InvoiceId, InvoiceItem
from tsuzuki.billing.policy import spread
from tsuzuki.billing.store import (
    credit_applied_tx,
    credit_returned_tx,
    get_invoice_tx,
    insert_credit_tx,
    insert_part_tx,
    list_charged_tx,
    list_open_invoices_tx,
    list_refunds_of_tx,
    list_unbilled_invoice_items_tx,
    lower_invoice_tx,
    mark_invoice_paid_tx,
    place_item_tx,
)
from tsuzuki.db import Tx
from tsuzuki.model.ids import TenantId
from tsuzuki.model.times import Millis


async def give_back_tx(tx: Tx, tenant_id: TenantId, now: Millis) -> list[Activity]:
    """Place every line that gives something back; what was paid by it. A repeat finds nothing more to place."""
    await lock_account_tx(tx, tenant_id)
    done: list[Activity] = []
    for item in await list_unbilled_invoice_items_tx(tx, tenant_id):
        if item.amount_cents < 0:
            done += await _place_tx(tx, item, now)
    return done


async def pay_from_credit_tx(tx: Tx, invoice: Invoice, now: Millis) -> list[Activity]:
    """The tenant's credit pays an invoice, whoever has seen to it that there is enough; nothing when it is not open."""
    if not await mark_invoice_paid_tx(tx, invoice.id, "credit", reference=None, now=now):
        return []
    reason, cents = f"paid invoice {invoice.number}", -invoice.amount_cents
    await insert_credit_tx(tx, invoice.tenant_id, cents, "settled", reason=reason, invoice_id=invoice.id, now=now)
    snapshot = (await get_invoice_tx(tx, invoice.id)).snapshot()
    return [await insert_tenant_activity_tx(tx, invoice.tenant_id, "invoice.paid", snapshot, now=now)]


async def standing_paid_tx(tx: Tx, invoice: Invoice) -> int:
    """What was really paid for this invoice's lines, by money or credit, and is neither given back nor refunded."""
    money = 0
    if invoice.status == "paid":
        money = invoice.amount_cents - sum(one.written_off_cents for one in await list_refunds_of_tx(tx, invoice.id))
    return money + await credit_applied_tx(tx, invoice.id) - await credit_returned_tx(tx, invoice.id)


# -- inside


async def _place_tx(tx: Tx, item: InvoiceItem, now: Millis) -> list[Activity]:
    charged = await list_charged_tx(tx, item)
    unpaid = await list_open_invoices_tx(tx, item.tenant_id)
    pieces = spread(-item.amount_cents, charged, [(one.id, one.amount_cents) for one in unpaid])
    await _split_tx(tx, item, pieces)
    done: list[Activity] = []
    for invoice_id, cents in pieces:
        done += await _book_tx(tx, await get_invoice_tx(tx, InvoiceId(invoice_id)), cents, now)
    return done


async def _split_tx(tx: Tx, item: InvoiceItem, pieces: Sequence[tuple[int, int]]) -> None:
    """The line itself stays the first piece, or what is left for the next invoice; the others are parts of it."""
    left = item.amount_cents + sum(cents for _, cents in pieces)
    parts = list(pieces)
    if left == 0 and parts:
        invoice_id, cents = parts.pop(0)
        await place_item_tx(tx, item.id, InvoiceId(invoice_id), -cents)
    elif parts:
        await place_item_tx(tx, item.id, None, left)
    for invoice_id, cents in parts:
        await insert_part_tx(tx, msgspec.structs.replace(item, invoice_id=InvoiceId(invoice_id), amount_cents=-cents))


async def _book_tx(tx: Tx, invoice: Invoice, cents: int, now: Millis) -> list[Activity]:
    """An open invoice asks for less; what was paid becomes credit, and what was written off does not."""
    if invoice.status == "open" and cents < invoice.amount_cents:
        await lower_invoice_tx(tx, invoice.id, cents)
        return []
    never_paid = 0
    if invoice.status != "open":
        never_paid = max(0, cents - max(0, await standing_paid_tx(tx, invoice)))
    back = f"given back of invoice {invoice.number}"
    await insert_credit_tx(tx, invoice.tenant_id, cents, "applied", reason=back, invoice_id=invoice.id, now=now)
    if never_paid:
        reason = f"given back of invoice {invoice.number}, but written off before"
        cents = -never_paid
        await insert_credit_tx(tx, invoice.tenant_id, cents, "returned", reason=reason, invoice_id=invoice.id, now=now)
    return await pay_from_credit_tx(tx, invoice, now) if invoice.status == "open" else []
