"""Links within a text, such as those of footnotes: they stay within it, on whichever page it is shown.

Only what such a link leads to keeps an id, under a prefix that no page of ours uses: no name from outside can be taken
for one of a page's own.
"""

import re
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser, LexborNode

PREFIX = "item-"
_NAME = re.compile(rf"{PREFIX}[\w.:-]{{1,100}}", re.ASCII)
_NOT_IN_NAMES = re.compile(r"[^\w.:-]", re.ASCII)
LONGEST = 100


def is_anchor(name: str) -> bool:
    """Whether an id is one of ours."""
    return _NAME.fullmatch(name) is not None


def keep_anchors(tree: LexborHTMLParser, pages: set[str]) -> None:
    """Give links to places of this text, which stands on these pages, and those places names that agree."""
    links = [(node, name) for node in tree.css("a[href]") if (name := _place(node, pages))]
    if not links:
        return
    wanted = {name for _, name in links}
    found: dict[str, str] = {}
    for node in tree.css("[id], a[name]"):
        name = node.attributes.get("id") or node.attributes.get("name") or ""
        if name in wanted and name not in found:
            found[name] = node.attrs["id"] = _named(name)
    for node, name in links:
        if name in found:
            node.attrs["href"] = f"#{found[name]}"


def _place(link: LexborNode, pages: set[str]) -> str:
    """The place in this text that a link leads to; empty for one that leads elsewhere."""
    page, _, name = (link.attributes.get("href") or "").strip().partition("#")
    return unquote(name) if name and (not page or page in pages) else ""


def _named(name: str) -> str:
    return PREFIX + _NOT_IN_NAMES.sub("-", name.removeprefix(PREFIX))[:LONGEST]
