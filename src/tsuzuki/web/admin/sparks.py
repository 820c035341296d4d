"""The pulse of a source as small bars, one for each hour of the last day."""

from collections.abc import Sequence

import msgspec

from tsuzuki.crawler.figures.rows import Pulse
from tsuzuki.model.times import HOUR, Millis

HOURS = 24
HEIGHT = 20


class Bar(msgspec.Struct, frozen=True):
    """An hour: its place from the left, how high all of it is, and how high what failed."""

    place: int
    height: int
    failed: int


class Spark(msgspec.Struct, frozen=True):
    """A source's last day."""

    bars: list[Bar]
    jobs: int
    failed: int
    average_ms: int | None

    @property
    def error_rate(self) -> float:
        """From 0 to 1."""
        return self.failed / self.jobs if self.jobs else 0.0


def spark_of(pulses: Sequence[Pulse], now: Millis) -> Spark:
    """The busiest hour is as high as the picture; an hour in which something failed is never invisible."""
    first = now // HOUR - HOURS + 1
    shown = [pulse for pulse in pulses if pulse.hour >= first]
    most = max((pulse.jobs for pulse in shown), default=1)
    jobs = sum(pulse.jobs for pulse in shown)
    spent = sum(pulse.spent_ms for pulse in shown)
    return Spark(
        [Bar(pulse.hour - first, _scaled(pulse.jobs, most), _scaled(pulse.failed, most)) for pulse in shown],
        jobs,
        sum(pulse.failed for pulse in shown),
        spent // jobs if jobs else None,
    )


def _scaled(count: int, most: int) -> int:
    return -(-count * HEIGHT // most)
