"""Who is told of what is new, and how often. Pure."""

from typing import Final, Literal

from tsuzuki.model.times import MINUTE, SECOND, Millis

FLOOD: Final = 20
"""R8, REL-29: a known watch that brings more than this at once is announced once."""

AT_ONCE: Final = Millis(5 * MINUTE)
"""What comes within this of each other came at once: one poll's findings are stored in several batches."""

SETTLING: Final = Millis(10 * SECOND)
"""How long a flood is left to come in before it is announced with its number."""

Loudness = Literal["none", "each", "once"]


def loudness(floods: int) -> Loudness:
    """What to do with new ones, when so many deliveries since the flood began count this one: only the first tells."""
    if floods == 0:
        return "each"
    return "once" if floods == 1 else "none"
