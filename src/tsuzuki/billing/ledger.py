"""The ledger: from activities to items to invoices. Every step may be repeated at any time (I10)."""

from collections.abc import Sequence

import msgspec

from tsuzuki.accounts.activity import (
    Activity,
    ShelfSnapshot,
    get_latest_shelf_activity_before_tx,
    insert_tenant_activity_tx,
    list_billable_activity_tx,
    lock_account_tx,
    mark_activity_billed_tx,
)
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.billing.policy import (
    ChargedPeriod,
    Period,
    Rented,
    change_cents,
    monthly_cents,
    next_renewal,
    period_at,
    spread_credit,
)
from tsuzuki.billing.store import (
    credit_applied_tx,
    credit_left_tx,
    get_account_tx,
    get_invoice_tx,
    insert_credit_tx,
    insert_item_tx,
    insert_part_tx,
    list_open_invoices_tx,
    list_refunds_of_tx,
    list_tenants_to_bill_tx,
    list_unbilled_invoice_items_tx,
    lower_invoice_tx,
    mark_invoice_paid_tx,
    place_item_tx,
)
from tsuzuki.billing.types import Invoice, InvoiceId, InvoiceItem, NewInvoiceItem
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import ShelfId, TenantId
from tsuzuki.model.plans import CURRENCY, get_plan
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.billing")


async def write_off_tx(tx: Tx, invoice: Invoice, now: Millis) -> list[Activity]:
    """R86: its items stay on it and are never billed again, its credit comes back; nothing when it is not open."""
    done = await _void_tx(tx, invoice, now)
    applied = await credit_applied_tx(tx, invoice.id)
    if done and applied:
        reason = f"returned by the voided invoice {invoice.number}"
        await insert_credit_tx(
            tx, invoice.tenant_id, applied, "returned", reason=reason, invoice_id=invoice.id, now=now
        )
    return done


async def void_open_invoices_tx(tx: Tx, tenant_id: TenantId, now: Millis) -> list[Activity]:
    """Write off what a tenant owes, and no more: its credit pays first, and stays used."""
    unbilled = sum(item.amount_cents for item in await list_unbilled_invoice_items_tx(tx, tenant_id))
    credit = await credit_left_tx(tx, tenant_id) - max(0, unbilled)
    done: list[Activity] = []
    for invoice in await list_open_invoices_tx(tx, tenant_id):
        used = min(max(0, credit), invoice.amount_cents)
        credit -= used
        if used == invoice.amount_cents:
            done += await pay_from_credit_tx(tx, invoice, now)
            continue
        if used:
            await _use_credit_tx(tx, invoice, used, now)
        done += await _void_tx(tx, invoice, now)
    return done


async def _void_tx(tx: Tx, invoice: Invoice, now: Millis) -> list[Activity]:
    if not await tx.run(q.void_invoice, id=invoice.id, now=now):
        return []
    snapshot = (await get_invoice_tx(tx, invoice.id)).snapshot()
    return [await insert_tenant_activity_tx(tx, invoice.tenant_id, "invoice.voided", snapshot, now=now)]


async def place_credits_tx(tx: Tx, tenant_id: TenantId, now: Millis) -> list[Activity]:
    """Place every line that gives something back; what was paid by it. A repeat finds nothing more to place."""
    await lock_account_tx(tx, tenant_id)
    done: list[Activity] = []
    for item in await list_unbilled_invoice_items_tx(tx, tenant_id):
        if item.amount_cents < 0:
            done += await _place_tx(tx, item, now)
    return done


async def pay_from_credit_tx(tx: Tx, invoice: Invoice, now: Millis) -> list[Activity]:
    """The tenant's credit pays an invoice, whoever has seen to it that there is enough; nothing when it is not open."""
    if not await mark_invoice_paid_tx(tx, invoice.id, "credit", reference=None, now=now):
        return []
    reason, cents = f"paid invoice {invoice.number}", -invoice.amount_cents
    await insert_credit_tx(tx, invoice.tenant_id, cents, "settled", reason=reason, invoice_id=invoice.id, now=now)
    snapshot = (await get_invoice_tx(tx, invoice.id)).snapshot()
    return [await insert_tenant_activity_tx(tx, invoice.tenant_id, "invoice.paid", snapshot, now=now)]


async def ask_again_tx(tx: Tx, tenant_id: TenantId, now: Millis) -> None:
    """Credit that is gone after all was not used: open invoices ask for it again, the newest first."""
    for invoice in reversed(await list_open_invoices_tx(tx, tenant_id)):
        missing = -await credit_left_tx(tx, tenant_id)
        again = min(missing, await credit_applied_tx(tx, invoice.id))
        if again > 0:
            await _use_credit_tx(tx, invoice, -again, now)


async def standing_paid_tx(tx: Tx, invoice: Invoice) -> int:
    """What was really paid for this invoice's lines, by money or credit, and is neither given back nor refunded."""
    money = 0
    if invoice.status == "paid":
        money = invoice.amount_cents - sum(one.written_off_cents for one in await list_refunds_of_tx(tx, invoice.id))
    return money + await credit_applied_tx(tx, invoice.id) - await tx.one(int, q.credit_returned, invoice_id=invoice.id)


# -- inside


async def _use_credit_tx(tx: Tx, invoice: Invoice, cents: int, now: Millis) -> None:
    """An open invoice asks for so much less, because so much of the tenant's credit is used for it."""
    await lower_invoice_tx(tx, invoice.id, cents)
    await _apply_credit_tx(tx, invoice, cents, now)


async def _apply_credit_tx(tx: Tx, invoice: Invoice, cents: int, now: Millis) -> None:
    reason = f"used for invoice {invoice.number}"
    await insert_credit_tx(tx, invoice.tenant_id, -cents, "applied", reason=reason, invoice_id=invoice.id, now=now)


