"""R84: what becomes of a tenant whose invoices are not paid, and of one that pays after all."""

from collections.abc import Sequence

from tsuzuki.accounts.activity.nouns import Account, Activity, ShelfActivity, ShelfStatus
from tsuzuki.accounts.activity.store import hold_account_tx, insert_activity_tx, insert_tenant_activity_tx
from tsuzuki.accounts.ground import Ground
from tsuzuki.accounts.store import get_tenant_tx
from tsuzuki.accounts.tenants import tenant_snapshot
from tsuzuki.billing.nouns import Invoice
from tsuzuki.billing.policy import reminders_due, standing
from tsuzuki.billing.rented.nouns import RentedShelf
from tsuzuki.billing.rented.store import list_shelves_for_tenant_tx, set_shelf_status_tx
from tsuzuki.billing.store import get_invoice_tx, list_open_invoices_tx, mark_churned_tx, mark_invoice_notified_tx
from tsuzuki.billing.voiding import void_open_invoices_tx
from tsuzuki.db import Tx
from tsuzuki.model.ids import TenantId
from tsuzuki.model.plans import get_plan
from tsuzuki.model.times import Millis
from tsuzuki.shelves.store import hold_shelf_tx


class Dunning:
    """Reminds, puts to sleep, gives up; and wakes what it put to sleep."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def look(self, tenant_id: TenantId) -> int:
        """Do what the age of the tenant's open invoices asks for; how many things that were."""
        done = await self._ground.db.with_tx(lambda tx: look_tx(tx, tenant_id, self._ground.clock()))
        await self._ground.publisher.publish(*done)
        return len(done)


async def look_tx(tx: Tx, tenant_id: TenantId, now: Millis) -> list[Activity]:
    """Gather, decide, apply; a repeat finds nothing more to do."""
    account = await hold_account_tx(tx, tenant_id)
    unpaid = await list_open_invoices_tx(tx, tenant_id)
    done = await _remind_tx(tx, unpaid, now)
    stands = standing(unpaid[0].created_at if unpaid else None, now)
    if stands == "good":
        return done + await _wake_tx(tx, account, now)
    done += await _put_to_sleep_tx(tx, tenant_id, now)
    return done + await _give_up_tx(tx, tenant_id, now) if stands == "churned" else done


async def _remind_tx(tx: Tx, unpaid: Sequence[Invoice], now: Millis) -> list[Activity]:
    """Record the reminder that is due; whoever was away for days records the last of them alone."""
    done = []
    for invoice in unpaid:
        due = reminders_due(invoice.created_at, now)
        if await mark_invoice_notified_tx(tx, invoice.id, due, now=now):
            snapshot = (await get_invoice_tx(tx, invoice.id)).snapshot()
            done.append(await insert_tenant_activity_tx(tx, invoice.tenant_id, "invoice.reminded", snapshot, now=now))
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


async def _give_up_tx(tx: Tx, tenant_id: TenantId, now: Millis) -> list[Activity]:
    """It left: what it owes is written off."""
    done = await void_open_invoices_tx(tx, tenant_id, now)
    if await mark_churned_tx(tx, tenant_id, now):
        snapshot = tenant_snapshot(await get_tenant_tx(tx, tenant_id))
        done.append(await insert_tenant_activity_tx(tx, tenant_id, "tenant.churned", snapshot, now=now))
    return done


async def _set_tx(tx: Tx, shelf: RentedShelf, status: ShelfStatus, kind: ShelfActivity, *, now: Millis) -> Activity:
    await hold_shelf_tx(tx, shelf.id)
    changed = await set_shelf_status_tx(tx, shelf.id, status, now)
    return await insert_activity_tx(tx, shelf.id, kind, changed.snapshot(), now=now)
