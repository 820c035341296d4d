"""Copies between structs."""

from typing import Any, TypeVar

import msgspec

S = TypeVar("S", bound=msgspec.Struct)


def copied(kind: type[S], source: object, /, **others: Any) -> S:
    """A `kind` with what `source` has under the same names, and these others."""
    same = {
        name: getattr(source, name) for name in kind.__struct_fields__ if name not in others and hasattr(source, name)
    }
    return kind(**same, **others)
