"""How long things are kept, and when what is older is removed. Pure."""

import msgspec

from tsuzuki.model.times import DAY, HOUR, Millis

FOR_EVER = Millis(0)
NEWEST_KEPT = 50
"""R8: of each feed so many items stay, whoever read them: they are what somebody gets who subscribes later."""
ITEM_GRACE = Millis(7 * DAY)
"""An item is not removed sooner than this after it was stored."""
DUE_AFTER = Millis(20 * HOUR)
OVERDUE_AFTER = Millis(3 * DAY)
"""A server that is never on at night does it by day then."""


class RetentionRules(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's settings; 0 is for ever."""

    keep_read: Millis = Millis(365 * DAY)
    keep_jobs: Millis = Millis(365 * DAY)
    keep_audit: Millis = Millis(730 * DAY)
    hours: tuple[int, int] = (2, 6)
    """From one full hour to another, by the server's clock; (0, 24) is always."""


def kept_for(*, feed: Millis | None, shelf: Millis | None, server: Millis, plan: Millis | None) -> Millis | None:
    """How long read articles of a feed stay on a shelf: the nearest setting, and never longer than the plan.

    None is for ever. `kept_for` in queries.sql is the same.
    """
    wanted = next(span for span in (feed, shelf, server) if span is not None) or None
    if wanted is None or plan is None:
        return wanted if plan is None else plan
    return min(wanted, plan)


def is_night(hour: int, hours: tuple[int, int]) -> bool:
    """Whether an hour of the day is among them; they may go over midnight."""
    begin, end = hours
    return begin <= hour < end if begin < end else hour >= begin or hour < end


def is_due(finished_at: Millis, now: Millis, *, night: bool) -> bool:
    """Whether to begin, or go on with, what was last finished then."""
    passed = now - finished_at
    return passed >= (DUE_AFTER if night else OVERDUE_AFTER) or passed < 0
