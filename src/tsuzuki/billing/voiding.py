"""Writing invoices off."""

from tsuzuki.accounts.activity.nouns import Activity
from tsuzuki.accounts.activity.store import insert_tenant_activity_tx
from tsuzuki.billing.nouns import Invoice
from tsuzuki.billing.store import (
    credit_applied_tx,
    get_invoice_tx,
    insert_credit_tx,
    list_open_invoices_tx,
    void_invoice_tx,
)
from tsuzuki.db import Tx
from tsuzuki.model.ids import TenantId
from tsuzuki.model.times import Millis


async def write_off_tx(tx: Tx, invoice: Invoice, now: Millis) -> Activity | None:
    """R86: its items stay on it and are never billed again, its credit comes back; None when it is not open."""
    if not await void_invoice_tx(tx, invoice.id, now):
        return None
    applied = await credit_applied_tx(tx, invoice.id)
    if applied:
        reason = f"returned by the voided invoice {invoice.number}"
        await insert_credit_tx(
            tx, invoice.tenant_id, applied, "returned", reason=reason, invoice_id=invoice.id, now=now
        )
    voided = await get_invoice_tx(tx, invoice.id)
    return await insert_tenant_activity_tx(tx, invoice.tenant_id, "invoice.voided", voided.snapshot(), now=now)


async def void_open_invoices_tx(tx: Tx, tenant_id: TenantId, now: Millis) -> list[Activity]:
    """Write all of a tenant's open invoices off."""
    done = [await write_off_tx(tx, invoice, now) for invoice in await list_open_invoices_tx(tx, tenant_id)]
    return [activity for activity in done if activity is not None]
