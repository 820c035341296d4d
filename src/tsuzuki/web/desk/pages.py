"""Which part of a long list is shown, and where the parts beside it are."""

import msgspec
from starlette.requests import Request

from tsuzuki.accounts.nouns import Slice
from tsuzuki.web.site import with_query

PER_PAGE = 50
_MOST = 100_000


class Pages(msgspec.Struct, frozen=True):
    """A page of a list; `newer` and `older` are paths, None at the ends."""

    number: int
    total: int
    count: int
    newer: str | None
    older: str | None


def number_of(request: Request) -> int:
    """The page that is asked for; the first for whatever is no number."""
    text = request.query_params.get("page", "1")
    return (
        min(int(text), _MOST)
        if text.isascii() and text.isdigit() and len(text) < len(str(_MOST)) + 1 and int(text)
        else 1
    )


def slice_of(request: Request) -> Slice:
    """The rows of that page."""
    return Slice(most=PER_PAGE, skip=(number_of(request) - 1) * PER_PAGE)


def pages_of(request: Request, total: int) -> Pages:
    """The links keep every filter of the address."""
    number, count = number_of(request), max(1, -(-total // PER_PAGE))
    kept = {name: value for name, value in request.query_params.items() if name not in ("page", "done")}

    def link(page: int) -> str:
        return with_query(request.url.path, **kept, page=str(page))

    return Pages(
        number, total, count, link(number - 1) if number > 1 else None, link(number + 1) if number < count else None
    )


def word_of(request: Request, name: str, *, longest: int = 200) -> str | None:
    """A filter of the address; None where it is empty."""
    return request.query_params.get(name, "").strip()[:longest] or None
