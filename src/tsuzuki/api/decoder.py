"""Decoding by types, with every problem of a request found at once.

msgspec stops at the first problem, which is right for speed: the good request pays nothing. Only a bad one is gone
through again, field by field, and not for longer than somebody would read: a body of a megabyte may hold a hundred
thousand problems, and whoever is not signed in may send one.
"""

import enum
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import reduce
from itertools import islice
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import UnsetType, ValidationError

from tsuzuki.model.errors import Invalid, Problem
from tsuzuki.model.text import readable

_NAMES = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "datetime": "a time such as 2026-02-22T00:16:49Z",
    "date": "a date such as 2026-02-22",
    "uuid": "a UUID",
    "bytes": "base64",
    "decimal": "a decimal number",
}
_BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_COUNTED = {"str": "characters", "array": "entries", "object": "keys", "bytes": "bytes"}
_TIME = f"must be {_NAMES['datetime']}"


def _types(found: re.Match[str]) -> str:
    names = [_NAMES.get(name, name) for name in map(str.strip, found[1].split("|")) if name != "null"]
    return "must be " + " or ".join(names)


def _length(found: re.Match[str]) -> str:
    kind, sign, count = found.groups()
    if (sign, count) == (">=", "1"):
        return "must not be empty"
    return f"must have {_BOUNDS.get(sign, 'exactly')} {count} {_COUNTED.get(kind, 'parts')}"


_RULES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(pattern), say)
    for pattern, say in (
        (r"Expected `([^`]+)`, got `[^`]+`", _types),
        (r"Expected `(\w+)` of length (\S+) (\d+)", _length),
        (r"Expected `\w+` ([<>]=?) (\S+)", lambda found: f"must be {_BOUNDS[found[1]]} {found[2]}"),
        (r"Expected `\w+` that's a multiple of (\S+)", lambda found: f"must be a multiple of {found[1]}"),
        (r"Expected `str` matching regex (.+)", lambda found: f"must have the form {readable(found[1])}"),
        (r"Expected `datetime` with a timezone component", lambda _: f"{_TIME}, with a time zone"),
        (r"Invalid RFC3339 encoded datetime", lambda _: _TIME),
        (r"Invalid UUID", lambda _: "must be a UUID"),
        (r"(?:Integer value|Number) out of range", lambda _: "is too large a number"),
    )
)


def say(field: str, message: str) -> str:
    """One sentence about one field; `message` is msgspec's, without its path."""
    for pattern, wording in _RULES:
        if found := pattern.fullmatch(message):
            return f"{field} {wording(found)}."
    return f"{field}: {message}" if message.endswith(".") else f"{field}: {message}."


def one_of(field: str, words: Iterable[Any]) -> str:
    """The sentence for a word that is none of those."""
    return f"{field} must be one of {', '.join(str(word) for word in words)}."


F = TypeVar("F", bound=msgspec.Struct)

MOST_PROBLEMS = 100
MOST_PARTS = 1_000
"""How many members of a list or mapping are checked one by one."""
LONGEST_NAME = 100

_LISTS = (list, tuple, set, frozenset)


class CheckedValue(Exception):
    """What was sent cannot be used; the request's other parts may have problems too."""

    def __init__(self, *problems: Problem, raw: Mapping[str, Any] | None = None) -> None:
        """`raw` is the JSON object that was sent, where one was."""
        super().__init__(problems[0].message)
        self.problems = problems
        self.raw = raw


def invalid(problems: list[Problem]) -> Invalid:
    """The error for these: it speaks of the first and lists all."""
    return Invalid(problems[0].message, tuple(problems))


def beside(known: Sequence[Problem], more: Iterable[Problem]) -> list[Problem]:
    """Both, without what is said of a field, or of a part of one, that a problem is known of."""
    fields = {problem.field for problem in known}
    return [*known, *(one for one in more if not {one.field, one.field.partition(".")[0]} & fields)]


def decode(form: type[F], raw: Any, *, texts: bool = False) -> F:
    """`raw` as this form, or `CheckedValue` with all its problems. With `texts`, numbers and booleans come as text."""
    try:
        return msgspec.convert(raw, form, strict=not texts)
    except ValidationError as error:
        problems = list(islice(_form_problems(form, raw, "", texts=texts), MOST_PROBLEMS))
        raise CheckedValue(*(problems or [_problem("", str(error), form)])) from None


def decode_text(kind: Any, text: str, name: str) -> Any:
    """Read a value from the path of a request."""
    problems = list(_value_problems(kind, text, name, texts=True))
    if problems:
        raise CheckedValue(*problems)
    return msgspec.convert(text, kind, strict=False)


