"""Who is told of what is new, and how often. Pure."""

from typing import Final, Literal

FLOOD: Final = 20
"""R8, REL-29: a known watch that brings more than this at once is announced once."""

KNOWN_ITEMS: Final = 50
"""R8: how many entries a shelf gets that subscribes to a feed which is known already."""

Loudness = Literal["none", "each", "once"]


def loudness(new: int, *, is_first_harvest: bool) -> Loudness:
    """R8: a first harvest is a back-catalogue and notifies nobody; a flood notifies once."""
    if is_first_harvest or not new:
        return "none"
    return "once" if new > FLOOD else "each"
