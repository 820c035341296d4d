"""What may be decided from values alone: names, and who may do what."""

from collections.abc import Container
from itertools import count

from tsuzuki.accounts.shelves.nouns import ShelfRole

LONGEST_NAME = 200
MOST_OWNED = 20


def may_write(role: ShelfRole) -> bool:
    """Whether this role may change what is on a shelf."""
    return role != "reader"


def free_name(wish: str, taken: Container[str]) -> str:
    """The name, with a number behind it where the tenant has a shelf of that name."""
    if wish not in taken:
        return wish
    return next(name for number in count(2) if (name := f"{wish} {number}") not in taken)
