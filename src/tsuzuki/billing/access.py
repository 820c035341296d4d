"""Who may look at which tenant's account."""

import msgspec

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.nouns import SYSTEM, Actor, Tenant
from tsuzuki.accounts.store import find_tenant_tx
from tsuzuki.db import Tx
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import PublicId, TenantId, UserId


class BillingScope(msgspec.Struct, frozen=True):
    """Somebody, and the one tenant they belong to; the operator sees all of them, and acts as nobody in particular."""

    actor: Actor
    tenant_id: TenantId | None
    user_id: UserId | None = None
    """Who of the tenant; None is the tenant as a whole."""

    @property
    def is_operator(self) -> bool:
        return self.tenant_id is None

    @property
    def has_all_shelves(self) -> bool:
        """The operator sees what every shelf costs, a person what theirs do (R91)."""
        return self.is_operator or self.user_id is None

    def may_see(self, tenant_id: TenantId) -> bool:
        """I8."""
        return self.tenant_id is None or self.tenant_id == tenant_id


OPERATOR = BillingScope(SYSTEM, None)
"""The program itself."""


def whose(caller: Caller) -> BillingScope:
    """What this caller may: an administrator with that scope is the operator."""
    return BillingScope(caller.actor, None if caller.may("admin") else caller.tenant_id, caller.user_id)


async def own_tenant_tx(tx: Tx, who: BillingScope, public_id: PublicId) -> Tenant:
    """The tenant; another's is as unknown as one that is not there (I8)."""
    tenant = await find_tenant_tx(tx, public_id)
    if tenant is None or not who.may_see(tenant.id):
        raise NotFound("There is no such tenant.")
    return tenant
