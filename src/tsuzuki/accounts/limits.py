"""Room for people: a tenant has as many members as the largest of its plans allows."""

from tsuzuki.accounts.activity.store import is_billed_tx, lock_account_tx
from tsuzuki.accounts.store import count_members_tx, tenant_plans_tx
from tsuzuki.db import Tx
from tsuzuki.model.ids import TenantId
from tsuzuki.model.plans import FREE, Plan, exceeded, get_plan, is_over
from tsuzuki.model.times import Millis

NEVER = Millis(2**62)


async def check_member_limit_tx(tx: Tx, tenant_id: TenantId, *, invited_until: Millis = NEVER) -> None:
    """Room for one more until this transaction ends; LimitExceeded names the plan that lifts the limit.

    With `invited_until` the invitations that are good beyond it count as members too. Free while billing is off.
    """
    if not await is_billed_tx(tx):
        return
    await lock_account_tx(tx, tenant_id)
    plan = largest([get_plan(name) for name in await tenant_plans_tx(tx, tenant_id)])
    if plan.limits.members is None:
        return
    used = await count_members_tx(tx, tenant_id, invited_until=invited_until)
    if is_over(plan, "members", used + 1):
        raise exceeded(plan, "members", used=used, adding=1)


def largest(plans: list[Plan]) -> Plan:
    """The plan with room for the most members; of a tenant whose shelves all sleep, the free one."""
    return max(plans, default=FREE, key=lambda plan: NEVER if plan.limits.members is None else plan.limits.members)
