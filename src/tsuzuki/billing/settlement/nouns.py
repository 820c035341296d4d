"""Payments and the traces that providers leave of them."""

from typing import Literal, Protocol

import msgspec

from tsuzuki.accounts.activity.nouns import Activity
from tsuzuki.billing.nouns import Invoice, InvoiceId, Method
from tsuzuki.model.times import Millis

Outcome = Literal["paid", "credited", "refused"]
"""`credited`: the invoice was paid or voided before, or this is less than it asks for (R87). `refused`: another
currency; the operator has to look at it."""


class Payment(msgspec.Struct, frozen=True):
    """Money that arrived."""

    method: Method
    reference: str | None
    amount_cents: int
    currency: str


class Receipt(msgspec.Struct, frozen=True):
    """What became of a payment; the activities are to be published once that is committed."""

    outcome: Outcome
    invoice: Invoice
    credited_cents: int = 0
    activities: tuple[Activity, ...] = ()


class Intent(msgspec.Struct, frozen=True):
    """A payment that Stripe told us of, by its own id."""

    id: str
    invoice_id: InvoiceId
    amount_cents: int
    currency: str
    outcome: Outcome
    created_at: Millis


class GivenBack(msgspec.Struct, frozen=True):
    """What went back of a payment so far, and how much of that had been credit."""

    total_cents: int
    credit_cents: int


class Bolt11(msgspec.Struct, frozen=True):
    """A Lightning payment request for an invoice. Settled after it expired is settled: the money is here."""

    id: int
    invoice_id: InvoiceId
    request: str
    payment_hash: str
    amount_msat: int
    created_at: Millis
    expires_at: Millis
    settled_at: Millis | None
    amount_cents: int | None
    """What the invoice asked for when this was made: it may ask for less by now. None: as it asks now."""


class NewBolt11(msgspec.Struct, frozen=True, kw_only=True):
    """A payment request that a node has made."""

    invoice_id: InvoiceId
    request: str
    payment_hash: str
    amount_msat: int
    expires_at: Millis


class ChargeAttempt(msgspec.Struct, frozen=True):
    """A call that takes money; `key` is ours, and the provider finds the payment by it."""

    id: int
    invoice_id: InvoiceId
    provider: str
    key: str
    status: Literal["begun", "unknown", "paid", "failed"]
    detail: str
    created_at: Millis
    updated_at: Millis


# -- the seam


class Took(msgspec.Struct, frozen=True):
    """The provider has the money."""

    payment: Payment


class Declined(msgspec.Struct, frozen=True):
    """The provider has not got it and will not: another attempt is safe."""

    reason: str


class Unknown(msgspec.Struct, frozen=True):
    """R88: nobody can say yet; nothing may be tried before that is known."""

    reason: str


Answer = Took | Declined | Unknown


class PaymentProvider(Protocol):
    """Whoever can take money: a card processor, a node. None is built in yet."""

    @property
    def name(self) -> str:
        """What its attempts are filed under."""
        ...

    async def charge(self, key: str, invoice: Invoice) -> Answer:
        """Take the invoice's amount, at most once for this key. Whatever it raises counts as unknown."""
        ...

    async def look_up(self, key: str) -> Answer:
        """What became of it; Declined for a key that it never saw."""
        ...
