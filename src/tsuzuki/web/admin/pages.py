"""Which part of a long list is shown, and where the parts beside it are."""

import msgspec
from starlette.requests import Request

from tsuzuki.accounts.nouns import Slice
from tsuzuki.web.ids import page_of
from tsuzuki.web.site import with_query

PER_PAGE = 50


class ListPages(msgspec.Struct, frozen=True):
    """A page of a list; `newer` and `older` are paths, None at the ends."""

    number: int
    total: int
    count: int
    newer: str | None
    older: str | None


def slice_of(request: Request) -> Slice:
    """The rows of that page."""
    return Slice.page(page_of(request.query_params), PER_PAGE)


def pages_of(request: Request, total: int) -> ListPages:
    """The links keep every filter of the address."""
    number, count = page_of(request.query_params), max(1, -(-total // PER_PAGE))
    kept = {name: value for name, value in request.query_params.items() if name not in ("page", "done")}

    def link(page: int) -> str:
        return with_query(request.url.path, **kept, page=str(page))

    return ListPages(
        number, total, count, link(number - 1) if number > 1 else None, link(number + 1) if number < count else None
    )
