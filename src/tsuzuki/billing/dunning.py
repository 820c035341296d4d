"""Dunning (R84): reminders, sleeping shelves and giving up; and waking what it put to sleep."""

from collections.abc import Sequence

from tsuzuki.accounts.activity import (
    Account,
    Activity,
    ShelfActivity,
    ShelfSnapshot,
    ShelfStatus,
    insert_activity_tx,
    insert_tenant_activity_tx,
    lock_account_tx,
)
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.people import get_tenant_tx
from tsuzuki.accounts.tenants import tenant_snapshot
from tsuzuki.billing.ledger import bill_tx, void_open_invoices_tx
from tsuzuki.billing.policy import CHURN_AFTER, DELINQUENT_AFTER, reminders_due, tenant_standing
from tsuzuki.billing.store import get_invoice_tx, list_open_invoices_tx, list_shelves_for_tenant_tx, set_shelf_status_tx
from tsuzuki.billing.types import Invoice, RentedShelf
from tsuzuki.coord.wakeup import AfterCommit
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import lock_shelf_tx
from tsuzuki.model.ids import TenantId, show_id
from tsuzuki.model.plans import get_plan, money
from tsuzuki.model.times import DAY, Millis, iso
from tsuzuki.notifications.announcer import notify_tx, tenant_recipients_tx
from tsuzuki.notifications.tasks import SENDS, Message, MessageType

q = load_queries("tsuzuki.billing")


async def notify_tenant_tx(tx: Tx, of: Activity, message: Message) -> None:
    """Notify every channel of the tenant of this activity."""
    recipients = await tenant_recipients_tx(tx, of.tenant_id)
    await notify_tx(tx, recipients, f"activity-{of.id}", lambda _: message, now=message.at)


# -- in words; pure


def due(invoice: Invoice, reminder: int, now: Millis) -> Message:
    """That an invoice is open: the first time that it is due, then what happens when it stays so."""
    amount = money(invoice.amount_cents, invoice.currency)
    text = f"{amount} is due now."
    if reminder > 1:
        sleeps = iso(Millis(invoice.created_at + DELINQUENT_AFTER))[:10]
        text = f"{amount} is not paid yet. From {sleeps} on, paid shelves are paused until it is."
    return _of("invoice.due", invoice, text, count=reminder, now=now)


def asleep_message(invoice: Invoice, shelves: Sequence[str], now: Millis) -> Message:
    """That shelves sleep because an invoice is overdue."""
    amount = money(invoice.amount_cents, invoice.currency)
    text = (
        f"{amount} has been due for {DELINQUENT_AFTER // DAY} days. Until it is paid, these shelves get nothing new: "
        f"{', '.join(shelves)}. Everything on them can still be read."
    )
    return _of("account.asleep", invoice, text, count=len(shelves), now=now)


def closed(tenant: str, now: Millis) -> Message:
    """That the tenant is taken to have left."""
    text = (
        f"Nothing was paid for {CHURN_AFTER // DAY} days, so the account is closed and the open amount is written off. "
        "Everything can still be read; reactivate a shelf to open the account again."
    )
    return Message(type="account.closed", title=tenant, text=text, at=now)


def disputed(invoice: Invoice, cents: int, why: str, now: Millis) -> Message:
    """For the operator: that somebody wants a payment back from the bank."""
    amount, page = money(cents, invoice.currency), f"/admin/invoices/{show_id(invoice.public_id)}"
    text = f"{amount} of its payment is disputed ({why}). Answer it at Stripe; nothing changes here."
    title = f"Invoice {invoice.number}"
    return Message(type="invoice.disputed", title=title, text=text, page=page, number=invoice.number, at=now)


def _of(kind: MessageType, invoice: Invoice, text: str, *, count: int, now: Millis) -> Message:
    title, page = f"Invoice {invoice.number}", f"/invoices/{show_id(invoice.public_id)}"
    return Message(type=kind, title=title, text=text, page=page, number=invoice.number, count=count, at=now)


