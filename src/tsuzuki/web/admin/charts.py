"""Charts of figures, and the same as tables."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from tsuzuki.crawler.figures import Figure, Figures, SourceHour
from tsuzuki.model.times import DAY, HOUR, MINUTE, SECOND, Millis
from tsuzuki.web.labels import label_of

Span = Literal["day", "week"]
WIDTHS: dict[Span, tuple[Millis, Millis, Millis]] = {
    "day": (Millis(DAY), Millis(5 * MINUTE), Millis(HOUR)),
    "week": (Millis(7 * DAY), Millis(HOUR), Millis(DAY)),
}
"""How far back, how wide a step of the chart is, and one of the table."""
LEVELS = ("depth", "dead_letters", "failing")
EVENTS = ("polls", "finished", "failed")


class Chart(msgspec.Struct, frozen=True):
    """Lines over time, as the script wants them: seconds, then a list of numbers for each line."""

    name: str
    content: str


class Charts(msgspec.Struct, frozen=True):
    """Both charts, and the same in rows, the newest first."""

    span: Span
    charts: list[Chart]
    rows: list[Figure]


def span_of(text: str | None) -> Span:
    """A day unless a week is asked for."""
    return "week" if text == "week" else "day"


async def charts_of(figures: Figures, span: Span, now: Millis) -> Charts:
    """Charts of the last day or week; they span all of it, though figures may be missing."""
    length, step, row = WIDTHS[span]
    steps = await figures.figures(length, step)
    rows = await figures.figures(length, row)
    shown = (Millis(now - length), now)
    charts = [_chart(name, lines, steps, shown=shown) for name, lines in (("levels", LEVELS), ("events", EVENTS))]
    return Charts(span, charts, rows[::-1])


def _chart(name: str, lines: Sequence[str], steps: Sequence[Figure], *, shown: tuple[Millis, Millis]) -> Chart:
    content = {
        "shown": [at // SECOND for at in shown],
        "at": [step.at // SECOND for step in steps],
        "lines": [
            {"name": label_of("figure", line), "kind": line, "values": [getattr(step, line) for step in steps]}
            for line in lines
        ],
    }
    return Chart(name, msgspec.json.encode(content).decode())


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


def spark_of(source_hours: Sequence[SourceHour], now: Millis) -> Spark:
    """The busiest hour is as high as the picture; an hour in which something failed is never invisible."""
    first = now // HOUR - HOURS + 1
    shown = [source_hour for source_hour in source_hours if source_hour.hour >= first]
    most = max((source_hour.jobs for source_hour in shown), default=1)
    jobs = sum(source_hour.jobs for source_hour in shown)
    spent = sum(source_hour.spent_ms for source_hour in shown)
    return Spark(
        [
            Bar(source_hour.hour - first, _scaled(source_hour.jobs, most), _scaled(source_hour.failed, most))
            for source_hour in shown
        ],
        jobs,
        sum(source_hour.failed for source_hour in shown),
        spent // jobs if jobs else None,
    )


def _scaled(count: int, most: int) -> int:
    return -(-count * HEIGHT // most)
