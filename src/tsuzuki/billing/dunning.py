"""R84: what becomes of a tenant whose invoices are not paid, and of one that pays after all."""

from collections.abc import Sequence

from tsuzuki.accounts.activity.nouns import Account, Activity, ShelfActivity, ShelfSnapshot, ShelfStatus
from tsuzuki.accounts.activity.store import insert_activity_tx, insert_tenant_activity_tx, lock_account_tx
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.store import get_tenant_tx
from tsuzuki.accounts.tenants import tenant_snapshot
from tsuzuki.billing.ledger import bill_tx
from tsuzuki.billing.nouns import Invoice
from tsuzuki.billing.policy import reminders_due, standing
from tsuzuki.billing.shelf_plans.nouns import RentedShelf
from tsuzuki.billing.shelf_plans.store import list_shelves_for_tenant_tx, set_shelf_status_tx
from tsuzuki.billing.store import get_invoice_tx, list_open_invoices_tx, mark_churned_tx, mark_invoice_notified_tx
from tsuzuki.billing.telling import asleep, closed, due, tell_tenant_tx
from tsuzuki.billing.voiding import void_open_invoices_tx
from tsuzuki.coord.wakeup import AfterCommit
from tsuzuki.db import Tx
from tsuzuki.db.locks import lock_shelf_tx
from tsuzuki.delivery.notices.tasks import SENDS
from tsuzuki.model.ids import TenantId
from tsuzuki.model.plans import get_plan
from tsuzuki.model.times import Millis


class Dunning:
    """Reminds, puts to sleep, gives up; and wakes what it put to sleep."""

    def __init__(self, deps: AccountDeps, after_commit: AfterCommit) -> None:
        self._deps = deps
        self._after_commit = after_commit

    async def look(self, tenant_id: TenantId) -> int:
        """Do what the age of the tenant's open invoices asks for; how many things that were."""
        done = await self._deps.db.with_tx(lambda tx: look_tx(tx, tenant_id, self._deps.clock()))
        if done:
            self._after_commit(SENDS.name)  # some of it may be on its way to channels
        await self._deps.publisher.publish(*done)
        return len(done)


async def look_tx(tx: Tx, tenant_id: TenantId, now: Millis) -> list[Activity]:
    """Gather, decide, apply; a repeat finds nothing more to do."""
    account = await lock_account_tx(tx, tenant_id)
    unpaid = await list_open_invoices_tx(tx, tenant_id)
    stands = standing(unpaid[0].created_at if unpaid else None, now)
    if stands == "good":
        return await _remind_tx(tx, unpaid, now) + await _wake_tx(tx, account, now)
    slept = await _put_to_sleep_tx(tx, tenant_id, now)
    if stands == "churned":  # nobody is reminded of what is written off, or told twice at once that it is over
        return slept + await _give_up_tx(tx, tenant_id, slept, now)
    if slept:
        await tell_tenant_tx(tx, slept[0], asleep(unpaid[0], _names(slept), now))
    return await _remind_tx(tx, unpaid, now) + slept


async def _remind_tx(tx: Tx, unpaid: Sequence[Invoice], now: Millis) -> list[Activity]:
    """Send the reminder that is due and record it; whoever was away for days sends the last of them alone."""
    done = []
    for invoice in unpaid:
        count = reminders_due(invoice.created_at, now)
        if await mark_invoice_notified_tx(tx, invoice.id, count, now=now):
            snapshot = (await get_invoice_tx(tx, invoice.id)).snapshot()
            logged = await insert_tenant_activity_tx(tx, invoice.tenant_id, "invoice.reminded", snapshot, now=now)
            await tell_tenant_tx(tx, logged, due(invoice, count, now))
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
    if await mark_churned_tx(tx, tenant_id, now):
        snapshot = tenant_snapshot(await get_tenant_tx(tx, tenant_id))
        logged = await insert_tenant_activity_tx(tx, tenant_id, "tenant.churned", snapshot, now=now)
        await tell_tenant_tx(tx, logged, closed(snapshot.name, now))
        done.append(logged)
    return done


def _names(slept: Sequence[Activity]) -> list[str]:
    return [one.snapshot.name for one in slept if isinstance(one.snapshot, ShelfSnapshot)]


async def _set_tx(tx: Tx, shelf: RentedShelf, status: ShelfStatus, kind: ShelfActivity, *, now: Millis) -> Activity:
    await lock_shelf_tx(tx, shelf.id)
    changed = await set_shelf_status_tx(tx, shelf.id, status, now)
    return await insert_activity_tx(tx, shelf.id, kind, changed.snapshot(), now=now)
