"""Conditions as they nest in the body of a search: read once, then asked of every series."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec

from tsuzuki.model.errors import Invalid

MOST_PARTS: Final = 60
"""Parts of a condition, alternatives for one field counted as one: it is checked for thousands of series."""
_NAMED: Final = {
    name.lower(): name
    for name in (
        "libraryId",
        "seriesId",
        "collectionId",
        "readListId",
        "readStatus",
        "seriesStatus",
        "mediaProfile",
        "genre",
        "tag",
        "publisher",
        "language",
        "author",
        "sharingLabel",
        "ageRating",
        "deleted",
        "oneShot",
    )
}
"""As they are written in any case: Komga reads them so, and some apps rely on it."""
_FLAGS = {"istrue": "true", "isfalse": "false"}

Facts = Mapping[str, AbstractSet[str]]
"""What is true of a series or a book, by what it is about."""


class ValueCondition(msgspec.Struct, frozen=True):
    """One of these values is among those of the series, or none of them is."""

    about: str
    values: frozenset[str]
    is_not: bool = False

    def holds(self, facts: Facts) -> bool:
        """Whether it is so."""
        return self.values.isdisjoint(facts.get(self.about, ())) is self.is_not


class CombinedCondition(msgspec.Struct, frozen=True):
    """Conditions of which all or any must match."""

    parts: Sequence["Condition"]
    is_any: bool

    def holds(self, facts: Facts) -> bool:
        """Whether it is so."""
        return (any if self.is_any else all)(part.holds(facts) for part in self.parts)


Condition = ValueCondition | CombinedCondition


def read_condition(said: object) -> Condition | None:
    """A condition; None for one that narrows nothing, or in no way that is known here. Invalid for a long one."""
    condition = _read(said)
    if condition is not None and sum(1 for _ in leaves(condition)) > MOST_PARTS:
        raise Invalid(f"A condition can have at most {MOST_PARTS} parts.")
    return condition


def leaves(condition: Condition) -> Iterator[ValueCondition]:
    """What it asks for in the end."""
    if isinstance(condition, ValueCondition):
        yield condition
    else:
        for part in condition.parts:
            yield from leaves(part)


def _read(said: object) -> Condition | None:
    if not isinstance(said, dict):
        return None
    return _together([_one(name, value) for name, value in said.items()], is_any=False)


def _one(name: str, said: object) -> Condition | None:
    if name in {"allOf", "anyOf"}:
        parts = [_read(each) for each in said] if isinstance(said, list) else []
        return _together(parts, is_any=name == "anyOf")
    about = _NAMED.get(name.lower())
    if about is None or not isinstance(said, dict):
        return None
    operator, value = str(said.get("operator")).lower(), said.get("value")
    if operator in _FLAGS:
        return ValueCondition(about, frozenset((_FLAGS[operator],)))
    if about == "author" and isinstance(value, dict):
        value = f"{value.get('name') or ''},{value.get('role') or ''}"
    if not isinstance(value, str) or operator not in {"is", "isnot"}:
        return None
    return ValueCondition(about, frozenset((value,)), is_not=operator == "isnot")


def _together(parts: Sequence[Condition | None], *, is_any: bool) -> Condition | None:
    """Values of one thing become one part where one is enough, or where none may be."""
    known = [part for part in parts if part is not None]
    if is_any and len(known) < len(parts):
        return None  # what is not known here might hold
    values: dict[str, set[str]] = {}
    others: list[Condition] = []
    for part in known:
        if isinstance(part, ValueCondition) and part.is_not is not is_any:
            values.setdefault(part.about, set()).update(part.values)
        elif isinstance(part, CombinedCondition) and part.is_any is is_any:
            others += part.parts
        else:
            others.append(part)
    merged = [ValueCondition(about, frozenset(some), is_not=not is_any) for about, some in values.items()]
    joined = [*merged, *others]
    return joined[0] if len(joined) == 1 else CombinedCondition(joined, is_any) if joined else None
