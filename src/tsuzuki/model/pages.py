"""Places in lists that are read page by page: the time and the id of the last one seen, exact at page ends."""

import re
from typing import Generic, TypeVar

import msgspec

from tsuzuki.model.times import Millis

T = TypeVar("T")

_CURSOR = re.compile(r"([0-9]{1,15})-([0-9]{1,18})")


class Cursor(msgspec.Struct, frozen=True):
    """After this one a page begins."""

    at: Millis
    id: int

    def __str__(self) -> str:
        return f"{self.at}-{self.id}"

    @classmethod
    def read(cls, text: str) -> "Cursor | None":
        """The place that a client names; None when it is none."""
        found = _CURSOR.fullmatch(text)
        return None if found is None else cls(Millis(int(found[1])), int(found[2]))


FROM_THE_TOP = Cursor(Millis(10**15 - 1), 10**18 - 1)
"""Before everything, where the newest comes first."""


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A part of a list, how long the whole is, and where to go on; None at the end."""

    rows: list[T]
    total: int
    next_cursor: Cursor | None
