"""Public ids in paths and bodies."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, overload
from urllib.parse import urlsplit

from msgspec import Meta

from tsuzuki.api.endpoints import LARGEST
from tsuzuki.model.errors import Invalid, NotFound, Problem
from tsuzuki.model.ids import PublicId, read_id, read_number

IdText = Annotated[str, Meta(max_length=64, extra_json_schema={"format": "uuid"})]
"""An id as clients see it."""

Number = Annotated[str, Meta(max_length=64)]
"""An id that is a number to us: opaque to clients, and a text that is none names nothing."""


def id_in_path(text: str, what: str) -> PublicId:
    """The id; NotFound for a text that cannot be one: nothing is there."""
    public_id = read_id(text)
    if public_id is None:
        raise NotFound(f"There is no such {what}.")
    return public_id


@overload
def id_in_field(text: str, field: str) -> PublicId: ...


@overload
def id_in_field(text: str | None, field: str) -> PublicId | None: ...


def id_in_field(text: str | None, field: str) -> PublicId | None:
    """The id that a field holds, if it holds any; Invalid for a text that cannot be one."""
    public_id = None if text is None else read_id(text)
    if text is not None and public_id is None:
        raise Invalid(f"{field} must be an id.", (Problem(field, f"{field} must be an id."),))
    return public_id


def number_in_body(raw: Mapping[str, Any], field: str) -> int | None:
    """The id that a body which may be wrong has there, if it can be one."""
    number = raw.get(field)
    return number if isinstance(number, int) and 0 < number <= LARGEST else None


def number_in_path(text: str, what: str) -> int:
    """The number that a path names; NotFound, in these words, for a text that cannot be one."""
    number = read_number(text)
    if number is None:
        raise NotFound(what)
    return number


Address = Annotated[str, Meta(max_length=2000)]


def address_problems(raw: Mapping[str, Any], field: str, message: str) -> Iterator[Problem]:
    """What no source could have; whether http is open on this loopback, or `local:` for this one, a service knows."""
    url = raw.get(field)
    if isinstance(url, str) and not _may_be_address(url):
        yield Problem(field, message)


def _may_be_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    if parts.scheme == "local":
        return True
    return parts.scheme in {"https", "http"} and bool(host) and "@" not in parts.netloc
