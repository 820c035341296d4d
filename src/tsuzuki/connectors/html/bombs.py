"""Pages that are made to be slow (SEC-20): parsing takes time quadratic in the depth and in a tag's attributes."""

import re
from collections import Counter

from tsuzuki.connectors.html.tags import is_deeper

MAX_TAGS = 200_000
MAX_UNCLOSED = 5000
"""Such a page takes 30 ms; 200,000 `<div>`, one megabyte, take a minute and a half."""
MAX_NESTING = 500
MAX_ATTRIBUTES = 200
"""Of one tag: a parser compares each with all the others."""

_NAME = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]{0,20})")
_VALUE = r"""\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+)"""
_ATTRIBUTE = re.compile(rf"[^\s/>][^\s/>=]*+(?:{_VALUE})?+")
_TAG = re.compile(rf"<(!--|([A-Za-z][^\s/>]*+)(?:[\s/]++|{_ATTRIBUTE.pattern})*+)")
_ENDS = {name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style")}
_UNCLOSED_BY_NATURE = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
    | {"p", "li", "dt", "dd", "td", "th", "tr", "tbody", "thead", "option"}
)


def is_bomb(html: str) -> bool:
    """Whether no parser should see this. Told without parsing, in time linear in the text."""
    return _has_many_tags(html) or is_deeper(html, MAX_NESTING) or _has_crowded_tag(html)


def _has_many_tags(html: str) -> bool:
    """Whether there are too many tags, or too many that are never closed."""
    unclosed: Counter[str] = Counter()
    for tags, found in enumerate(_NAME.finditer(html), start=1):
        if tags > MAX_TAGS:
            return True
        unclosed[found[2].lower()] += -1 if found[1] else 1
    depth = sum(count for tag, count in unclosed.items() if count > 0 and tag not in _UNCLOSED_BY_NATURE)
    return depth > MAX_UNCLOSED


def _has_crowded_tag(text: str) -> bool:
    """Whether a tag has too many attributes. Each step begins where the one before ended, and no pattern goes back."""
    at = 0
    while (tag := _TAG.search(text, at)) is not None:
        at = tag.end()
        if tag[1] == "!--":
            at = text.find("-->", at - 2)  # `<!-->` is a whole comment
        elif (end := _ENDS.get(tag[2].lower())) is not None:
            found = end.search(text, at)
            at = -1 if found is None else found.end()
        elif len(tag[1]) > 2 * MAX_ATTRIBUTES and len(_ATTRIBUTE.findall(tag[1])) > MAX_ATTRIBUTES:
            return True
        if at < 0:
            break
    return False
