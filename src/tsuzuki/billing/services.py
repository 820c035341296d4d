"""Every service of billing, built once for a process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import structlog

from tsuzuki.accounts.activity import Account, Activity, ShelfSnapshot, insert_activity_tx
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.billing.books import KEPT, Books
from tsuzuki.billing.dunning import Dunning
from tsuzuki.billing.ledger import Ledger
from tsuzuki.billing.policy import period_at
from tsuzuki.billing.settlement.service import Charging, Settlement
from tsuzuki.billing.shelf_plans.enforcer import PlanEnforcer
from tsuzuki.billing.shelf_plans.offers import Offers
from tsuzuki.billing.shelf_plans.service import RentedShelves
from tsuzuki.billing.store import UnloggedShelf
from tsuzuki.coord.wakeup import AfterCommit
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.errors import NotFound, TsuzukiError
from tsuzuki.model.ids import TenantId
from tsuzuki.model.structs import copied
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.billing")


async def switch_billing(deps: AccountDeps, *, is_on: bool) -> bool:
    """At every start: what the setting says; True when that is news.

    Switched on: shelves that the log does not know are adopted, and what passed without billing is not charged.
    """

    async def switch_billing(tx: Tx) -> tuple[bool, list[Activity]]:
        now = deps.clock()
        if not await tx.run(q.turn_switch, is_on=is_on, now=now):
            return False, []
        adopted = await _take_up_tx(tx, now) if is_on else []  # accounts are held before shelves, as everywhere
        await tx.run(q.desync_shelves)
        return True, adopted

    changed, adopted = await deps.db.with_tx(switch_billing)
    await deps.publisher.publish(*adopted)
    return changed


async def _take_up_tx(tx: Tx, now: Millis) -> list[Activity]:
    for account in await tx.many(Account, q.list_accounts):
        start = period_at(account.anchor_at, now).start
        if start > (account.renewed_at or account.anchor_at):
            await tx.run(q.skip_periods, tenant_id=account.id, start=start, now=now)
    return [
        await insert_activity_tx(tx, shelf.id, "shelf.adopted", copied(ShelfSnapshot, shelf), now=now)
        for shelf in await tx.many(UnloggedShelf, q.unlogged_shelves)
    ]


_log = structlog.stdlib.get_logger("tsuzuki.billing")

OFF = "Billing is off on this server: every shelf is unlimited and nothing is paid."


class Billing(msgspec.Struct, frozen=True):
    """The services, by name."""

    deps: AccountDeps
    is_on: bool
    rented: RentedShelves
    offers: Offers
    plan_enforcer: PlanEnforcer
    ledger: Ledger
    dunning: Dunning
    books: Books
    settlement: Settlement
    charging: Charging

    def opened(self) -> "Billing":
        """These services; NotFound while billing is off."""
        if not self.is_on:
            raise NotFound(OFF)
        return self

    async def start(self) -> None:
        """Store what TSUZUKI_BILLING says, and listen to activities."""
        if self.is_on:
            self.deps.publisher.listen(self.on_activity)
        await switch_billing(self.deps, is_on=self.is_on)

    async def on_activity(self, activity: Activity) -> None:
        """Do at once what `catch_up` would do within a minute."""
        if activity.shelf_id is not None:
            await self.plan_enforcer.sync(activity.shelf_id)
            await self.ledger.reconcile(activity.tenant_id)
        elif activity.activity_type in {"invoice.created", "invoice.paid", "invoice.voided"}:
            await self.ledger.reconcile(activity.tenant_id)  # whoever is given up owes what was billed by then
            await self.dunning.run(activity.tenant_id)
        elif activity.activity_type == "credit.granted":
            await self.ledger.reconcile(activity.tenant_id)

    async def catch_up(self) -> int:
        """R89: find by markers what was missed, at the start and every minute; how many shelves and tenants it did.

        At the start beside everything else: with thousands of open invoices it takes a while.
        """
        count = await self.plan_enforcer.sync_pending()
        if not self.is_on:
            return count
        tenants = await self.ledger.tenants_to_bill()
        return count + sum([await self._bill_and_remind(tenant_id) for tenant_id in tenants])

    async def _bill_and_remind(self, tenant_id: TenantId) -> bool:
        """Bill and remind one tenant; False when that failed, which must not keep the others waiting."""
        try:
            await self.ledger.reconcile(tenant_id)
            await self.dunning.run(tenant_id)
        except TsuzukiError:
            _log.exception("tenant_not_billed", tenant=tenant_id)
            return False
        return True

    async def tidy(self) -> int:
        """Now and then: poll floors of what fast readers left, and idempotency keys that are too old."""
        before = Millis(self.deps.clock() - KEPT)
        forgotten = await self.deps.db.with_tx(lambda tx: tx.run(q.forget_answers, before=before))
        return forgotten + (await self.plan_enforcer.repair_floors() if self.is_on else 0)


@asynccontextmanager
async def started(billing: Billing) -> AsyncIterator[Billing]:
    """Billing, switched as it is set. What was missed is found beside it: nobody's port waits for that."""
    await billing.start()
    looking = asyncio.ensure_future(_first_catch_up(billing))
    try:
        yield billing
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


async def _first_catch_up(billing: Billing) -> None:
    try:
        await billing.catch_up()
    except Exception:  # noqa: BLE001  nobody waits for this; the next look is within a minute
        _log.exception("billing_maintenance_failed")


def build_billing(
    deps: AccountDeps, *, is_on: bool, stripe_secret: str = "", after_commit: AfterCommit = lambda *_: None
) -> Billing:
    """The services over these dependencies; `after_commit` wakes the workers."""
    return Billing(
        deps=deps,
        is_on=is_on,
        rented=RentedShelves(deps),
        offers=Offers(deps),
        plan_enforcer=PlanEnforcer(deps, after_commit),
        ledger=Ledger(deps),
        dunning=Dunning(deps, after_commit),
        books=Books(deps),
        settlement=Settlement(deps, stripe_secret=stripe_secret, after_commit=after_commit),
        charging=Charging(deps),
    )
