"""Ids in the addresses of pages."""

from starlette.requests import Request

from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import PublicId, read_id


def id_of(request: Request, name: str) -> PublicId:
    """The id in the path; NotFound for a text that cannot be one."""
    public_id = read_id(request.path_params[name])
    if public_id is None:
        raise NotFound("There is nothing at this address.")
    return public_id


_MOST_DIGITS = 18


def number_of(text: str | None) -> int | None:
    """The number that a text is; None for what is none, or too large to be one of ours."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


def number_at(request: Request, name: str) -> int:
    """The number in the path; NotFound for a text that cannot be one."""
    number = number_of(request.path_params[name])
    if number is None:
        raise NotFound("There is nothing at this address.")
    return number
