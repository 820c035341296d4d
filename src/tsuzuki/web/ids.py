"""What the addresses of pages say: ids, numbers and words."""

from collections.abc import Iterable

from starlette.datastructures import QueryParams
from starlette.requests import Request

from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import PublicId, read_id, read_number
from tsuzuki.model.times import Millis

FARTHEST = 100_000
"""The last page that anybody asks a list for."""
_MOMENT_DIGITS = 14


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
