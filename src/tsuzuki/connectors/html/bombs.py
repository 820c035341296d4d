"""Pages that are made to be slow (SEC-20): parsing takes time quadratic in the elements that are never closed."""

import re
from collections import Counter

MAX_TAGS = 200_000
MAX_UNCLOSED = 5000
"""Such a page takes 30 ms; 200,000 `<div>`, one megabyte, take a minute and a half."""

_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]{0,20})")
_UNCLOSED_BY_NATURE = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
    | {"p", "li", "dt", "dd", "td", "th", "tr", "tbody", "thead", "option"}
)


def is_bomb(html: str, *, most_tags: int = MAX_TAGS, most_unclosed: int = MAX_UNCLOSED) -> bool:
    """Whether no parser should see this. Counted without parsing, in time linear in the text."""
    unclosed: Counter[str] = Counter()
    for tags, found in enumerate(_TAG.finditer(html), start=1):
        if tags > most_tags:
            return True
        unclosed[found[2].lower()] += -1 if found[1] else 1
    depth = sum(count for tag, count in unclosed.items() if count > 0 and tag not in _UNCLOSED_BY_NATURE)
    return depth > most_unclosed
