"""Invoices, items, credit, refunds, rented shelves and payments, as they are stored."""

from typing import Literal, NewType, Protocol

import msgspec

from tsuzuki.accounts.activity import Activity, ActivityId, InvoiceSnapshot, ShelfSnapshot, ShelfStatus
from tsuzuki.model.ids import PublicId, ShelfId, TenantId, show_id
from tsuzuki.model.structs import copied
from tsuzuki.model.times import Millis

InvoiceId = NewType("InvoiceId", int)
Method = Literal["manual", "stripe", "lightning", "credit"]
CreditKind = Literal["granted", "payment", "applied", "settled", "returned", "refunded"]
"""`payment`: money that found nothing to pay (R87). Negative: `applied` made an invoice smaller when it was made,
`settled` paid one that was open, `refunded` went back to who paid. `returned`: the invoice that it was applied to was
voided; negative where time was given back that had been written off. `applied` is positive where time was given back
that had been paid."""


def invoice_number(invoice_id: InvoiceId) -> str:
    """The number on an invoice."""
    return f"{invoice_id:06d}"


class Invoice(msgspec.Struct, frozen=True):
    """What a tenant owes, or owed."""

    id: InvoiceId
    public_id: PublicId
    tenant_id: TenantId
    amount_cents: int
    currency: str
    period_start: Millis
    period_end: Millis
    method: Method | None
    reference: str | None
    created_at: Millis
    notified_at: Millis | None
    notices: int
    paid_at: Millis | None
    voided_at: Millis | None

    @property
    def status(self) -> Literal["open", "paid", "voided"]:
        if self.voided_at is not None:
            return "voided"
        return "open" if self.paid_at is None else "paid"

    @property
    def number(self) -> str:
        """Its number, for people."""
        return invoice_number(self.id)

    def snapshot(self) -> InvoiceSnapshot:
        """As activities remember it."""
        return copied(InvoiceSnapshot, self, id=show_id(self.public_id))


class OpenBalance(msgspec.Struct, frozen=True):
    """A tenant's open invoices, and when its shelves will be put to sleep for them."""

    invoices: int
    cents: int
    currency: str
    sleeps_at: Millis
    is_late: bool
    """They sleep already."""


class InvoiceItem(msgspec.Struct, frozen=True):
    """One line: a change of what a shelf costs, or its renewal for a period. Not on an invoice yet: None there.

    What gives time back goes to the invoices that charged for it; where these are several, it is split into parts.
    """

    id: int
    tenant_id: TenantId
    invoice_id: InvoiceId | None
    shelf_id: ShelfId | None
    activity_id: ActivityId | None
    description: str
    amount_cents: int
    period_start: Millis
    period_end: Millis
    created_at: Millis
    part_of: int | None = None


class NewInvoiceItem(msgspec.Struct, frozen=True, kw_only=True):
    """A line that is about to be written."""

    tenant_id: TenantId
    shelf_id: ShelfId
    activity_id: ActivityId | None
    description: str
    amount_cents: int
    period_start: Millis
    period_end: Millis


class Credit(msgspec.Struct, frozen=True):
    """Money that a tenant has with us, or used."""

    id: int
    tenant_id: TenantId
    invoice_id: InvoiceId | None
    amount_cents: int
    kind: CreditKind
    reason: str
    created_at: Millis


class Dispute(msgspec.Struct, frozen=True):
    """A payment that somebody disputes with their bank."""

    amount_cents: int
    status: str
    """In Stripe's words."""
    created_at: Millis

    @property
    def outcome(self) -> str:
        """`won`, `lost`, or `open` while it is not decided; an inquiry that was closed took nothing away."""
        return {"won": "won", "warning_closed": "won", "lost": "lost"}.get(self.status, "open")


class Refund(msgspec.Struct, frozen=True):
    """Money that went back to who paid."""

    intent_id: str
    invoice_id: InvoiceId
    total_cents: int
    """What had been refunded of this payment by then."""
    amount_cents: int
    credit_cents: int
    """The part of this amount that had become credit; the rest had paid the invoice, and is written off."""
    created_at: Millis

    @property
    def written_off_cents(self) -> int:
        return self.amount_cents - self.credit_cents


class Totals(msgspec.Struct, frozen=True):
    """Sums over a tenant's whole ledger, in cents."""

    charged: int
    """All items."""
    invoiced: int
    paid: int
    """By money that came for an invoice, and was not given back."""
    settled: int
    """By credit that came later."""
    written_off: int
    """R86: voided invoices, and what was given back of paid ones."""
    open: int
    unbilled: int
    """Items that are on no invoice yet; negative when a change made something cheaper."""
    credited: int
    """Credit that came in: granted, paid twice, returned; less what was given back of it."""
    applied: int
    """Credit that made invoices smaller."""

    @property
    def credit(self) -> int:
        """Credit that no invoice has used yet."""
        return self.credited - self.applied - self.settled

    @property
    def balance(self) -> int:
        """What the tenant owes in all; negative when we owe."""
        return self.charged - self.paid - self.written_off - self.credited


class RentedShelf(msgspec.Struct, frozen=True):
    """R80: `synced` and `sync_error` say whether the enforcer has applied what plan and status say."""

    id: ShelfId
    public_id: PublicId
    tenant_id: TenantId
    name: str
    plan: str
    status: ShelfStatus
    synced: bool
    sync_error: str
    sync_attempts: int
    sync_at: Millis | None
    created_at: Millis
    updated_at: Millis

    def snapshot(self) -> ShelfSnapshot:
        """As activities remember it."""
        return ShelfSnapshot(self.name, self.plan, self.status)


class PlanUsage(msgspec.Struct, frozen=True):
    """What a shelf uses of what its plan counts."""

    public_id: PublicId
    follows: int
    kept_chapters: int


class PlannedHold(msgspec.Struct, frozen=True):
    """A feed or series that is about to be held back by a plan, or was from then on."""

    of_id: int
    held_at: Millis | None


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
    """A payment that Stripe reported, by Stripe's id."""

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


class ChargeSucceeded(msgspec.Struct, frozen=True):
    """The provider has taken the money."""

    payment: Payment


class ChargeDeclined(msgspec.Struct, frozen=True):
    """The provider did not take it and will not: another attempt is safe."""

    reason: str


class ChargeUnknown(msgspec.Struct, frozen=True):
    """Nobody can say yet; nothing may be tried before it is known (R88)."""

    reason: str


Answer = ChargeSucceeded | ChargeDeclined | ChargeUnknown


class PaymentProvider(Protocol):
    """Whoever can take money: a card processor, a node. None is built in yet."""

    @property
    def name(self) -> str:
        """The payment provider's name, stored with each attempt."""
        ...

    async def charge(self, key: str, invoice: Invoice) -> Answer:
        """Take the invoice's amount, at most once for this key. Whatever it raises counts as unknown."""
        ...

    async def look_up(self, key: str) -> Answer:
        """What became of it; ChargeDeclined for a key that it never saw."""
        ...
