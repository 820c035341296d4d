"""What stands against a plan for a shelf: asked when it is shown, and again when it is chosen."""

from collections.abc import Sequence

from tsuzuki.accounts.limits import NEVER, largest
from tsuzuki.accounts.store import count_members_tx
from tsuzuki.billing.access import BillingScope
from tsuzuki.billing.shelf_plans.nouns import RentedShelf
from tsuzuki.db import Tx
from tsuzuki.model.errors import Forbidden, LimitExceeded
from tsuzuki.model.plans import FREE, LimitName, Plan, get_plan, what_is_over
from tsuzuki.shelves.store import count_follows_tx, count_kept_chapters_tx

MOST_SHELVES = 50


def choose(plan_id: str, whose: BillingScope, others: Sequence[RentedShelf], *, members: int) -> Plan:
    """The plan, where it may be had: some are the operator's to give, and one shelf for each person may be free."""
    plan = get_plan(plan_id)
    if not plan.is_offered and not whose.is_operator:
        raise Forbidden(f"The plan {plan.name} can be assigned by the operator only.")
    if plan == FREE and sum(shelf.plan == FREE.id for shelf in others) >= max(members, 1):
        raise LimitExceeded("One shelf for each person may be on the free plan; choose another plan for this one.")
    return plan


def check_shelf_count(known: Sequence[RentedShelf], members: int) -> None:
    """LimitExceeded when a tenant has as many shelves as it may, besides one for each person (R91)."""
    if len(known) >= MOST_SHELVES + members:
        raise LimitExceeded(f"A tenant has at most {MOST_SHELVES} shelves, besides one for each person.")


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
        raise LimitExceeded(f"The plan {plan.name} allows less than what there is. {said}", over)
