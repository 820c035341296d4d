"""Cursors of lists that are read page by page: the times and id of the last entry."""

import re
from typing import Generic, TypeVar

import msgspec

from tsuzuki.model.times import Millis

T = TypeVar("T")

_CURSOR = re.compile(r"([0-9]{1,15})-([0-9]{1,18})(?:-([0-9]{1,15}))?")

LATEST = Millis(10**15 - 1)


class PageCursor(msgspec.Struct, frozen=True):
    """After this one a page begins."""

    at: Millis
    id: int
    then: Millis | None = None
    """What orders those of the same time, before their ids; only for lists that have it."""

    def __str__(self) -> str:
        return f"{self.at}-{self.id}" if self.then is None else f"{self.at}-{self.id}-{self.then}"

    @classmethod
    def read(cls, text: str) -> "PageCursor | None":
        """The place that a client names; None when it is none."""
        found = _CURSOR.fullmatch(text)
        if found is None:
            return None
        return cls(Millis(int(found[1])), int(found[2]), None if found[3] is None else Millis(int(found[3])))


FROM_THE_TOP = PageCursor(LATEST, 10**18 - 1)
"""Before everything, where the newest comes first."""


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A part of a list, how long the whole is, and where to go on; None at the end."""

    rows: list[T]
    total: int
    next_cursor: PageCursor | None
