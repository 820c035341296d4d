"""Intents, payment requests and attempts as rows."""

import msgspec

from tsuzuki.billing.settlement.stripe import StripeDispute
from tsuzuki.billing.types import (
    Bolt11,
    ChargeAttempt,
    GivenBack,
    Intent,
    InvoiceId,
    NewBolt11,
    Outcome,
    Payment,
    Refund,
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


async def set_intent_outcome_tx(tx: Tx, intent_id: str, outcome: Outcome) -> None:
    """What became of it."""
    await tx.run(q.set_intent_outcome, id=intent_id, outcome=outcome)


async def find_intent_tx(tx: Tx, intent_id: str) -> Intent | None:
    """A payment by the id that Stripe has for it; None when we never heard of it."""
    return await tx.maybe(Intent, q.find_intent, id=intent_id)


async def given_back_tx(tx: Tx, intent_id: str) -> GivenBack:
    """What of it was given back so far."""
    return await tx.one(GivenBack, q.given_back, intent_id=intent_id)


async def insert_refund_tx(tx: Tx, refund: Refund) -> None:
    """Some of a payment was given back."""
    await tx.run(q.insert_refund, **msgspec.structs.asdict(refund))


async def put_dispute_tx(tx: Tx, told: StripeDispute, invoice_id: InvoiceId, now: Millis) -> bool:
    """Where a dispute stands now; False when that is known."""
    return await tx.run(q.put_dispute, **msgspec.structs.asdict(told), invoice_id=invoice_id, now=now) > 0


async def list_intents_tx(tx: Tx, invoice_id: InvoiceId) -> list[Intent]:
    """The payments of an invoice that Stripe told us of."""
    return await tx.many(Intent, q.list_intents, invoice_id=invoice_id)


async def insert_bolt11_tx(tx: Tx, new: NewBolt11, now: Millis) -> Bolt11 | None:
    """Store a payment request; None when it is known already."""
    return await tx.maybe(Bolt11, q.insert_bolt11, now=now, **msgspec.structs.asdict(new))


async def find_bolt11_tx(tx: Tx, payment_hash: str) -> Bolt11 | None:
    """By what a node knows it by."""
    return await tx.maybe(Bolt11, q.find_bolt11, payment_hash=payment_hash)


async def mark_bolt11_settled_tx(tx: Tx, bolt11_id: int, now: Millis) -> bool:
    """It is settled; False when it was before."""
    return await tx.run(q.mark_bolt11_settled, id=bolt11_id, now=now) > 0


async def open_attempt_tx(tx: Tx, invoice_id: InvoiceId) -> ChargeAttempt | None:
    """The attempt that may still have taken the money."""
    return await tx.maybe(ChargeAttempt, q.open_attempt, invoice_id=invoice_id)


async def insert_attempt_tx(tx: Tx, invoice_id: InvoiceId, provider: str, key: str, *, now: Millis) -> ChargeAttempt:
    """Begun; UniqueViolation while another one is open."""
    return await tx.one(ChargeAttempt, q.insert_attempt, invoice_id=invoice_id, provider=provider, key=key, now=now)


async def finish_attempt_tx(tx: Tx, attempt_id: int, status: str, *, detail: str, now: Millis) -> bool:
    """How it ended, as far as is known; False when somebody else has said so."""
    return await tx.run(q.finish_attempt, id=attempt_id, status=status, detail=detail, now=now) > 0
