"""Intents, payment requests and attempts as rows."""

from tsuzuki.billing.types import (
    Intent,
    InvoiceId,
    Payment,
)
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.billing.settlement")


async def insert_intent_tx(tx: Tx, intent_id: str, invoice_id: InvoiceId, payment: Payment, *, now: Millis) -> bool:
    """Claim a payment of Stripe's; False when it was settled before."""
    cents, currency = payment.amount_cents, payment.currency
    return (
        await tx.run(
            q.insert_intent, id=intent_id, invoice_id=invoice_id, amount_cents=cents, currency=currency, now=now
        )
        > 0
    )


async def find_intent_tx(tx: Tx, intent_id: str) -> Intent | None:
    """A payment by the id that Stripe has for it; None when we never heard of it."""
    return await tx.maybe(Intent, q.find_intent, id=intent_id)


async def list_intents_tx(tx: Tx, invoice_id: InvoiceId) -> list[Intent]:
    """The payments of an invoice that Stripe told us of."""
    return await tx.many(Intent, q.list_intents, invoice_id=invoice_id)
