"""Tenants: who pays. Each begins with one shelf; its people share what it has."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tsuzuki.accounts.audit.recording import Deed, record_tx
from tsuzuki.accounts.ground import Ground
from tsuzuki.accounts.nouns import Actor, Slice, Tenant, TenantContents
from tsuzuki.accounts.people import tenant_tx
from tsuzuki.accounts.store import (
    add_shelf_tx,
    add_tenant_tx,
    count_tenant_contents_tx,
    delete_tenant_tx,
    list_tenants_tx,
    lock_people_tx,
    rename_tenant_tx,
)
from tsuzuki.db import Tx
from tsuzuki.model.errors import Conflict
from tsuzuki.model.ids import PublicId, show_id

SELF_HOSTED = "self-hosted"
FIRST_SHELF = "Main"


class Tenants:
    """What the operator does with tenants."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def list(self, part: Slice) -> tuple[list[Tenant], int]:
        """All, oldest first, and how many they are."""
        return await self._ground.db.read(lambda tx: list_tenants_tx(tx, part))

    async def get(self, public_id: PublicId) -> Tenant:
        """One, or NotFound."""
        return await self._ground.db.read(lambda tx: tenant_tx(tx, public_id))

    async def contents(self, public_id: PublicId) -> TenantContents:
        """What deleting this tenant would take along."""

        async def look(tx: Tx) -> TenantContents:
            return await count_tenant_contents_tx(tx, (await tenant_tx(tx, public_id)).id)

        return await self._ground.db.read(look)

    async def add(self, actor: Actor, name: str) -> Tenant:
        """A tenant with one shelf on the unlimited plan."""
        return await self._ground.db.with_tx(lambda tx: self.add_tx(tx, actor, name))

    async def add_tx(self, tx: Tx, actor: Actor, name: str) -> Tenant:
        """The same, as a part of something larger."""
        now = self._ground.clock()
        tenant = await add_tenant_tx(tx, self._ground.new_id(now), name, now)
        public_ids = self._ground.new_id(now), self._ground.new_id(now)
        await add_shelf_tx(tx, tenant.id, public_ids, name=FIRST_SHELF, plan=SELF_HOSTED, now=now)
        await record_tx(tx, actor, _deed("tenant.create", tenant, after={"name": name}), now=now)
        return tenant

    async def rename(self, actor: Actor, public_id: PublicId, name: str) -> Tenant:
        """The tenant under another name."""

        async def rename(tx: Tx) -> Tenant:
            tenant = await tenant_tx(tx, public_id)
            now = self._ground.clock()
            deed = _deed("tenant.change", tenant, before={"name": tenant.name}, after={"name": name})
            await record_tx(tx, actor, deed, now=now)
            return await rename_tenant_tx(tx, tenant.id, name, now)

        return await self._ground.db.with_tx(rename)

    async def delete(self, actor: Actor, public_id: PublicId) -> TenantContents:
        """Delete it with what `contents` names; Conflict when people or the ledger still hang on it."""

        async def delete(tx: Tx) -> TenantContents:
            await lock_people_tx(tx)
            tenant = await tenant_tx(tx, public_id)
            contents = await count_tenant_contents_tx(tx, tenant.id)
            if contents.users:
                raise Conflict(f"{contents.users} people belong to this tenant; delete them first.")
            if contents.activities:
                raise Conflict("This tenant has entries in the ledger, which are kept.")
            await delete_tenant_tx(tx, tenant.id)
            before = {"name": tenant.name, "took_along": msgspec.structs.asdict(contents)}
            deed = _deed("tenant.delete", tenant, before=before)
            await record_tx(tx, actor, deed, now=self._ground.clock())
            return contents

        return await self._ground.db.with_tx(delete)


def _deed(
    action: str, tenant: Tenant, *, before: Mapping[str, Any] | None = None, after: Mapping[str, Any] | None = None
) -> Deed:
    return Deed(action, "tenant", show_id(tenant.public_id), before=before, after=after)
