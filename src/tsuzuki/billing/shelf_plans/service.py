"""Rented shelves: created, renamed, moved to another plan, put to sleep and woken; each change is logged."""

from collections.abc import Awaitable, Callable

import msgspec

from tsuzuki.accounts.activity import (
    Activity,
    ShelfActivity,
    insert_activity_tx,
    insert_tenant_activity_tx,
    lock_account_tx,
)
from tsuzuki.accounts.audit import AuditEvent, record_tx
from tsuzuki.accounts.caller import get_user_tx
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.people import NEVER, count_members_tx, get_tenant_tx
from tsuzuki.accounts.shelves import add_shelf_tx, first_person_tx, list_member_shelves_tx, put_member_tx
from tsuzuki.accounts.tenants import tenant_snapshot
from tsuzuki.accounts.types import Actor, Tenant
from tsuzuki.billing.books import BillingScope, own_tenant_tx
from tsuzuki.billing.shelf_plans.offers import (
    OVERDUE,
    check_shelf_count,
    check_use_tx,
    choose,
    is_overdue_tx,
    own_shelf_tx,
)
from tsuzuki.billing.store import (
    get_rented_tx,
    list_shelves_for_tenant_tx,
    mark_returned_tx,
    rename_shelf_tx,
    set_shelf_status_tx,
)
from tsuzuki.billing.types import PlanUsage, RentedShelf
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.errors import UniqueViolation
from tsuzuki.db.locks import lock_shelf_tx
from tsuzuki.model.errors import Conflict
from tsuzuki.model.ids import PublicId, ShelfId, UserId, show_id
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.billing")

Change = Callable[[Tx, RentedShelf, Millis], Awaitable["ShelfChanged"]]


class ShelfChanged(msgspec.Struct, frozen=True):
    """A shelf after a change, and what is to be published once that is committed."""

    shelf: RentedShelf
    activities: tuple[Activity, ...] = ()


