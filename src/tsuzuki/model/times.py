"""Times are integer milliseconds since 1970, UTC; people and clients see ISO 8601 with a Z."""

from datetime import UTC, datetime
from typing import NewType

Millis = NewType("Millis", int)

SECOND = Millis(1000)
MINUTE = Millis(60 * SECOND)
HOUR = Millis(60 * MINUTE)
DAY = Millis(24 * HOUR)

EARLIEST = Millis(-62_135_510_400_000)
LATEST = Millis(253_402_214_399_999)
"""The second day of year 1 and the last but one of year 9999: both have a date on every reader's clock."""


def bounded(moment: int) -> Millis:
    """The moment, or the end of all calendars that it lies beyond: what comes from outside may say anything."""
    return Millis(min(max(moment, EARLIEST), LATEST))


def iso(moment: Millis) -> str:
    """`2026-02-22T00:16:49.000Z`; always with milliseconds, so that texts sort as their moments do."""
    seconds, rest = divmod(bounded(moment), SECOND)
    text = datetime.fromtimestamp(seconds, UTC).isoformat()[:19]  # four times as fast as strftime
    return f"{text}.{rest:03d}Z"


def from_iso(text: str) -> Millis:
    """The moment an ISO 8601 text names; one without a zone is UTC. ValueError when it names none."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return from_datetime(moment)


def from_datetime(moment: datetime) -> Millis:
    """Exact to the millisecond: no float is involved. Within the calendars of all zones."""
    delta = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return bounded((delta.days * 86_400 + delta.seconds) * 1000 + delta.microseconds // 1000)
