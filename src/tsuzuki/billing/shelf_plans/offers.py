"""What a change would cost, and what prevents it, before anybody decides."""

from collections.abc import Sequence

import msgspec

from tsuzuki.accounts.activity import ShelfStatus
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.people import NEVER, count_members_tx, largest, tenant_plans_tx
from tsuzuki.accounts.shelves import find_member_shelf_tx
from tsuzuki.billing.books import BillingScope, own_tenant_tx
from tsuzuki.billing.policy import Period, Rented, change_cents, monthly_cents, period_at, tenant_standing
from tsuzuki.billing.store import get_account_tx, list_open_invoices_tx, list_shelves_for_tenant_tx
from tsuzuki.billing.types import RentedShelf
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.errors import Forbidden, LimitExceeded, NotFound
from tsuzuki.model.ids import PublicId, TenantId
from tsuzuki.model.plans import FREE, LimitName, Plan, get_plan, list_plans, what_is_over
from tsuzuki.model.times import Millis
from tsuzuki.shelves.limits import count_follows_tx, count_kept_chapters_tx

q = load_queries("tsuzuki.billing")

MOST_SHELVES = 50


def choose(plan_id: str, scope: BillingScope, others: Sequence[RentedShelf], *, members: int) -> Plan:
    """The plan, where it may be had: some are the operator's to give, and one shelf for each person may be free."""
    plan = get_plan(plan_id)
    if not plan.is_offered and not scope.is_operator:
        raise Forbidden(f"The plan {plan.name} can only be assigned by the operator.")
    if plan == FREE and sum(shelf.plan == FREE.id for shelf in others) >= max(members, 1):
        raise LimitExceeded("Only one shelf per user can be on the free plan; choose another plan for this one.")
    return plan


def check_shelf_count(known: Sequence[RentedShelf], members: int) -> None:
    """LimitExceeded when a tenant has as many shelves as it may, besides one for each person (R91)."""
    if len(known) >= MOST_SHELVES + members:
        raise LimitExceeded(f"A tenant can have at most {MOST_SHELVES} shelves, plus one for each user.")


async def check_use_tx(tx: Tx, shelf: RentedShelf, plan: Plan, others: Sequence[RentedShelf]) -> None:
    """LimitExceeded lists all that this plan has no room for."""
    used: dict[LimitName, int] = {
        "follows": await count_follows_tx(tx, shelf.id),
        "kept_chapters": await count_kept_chapters_tx(tx, shelf.id),
    }
    over = what_is_over(plan, used)
    awake = [get_plan(one.plan) for one in others if one.status == "active"]
    members = await count_members_tx(tx, shelf.tenant_id, invited_until=NEVER)
    over += what_is_over(largest([*awake, plan]), {"members": members})
    if over:
        said = " ".join(problem.message for problem in over)
        raise LimitExceeded(f"The plan {plan.name} allows less than is used. {said}", over)


OVERDUE = "Invoices are overdue; pay them first."


class Offer(msgspec.Struct, frozen=True):
    """A plan for a shelf."""

    plan: Plan
    cents: int
    """What it costs at once, for the rest of the period; negative: what is given back."""
    against: tuple[str, ...] = ()
    """Why it cannot be had, one thing each."""


class PlanOptions(msgspec.Struct, frozen=True):
    """The plans that a shelf could be on, from now to the end of the period."""

    period: Period
    offers: list[Offer]
    shelf: RentedShelf | None = None

    def of(self, plan_id: str) -> Offer:
        """The offer of this plan, or NotFound."""
        for offer in self.offers:
            if offer.plan.id == plan_id:
                return offer
        raise NotFound("This plan is not offered.")


class SleepOffer(msgspec.Struct, frozen=True):
    """What it means to put a shelf to sleep, or to wake it."""

    shelf: RentedShelf
    period: Period
    cents: int
    against: tuple[str, ...] = ()


class NextPeriodCost(msgspec.Struct, frozen=True):
    """What the next period will cost as things are, and how many people share the largest plan."""

    at: Millis
    cents: int
    members: int
    member_room: int | None


