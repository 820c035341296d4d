"""Tenants: who pays. Each begins with one shelf, for its first person."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tsuzuki.accounts.activity import (
    Activity,
    ShelfSnapshot,
    TenantSnapshot,
    insert_activity_tx,
    insert_tenant_activity_tx,
    is_billed_tx,
)
from tsuzuki.accounts.audit import AuditEvent, record_tx
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.people import tenant_tx
from tsuzuki.accounts.shelves import add_shelf_tx
from tsuzuki.accounts.store import count_tenant_contents_tx, delete_tenant_tx, list_tenants_tx
from tsuzuki.accounts.types import Actor, Slice, Tenant, TenantContents
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import lock_people_tx
from tsuzuki.model.errors import Conflict
from tsuzuki.model.ids import PublicId, show_id
from tsuzuki.model.plans import FREE, SELF_HOSTED, get_plan
from tsuzuki.model.structs import copied

q = load_queries("tsuzuki.accounts")

FIRST_SHELF = "Main"


class TenantChanged(msgspec.Struct, frozen=True):
    """A tenant after a change, and what is to be published once that is committed: nothing without billing."""

    tenant: Tenant
    activities: tuple[Activity, ...]


class Tenants:
    """Adds, lists, renames and deletes tenants."""

    def __init__(self, deps: AccountDeps) -> None:
        self._deps = deps

    async def list(self, part: Slice, *, text: str | None = None) -> tuple[list[Tenant], int]:
        """All, oldest first, and how many they are; with a text, those that have it in their name."""
        return await self._deps.db.read(lambda tx: list_tenants_tx(tx, part, text))

    async def get(self, public_id: PublicId) -> Tenant:
        """The tenant, or NotFound."""
        return await self._deps.db.read(lambda tx: tenant_tx(tx, public_id))

    async def contents(self, public_id: PublicId) -> TenantContents:
        """What deleting this tenant would take along."""

        async def read(tx: Tx) -> TenantContents:
            return await count_tenant_contents_tx(tx, (await tenant_tx(tx, public_id)).id)

        return await self._deps.db.read(read)

    async def add(self, actor: Actor, name: str, plan: str | None = None) -> Tenant:
        """A tenant with one shelf: on this plan, else the free one; unlimited while billing is off."""
        added = await self._deps.db.with_tx(lambda tx: self.add_tx(tx, actor, name, plan))
        await self._deps.publisher.publish(*added.activities)
        return added.tenant

    async def add_tx(self, tx: Tx, actor: Actor, name: str, plan: str | None) -> TenantChanged:
        """Add a tenant in the caller's transaction, as `add` does."""
        now = self._deps.clock()
        is_billed = await is_billed_tx(tx)
        chosen = get_plan(plan or (FREE.id if is_billed else SELF_HOSTED.id))
        tenant = await tx.one(Tenant, q.add_tenant, public_id=self._deps.new_id(now), name=name, now=now)
        public_ids = self._deps.new_id(now), self._deps.new_id(now)
        shelf = await add_shelf_tx(tx, tenant.id, public_ids, name=FIRST_SHELF, plan=chosen.id, now=now)
        await record_tx(
            tx, actor, _audit_event("tenant.create", tenant, after={"name": name, "plan": chosen.id}), now=now
        )
        if not is_billed:
            return TenantChanged(tenant, ())
        logged = await insert_tenant_activity_tx(tx, tenant.id, "tenant.created", tenant_snapshot(tenant), now=now)
        return TenantChanged(
            tenant,
            (logged, await insert_activity_tx(tx, shelf.id, "shelf.created", copied(ShelfSnapshot, shelf), now=now)),
        )

    async def rename(self, actor: Actor, public_id: PublicId, name: str) -> Tenant:
        """The tenant under another name."""

        async def rename(tx: Tx) -> TenantChanged:
            tenant = await tenant_tx(tx, public_id)
            now = self._deps.clock()
            audit_event = _audit_event("tenant.change", tenant, before={"name": tenant.name}, after={"name": name})
            await record_tx(tx, actor, audit_event, now=now)
            renamed = await tx.one(Tenant, q.rename_tenant, id=tenant.id, name=name, now=now)
            if not await is_billed_tx(tx):
                return TenantChanged(renamed, ())
            return TenantChanged(
                renamed,
                (await insert_tenant_activity_tx(tx, tenant.id, "tenant.renamed", tenant_snapshot(renamed), now=now),),
            )

        done = await self._deps.db.with_tx(rename)
        await self._deps.publisher.publish(*done.activities)
        return done.tenant

    async def delete(self, actor: Actor, public_id: PublicId) -> TenantContents:
        """Delete it with what `contents` names; Conflict when people or the ledger still hang on it."""

        async def delete(tx: Tx) -> TenantContents:
            await lock_people_tx(tx)
            tenant = await tenant_tx(tx, public_id)
            contents = await count_tenant_contents_tx(tx, tenant.id)
            if contents.users:
                raise Conflict(f"{contents.users} users belong to this tenant; delete them first.")
            if contents.charges:
                raise Conflict("This tenant cannot be deleted: its billing records must be kept.")
            await delete_tenant_tx(tx, tenant.id)
            before = {"name": tenant.name, "took_along": msgspec.structs.asdict(contents)}
            audit_event = _audit_event("tenant.delete", tenant, before=before)
            await record_tx(tx, actor, audit_event, now=self._deps.clock())
            return contents

        return await self._deps.db.with_tx(delete)


def _audit_event(
    action: str, tenant: Tenant, *, before: Mapping[str, Any] | None = None, after: Mapping[str, Any] | None = None
) -> AuditEvent:
    return AuditEvent(action, "tenant", show_id(tenant.public_id), before=before, after=after)


def tenant_snapshot(tenant: Tenant) -> TenantSnapshot:
    """The tenant as its activities store it."""
    return TenantSnapshot(tenant.name, tenant.churned_at is not None)
