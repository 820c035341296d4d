"""The parameters of an app's request: apps send them in the query, in the body, or in both, in every form."""

import re
from collections.abc import Iterator, Sequence
from typing import TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import Request

from tsuzuki.http.body import read_body, refuse_deep_json
from tsuzuki.model.errors import Invalid

MOST_PARAMETERS = 20_000
"""Parameters of one request: apps mark ten thousand entries at once."""
TOO_MANY = f"A request can have at most {MOST_PARAMETERS:,} parameters."
_LONGEST_NUMBER = 20

T = TypeVar("T")

# An odd number of backslashes: an even number are backslashes themselves, and `u0000` is text.
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
# Every repetition is bounded: a hostile header must not make the search slow.
_BOUNDARY = re.compile(r';\s{0,10}boundary=(?:"([^"]{1,70})"|([^\s";,]{1,70}))', re.IGNORECASE)
_NAME = re.compile(rb'content-disposition:[^\r\n]{0,200};\s{0,10}name="?([^"\r\n;]{1,100})"?', re.IGNORECASE)
_LINE_END = b"\r\n"

Pairs = Sequence[tuple[str, str]]


class Params:
    """Names and values in the order in which they came, the body's after the query's. Invalid where one has a NUL."""

    def __init__(self, pairs: Pairs) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            if "\0" in value:  # PostgreSQL takes none
                raise Invalid("A parameter must not contain the character NUL.")
            self._values.setdefault(name, []).append(value)

    def __contains__(self, name: str) -> bool:
        """Whether it was sent, with whatever value: `?groups` and `?groups=` are the same."""
        return name in self._values

    def one(self, name: str, default: str = "") -> str:
        """The last value of this name."""
        return self._values.get(name, [default])[-1]

    def all(self, name: str) -> list[str]:
        """Every value of this name."""
        return list(self._values.get(name, ()))

    def number(self, name: str) -> int | None:
        """A whole number, negative ones too; None for anything else."""
        return whole_number(self.one(name))

    def numbers(self, name: str) -> list[int]:
        """Whole numbers out of lists with commas; what is none is left out."""
        texts = (part for value in self.all(name) for part in value.split(","))
        return [number for text in texts if (number := whole_number(text)) is not None]


def whole_number(text: str) -> int | None:
    """A whole number of at most twenty characters; None for anything else."""
    text = text.strip()
    if not text or len(text) > _LONGEST_NUMBER:
        return None
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        return None
    return int(text)


async def read_params(request: Request) -> Params:
    """Everything that was sent. Invalid for a body that is no form, and for more than anybody needs."""
    pairs = _queried(request)
    if request.method == "POST":
        body = await read_body(request.scope, request.receive)
        pairs += list(_fields(body, request.headers.get("content-type", "")))
    return Params(pairs)


def query_params(request: Request) -> Params:
    """What the address says, where the body is something else."""
    return Params(_queried(request))


async def read_json(request: Request, kind: type[T]) -> T:
    """The JSON that was sent, whatever type it was said to be; Invalid for anything else."""
    return _decoded(await read_body(request.scope, request.receive), kind)


def _decoded(text: bytes, kind: type[T]) -> T:
    """What this JSON says; Invalid for anything else."""
    refuse_deep_json(text)
    if _NUL.search(text):  # PostgreSQL takes none
        raise Invalid("The body must not contain the character NUL.")
    try:
        return msgspec.json.decode(text or b"{}", type=kind)  # an empty body has no fields
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"The body cannot be read: {error}.") from None


def _queried(request: Request) -> list[tuple[str, str]]:
    return _pairs(request.scope["query_string"].decode("utf-8", "replace"))


def _pairs(text: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(text, keep_blank_values=True, errors="replace", max_num_fields=MOST_PARAMETERS)
    except ValueError:
        raise Invalid(TOO_MANY) from None


def _fields(body: bytes, content_type: str) -> Iterator[tuple[str, str]]:
    """The fields of a multipart form or of JSON. Anything else is read like a query: some apps send no content type."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind.startswith("multipart/"):
        yield from _parts(body, content_type)
    elif kind == "application/json":
        yield from _json_fields(body)
    else:
        yield from _pairs(body.decode("utf-8", "replace").strip("\r\n"))  # some apps end a form with a line end


def _json_fields(body: bytes) -> Iterator[tuple[str, str]]:
    """Texts, numbers, and lists of them, by name."""
    fields = _decoded(body, dict[str, str | int | list[str | int] | None])
    count = 0
    for name, value in fields.items():
        for each in value if isinstance(value, list) else () if value is None else (value,):
            count += 1
            if count > MOST_PARAMETERS:
                raise Invalid(TOO_MANY)
            yield name, str(each)


def _parts(body: bytes, content_type: str) -> Iterator[tuple[str, str]]:
    found = _BOUNDARY.search(content_type)
    if found is None:
        raise Invalid("The form does not say what separates its parts.")
    boundary = (found[1] or found[2]).encode("latin-1", "replace")
    # The first boundary has no line end before it.
    parts = (_LINE_END + body).split(_LINE_END + b"--" + boundary, MOST_PARAMETERS + 2)
    if len(parts) > MOST_PARAMETERS + 2:  # what stands before the first, and after the last
        raise Invalid(TOO_MANY)
    for part in parts[1:]:
        head, blank, content = part.partition(_LINE_END * 2)
        name = _NAME.search(head)
        if blank and name is not None:
            yield name[1].decode("utf-8", "replace"), content.decode("utf-8", "replace")
