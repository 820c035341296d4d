"""What a reader says of a thing, and what they leave as it is."""

from typing import TypeVar

from msgspec import UnsetType

T = TypeVar("T")


def new_or(wanted: T | UnsetType, before: T) -> T:
    """What was said; what was before where nothing was."""
    return before if isinstance(wanted, UnsetType) else wanted
