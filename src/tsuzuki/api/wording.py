"""What msgspec found, in words for people: `limit must be at most 100.`"""

import re
from collections.abc import Callable, Iterable
from typing import Any

from tsuzuki.model.patterns import readable

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
        (r"Expected `datetime` with a timezone component", lambda _: f"{_TIME}, with its zone"),
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
