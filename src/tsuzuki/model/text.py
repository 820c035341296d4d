"""Regular expressions as JSON Schema has them, and natural sort order."""

import re
import unicodedata
from typing import Any


def readable(pattern: str) -> str:
    """With a `$` at its end, as JSON Schema and people have it; there, no newline passes it."""
    return pattern.replace("\\\\Z", "$").replace("\\Z", "$")


def readable_patterns(schema: Any) -> Any:
    """A JSON Schema whose patterns are those of JSON Schema."""
    if isinstance(schema, dict):
        return {
            key: readable(value) if key == "pattern" and isinstance(value, str) else readable_patterns(value)
            for key, value in schema.items()
        }
    return [readable_patterns(one) for one in schema] if isinstance(schema, list | tuple) else schema


_DIGITS = re.compile(r"(\d{1,18})")


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts 2 before 10, letters without regard to case or width."""
    parts = _DIGITS.split(unicodedata.normalize("NFKC", name).casefold())
    return tuple((0, int(part), part) if part.isdecimal() else (1, 0, part) for part in parts if part)
