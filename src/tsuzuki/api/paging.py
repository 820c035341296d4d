"""Lists by page number, and lists that are read on from where the last page ended."""

from collections.abc import Callable
from typing import Annotated, TypeVar

from msgspec import Meta

from tsuzuki.accounts.types import Slice
from tsuzuki.api.decoder import invalid
from tsuzuki.api.endpoints import PageNumber, QueryParameters
from tsuzuki.api.shelf import ShelfQuery
from tsuzuki.api.views import CursorMeta, ListAnswer, PageMeta
from tsuzuki.model.errors import Problem
from tsuzuki.model.pages import FROM_THE_TOP, Page, PageCursor


class PageQuery(QueryParameters, frozen=True, kw_only=True):
    """Which page, and how long pages are."""

    page: PageNumber = 1
    limit: Annotated[int, Meta(ge=1, le=100)] = 50

    @property
    def part(self) -> Slice:
        """The part of the list that is meant."""
        return Slice.page(self.page, self.limit)

    def meta(self, total: int) -> PageMeta:
        """Where this page stands in the whole."""
        return PageMeta.of(total, self.page, self.limit)


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
            raise invalid([Problem("before", "before must be a next_cursor of this list.")])
        return place


def listing(page: Page[T], view: Callable[[T], V]) -> ListAnswer[V, CursorMeta]:
    """A page as clients see it."""
    place = None if page.next_cursor is None else str(page.next_cursor)
    return ListAnswer([view(row) for row in page.rows], CursorMeta(page.total, place))
