"""When a channel that fails is left alone, and when a notice has become too old to be told. Pure."""

from typing import Final

from tsuzuki.model.times import DAY, MINUTE, Millis

FAILURES: Final = 5
"""In a row, until the channel's breaker opens."""

LONGEST_REST: Final = Millis(10 * MINUTE)
PROBE: Final = Millis(MINUTE)
"""How long the one that tries a resting channel has for it before another may."""

NEWS_UNTIL: Final = Millis(DAY)
"""What a channel could not be told for so long is no news any more: a dead letter."""


def rest(failures: int) -> Millis | None:
    """How long to leave a channel alone after so many failures in a row; None while it is tried as usual."""
    if failures < FAILURES:
        return None
    # The exponent is clamped: a count from a row may be anything.
    return Millis(min(MINUTE * 2 ** min(failures - FAILURES, 20), LONGEST_REST))


def is_stale(told_of_at: Millis, until: Millis) -> bool:
    """Whether a notice that waits until then is given up."""
    return until - told_of_at > NEWS_UNTIL
