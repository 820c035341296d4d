"""From activities to items to invoices. Every step may be repeated, by anybody, at any time (I10)."""

from tsuzuki.accounts.activity.nouns import Activity, ShelfSnapshot
from tsuzuki.accounts.activity.store import (
    get_latest_shelf_activity_before_tx,
    insert_tenant_activity_tx,
    list_billable_activity_tx,
    lock_account_tx,
    mark_activity_billed_tx,
)
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.billing.giving_back import give_back_tx, pay_from_credit_tx
from tsuzuki.billing.nouns import Invoice, InvoiceId, InvoiceItem, NewInvoice, NewInvoiceItem
from tsuzuki.billing.policy import (
    Period,
    Rented,
    change_cents,
    monthly_cents,
    next_renewal,
    period_at,
)
from tsuzuki.billing.store import (
    advance_renewal_tx,
    attach_items_tx,
    credit_left_tx,
    get_account_tx,
    insert_credit_tx,
    insert_invoice_tx,
    insert_item_tx,
    list_open_invoices_tx,
    list_tenants_to_look_at_tx,
    list_unbilled_invoice_items_tx,
    rented_shelves_tx,
)
from tsuzuki.db import Tx
from tsuzuki.model.ids import ShelfId, TenantId
from tsuzuki.model.plans import CURRENCY, get_plan
from tsuzuki.model.times import Millis


class Ledger:
    """Bills what happened, renews what goes on, and makes invoices of it."""

    def __init__(self, deps: AccountDeps) -> None:
        self._deps = deps

    async def tenants_to_look_at(self) -> list[TenantId]:
        """R89: by markers alone, so that nothing depends on having heard of it."""
        return await self._deps.db.read(lambda tx: list_tenants_to_look_at_tx(tx, self._deps.clock()))

    async def reconcile(self, tenant_id: TenantId) -> Invoice | None:
        """Bill all that is not billed; the invoice that came of it, None when nothing is to be paid."""
        await self.renew(tenant_id)
        await self.bill(tenant_id)
        await self.settle_from_credit(tenant_id)
        return await self.create_invoice(tenant_id)

    async def bill(self, tenant_id: TenantId) -> int:
        """An item for each activity that nobody has billed; how many this call has claimed."""
        found = await self._deps.db.read(lambda tx: list_billable_activity_tx(tx, tenant_id))
        return sum([await self._bill_one(activity) for activity in found])

    async def _bill_one(self, activity: Activity) -> bool:
        paid = await self._deps.db.with_tx(lambda tx: bill_tx(tx, activity, self._deps.clock()))
        await self._deps.publisher.publish(*paid or ())
        return paid is not None

    async def renew(self, tenant_id: TenantId) -> int:
        """Charge every period that has begun since the last one; how many periods."""
        periods = 0
        while (
            await self._deps.db.with_tx(
                lambda tx: insert_invoice_items_for_renewal_tx(tx, tenant_id, self._deps.clock())
            )
            is not None
        ):
            periods += 1
        return periods

    async def settle_from_credit(self, tenant_id: TenantId) -> int:
        """Pay open invoices that the tenant's credit covers, the oldest first; how many."""
        done = await self._deps.db.with_tx(lambda tx: settle_from_credit_tx(tx, tenant_id, self._deps.clock()))
        await self._deps.publisher.publish(*done)
        return len(done)

    async def create_invoice(self, tenant_id: TenantId) -> Invoice | None:
        """An invoice over what is not on one; None when that, less the credit, is not positive."""

        async def create(tx: Tx) -> tuple[Invoice, Activity] | None:
            now = self._deps.clock()
            made = await create_invoice_tx(tx, self._deps, tenant_id, now=now)
            if made is None:
                return None
            logged = await insert_tenant_activity_tx(tx, tenant_id, "invoice.created", made.snapshot(), now=now)
            return made, logged

        created = await self._deps.db.with_tx(create)
        if created is None:
            return None
        await self._deps.publisher.publish(created[1])
        return created[0]


# -- the steps, each in a transaction


async def bill_tx(tx: Tx, activity: Activity, now: Millis) -> list[Activity] | None:
    """Charge for an activity, or give back at once what it gives back; None when somebody else has."""
    await lock_account_tx(tx, activity.tenant_id)
    if not await insert_invoice_item_for_activity_tx(tx, activity, now):
        return None
    return await give_back_tx(tx, activity.tenant_id, now)


