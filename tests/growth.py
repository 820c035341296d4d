"""Whether work takes time by the length of what it is given, or by its square.

What disturbs a measurement adds to it and takes nothing away: so the quickest of several turns counts. Turns on the
short text lie around each on the long one, so that whatever slows the machine for a while slows both.
"""

import gc
import time
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

TENFOLD = 20
"""Ten times the text may take this many times as long: linear, with some room; by the square it is a hundred."""
SQUARE = 60
"""Beyond this it grows by the square. Less may be a step that comes once, as when a text outgrows a cache: what grows
beyond it is seen at larger sizes."""
LOOKS = 3
TURNS = 4
"""On the long text, before anything is said to be slow; when it is beyond doubt, half of them do."""
QUICK = 0.0005
"""Seconds that ten times the text may take without a second look: no square of a text worth attacking takes so few."""


class Slow(msgspec.Struct, frozen=True):
    """A text for which work takes more than its length, by how it is made, and the times at both sizes."""

    text: str
    seconds: float
    tenfold: float

    def __str__(self) -> str:
        return f"{self.text}: {self.seconds * 1000:.2f} ms, ten times the text {self.tenfold * 1000:.1f} ms"


def once(work: Callable[[Any], object], text: Any) -> float:
    """Seconds that this thread computed."""
    gc.disable()  # what is collected was made by others
    try:
        started = time.thread_time()
        work(text)
        return time.thread_time() - started
    finally:
        gc.enable()


def best(work: Callable[[Any], object], text: Any, turns: int = 3) -> float:
    return min(once(work, text) for _ in range(turns))


def growth(
    work: Callable[[Any], object], text: Callable[[int], Any], size: int, *, name: str = "", looks: int = LOOKS
) -> Slow | None:
    """How slow the work gets on ten times the text, when that is out of proportion at every size."""
    few, many = text(size), text(10 * size)
    small, large = once(work, few), float("inf")
    for turn in range(TURNS):
        large = min(large, once(work, many))
        if large < QUICK:
            return None
        small = min(small, best(work, few, 2))
        if large < TENFOLD * small:
            return None
        if large > SQUARE * small and turn + 1 >= TURNS // 2:
            return Slow(name, small, large)
    if looks > 1 and large < SQUARE * small:
        return growth(work, text, 4 * size, name=name, looks=looks - 1)
    return Slow(name, small, large)


def within(seconds: float, work: Callable[[], T]) -> T:
    """What the work gives; it fails when it takes longer, three times in a row.

    A virtual machine that stands still for a second counts that second as computed.
    """
    for _ in range(TURNS - 1):
        started = time.thread_time()
        result = work()
        if time.thread_time() - started < seconds:
            return result
    raise AssertionError(f"it computes longer than {seconds} s")


def must_be_linear(work: Callable[[Any], object], text: Callable[[int], Any], size: int = 5_000) -> None:
    assert (slow := growth(work, text, size)) is None, str(slow)
