"""Texts, numbers and bodies that nobody means and somebody sends."""

import random
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

TEXTS = [
    "",
    " ",
    "\0",
    "a\0b",
    "\ufffe\uffff",
    "\u202e\u2066evil",
    "\r\nSet-Cookie: a=b",
    "-1",
    "0",
    "-0",
    str(2**31),
    str(2**63 - 1),
    str(2**63),
    str(-(2**63) - 1),
    "9" * 18,
    "9" * 19,
    "9" * 5_000,
    "1e9",
    "1e999",
    "NaN",
    "-Infinity",
    "0x10",
    "1_000",
    "\u0663",
    "\u00b2",
    "null",
    "[]",
    "{}",
    '{"a": "\\u0000"}',
    '{"\\u0000": 1}',
    '{"a": "\\ud800"}',
    '{"a": 1e999}',
    '{"a": 123456789012345678901234567890}',
    "[" * 4_000,
    '{"folder": "/etc"}',
    "9999-12-31T23:59:59.999999-23:59",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31",
    "0001-01-01",
    "999999999999999-999999999999999999",
    "0-0",
    "x" * 300,
    "x" * 5_000,
    "\U0001f600" * 1_000,
    "a," * 2_000,
    "//evil.example",
    "https://[::1",
    "https://[fe80::1%25eth0]/",
    "http://\u2488\u2468.example:99999/",
    "https://xn--a.example/",
    "https://" + "a" * 300 + ".example/",
    "https://user:pass\0word@example.org/",
    "' or 1=1 --",
    "%_\\",
    '"*:(^',
    "{{7*7}}",
    "<script>alert(1)</script>",
    "01952ff9-0000-7000-8000-000000000000",
    "----------------00000000000000000000",
    "00000000-0000-0000-0000-00000000000\u0660",
]
PLAUSIBLE = ["x", "1", "on", "https://example.org/feed", "read", "admin", "webhook", "ntfy", "a" * 40]
NUMBERS = [0, -1, 1, 2, 100, 100_000, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30, 0.5, -0.0, 1e308]
OTHERS: list[Any] = [None, True, [], {}, [None], {"": ""}, [[[]]], ["x"] * 300, {"a": {"b": ["\0"]}}]
LONE = "LONE"
"""Stands for half of a character, which only bytes can say."""


def a_form(rng: random.Random, names: list[str], most: int) -> list[tuple[str, str]]:
    """Fields that are mostly plausible."""
    chosen = rng.sample(names, min(most, len(names)))
    return [(name, rng.choice(TEXTS if rng.random() < 0.2 else PLAUSIBLE)) for name in chosen]


def a_body(rng: random.Random, form: type[msgspec.Struct], good: Mapping[str, Any]) -> bytes:
    """JSON that is mostly of the types that the form has; some of `good` is left as it is."""
    schema = msgspec.json.schema(form)
    body = _value(rng, schema, schema.get("$defs", {}), wild=0.0)
    kept = {name: value for name, value in good.items() if rng.random() < 0.7}
    return msgspec.json.encode(body | kept).replace(LONE.encode(), b"\\ud800")


def _value(rng: random.Random, schema: Mapping[str, Any], defs: Mapping[str, Any], *, wild: float = 0.15) -> Any:
    if rng.random() < wild:
        return rng.choice([*OTHERS, *NUMBERS, *TEXTS])
    if "$ref" in schema:
        return _value(rng, defs[schema["$ref"].rpartition("/")[2]], defs, wild=wild)
    if "anyOf" in schema:
        return _value(rng, rng.choice(schema["anyOf"]), defs, wild=wild)
    if "enum" in schema:
        return rng.choice(schema["enum"])
    makers: dict[str, Callable[[], Any]] = {
        "object": lambda: _object(rng, schema, defs),
        "array": lambda: [_value(rng, schema.get("items", {}), defs) for _ in range(rng.choice([0, 1, 2, 5]))],
        "string": lambda: rng.choice([*PLAUSIBLE, rng.choice(TEXTS), LONE]),
        "integer": lambda: rng.choice(NUMBERS),
        "number": lambda: rng.choice(NUMBERS),
        "boolean": lambda: rng.choice([True, False]),
        "null": lambda: None,
    }
    return makers.get(schema.get("type", "string"), makers["string"])()


def _object(rng: random.Random, schema: Mapping[str, Any], defs: Mapping[str, Any]) -> dict[str, Any]:
    required = schema.get("required", ())
    return {
        name: _value(rng, inner, defs)
        for name, inner in schema.get("properties", {}).items()
        if name in required or rng.random() < 0.5
    }
