"""Copies between structs."""

from functools import cache
from typing import Any, TypeVar

import msgspec

S = TypeVar("S", bound=msgspec.Struct)


def copied(kind: type[S], source: object, /, **others: Any) -> S:
    """A `kind` with what `source` has under the same names, and these others."""
    names = _names_of_both(kind, type(source)) if isinstance(source, msgspec.Struct) else kind.__struct_fields__
    same = {name: getattr(source, name) for name in names if name not in others and hasattr(source, name)}
    return kind(**same, **others)


@cache
def _names_of_both(kind: type[msgspec.Struct], source: type[msgspec.Struct]) -> tuple[str, ...]:
    return tuple(name for name in kind.__struct_fields__ if hasattr(source, name))
