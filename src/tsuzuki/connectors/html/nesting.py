"""How deep and how large some XML is, told without parsing it: parsers take time by the square of the depth."""

import re
from collections import Counter

_TAG = re.compile(r"<(?:!(\[CDATA\[|--)|(/?)([A-Za-z_][\w.:-]*+)[^<>]*+>)")
_OFTEN_OPEN = "area base br col dd dt embed hr img input li link meta option p source td th tr wbr"
_UNCLOSED = frozenset(_OFTEN_OPEN.split())


def shape_of(text: str, *, max_depth: int, max_tags: int) -> tuple[int, int]:
    """The depth and the number of tags, CDATA and comments aside; counting ends where either is passed."""
    opened: Counter[str] = Counter()
    depth = tags = deepest = position = 0
    while deepest <= max_depth and tags <= max_tags and (tag := _TAG.search(text, position)):
        position = tag.end()
        aside, closing, name = tag.groups()
        if aside:
            position = text.find("]]>" if aside == "[CDATA[" else "-->", position)
            if position < 0:
                break
            continue
        name = name.lower()
        tags += name not in _UNCLOSED
        depth += _step(opened, name, is_closing=bool(closing), is_empty=text[position - 2] == "/")
        deepest = max(deepest, depth)
    return deepest, tags


def _step(opened: Counter[str], name: str, *, is_closing: bool, is_empty: bool) -> int:
    """Where a tag leads: deeper, up, or nowhere. An end without its beginning leads nowhere, or it would hide depth."""
    if name in _UNCLOSED or is_empty or (is_closing and not opened[name]):
        return 0
    step = -1 if is_closing else 1
    opened[name] += step
    return step
