"""How large, how small, and when to ask again for what could not be had. Pure."""

from typing import Final, Literal

from tsuzuki.model.errors import RefusedAddress, SourceError
from tsuzuki.model.times import DAY, HOUR, MINUTE, SECOND, Millis

IMAGE_CAP: Final = 32 * 1024 * 1024
"""Bytes of one image."""

WIDTHS: Final = (160, 320, 640)
"""Of thumbnails. A few fixed ones: a free choice would fill the disk (SEC-24)."""
Width = Literal[160, 320, 640]

COARSE: Final = HOUR
"""How exactly the last use is remembered: a write for every look would cost more than the look."""

LONGEST_ERROR: Final = 500

_FIRST_WAIT = Millis(30 * SECOND)
_STALE_ADDRESS = frozenset({401, 403, 404, 410})


def retry_delay(failures: int, error: SourceError) -> Millis:
    """How long to leave a broken image alone after so many failures in a row, this one included."""
    if isinstance(error, RefusedAddress):
        return DAY
    planned = min(_FIRST_WAIT * 4 ** min(max(failures - 1, 0), 10), DAY)
    return Millis(min(max(planned, error.retry_after or 0), DAY))


def is_stale_address(error: SourceError) -> bool:
    """Whether the page list should be asked anew: an address that was signed, or moved, is refused like this (R66)."""
    return error.status in _STALE_ADDRESS


def is_due(used_at: Millis, now: Millis) -> bool:
    """Whether the last use is to be written again; also after a clock that was ahead."""
    return abs(now - used_at) >= COARSE


def ceiling(size: int) -> int:
    """What is left after making room: some, so that the next image does not make room again."""
    return size - size // 10


SWEEP_AFTER: Final = Millis(2 * HOUR)
"""A draft older than this belongs to nobody who lives."""
FORGET_FAILURES_AFTER: Final = Millis(30 * DAY)
UNREFERENCED_FOR: Final = Millis(10 * MINUTE)
"""An image that nothing shows any more is forgotten after this; before, somebody may just be storing what it shows."""
