"""A small, safe part of JSONPath: `$.data[*].title`, `items[0]['odd name']`, `a.*`. No filters, no scripts, no `..`."""

import re
from decimal import Decimal
from typing import Any

MAX_RESULTS = 20_000
_STEP = re.compile(
    r"\.?(?:(?P<name>[^\W\d][\w-]*)|(?P<all>\*))|\[(?:(?P<index>-?\d{1,6})|(?P<any>\*)|'(?P<quoted>[^']*)')\]"
)

Step = str | int | None
"""A key, an index, or None for all."""


def parse_path(path: str) -> tuple[Step, ...] | None:
    """The steps of a path, `$` and the empty one being the value itself; None when it cannot be read."""
    rest = path.strip().removeprefix("$")
    if rest and rest[0] not in ".[" and path.strip().startswith("$"):
        return None
    steps: list[Step] = []
    position = 0
    while position < len(rest):
        found = _STEP.match(rest, position)
        if found is None or (position and found[0][0] not in ".["):
            return None
        steps.append(_step(found))
        position = found.end()
    return tuple(steps)


def _step(found: re.Match[str]) -> Step:
    if found["index"] is not None:
        return int(found["index"])
    return found["name"] if found["name"] is not None else found["quoted"]


def follow(value: Any, path: str) -> list[Any]:
    """All values at the path, in document order; an empty list where it leads nowhere."""
    reached = [value]
    for step in parse_path(path) or ():
        reached = [inner for outer in reached for inner in _children(outer, step)][:MAX_RESULTS]
    return reached


def _children(value: Any, step: Step) -> list[Any]:
    if isinstance(value, list):
        if step is None:
            return value
        inside = isinstance(step, int) and -len(value) <= step < len(value)
        return [value[step]] if isinstance(step, int) and inside else []
    if isinstance(value, dict):
        if step is None:
            return list(value.values())
        return [value[step]] if step in value else []
    return []


def as_text(value: Any) -> str | None:
    """A scalar as text; None for null, lists and objects. Decimals keep their digits: no float is involved (R2)."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | Decimal) else None
