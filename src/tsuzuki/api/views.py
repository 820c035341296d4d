"""What answers are made of. Every success is `{"data": ...}`; a list adds `"meta"` (R48)."""

from typing import Annotated, Generic, TypeVar

import msgspec
from msgspec import Meta

from tsuzuki.model.times import Millis, iso
from tsuzuki.model.titles import title_of

T = TypeVar("T")
M = TypeVar("M")

Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""ISO 8601 in UTC, with milliseconds and a Z: `2026-02-22T00:16:49.000Z`."""


def shown(moment: Millis | None) -> Time | None:
    """A time that may be missing, as clients see it; `iso` for one that never is."""
    return None if moment is None else iso(moment)


def display_title(title: str, text: str, at: Millis) -> str:
    """What an item is shown by: its title, else what stands for one in its text, else its day (R103)."""
    return title_of(title, text) or day_of(at)


def day_of(moment: Millis) -> str:
    """`2026-02-22`."""
    return iso(moment)[:10]


class ListAnswer(msgspec.Struct, Generic[T, M], frozen=True):
    """A list and what there is to know about it."""

    data: list[T]
    meta: M


class WithMeta(msgspec.Struct, Generic[T, M], frozen=True):
    """One thing and what there is to know about the answer."""

    data: T
    meta: M


class PageMeta(msgspec.Struct, frozen=True):
    """Where a page stands in the whole."""

    total: int
    page: int
    limit: int
    pages: int

    @classmethod
    def of(cls, total: int, page: int, limit: int) -> "PageMeta":
        """The page's place; an empty list has one page."""
        return cls(total=total, page=page, limit=limit, pages=max(1, -(-total // limit)))


class CursorMeta(msgspec.Struct, frozen=True):
    """How many there are, and where the next page begins; null at the end."""

    total: int
    next_cursor: str | None