class RentedShelves:
    """What tenants do with their own shelves, and the operator with all."""

    def __init__(self, deps: AccountDeps) -> None:
        self._deps = deps

    async def list(self, scope: BillingScope, tenant_id: PublicId) -> list[RentedShelf]:
        """A tenant's that the caller has, the operator all, oldest first; NotFound for another's tenant (I8)."""

        async def read(tx: Tx) -> list[RentedShelf]:
            shelves = await list_shelves_for_tenant_tx(tx, (await own_tenant_tx(tx, scope, tenant_id)).id)
            if scope.has_all_shelves or scope.user_id is None:
                return shelves
            mine = {shelf.id for shelf in await list_member_shelves_tx(tx, scope.user_id)}
            return [shelf for shelf in shelves if shelf.id in mine]

        return await self._deps.db.read(read)

    async def use(self, scope: BillingScope, tenant_id: PublicId) -> dict[PublicId, PlanUsage]:
        """What each of the tenant's shelves uses of its plan; NotFound as above."""

        async def read(tx: Tx) -> dict[PublicId, PlanUsage]:
            tenant = await own_tenant_tx(tx, scope, tenant_id)
            return {
                used.public_id: used for used in await tx.many(PlanUsage, q.list_use_for_tenant, tenant_id=tenant.id)
            }

        return await self._deps.db.read(read)

    async def create(self, scope: BillingScope, tenant_id: PublicId, *, name: str, plan: str) -> RentedShelf:
        """Another shelf; Conflict when the name is taken, LimitExceeded for a second free one."""

        async def create(tx: Tx) -> ShelfChanged:
            now = self._deps.clock()
            tenant = await own_tenant_tx(tx, scope, tenant_id)
            await lock_account_tx(tx, tenant.id)
            known = await list_shelves_for_tenant_tx(tx, tenant.id)
            members = await count_members_tx(tx, tenant.id, invited_until=NEVER)
            chosen = choose(plan, scope, known, members=members)
            check_shelf_count(known, members)
            if any(shelf.name == name for shelf in known):
                raise _taken(name)
            ids = self._deps.new_id(now), self._deps.new_id(now)
            added = await add_shelf_tx(tx, tenant.id, ids, name=name, plan=chosen.id, now=now)
            await self._give_tx(tx, scope, tenant, added.id)
            return await self._logged_tx(tx, scope.actor, await get_rented_tx(tx, added.id), "shelf.created")

        return await self._publish(await self._deps.db.with_tx(create))

    async def rename(self, scope: BillingScope, shelf_id: PublicId, name: str) -> RentedShelf:
        """Under another name; Conflict when the tenant has one of that name."""

        async def rename(tx: Tx, shelf: RentedShelf, now: Millis) -> ShelfChanged:
            if shelf.name == name:
                return ShelfChanged(shelf)
            try:
                renamed = await rename_shelf_tx(tx, shelf.id, name, now)
            except UniqueViolation as error:
                raise _taken(name) from error
            return await self._logged_tx(tx, scope.actor, renamed, "shelf.renamed", before=shelf)

        return await self._change(scope, shelf_id, rename)

    async def change_plan(self, scope: BillingScope, shelf_id: PublicId, plan: str) -> RentedShelf:
        """On another plan from now on; LimitExceeded lists what it has no room for."""

        async def change(tx: Tx, shelf: RentedShelf, now: Millis) -> ShelfChanged:
            others = [one for one in await list_shelves_for_tenant_tx(tx, shelf.tenant_id) if one.id != shelf.id]
            if shelf.plan == plan:
                return ShelfChanged(shelf)
            members = await count_members_tx(tx, shelf.tenant_id, invited_until=NEVER)
            chosen = choose(plan, scope, others, members=members)
            await check_use_tx(tx, shelf, chosen, others)
            changed = await tx.one(RentedShelf, q.set_shelf_plan, id=shelf.id, plan=chosen.id, now=now)
            return await self._logged_tx(tx, scope.actor, changed, "shelf.plan_changed", before=shelf)

        return await self._change(scope, shelf_id, change)

    async def deactivate(self, scope: BillingScope, shelf_id: PublicId) -> RentedShelf:
        """To sleep: it costs nothing, nothing is polled for it or added to it; all of it can be read (R81)."""

        async def deactivate(tx: Tx, shelf: RentedShelf, now: Millis) -> ShelfChanged:
            if shelf.status == "inactive":
                return ShelfChanged(shelf)
            changed = await set_shelf_status_tx(tx, shelf.id, "inactive", now)
            return await self._logged_tx(tx, scope.actor, changed, "shelf.deactivated", before=shelf)

        return await self._change(scope, shelf_id, deactivate)

    async def reactivate(self, scope: BillingScope, shelf_id: PublicId) -> RentedShelf:
        """Awake again, charged from now on; Conflict while invoices are overdue.

        A tenant that left is back, with this shelf alone: its others sleep on, now by their owner's choice.
        """

        async def reactivate(tx: Tx, shelf: RentedShelf, now: Millis) -> ShelfChanged:
            if shelf.status == "active":
                return ShelfChanged(shelf)
            if await is_overdue_tx(tx, shelf.tenant_id, now):
                raise Conflict(OVERDUE)
            changed = await set_shelf_status_tx(tx, shelf.id, "active", now)
            done = await self._logged_tx(tx, scope.actor, changed, "shelf.reactivated", before=shelf)
            if not await mark_returned_tx(tx, shelf.tenant_id, now):
                return done
            snapshot = tenant_snapshot(await get_tenant_tx(tx, shelf.tenant_id))
            back = await insert_tenant_activity_tx(tx, shelf.tenant_id, "tenant.returned", snapshot, now=now)
            others = await _leave_asleep_tx(tx, shelf, now)
            return msgspec.structs.replace(done, activities=(*done.activities, back, *others))

        return await self._change(scope, shelf_id, reactivate, with_others=True)

    # -- inside

    async def _give_tx(self, tx: Tx, scope: BillingScope, tenant: Tenant, shelf_id: ShelfId) -> None:
        """Whoever rents a shelf owns it; what the operator rents for another tenant is its first person's."""
        renter = None if scope.user_id is None else await get_user_tx(tx, scope.user_id)
        if renter is not None and renter.tenant_id == tenant.id:
            owner: UserId | None = renter.id
        else:
            owner = await first_person_tx(tx, tenant.id)
        if owner is not None:
            await put_member_tx(tx, shelf_id, owner, "owner", now=self._deps.clock())

    async def _change(
        self, scope: BillingScope, public_id: PublicId, change: Change, *, with_others: bool = False
    ) -> RentedShelf:
        """Do it to a shelf that nobody else changes or fills meanwhile; NotFound for another tenant's (I8)."""

        async def apply(tx: Tx) -> ShelfChanged:
            found = await own_shelf_tx(tx, scope, public_id)
            await lock_account_tx(tx, found.tenant_id)
            others = await list_shelves_for_tenant_tx(tx, found.tenant_id) if with_others else []
            for shelf_id in sorted({found.id, *(other.id for other in others)}):
                await lock_shelf_tx(tx, shelf_id)
            return await change(tx, await get_rented_tx(tx, found.id), self._deps.clock())

        return await self._publish(await self._deps.db.with_tx(apply))

    async def _publish(self, done: ShelfChanged) -> RentedShelf:
        """What is committed is published; then the shelf as it is after all who heard of it."""
        if not done.activities:
            return done.shelf
        await self._deps.publisher.publish(*done.activities)
        return await self._deps.db.read(lambda tx: get_rented_tx(tx, done.shelf.id))

    async def _logged_tx(
        self, tx: Tx, actor: Actor, shelf: RentedShelf, kind: ShelfActivity, *, before: RentedShelf | None = None
    ) -> ShelfChanged:
        now = self._deps.clock()
        audit_event = AuditEvent(
            kind,
            "shelf",
            show_id(shelf.public_id),
            before=None if before is None else msgspec.structs.asdict(before.snapshot()),
            after=msgspec.structs.asdict(shelf.snapshot()),
        )
        await record_tx(tx, actor, audit_event, now=now)
        return ShelfChanged(shelf, (await insert_activity_tx(tx, shelf.id, kind, shelf.snapshot(), now=now),))


async def _leave_asleep_tx(tx: Tx, woken: RentedShelf, now: Millis) -> list[Activity]:
    """Nobody pays for a shelf that they did not wake: in good standing, what the system put to sleep would wake."""
    done = []
    for shelf in await list_shelves_for_tenant_tx(tx, woken.tenant_id):
        if shelf.status == "delinquent":
            changed = await set_shelf_status_tx(tx, shelf.id, "inactive", now)
            done.append(await insert_activity_tx(tx, shelf.id, "shelf.deactivated", changed.snapshot(), now=now))
    return done


def _taken(name: str) -> Conflict:
    return Conflict(f"A shelf named {name} already exists.")
