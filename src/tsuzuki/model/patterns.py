r"""Patterns as others read them. Ours end in `\Z`: Python's `$` also matches before a newline that ends a text."""

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
