"""R84: what a tenant's people are told of its account, on the channels of all its shelves.

Enqueued in the transaction of what it tells of, so it is told once by us; outward at least once, under an id that is
made of the activity, so that a receiver can tell a repeat.
"""

from collections.abc import Sequence

from tsuzuki.accounts.activity.nouns import Activity
from tsuzuki.billing.nouns import Invoice
from tsuzuki.billing.policy import CHURN_AFTER, DELINQUENT_AFTER
from tsuzuki.db import Tx
from tsuzuki.delivery.notices.store import tenant_tellees_tx
from tsuzuki.delivery.notices.tasks import Message, MessageType
from tsuzuki.delivery.notices.telling import tell_tx
from tsuzuki.model.ids import show_id
from tsuzuki.model.money import money
from tsuzuki.model.times import DAY, Millis, iso


async def tell_tenant_tx(tx: Tx, of: Activity, message: Message) -> None:
    """Tell every channel of the tenant of this activity."""
    tellees = await tenant_tellees_tx(tx, of.tenant_id)
    await tell_tx(tx, tellees, f"activity-{of.id}", lambda _: message, now=message.at)


# -- in words; pure


def due(invoice: Invoice, reminder: int, now: Millis) -> Message:
    """That an invoice is open: the first time that it is due, then what happens when it stays so."""
    amount = money(invoice.amount_cents, invoice.currency)
    text = f"{amount} is due now."
    if reminder > 1:
        sleeps = iso(Millis(invoice.created_at + DELINQUENT_AFTER))[:10]
        text = f"{amount} is not paid yet. From {sleeps} on, shelves that cost something sleep until it is."
    return _of("invoice.due", invoice, text, count=reminder, now=now)


def asleep(invoice: Invoice, shelves: Sequence[str], now: Millis) -> Message:
    """That shelves sleep because an invoice is overdue."""
    amount = money(invoice.amount_cents, invoice.currency)
    text = (
        f"{amount} has been due for {DELINQUENT_AFTER // DAY} days. Nothing new comes until it is paid to: "
        f"{', '.join(shelves)}. All that is there can be read."
    )
    return _of("account.asleep", invoice, text, count=len(shelves), now=now)


def closed(tenant: str, now: Millis) -> Message:
    """That the tenant is taken to have left."""
    text = (
        f"Nothing was paid for {CHURN_AFTER // DAY} days: the account is closed, and what was due is written off. "
        "All that is there can be read; reactivating a shelf opens the account again."
    )
    return Message(type="account.closed", title=tenant, text=text, at=now)


def disputed(invoice: Invoice, cents: int, why: str, now: Millis) -> Message:
    """For the operator: that somebody wants a payment back from the bank."""
    amount, page = money(cents, invoice.currency), f"/admin/invoices/{show_id(invoice.public_id)}"
    text = f"{amount} of its payment is disputed ({why}). Answer it at Stripe; nothing is done here."
    title = f"Invoice {invoice.number}"
    return Message(type="invoice.disputed", title=title, text=text, page=page, number=invoice.number, at=now)


def _of(kind: MessageType, invoice: Invoice, text: str, *, count: int, now: Millis) -> Message:
    title, page = f"Invoice {invoice.number}", f"/invoices/{show_id(invoice.public_id)}"
    return Message(type=kind, title=title, text=text, page=page, number=invoice.number, count=count, at=now)
