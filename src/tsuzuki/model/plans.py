"""Plans: what a shelf may have, and what that costs a month. They are values in code; a new one is an edit here.

With billing off every shelf is on the self-hosted plan, whatever its row says.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec

from tsuzuki.model.errors import LimitExceeded, NotFound, Problem
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis


def money(cents: int, currency: str) -> str:
    """`USD 1,234.50`, with a true minus sign before what is given back."""
    units, rest = divmod(abs(cents), 100)
    return f"{'−' if cents < 0 else ''}{currency} {units:,}.{rest:02d}"


LimitName = Literal["follows", "kept_chapters", "members"]
"""What is counted where something is added."""

_COUNTED: dict[LimitName, str] = {
    "follows": "feeds and series",
    "kept_chapters": "kept chapters",
    "members": "members",
}


class PlanLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan allows; None is without limit."""

    follows: int | None = None
    """Feeds and series together."""
    kept_chapters: int | None = None
    members: int | None = None
    fastest_poll: Millis | None = None
    """The shortest time between two looks at a source."""
    retention: Millis | None = None
    """How long what was read and not saved stays in the inbox."""

    def room(self, limit: LimitName) -> int | None:
        """How many there may be."""
        found: int | None = getattr(self, limit)
        return found


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is rented: a name, a price for a calendar month in advance, and limits."""

    id: str
    name: str
    price_cents: int
    currency: str
    limits: PlanLimits
    is_offered: bool = True
    """Whether a tenant may choose it; the others are the operator's to give."""


CURRENCY = "USD"

FREE = Plan(
    id="free",
    name="Free",
    price_cents=0,
    currency=CURRENCY,
    limits=PlanLimits(
        follows=10, kept_chapters=20, members=1, fastest_poll=Millis(2 * HOUR), retention=Millis(30 * DAY)
    ),
)
BASIC = Plan(
    id="basic",
    name="Basic",
    price_cents=500,
    currency=CURRENCY,
    limits=PlanLimits(
        follows=200, kept_chapters=500, members=3, fastest_poll=Millis(30 * MINUTE), retention=Millis(365 * DAY)
    ),
)
GROWTH = Plan(
    id="growth",
    name="Growth",
    price_cents=1500,
    currency=CURRENCY,
    limits=PlanLimits(follows=2_000, kept_chapters=10_000, members=25, fastest_poll=Millis(15 * MINUTE)),
)
SELF_HOSTED = Plan(
    id="self-hosted", name="Self-hosted", price_cents=0, currency=CURRENCY, limits=PlanLimits(), is_offered=False
)

_PLANS = (FREE, BASIC, GROWTH, SELF_HOSTED)


def list_plans() -> Sequence[Plan]:
    """All of them, the cheapest first, the operator's own last."""
    return _PLANS


def get_plan(plan_id: str) -> Plan:
    """One of them, or NotFound."""
    for plan in _PLANS:
        if plan.id == plan_id:
            return plan
    raise NotFound(f"There is no plan {plan_id}. Choose one of {', '.join(plan.id for plan in _PLANS)}.")


def effective_plan(plan_id: str, *, is_billed: bool) -> Plan:
    """The plan whose limits count: with billing off, always the unlimited one."""
    return get_plan(plan_id) if is_billed else SELF_HOSTED


def is_over(plan: Plan, limit: LimitName, used: int) -> bool:
    """Whether so many are more than the plan has room for."""
    room = plan.limits.room(limit)
    return room is not None and used > room


def lifting(limit: LimitName, used: int) -> Plan | None:
    """The cheapest plan on offer that has room for so many; None when none has."""
    return next((plan for plan in _PLANS if plan.is_offered and not is_over(plan, limit, used)), None)


def what_is_over(plan: Plan, used: dict[LimitName, int]) -> tuple[Problem, ...]:
    """Every limit of this plan that so much use exceeds, in words."""
    return tuple(_problem(plan, limit, count) for limit, count in used.items() if is_over(plan, limit, count))


def exceeded(plan: Plan, limit: LimitName, *, used: int) -> LimitExceeded:
    """The error that names the limit, what is used, and the plan that lifts it."""
    more = lifting(limit, used + 1)
    room = plan.limits.room(limit)
    said = f"The plan {plan.name} allows {room:,} {_COUNTED[limit]}, and {used:,} are used"
    hint = "no offered plan allows more" if more is None else f"{more.name} allows {more.limits.room(limit):,}"
    return LimitExceeded(f"{said}; {hint}.", (Problem(limit, f"{used} of {room} used"),))


def _problem(plan: Plan, limit: LimitName, used: int) -> Problem:
    room = plan.limits.room(limit)
    message = f"{used:,} {_COUNTED[limit]} are used and {plan.name} allows {room:,}; remove {used - (room or 0):,}."
    return Problem(limit, message)