async def insert_invoice_item_for_activity_tx(tx: Tx, activity: Activity, now: Millis) -> bool:
    """Claim the activity, and only then charge for it; False when somebody else has."""
    if not await mark_activity_billed_tx(tx, activity.id, now):
        return False
    assert activity.shelf_id is not None
    assert isinstance(activity.snapshot, ShelfSnapshot)
    before = await _rented_before_tx(tx, activity.shelf_id, activity)
    account = await get_account_tx(tx, activity.tenant_id)
    period = period_at(account.anchor_at, activity.created_at)
    after = Rented(activity.snapshot.plan, activity.snapshot.status)
    cents = change_cents(before, after, at=activity.created_at, period=period)
    if cents == 0:
        return True
    item = NewInvoiceItem(
        tenant_id=activity.tenant_id,
        shelf_id=activity.shelf_id,
        activity_id=activity.id,
        description=_says(activity.snapshot, before),
        amount_cents=cents,
        period_start=activity.created_at,
        period_end=period.end,
    )
    await insert_item_tx(tx, item, now)
    return True


async def insert_invoice_items_for_renewal_tx(tx: Tx, tenant_id: TenantId, now: Millis) -> list[InvoiceItem] | None:
    """Charge the next period for each shelf that was awake strictly before it (R85); None when it has not begun.

    Nothing to charge is an empty list, and the period is renewed all the same.
    """
    account = await lock_account_tx(tx, tenant_id)
    period = next_renewal(account.anchor_at, account.renewed_at, now)
    if period is None or not await advance_renewal_tx(tx, tenant_id, period.start, now=now):
        return None
    items = []
    for shelf_id in await rented_shelves_tx(tx, tenant_id):
        state = await get_latest_shelf_activity_before_tx(tx, shelf_id, period.start)
        if state is not None and (item := _renewal(state, period)) is not None:
            items.append(await insert_item_tx(tx, item, now))
    return items


async def settle_from_credit_tx(tx: Tx, tenant_id: TenantId, now: Millis) -> list[Activity]:
    """Credit that came after an invoice pays it as soon as there is enough: nobody is dunned for what we hold."""
    done = await give_back_tx(tx, tenant_id, now)
    for invoice in await list_open_invoices_tx(tx, tenant_id):
        if await credit_left_tx(tx, tenant_id) >= invoice.amount_cents:
            done += await pay_from_credit_tx(tx, invoice, now)
    return done


async def create_invoice_tx(tx: Tx, deps: AccountDeps, tenant_id: TenantId, *, now: Millis) -> Invoice | None:
    """An invoice over all items that are on none, less the credit; None when nothing is left to pay: that waits."""
    await lock_account_tx(tx, tenant_id)
    items = await list_unbilled_invoice_items_tx(tx, tenant_id)
    total = sum(item.amount_cents for item in items)
    credit = await credit_left_tx(tx, tenant_id)
    if total <= 0 or total <= credit:
        return None
    new = NewInvoice(
        public_id=deps.new_id(now),
        tenant_id=tenant_id,
        amount_cents=total - credit,
        currency=CURRENCY,
        period_start=min(item.period_start for item in items),
        period_end=max(item.period_end for item in items),
    )
    invoice = await insert_invoice_tx(tx, new, now)
    await attach_items_tx(tx, invoice.id, items)
    if credit:
        await _apply_credit_tx(tx, invoice.id, tenant_id, credit, now=now)
    return invoice


async def _apply_credit_tx(tx: Tx, invoice_id: InvoiceId, tenant_id: TenantId, cents: int, *, now: Millis) -> None:
    reason = "used for an invoice"
    await insert_credit_tx(tx, tenant_id, -cents, "applied", reason=reason, invoice_id=invoice_id, now=now)


async def _rented_before_tx(tx: Tx, shelf_id: ShelfId, activity: Activity) -> Rented | None:
    before = await get_latest_shelf_activity_before_tx(tx, shelf_id, activity.created_at, activity.id)
    return None if before is None else _rented(before)


def _rented(activity: Activity) -> Rented:
    assert isinstance(activity.snapshot, ShelfSnapshot)
    return Rented(activity.snapshot.plan, activity.snapshot.status)


def _renewal(state: Activity, period: Period) -> NewInvoiceItem | None:
    assert isinstance(state.snapshot, ShelfSnapshot)
    assert state.shelf_id is not None
    cents = monthly_cents(_rented(state))
    if cents == 0:
        return None
    return NewInvoiceItem(
        tenant_id=state.tenant_id,
        shelf_id=state.shelf_id,
        activity_id=None,
        description=f"{state.snapshot.name}: {get_plan(state.snapshot.plan).name}, one month",
        amount_cents=cents,
        period_start=period.start,
        period_end=period.end,
    )


def _says(snapshot: ShelfSnapshot, before: Rented | None) -> str:
    """What a line says: `Main: Basic instead of Free, for the rest of the month`."""
    now, rest = get_plan(snapshot.plan).name, "for the rest of the month"
    if snapshot.status != "active":
        return f"{snapshot.name}: {now} ends, {rest} given back"
    if before is None or before.status != "active":
        return f"{snapshot.name}: {now}, {rest}"
    return f"{snapshot.name}: {now} instead of {get_plan(before.plan).name}, {rest}"
