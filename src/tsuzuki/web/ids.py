"""Ids, numbers and words in the addresses of pages."""

from collections.abc import Iterable
from urllib.parse import urlencode

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request

from tsuzuki.accounts.types import Slice
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import PublicId, read_id, read_number
from tsuzuki.model.times import Millis

FARTHEST = 100_000
"""The last page that anybody asks a list for."""
_MOMENT_DIGITS = 14
PER_PAGE = 50


def id_of(request: Request, name: str) -> PublicId:
    """The id in the path; NotFound for a text that cannot be one."""
    public_id = read_id(request.path_params[name])
    if public_id is None:
        raise NotFound("There is nothing at this address.")
    return public_id


def number_of(text: str | None) -> int | None:
    """The number that a text is; None for what is none, or too large to be one of ours."""
    return None if text is None else read_number(text)


def numbers_of(texts: Iterable[str]) -> list[int]:
    """The numbers among them."""
    return [number for text in texts if (number := read_number(text)) is not None]


def moment_of(text: str) -> Millis | None:
    """The moment that an address names; None for what is none."""
    is_one = text.isascii() and text.isdigit() and len(text) <= _MOMENT_DIGITS
    return Millis(int(text)) if is_one else None


def number_at(request: Request, name: str) -> int:
    """The number in the path; NotFound for a text that cannot be one."""
    number = number_of(request.path_params[name])
    if number is None:
        raise NotFound("There is nothing at this address.")
    return number


def page_of(query: QueryParams) -> int:
    """The page of a list that is asked for; the first for whatever is none."""
    return min(max(number_of(query.get("page")) or 1, 1), FARTHEST)


def word_of(request: Request, name: str, *, longest: int = 200) -> str | None:
    """What is searched or narrowed by; None where nothing was said."""
    return request.query_params.get(name, "").replace("\0", "").strip()[:longest] or None


class ListPages(msgspec.Struct, frozen=True):
    """A page of a list; `newer` and `older` are paths, None at the ends."""

    number: int
    total: int
    count: int
    newer: str | None
    older: str | None


def slice_of(request: Request, per_page: int = PER_PAGE) -> Slice:
    """The rows of the page that is asked for."""
    return Slice.page(page_of(request.query_params), per_page)


def pages_of(request: Request, total: int, per_page: int = PER_PAGE) -> ListPages:
    """The links keep every filter of the address."""
    number, count = page_of(request.query_params), max(1, -(-total // per_page))
    kept = {name: value for name, value in request.query_params.items() if name not in ("page", "done")}

    def link(page: int) -> str:
        return f"{request.url.path}?{urlencode({**kept, 'page': page})}"

    return ListPages(
        number, total, count, link(number - 1) if number > 1 else None, link(number + 1) if number < count else None
    )
