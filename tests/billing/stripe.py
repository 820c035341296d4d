"""What Stripe would send, signed as it signs."""

import hashlib
import hmac
import random
from typing import Any

import msgspec

from tests.billing.builders import SECRET, BillingSetup
from tsuzuki.billing.settlement.service import StripeOutcome
from tsuzuki.billing.types import Invoice
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import SECOND, Millis


def signed(body: bytes, at: Millis, secret: str = SECRET) -> str:
    """The header that Stripe sends with this body at this moment."""
    seconds = at // SECOND
    digest = hmac.new(secret.encode(), f"{seconds}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={digest}"


def an_event(invoice: Invoice, *, kind: str = "payment_intent.succeeded", intent: str = "pi_1", **over: Any) -> bytes:
    told = {
        "id": intent,
        "object": "payment_intent",
        "amount_received": 500,
        "currency": "usd",
        "metadata": {"invoice": show_id(invoice.public_id)},
    } | over
    event = {"id": f"evt_{random.random()}", "object": "event", "type": kind, "data": {"object": told}}
    return msgspec.json.encode(event)


def a_checkout(invoice: Invoice, *, intent: str = "pi_1", **over: Any) -> bytes:
    told: dict[str, Any] = {
        "object": "checkout.session",
        "amount_received": None,
        "amount_total": 500,
        "payment_intent": intent,
        "payment_status": "paid",
        "client_reference_id": show_id(invoice.public_id),
        "metadata": {},
    }
    return an_event(invoice, kind="checkout.session.completed", intent="cs_1", **told | over)


def a_refund(invoice: Invoice, total: int, *, intent: str = "pi_1", **over: Any) -> bytes:
    """As Stripe tells it: a charge, with all that was given back of it so far."""
    told: dict[str, Any] = {
        "object": "charge",
        "amount": 500,
        "amount_captured": 500,
        "amount_refunded": total,
        "amount_received": None,
        "payment_intent": intent,
        "refunded": total >= 500,
        "status": "succeeded",
    }
    return an_event(invoice, kind="charge.refunded", intent="ch_1", **told | over)


def a_dispute(invoice: Invoice, status: str, *, kind: str = "created", intent: str = "pi_1", **over: Any) -> bytes:
    told: dict[str, Any] = {
        "object": "dispute",
        "amount": 500,
        "amount_received": None,
        "payment_intent": intent,
        "reason": "fraudulent",
        "status": status,
        "metadata": {},
    }
    return an_event(invoice, kind=f"charge.dispute.{kind}", intent="dp_1", **told | over)


async def send(billing: BillingSetup, body: bytes, **over: Any) -> StripeOutcome:
    values: dict[str, Any] = {"at": billing.time(), "secret": SECRET} | over
    return await billing.services.settlement.receive_stripe_event(signed(body, **values), body)
