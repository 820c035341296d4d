"""Writing invoices off."""

from tsuzuki.accounts.activity.nouns import Activity
from tsuzuki.accounts.activity.store import insert_tenant_activity_tx
from tsuzuki.billing.giving_back import pay_from_credit_tx
from tsuzuki.billing.nouns import Invoice
from tsuzuki.billing.store import (
    credit_applied_tx,
    credit_left_tx,
    get_invoice_tx,
    insert_credit_tx,
    list_open_invoices_tx,
    list_unbilled_invoice_items_tx,
    lower_invoice_tx,
    void_invoice_tx,
)
from tsuzuki.db import Tx
from tsuzuki.model.ids import TenantId
from tsuzuki.model.times import Millis


async def write_off_tx(tx: Tx, invoice: Invoice, now: Millis) -> list[Activity]:
    """R86: its items stay on it and are never billed again, its credit comes back; nothing when it is not open."""
    done = await _void_tx(tx, invoice, now)
    applied = await credit_applied_tx(tx, invoice.id)
    if done and applied:
        reason = f"returned by the voided invoice {invoice.number}"
        await insert_credit_tx(
            tx, invoice.tenant_id, applied, "returned", reason=reason, invoice_id=invoice.id, now=now
        )
    return done


async def void_open_invoices_tx(tx: Tx, tenant_id: TenantId, now: Millis) -> list[Activity]:
    """Write off what a tenant owes, and no more: its credit pays first, and stays used."""
    unbilled = sum(item.amount_cents for item in await list_unbilled_invoice_items_tx(tx, tenant_id))
    credit = await credit_left_tx(tx, tenant_id) - max(0, unbilled)
    done: list[Activity] = []
    for invoice in await list_open_invoices_tx(tx, tenant_id):
        used = min(max(0, credit), invoice.amount_cents)
        credit -= used
        if used == invoice.amount_cents:
            done += await pay_from_credit_tx(tx, invoice, now)
            continue
        if used:
            await lower_invoice_tx(tx, invoice.id, used)
            reason = f"used for invoice {invoice.number}"
            await insert_credit_tx(tx, tenant_id, -used, "applied", reason=reason, invoice_id=invoice.id, now=now)
        done += await _void_tx(tx, invoice, now)
    return done


async def _void_tx(tx: Tx, invoice: Invoice, now: Millis) -> list[Activity]:
    if not await void_invoice_tx(tx, invoice.id, now):
        return []
    snapshot = (await get_invoice_tx(tx, invoice.id)).snapshot()
    return [await insert_tenant_activity_tx(tx, invoice.tenant_id, "invoice.voided", snapshot, now=now)]
