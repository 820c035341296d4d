"""When to look at a watch again, and why. Pure: the clock and the dice are arguments.

A learned rhythm may replace `next_look` one day; it gets the same values and owes the same answer.
"""

from typing import Literal

import msgspec

from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis

Priority = Literal[1, 2, 3]
HOT: Priority = 1
WARM: Priority = 2
COLD: Priority = 3

CLASS_INTERVAL: dict[Priority, Millis] = {HOT: Millis(15 * MINUTE), WARM: Millis(4 * HOUR), COLD: DAY}
CLASS_NAME: dict[Priority, str] = {HOT: "hot", WARM: "warm", COLD: "cold"}
WARM_AFTER = Millis(7 * DAY)
COLD_AFTER = Millis(30 * DAY)
MANY_READERS = 100
BREAKER_AT = 5
BREAKER_REST = DAY
BACKOFF_BASE = 1.8
LARGEST_EXPONENT = 40
FULL_FETCH_EVERY = Millis(7 * DAY)
SPREAD = 0.05
"""A delay is lengthened by up to this share, so that what was polled together is not polled together for ever."""


AS_USUAL = "the pull interval"
"""Why a feed is looked at then, where nothing else says when."""


class Pace(msgspec.Struct, frozen=True):
    """The operator's bounds: how often a feed is called, and the longest that anything is left alone."""

    interval: Millis
    ceiling: Millis


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """What the policy may know of a watch."""

    kind: Literal["feed", "series"]
    last_release_at: Millis | None
    """When something new was last found; None before the first harvest."""
    followers: int = 1
    poll_floor: Millis | None = None
    """The fastest that any follower's plan allows; None is unlimited."""
    wished_interval: Millis | None = None
    """The shortest interval that a follower asked for."""
    fetch_once: bool = False
    """R24: not polled again after a complete harvest."""


class Answered(msgspec.Struct, frozen=True):
    """The source answered, changed or not. What it said of waiting is None where it said nothing."""

    retry_after: Millis | None = None
    fresh_for: Millis | None = None


class Failed(msgspec.Struct, frozen=True):
    """The poll failed; `failures` counts this one too."""

    failures: int
    retry_after: Millis | None = None


class Look(msgspec.Struct, frozen=True):
    """When to look again, how urgent that is among others, and why. `at` is None for never."""

    at: Millis | None
    priority: Priority
    why: str


def next_look(watched: Watched, outcome: Answered | Failed, pace: Pace, now: Millis, *, dice: float = 0.0) -> Look:
    """When this watch is due again; `dice` in [0, 1) spreads it."""
    resting = resting_priority(watched, now)
    interval, reason = interval_of(watched, resting, pace)
    bounds = Pace(interval, pace.ceiling)
    if isinstance(outcome, Failed):
        delay, why = failure_delay(watched.kind, outcome, bounds)
        return Look(Millis(now + spread(delay, bounds, dice)), demoted(resting), why)
    if watched.fetch_once:
        return Look(None, resting, "the source says that this is complete")
    wait, told = success_delay(outcome, bounds)
    return Look(Millis(now + spread(wait, bounds, dice)), resting, told or reason)


def spread(delay: Millis, pace: Pace, dice: float) -> Millis:
    """A little longer, within the ceiling: never sooner than was promised."""
    return Millis(max(delay, int(min(delay * (1 + SPREAD * dice), pace.ceiling))))


def resting_priority(watched: Watched, now: Millis) -> Priority:
    """R24: hot after a release, warm after a quiet week, cold after a quiet month; many readers keep it hot."""
    if watched.followers > MANY_READERS or watched.last_release_at is None:
        return HOT
    quiet_for = now - watched.last_release_at
    if quiet_for < WARM_AFTER:
        return HOT
    return WARM if quiet_for < COLD_AFTER else COLD


def demoted(priority: Priority) -> Priority:
    """R24: one step less urgent while it fails; the back-off still counts from the interval of its own class."""
    return WARM if priority == HOT else COLD


def interval_of(watched: Watched, priority: Priority, pace: Pace) -> tuple[Millis, str]:
    """The ordinary time between two looks, and why it is that."""
    if watched.kind == "feed":
        interval, reason = pace.interval, AS_USUAL
    else:
        interval, reason = CLASS_INTERVAL[priority], f"the series is {CLASS_NAME[priority]}"
    if watched.wished_interval is not None:
        interval, reason = watched.wished_interval, "a reader asked for this interval"
    if watched.poll_floor is not None and watched.poll_floor > interval:
        interval, reason = watched.poll_floor, "the fastest plan among its readers"
    return Millis(min(interval, pace.ceiling)), reason


def success_delay(answered: Answered, pace: Pace) -> tuple[Millis, str | None]:
    """The longest of interval, Retry-After and freshness, within the ceiling; why, unless it is the interval."""
    told = {
        "the source asked us to wait": answered.retry_after or 0,
        "its answer is fresh until then": answered.fresh_for or 0,
    }
    why, longest = max(told.items(), key=lambda pair: pair[1])
    if longest <= pace.interval:
        return pace.interval, None
    return Millis(min(longest, pace.ceiling)), why


def failure_delay(kind: str, failed: Failed, pace: Pace) -> tuple[Millis, str]:
    """R22, R23: how long to leave a failing source alone, always within [interval, ceiling]."""
    # 1.8 ** 1208 overflows a float, and any exponent over 40 is beyond every ceiling.
    backoff = pace.interval * BACKOFF_BASE ** min(failed.failures, LARGEST_EXPONENT)
    delay, why = backoff, f"failure {failed.failures} in a row"
    if kind == "series" and failed.failures >= BREAKER_AT:
        delay = max(delay, min(BREAKER_REST, pace.ceiling))
        why = f"the breaker is open after {failed.failures} failures; that look is the probe"
    if failed.retry_after is not None and failed.retry_after > delay:
        delay, why = failed.retry_after, "the source asked us to wait"
    return Millis(int(min(max(delay, pace.interval), pace.ceiling))), why


def is_broken(failures: int, *, is_suspended: bool) -> bool:
    """Whether those who follow it are told: too many failures in a row, or gone for good."""
    return failures >= BREAKER_AT or is_suspended


def wants_full_fetch(last_full_at: Millis | None, now: Millis, dice: float) -> bool:
    """R26: true when validators should be left out, because they may be frozen. `dice` in [0, 1) spreads it a day."""
    return last_full_at is None or now - last_full_at >= FULL_FETCH_EVERY + dice * DAY