class Offers:
    """Computes costs; changes nothing."""

    def __init__(self, deps: AccountDeps) -> None:
        self._deps = deps

    async def for_new(self, scope: BillingScope, tenant_id: PublicId) -> PlanOptions:
        """What another shelf would cost; NotFound for a tenant that is not the caller's (I8)."""

        async def read(tx: Tx) -> PlanOptions:
            now = self._deps.clock()
            tenant = await own_tenant_tx(tx, scope, tenant_id)
            period = await _period_tx(tx, tenant.id, now)
            known = await list_shelves_for_tenant_tx(tx, tenant.id)
            members = await count_members_tx(tx, tenant.id, invited_until=NEVER)
            offers = []
            for plan in _on_offer(scope):
                cents = change_cents(None, Rented(plan.id, "active"), at=now, period=period)
                offers.append(Offer(plan, cents, _against_new(plan, scope, known, members=members)))
            return PlanOptions(period, offers)

        return await self._deps.db.read(read)

    async def for_shelf(self, scope: BillingScope, shelf_id: PublicId) -> PlanOptions:
        """What other plans would cost for this shelf; NotFound for another tenant's (I8)."""

        async def read(tx: Tx) -> PlanOptions:
            now = self._deps.clock()
            shelf = await own_shelf_tx(tx, scope, shelf_id)
            period = await _period_tx(tx, shelf.tenant_id, now)
            others = [one for one in await list_shelves_for_tenant_tx(tx, shelf.tenant_id) if one.id != shelf.id]
            before = Rented(shelf.plan, shelf.status)
            offers = []
            for plan in _on_offer(scope, shelf.plan):
                cents = change_cents(before, Rented(plan.id, shelf.status), at=now, period=period)
                offers.append(Offer(plan, cents, await _against_tx(tx, shelf, plan, scope=scope, others=others)))
            return PlanOptions(period, offers, shelf)

        return await self._deps.db.read(read)

    async def for_status(self, scope: BillingScope, shelf_id: PublicId, status: ShelfStatus) -> SleepOffer:
        """What this status would cost or give back; NotFound for another tenant's shelf (I8)."""

        async def read(tx: Tx) -> SleepOffer:
            now = self._deps.clock()
            shelf = await own_shelf_tx(tx, scope, shelf_id)
            period = await _period_tx(tx, shelf.tenant_id, now)
            before, after = Rented(shelf.plan, shelf.status), Rented(shelf.plan, status)
            is_late = status == "active" and await is_overdue_tx(tx, shelf.tenant_id, now)
            against = (OVERDUE,) if is_late else ()
            return SleepOffer(shelf, period, change_cents(before, after, at=now, period=period), against)

        return await self._deps.db.read(read)

    async def ahead(self, scope: BillingScope, tenant_id: PublicId) -> NextPeriodCost:
        """What comes next for this tenant; NotFound as above."""

        async def read(tx: Tx) -> NextPeriodCost:
            tenant = await own_tenant_tx(tx, scope, tenant_id)
            shelves = await list_shelves_for_tenant_tx(tx, tenant.id)
            plan = largest([get_plan(name) for name in await tenant_plans_tx(tx, tenant.id)])
            return NextPeriodCost(
                at=(await _period_tx(tx, tenant.id, self._deps.clock())).end,
                cents=sum(monthly_cents(Rented(shelf.plan, shelf.status)) for shelf in shelves),
                members=await count_members_tx(tx, tenant.id, invited_until=NEVER),
                member_room=plan.limits.members,
            )

        return await self._deps.db.read(read)


async def own_shelf_tx(tx: Tx, scope: BillingScope, public_id: PublicId) -> RentedShelf:
    """The shelf; one that this person does not have is as unknown as one that is not there (I8).

    Forbidden for whoever has it and does not own it.
    """
    found = await tx.maybe(RentedShelf, q.find_rented, public_id=public_id)
    if found is None or not scope.may_see(found.tenant_id):
        raise NotFound("There is no such shelf.")
    if scope.has_all_shelves or scope.user_id is None:
        return found
    mine = await find_member_shelf_tx(tx, scope.user_id, public_id)
    if mine is None:
        raise NotFound("There is no such shelf.")
    if mine.role != "owner":
        raise Forbidden("Only an owner of this shelf may do that.")
    return found


async def is_overdue_tx(tx: Tx, tenant_id: TenantId, now: Millis) -> bool:
    """Whether invoices of the tenant are open for so long that nothing is woken before they are paid."""
    unpaid = await list_open_invoices_tx(tx, tenant_id)
    return tenant_standing(unpaid[0].created_at if unpaid else None, now) != "good"


async def _period_tx(tx: Tx, tenant_id: TenantId, now: Millis) -> Period:
    return period_at((await get_account_tx(tx, tenant_id)).anchor_at, now)


def _on_offer(scope: BillingScope, present: str = "") -> list[Plan]:
    """What the tenant may choose, what the operator may give, and what the shelf is on."""
    return [plan for plan in list_plans() if plan.is_offered or scope.is_operator or plan.id == present]


def _against_new(plan: Plan, scope: BillingScope, known: Sequence[RentedShelf], *, members: int) -> tuple[str, ...]:
    try:
        check_shelf_count(known, members)
        choose(plan.id, scope, known, members=members)
    except LimitExceeded as error:
        return (str(error),)
    return ()


async def _against_tx(
    tx: Tx, shelf: RentedShelf, plan: Plan, *, scope: BillingScope, others: Sequence[RentedShelf]
) -> tuple[str, ...]:
    if plan.id == shelf.plan:
        return ()
    try:
        members = await count_members_tx(tx, shelf.tenant_id, invited_until=NEVER)
        await check_use_tx(tx, shelf, choose(plan.id, scope, others, members=members), others)
    except LimitExceeded as error:
        return tuple(problem.message for problem in error.problems) or (str(error),)
    return ()