def refuse_nul(value: Any, place: str) -> Iterator[Problem]:
    """PostgreSQL cannot store NUL in a text; what one engine takes, both must."""
    if isinstance(value, str):
        if "\0" in value:
            yield Problem(place, f"{place} must not contain the character NUL.")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from refuse_nul(key, place)
            yield from refuse_nul(inner, _below(place, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from refuse_nul(inner, _below(place, index))


def holds_nul(value: Any) -> bool:
    """Whether there is one anywhere in a JSON value."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            if "\0" in one:
                return True
        elif isinstance(one, dict):
            left.extend(one)
            left.extend(one.values())
        elif isinstance(one, list):
            left.extend(one)
    return False


def is_list(kind: Any) -> bool:
    """Whether any number of values of one type fit; a tuple of certain types is a value of its own."""
    return any((get_origin(one) or one) in _LISTS and get_args(one)[1:] in ((), (...,)) for one in _members(kind))


def _form_problems(form: type[msgspec.Struct], raw: Any, place: str, *, texts: bool) -> Iterator[Problem]:
    if not isinstance(raw, Mapping):
        yield Problem(place or "body", f"{place or 'The body'} must be an object.")
        return
    fields = {field.encode_name: field for field in msgspec.structs.fields(form)}
    for name, field in fields.items():
        if name in raw:
            yield from _value_problems(field.type, raw[name], _below(place, name), texts=texts)
        elif field.required:
            yield Problem(_below(place, name), f"{_below(place, name)} is required.")
    if form.__struct_config__.forbid_unknown_fields:
        yield from (_unknown(_below(place, name), name, fields) for name in raw if name not in fields)


def _value_problems(kind: Any, value: Any, place: str, *, texts: bool) -> Iterator[Problem]:
    """Every problem inside; where none is found, what msgspec says of the whole."""
    try:
        msgspec.convert(value, _without_unset(kind), strict=not texts)
    except ValidationError as error:
        whole = _problem(place, str(error), kind)
    else:
        return
    found = False
    for inner_kind, inner, inner_place in islice(_parts(kind, value, place), MOST_PARTS):
        for problem in _inner_problems(inner_kind, inner, inner_place, texts=texts):
            found = True
            yield problem
    if not found:
        yield whole


def _inner_problems(kind: Any, value: Any, place: str, *, texts: bool) -> Iterator[Problem]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _form_problems(kind, value, place, texts=texts)
    return _value_problems(kind, value, place, texts=texts)


def _parts(kind: Any, value: Any, place: str) -> Iterator[tuple[Any, Any, str]]:
    """What a value is made of, with the type and place of each; nothing for a simple one."""
    for member in _members(kind):
        arguments = get_args(member)
        if isinstance(value, Mapping) and isinstance(member, type) and issubclass(member, msgspec.Struct):
            yield member, value, place
        elif isinstance(value, list) and is_list(member) and arguments:
            yield from ((arguments[0], inner, _below(place, index)) for index, inner in enumerate(value))
        elif isinstance(value, Mapping) and get_origin(member) is dict:
            yield from ((arguments[1], inner, _below(place, key)) for key, inner in value.items())


def _members(kind: Any) -> list[Any]:
    """The types of a union, or the type itself; without None and Unset, and without annotations."""
    if get_origin(kind) is Annotated:
        return _members(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [one for member in get_args(kind) if member not in (NoneType, UnsetType) for one in _members(member)]
    return [kind]


def _without_unset(kind: Any) -> Any:
    """What msgspec takes outside a field. Nothing that was sent is Unset."""
    if get_origin(kind) in (Union, UnionType):
        return reduce(or_, (member for member in get_args(kind) if member is not UnsetType))
    return kind


def _problem(place: str, message: str, kind: Any) -> Problem:
    text, _, inside = message.partition(" - at `$")
    inner = inside.rstrip("`").replace("[...]", "").replace("[", ".").replace("]", "").strip(".")
    field = _below(place, inner) if inner else place
    if text.startswith("Invalid enum value") and not inner and (words := list(_words(kind))):
        return Problem(field, one_of(field, words))
    return Problem(field, say(field, text) if field else text)


def _words(kind: Any) -> Iterator[Any]:
    for member in _members(kind):
        if get_origin(member) is Literal:
            yield from get_args(member)
        elif isinstance(member, type) and issubclass(member, enum.Enum):
            yield from (one.value for one in member)


def _unknown(place: str, name: str, fields: Mapping[str, Any]) -> Problem:
    nearest = get_close_matches(name, fields, n=1) if len(name) <= LONGEST_NAME else []
    return Problem(place, f"{place} is unknown" + (f"; did you mean {nearest[0]}?" if nearest else "."))


def _below(place: str, name: object) -> str:
    shown = str(name)[:LONGEST_NAME]
    return f"{place}.{shown}" if place else shown
