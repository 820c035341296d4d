"""Lists by page number."""

from typing import Annotated

from msgspec import Meta

from tsuzuki.accounts.nouns import Slice
from tsuzuki.api.forms import PageNumber, QueryParameters
from tsuzuki.api.views import PageMeta


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
