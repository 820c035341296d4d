"""Lists that are read on from where the last page ended."""

from collections.abc import Callable
from typing import Annotated, TypeVar

from msgspec import Meta

from tsuzuki.api.shelf import ShelfQuery
from tsuzuki.api.views import CursorMeta, ListAnswer
from tsuzuki.model.errors import Invalid, Problem
from tsuzuki.model.pages import FROM_THE_TOP, Page, PageCursor

T = TypeVar("T")
V = TypeVar("V")


class CursorQuery(ShelfQuery, frozen=True, kw_only=True):
    """How many, and below which `next_cursor`."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 50
    before: Annotated[str, Meta(max_length=64)] | None = None

    @property
    def after(self) -> PageCursor:
        """Where the page begins; Invalid for what is no cursor of ours."""
        if self.before is None:
            return FROM_THE_TOP
        place = PageCursor.read(self.before)
        if place is None:
            message = "before must be a next_cursor of this list."
            raise Invalid(message, (Problem("before", message),))
        return place


def listing(page: Page[T], view: Callable[[T], V]) -> ListAnswer[V, CursorMeta]:
    """A page as clients see it."""
    place = None if page.next_cursor is None else str(page.next_cursor)
    return ListAnswer([view(row) for row in page.rows], CursorMeta(page.total, place))