class Dunning:
    """Reminds, puts shelves to sleep, gives up; and wakes what it put to sleep."""

    def __init__(self, deps: AccountDeps, after_commit: AfterCommit) -> None:
        self._deps = deps
        self._after_commit = after_commit

    async def run(self, tenant_id: TenantId) -> int:
        """Do what the age of the tenant's open invoices asks for; how many actions."""
        done = await self._deps.db.with_tx(lambda tx: apply_dunning_tx(tx, tenant_id, self._deps.clock()))
        if done:
            self._after_commit(SENDS.name)  # some of it may be on its way to channels
        await self._deps.publisher.publish(*done)
        return len(done)


async def apply_dunning_tx(tx: Tx, tenant_id: TenantId, now: Millis) -> list[Activity]:
    """Gather, decide, apply; a repeat finds nothing more to do."""
    account = await lock_account_tx(tx, tenant_id)
    unpaid = await list_open_invoices_tx(tx, tenant_id)
    stands = tenant_standing(unpaid[0].created_at if unpaid else None, now)
    if stands == "good":
        return await _remind_tx(tx, unpaid, now) + await _wake_tx(tx, account, now)
    slept = await _put_to_sleep_tx(tx, tenant_id, now)
    if stands == "churned":  # nobody is reminded of what is written off, or notified twice at once of the end
        return slept + await _give_up_tx(tx, tenant_id, slept, now)
    if slept:
        await notify_tenant_tx(tx, slept[0], asleep_message(unpaid[0], _names(slept), now))
    return await _remind_tx(tx, unpaid, now) + slept


async def _remind_tx(tx: Tx, unpaid: Sequence[Invoice], now: Millis) -> list[Activity]:
    """Send the reminder that is due and record it; whoever was away for days sends the last of them alone."""
    done = []
    for invoice in unpaid:
        count = reminders_due(invoice.created_at, now)
        if await tx.run(q.mark_invoice_notified, id=invoice.id, notices=count, now=now) > 0:
            snapshot = (await get_invoice_tx(tx, invoice.id)).snapshot()
            logged = await insert_tenant_activity_tx(tx, invoice.tenant_id, "invoice.reminded", snapshot, now=now)
            await notify_tenant_tx(tx, logged, due(invoice, count, now))
            done.append(logged)
    return done


async def _put_to_sleep_tx(tx: Tx, tenant_id: TenantId, now: Millis) -> list[Activity]:
    """What costs something; a free shelf stays awake."""
    return [
        await _set_tx(tx, shelf, "delinquent", "shelf.delinquent", now=now)
        for shelf in await list_shelves_for_tenant_tx(tx, tenant_id)
        if shelf.status == "active" and get_plan(shelf.plan).price_cents > 0
    ]


async def _wake_tx(tx: Tx, account: Account, now: Millis) -> list[Activity]:
    """R81: what the system put to sleep, never what the owner did. A tenant that left comes back by itself or not."""
    if account.churned_at is not None:
        return []
    return [
        await _set_tx(tx, shelf, "active", "shelf.recovered", now=now)
        for shelf in await list_shelves_for_tenant_tx(tx, account.id)
        if shelf.status == "delinquent"
    ]


async def _give_up_tx(tx: Tx, tenant_id: TenantId, slept: Sequence[Activity], now: Millis) -> list[Activity]:
    """It left: what it owes is written off, less what its shelves will not use because they sleep from now on."""
    done: list[Activity] = []
    for activity in slept:
        done += await bill_tx(tx, activity, now) or ()
    done += await void_open_invoices_tx(tx, tenant_id, now)
    if await tx.run(q.mark_churned, tenant_id=tenant_id, now=now) > 0:
        snapshot = tenant_snapshot(await get_tenant_tx(tx, tenant_id))
        logged = await insert_tenant_activity_tx(tx, tenant_id, "tenant.churned", snapshot, now=now)
        await notify_tenant_tx(tx, logged, closed(snapshot.name, now))
        done.append(logged)
    return done


def _names(slept: Sequence[Activity]) -> list[str]:
    return [one.snapshot.name for one in slept if isinstance(one.snapshot, ShelfSnapshot)]


async def _set_tx(tx: Tx, shelf: RentedShelf, status: ShelfStatus, kind: ShelfActivity, *, now: Millis) -> Activity:
    await lock_shelf_tx(tx, shelf.id)
    changed = await set_shelf_status_tx(tx, shelf.id, status, now)
    return await insert_activity_tx(tx, shelf.id, kind, changed.snapshot(), now=now)
