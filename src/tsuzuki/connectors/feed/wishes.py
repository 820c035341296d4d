"""When a publisher wishes to be called (R94)."""

from collections.abc import Iterable

from tsuzuki.connectors.feed.raw import RawFeed
from tsuzuki.model.times import HOUR, MINUTE, Millis

_PERIODS = {"hourly": 1, "daily": 24, "weekly": 168, "monthly": 720, "yearly": 8760}
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def interval_of(feed: RawFeed) -> Millis | None:
    """The longer of what `ttl` and `sy:updatePeriod` say; None where neither says anything."""
    minutes = _number(feed.ttl_minutes)
    hours = _PERIODS.get((feed.update_period or "").strip().lower(), 0)
    longest = max(minutes * MINUTE, hours * HOUR // (_number(feed.update_frequency) or 1))
    return Millis(longest) if longest else None


def skipped_hours(said: Iterable[str]) -> tuple[int, ...]:
    """Hours from 0 to 23; RSS 0.91 counted to 24."""
    hours = {int(text) % 24 for text in said if text.isascii() and text.isdigit() and len(text) < 3 and int(text) <= 24}
    return tuple(sorted(hours))


def skipped_days(said: Iterable[str]) -> tuple[int, ...]:
    """Days of the week, Monday is 0."""
    names = {text[:3].lower() for text in said}
    return tuple(number for number, day in enumerate(_DAYS) if day in names)


def _number(text: str | None) -> int:
    """A whole number; 0 for anything else."""
    text = (text or "").strip()
    return int(text[:8]) if text.isascii() and text.isdigit() else 0
