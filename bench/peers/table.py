"""The tables, in Markdown."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from bench.harness import aim

BESIDE = {"Miniflux": "Tsuzuki, PostgreSQL"}
"""Which of ours each of the others is compared with, besides ours on SQLite."""
OURS = "Tsuzuki, SQLite"


class Row(msgspec.Struct, frozen=True):
    """One figure of each."""

    what: str
    figures: Mapping[str, float | None]
    show: Callable[[float], str]
    is_more_better: bool = False
    is_speed: bool = False
    """Where the aim is the first place."""
    times: Mapping[str, float] = {}
    """By how much to be ahead of whom, where that is more than just so."""


def rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


def megabytes(value: float) -> str:
    return f"{value / 1e6:.0f} MB"


def octets(value: float) -> str:
    return f"{value:,.0f} B"


def table(names: Sequence[str], rows: Sequence[Row]) -> str:
    """Each contestant's figures; a dash where it has none."""
    lines = [_line(["", *names]), _line(["---"] * (len(names) + 1))]
    for row in rows:
        figures = [row.figures.get(name) for name in names]
        lines.append(_line([row.what, *("-" if one is None else row.show(one) for one in figures)]))
    return "\n".join(lines)


def ratios(names: Sequence[str], rows: Sequence[Row]) -> str:
    """Ours divided by theirs, and which is better: more or less."""
    pairs = [(own, other) for other in names for own in _ours(other) if own in names]
    if not pairs:
        return ""
    lines = [
        _line(["ours / theirs", *(f"{own.split(', ')[1]} / {other}" for own, other in pairs), "better"]),
        _line(["---"] * (len(pairs) + 2)),
    ]
    for row in rows:
        cells = [_ratio(row.figures.get(own), row.figures.get(other)) for own, other in pairs]
        lines.append(_line([row.what, *cells, "more" if row.is_more_better else "less"]))
    return "\n".join(lines)


def aims(rows: Sequence[Row]) -> list[str]:
    """Ours on SQLite beside the best of the others in every row of speed; in seconds, or in polls a second."""
    lines = []
    for row in rows:
        ours = row.figures.get(OURS)
        others = {
            name: figure * row.times.get(name, 1.0)
            for name, figure in row.figures.items()
            if figure and not name.startswith("Tsuzuki")
        }
        if not row.is_speed or ours is None or not others:
            continue
        best = (max if row.is_more_better else min)(others, key=lambda name: others[name])
        bound, beside = others[best], (best, row.figures[best] or 0.0)
        most, least = (None, bound) if row.is_more_better else (bound, None)
        lines.append(aim(row.what, ours, "" if row.is_more_better else "s", most=most, least=least, beside=beside))
    return lines


def _ours(other: str) -> Sequence[str]:
    if other.startswith("Tsuzuki"):
        return ()
    return [OURS, *([BESIDE[other]] if other in BESIDE else [])]


def _ratio(ours: float | None, other: float | None) -> str:
    return "-" if ours is None or not other else f"{ours / other:.2f}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
