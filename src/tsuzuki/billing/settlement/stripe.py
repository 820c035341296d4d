"""Stripe's events: signature and content. Pure: the clock is an argument.

The header is `t=UNIX,v1=HEX[,v1=HEX]`; the signature is HMAC-SHA256 of `t.body` under the endpoint's secret.
"""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from tsuzuki.billing.types import Payment
from tsuzuki.model.errors import Forbidden, Invalid
from tsuzuki.model.ids import PublicId, read_id
from tsuzuki.model.times import MINUTE, SECOND, Millis

TOLERANCE = Millis(5 * MINUTE)
MOST_CENTS = 10**12
"""The largest payment: Stripe takes no more in any currency, and a million of them still add up within 64 bits."""
SIGNATURE = "stripe-signature"
_LONGEST_WORD = 100

_REFUNDED = "charge.refunded"
_DISPUTES = ("charge.dispute.created", "charge.dispute.updated", "charge.dispute.closed")
_SUCCEEDED = "payment_intent.succeeded"
_CHECKOUTS = ("checkout.session.completed", "checkout.session.async_payment_succeeded")


class StripePayment(msgspec.Struct, frozen=True):
    """A payment that succeeded: Stripe's id of it, our invoice, and the money."""

    intent_id: str
    invoice_id: PublicId
    payment: Payment


class StripeRefund(msgspec.Struct, frozen=True):
    """How much of a payment was given back in all: Stripe's id of it, and our invoice if the charge names one."""

    intent_id: str
    total_cents: int
    currency: str
    invoice_id: PublicId | None


class StripeDispute(msgspec.Struct, frozen=True):
    """Somebody wants a payment back from the bank, or that was decided."""

    dispute_id: str
    intent_id: str
    amount_cents: int
    status: str
    reason: str


_Cents = Annotated[int, Meta(ge=-MOST_CENTS, le=MOST_CENTS)]


class _Object(msgspec.Struct, frozen=True):
    id: str
    currency: str | None = None
    amount_received: _Cents | None = None
    amount_total: _Cents | None = None
    amount_refunded: _Cents | None = None
    amount: _Cents | None = None
    status: str | None = None
    reason: str | None = None
    payment_intent: str | None = None
    payment_status: str | None = None
    client_reference_id: str | None = None
    metadata: Mapping[str, str] | None = None


class _Data(msgspec.Struct, frozen=True):
    object: _Object


class _Event(msgspec.Struct, frozen=True):
    id: str
    type: str
    data: _Data


class _Kind(msgspec.Struct, frozen=True):
    """What is read of every event, so that those of other kinds may look as they like."""

    type: str
    id: str = ""


def check_signature(secret: str, header: str | None, body: bytes, *, now: Millis) -> None:
    """R90: Forbidden unless this was signed with the secret within the last five minutes."""
    if not secret:
        raise Forbidden("No webhook secret is set, so events cannot be verified.")
    sent_at, signatures = _parts(header or "")
    if sent_at is None or not signatures:
        raise Forbidden("The signature is missing or cannot be read.")
    expected = hmac.new(secret.encode(), b"%d." % sent_at + body, hashlib.sha256).hexdigest().encode()
    if not any(hmac.compare_digest(expected, signature) for signature in signatures):
        raise Forbidden("The signature is wrong.")
    if abs(now - sent_at * SECOND) > TOLERANCE:
        raise Forbidden("The signature is too old, or its time is in the future.")


def read_event(body: bytes) -> StripePayment | StripeRefund | StripeDispute | None:
    """What an event reports; None for events of other kinds, and for what is not about our invoices."""
    try:
        kind = msgspec.json.decode(body, type=_Kind).type
        if kind not in (_SUCCEEDED, _REFUNDED, *_DISPUTES, *_CHECKOUTS):
            return None
        found = msgspec.json.decode(body, type=_Event).data.object
    except msgspec.DecodeError as error:
        raise Invalid(f"This is not a Stripe event: {error}.") from error
    invoice = (found.metadata or {}).get("invoice") or found.client_reference_id
    if kind == _REFUNDED:
        return _refund(found)
    if kind in _DISPUTES:
        return _dispute(found)
    if kind == _SUCCEEDED:
        return _payment(found.id, invoice, found.amount_received, found.currency)
    if found.payment_status != "paid":
        return None  # the money comes later, and an event of its own with it
    return _payment(found.payment_intent or found.id, invoice, found.amount_total, found.currency)


def event_id(body: bytes) -> str:
    """Stripe's own id of an event, however wrong the rest of it is; empty when it has none."""
    try:
        return msgspec.json.decode(body, type=_Kind).id
    except msgspec.DecodeError:
        return ""


def _refund(charge: _Object) -> StripeRefund | None:
    if not charge.payment_intent:
        return None  # a charge of another kind than those that pay our invoices
    if not charge.amount_refunded or charge.amount_refunded < 0 or not charge.currency:
        raise Invalid("This refund lacks its amount or currency.")
    invoice = (charge.metadata or {}).get("invoice")
    invoice_id = None if invoice is None else read_id(invoice)
    return StripeRefund(charge.payment_intent, charge.amount_refunded, charge.currency.upper(), invoice_id)


def _dispute(dispute: _Object) -> StripeDispute | None:
    if not dispute.payment_intent:
        return None
    if not dispute.amount or dispute.amount < 0 or not dispute.status:
        raise Invalid("This dispute lacks its amount or status.")
    words = [text[:_LONGEST_WORD] for text in (dispute.status, dispute.reason or "no reason")]
    return StripeDispute(dispute.id, dispute.payment_intent, dispute.amount, *words)


def _payment(intent_id: str, invoice: str | None, cents: int | None, currency: str | None) -> StripePayment | None:
    invoice_id = None if invoice is None else read_id(invoice)
    if invoice_id is None:
        return None
    if not intent_id or not cents or cents < 0 or not currency:
        raise Invalid("This payment lacks its id, amount or currency.")
    return StripePayment(intent_id, invoice_id, Payment("stripe", intent_id, cents, currency.upper()))


def _parts(header: str) -> tuple[int | None, list[bytes]]:
    sent_at, signatures = None, []
    for part in header.split(","):
        name, _, value = part.strip().partition("=")
        if name == "t" and value.isascii() and value.isdigit() and len(value) <= len(str(2**40)):
            sent_at = int(value)
        elif name == "v1":
            signatures.append(value.encode())
    return sent_at, signatures
