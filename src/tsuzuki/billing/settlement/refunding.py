"""Money that goes back to who paid: the credit it had become goes with it, what it had paid is written off."""

from tsuzuki.accounts.activity.nouns import Activity
from tsuzuki.accounts.activity.store import insert_tenant_activity_tx, lock_account_tx
from tsuzuki.billing.giving_back import standing_paid_tx
from tsuzuki.billing.nouns import Invoice, Refund
from tsuzuki.billing.settlement.nouns import GivenBack, Intent
from tsuzuki.billing.settlement.store import given_back_tx, insert_refund_tx
from tsuzuki.billing.store import get_invoice_tx, insert_credit_tx
from tsuzuki.db import Tx
from tsuzuki.model.times import Millis


async def give_back_tx(tx: Tx, intent: Intent, total_cents: int, now: Millis) -> Activity | None:
    """So much of a payment was given back in all; None when that was known, or when the payment never counted.

    Totals only grow, so events that come twice or in another order change nothing. Nobody is asked again for what was
    given back: its items were billed, and are never billed a second time (R86).
    """
    invoice = await get_invoice_tx(tx, intent.invoice_id)
    await lock_account_tx(tx, invoice.tenant_id)
    before, standing = await given_back_tx(tx, intent.id), await standing_paid_tx(tx, invoice)
    refund = _refund(intent, invoice, before, min(total_cents, intent.amount_cents), standing=standing, now=now)
    if refund is None:
        return None
    await insert_refund_tx(tx, refund)
    if refund.credit_cents:
        reason = f"given back (stripe {intent.id})"
        cents = -refund.credit_cents
        await insert_credit_tx(tx, invoice.tenant_id, cents, "refunded", reason=reason, invoice_id=invoice.id, now=now)
    return await insert_tenant_activity_tx(tx, invoice.tenant_id, "invoice.refunded", invoice.snapshot(), now=now)


def _refund(
    intent: Intent, invoice: Invoice, before: GivenBack, total: int, *, standing: int, now: Millis
) -> Refund | None:
    """Credit first: what was paid beyond what was owed, or was given back meanwhile for time that was not used."""
    if intent.outcome == "refused" or total <= before.total_cents:
        return None
    amount = total - before.total_cents
    beyond = intent.amount_cents - (invoice.amount_cents if intent.outcome == "paid" else 0)
    paid = amount - min(amount, max(0, beyond - before.credit_cents))
    return Refund(
        intent_id=intent.id,
        invoice_id=invoice.id,
        total_cents=total,
        amount_cents=amount,
        credit_cents=amount - min(paid, max(0, standing)),
        created_at=now,
    )
