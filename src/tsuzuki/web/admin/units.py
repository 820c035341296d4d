"""Spans of time and sizes in words."""

from tsuzuki.model.times import HOUR, MINUTE, SECOND

_UNITS = ("B", "KB", "MB", "GB", "TB")
_STEP = 1024


def took(millis: int | None) -> str:
    """`340 ms`, `2.4 s`, `12 min`, `3 h`; a dash where nobody knows."""
    if millis is None:
        return "–"
    if millis < SECOND:
        return f"{millis} ms"
    if millis < MINUTE:
        return f"{millis / SECOND:.1f} s"
    return f"{millis // MINUTE} min" if millis < HOUR else f"{millis // HOUR} h"


def sized(count: int) -> str:
    """`512 B`, `1.5 MB`."""
    size, place = float(count), 0
    while size >= _STEP and place < len(_UNITS) - 1:
        size, place = size / _STEP, place + 1
    return f"{size:.0f} B" if place == 0 else f"{size:.1f} {_UNITS[place]}"
