"""The one place where money meets an invoice."""

from tsuzuki.accounts.activity.nouns import Activity, CreditSnapshot
from tsuzuki.accounts.activity.store import insert_tenant_activity_tx, lock_account_tx
from tsuzuki.billing.nouns import Invoice, InvoiceId
from tsuzuki.billing.settlement.nouns import Payment, Receipt
from tsuzuki.billing.store import get_invoice_tx, insert_credit_tx, mark_invoice_paid_tx
from tsuzuki.db import Tx
from tsuzuki.model.errors import Invalid
from tsuzuki.model.times import Millis


async def receive_payment_tx(tx: Tx, invoice_id: InvoiceId, payment: Payment, now: Millis) -> Receipt:
    """Pay the invoice with it; what is too much, too late or too little becomes credit (R87, REL-43, REL-44).

    Whoever calls this has claimed the payment in the same transaction.
    """
    if payment.amount_cents <= 0:
        raise Invalid("A payment must be above 0.")
    await lock_account_tx(tx, (await get_invoice_tx(tx, invoice_id)).tenant_id)
    invoice = await get_invoice_tx(tx, invoice_id)
    if payment.currency.upper() != invoice.currency:
        return Receipt("refused", invoice)
    if payment.amount_cents < invoice.amount_cents or not await mark_invoice_paid_tx(
        tx, invoice.id, payment.method, reference=payment.reference, now=now
    ):
        logged = await _credit_tx(tx, invoice, payment.amount_cents, _why(invoice, payment), now=now)
        return Receipt("credited", invoice, payment.amount_cents, (logged,))
    paid = await get_invoice_tx(tx, invoice.id)
    activities = [await insert_tenant_activity_tx(tx, paid.tenant_id, "invoice.paid", paid.snapshot(), now=now)]
    surplus = payment.amount_cents - invoice.amount_cents
    if surplus:
        activities.append(await _credit_tx(tx, invoice, surplus, f"more than invoice {invoice.number} asked", now=now))
    return Receipt("paid", paid, surplus, tuple(activities))


async def _credit_tx(tx: Tx, invoice: Invoice, cents: int, reason: str, *, now: Millis) -> Activity:
    await insert_credit_tx(tx, invoice.tenant_id, cents, "payment", reason=reason, invoice_id=invoice.id, now=now)
    snapshot = CreditSnapshot(cents, invoice.currency, reason)
    return await insert_tenant_activity_tx(tx, invoice.tenant_id, "credit.granted", snapshot, now=now)


def _why(invoice: Invoice, payment: Payment) -> str:
    by = f"{payment.method} {payment.reference}" if payment.reference else payment.method
    if invoice.status == "paid":
        return f"second payment of invoice {invoice.number} ({by})"
    if invoice.status == "voided":
        return f"payment of the voided invoice {invoice.number} ({by})"
    return f"less than invoice {invoice.number} asks for ({by})"