async def _place_tx(tx: Tx, item: InvoiceItem, now: Millis) -> list[Activity]:
    charged = await tx.many(
        ChargedPeriod, q.list_charged, shelf_id=item.shelf_id, period_end=item.period_end, item_id=item.id
    )
    unpaid = await list_open_invoices_tx(tx, item.tenant_id)
    pieces = spread_credit(-item.amount_cents, charged, [(one.id, one.amount_cents) for one in unpaid])
    await _split_tx(tx, item, pieces)
    done: list[Activity] = []
    for invoice_id, cents in pieces:
        done += await _book_tx(tx, await get_invoice_tx(tx, InvoiceId(invoice_id)), cents, now)
    return done


async def _split_tx(tx: Tx, item: InvoiceItem, pieces: Sequence[tuple[int, int]]) -> None:
    """The line itself stays the first piece, or what is left for the next invoice; the others are parts of it."""
    left = item.amount_cents + sum(cents for _, cents in pieces)
    parts = list(pieces)
    if left == 0 and parts:
        invoice_id, cents = parts.pop(0)
        await place_item_tx(tx, item.id, InvoiceId(invoice_id), -cents)
    elif parts:
        await place_item_tx(tx, item.id, None, left)
    for invoice_id, cents in parts:
        await insert_part_tx(tx, msgspec.structs.replace(item, invoice_id=InvoiceId(invoice_id), amount_cents=-cents))


async def _book_tx(tx: Tx, invoice: Invoice, cents: int, now: Millis) -> list[Activity]:
    """An open invoice asks for less; what was paid becomes credit, and what was written off does not."""
    if invoice.status == "open" and cents < invoice.amount_cents:
        await lower_invoice_tx(tx, invoice.id, cents)
        return []
    never_paid = 0
    if invoice.status != "open":
        never_paid = max(0, cents - max(0, await standing_paid_tx(tx, invoice)))
    back = f"given back of invoice {invoice.number}"
    await insert_credit_tx(tx, invoice.tenant_id, cents, "applied", reason=back, invoice_id=invoice.id, now=now)
    if never_paid:
        reason = f"given back of invoice {invoice.number}, but written off before"
        cents = -never_paid
        await insert_credit_tx(tx, invoice.tenant_id, cents, "returned", reason=reason, invoice_id=invoice.id, now=now)
    return await pay_from_credit_tx(tx, invoice, now) if invoice.status == "open" else []


class Ledger:
    """Bills what happened, renews what goes on, and makes invoices of it."""

    def __init__(self, deps: AccountDeps) -> None:
        self._deps = deps

    async def tenants_to_bill(self) -> list[TenantId]:
        """Tenants with something to do, found in the tables alone, so that no missed event matters (R89)."""
        return await self._deps.db.read(lambda tx: list_tenants_to_bill_tx(tx, self._deps.clock()))

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
        """Use the tenant's credit for its open invoices, the oldest first; how many it paid."""
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
    return await place_credits_tx(tx, activity.tenant_id, now)


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
        description=_line_text(activity.snapshot, before),
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
    if period is None or not await tx.run(q.advance_renewal, tenant_id=tenant_id, start=period.start, now=now):
        return None
    items = []
    for shelf_id in await tx.many(ShelfId, q.rented_shelves, tenant_id=tenant_id):
        state = await get_latest_shelf_activity_before_tx(tx, shelf_id, period.start)
        if state is not None and (item := _renewal(state, period)) is not None:
            items.append(await insert_item_tx(tx, item, now))
    return items


async def settle_from_credit_tx(tx: Tx, tenant_id: TenantId, now: Millis) -> list[Activity]:
    """Credit that came after an invoice pays it or lowers its amount: nobody is reminded while we have their money."""
    done = await place_credits_tx(tx, tenant_id, now)
    for invoice in await list_open_invoices_tx(tx, tenant_id):
        credit = await credit_left_tx(tx, tenant_id)
        if credit >= invoice.amount_cents:
            done += await pay_from_credit_tx(tx, invoice, now)
        elif credit > 0:
            await _use_credit_tx(tx, invoice, credit, now)
    return done


async def create_invoice_tx(tx: Tx, deps: AccountDeps, tenant_id: TenantId, *, now: Millis) -> Invoice | None:
    """An invoice over all items that are on none, less the credit; None when nothing is left to pay: that waits."""
    await lock_account_tx(tx, tenant_id)
    items = await list_unbilled_invoice_items_tx(tx, tenant_id)
    total = sum(item.amount_cents for item in items)
    credit = await credit_left_tx(tx, tenant_id)
    if total <= 0 or total <= credit:
        return None
    invoice = await tx.one(
        Invoice,
        q.insert_invoice,
        public_id=deps.new_id(now),
        tenant_id=tenant_id,
        amount_cents=total - credit,
        currency=CURRENCY,
        period_start=min(item.period_start for item in items),
        period_end=max(item.period_end for item in items),
        now=now,
    )
    await tx.bulk(int, q.attach_items, [[item.id] for item in items], invoice_id=invoice.id)
    if credit:
        await _apply_credit_tx(tx, invoice, credit, now)
    return invoice


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


def _line_text(snapshot: ShelfSnapshot, before: Rented | None) -> str:
    """What a line says: `Main: Basic instead of Free, for the rest of the month`."""
    now, rest = get_plan(snapshot.plan).name, "for the rest of the month"
    if snapshot.status != "active":
        return f"{snapshot.name}: {now} ends, {rest} given back"
    if before is None or before.status != "active":
        return f"{snapshot.name}: {now}, {rest}"
    return f"{snapshot.name}: {now} instead of {get_plan(before.plan).name}, {rest}"
