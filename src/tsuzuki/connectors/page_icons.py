"""What a page says of its icon. Pure; runs in a parser process, for the page is foreign text."""

import re
from itertools import islice
from typing import TYPE_CHECKING

from tsuzuki.connectors.feed.document import decode
from tsuzuki.connectors.html.addresses import file_url, http_url, path_of
from tsuzuki.connectors.html.lexbor import parse_html
from tsuzuki.connectors.html.tags import is_bomb
from tsuzuki.model.errors import TooLarge

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

MOST_NAMED = 2
"""Addresses that are worth a request."""
_MOST_LINKS = 1000
_GOOD = 64
"""Pixels: at least so large is best, and of those the smallest."""
_USUAL = 32
"""The size assumed for an icon that does not say it."""
_TOUCH = 180
"""The size of the icon for phones, unless it says otherwise."""
_SIZES = re.compile(r"(\d{1,4})x\d{1,4}", re.IGNORECASE)


def read_icons(body: bytes, url: str, charset: str | None) -> list[str]:
    """The addresses of a page's icons, best first; TooLarge for a page that is made to be slow (SEC-20)."""
    text = decode(body, charset).replace("\x00", "")
    if is_bomb(text):
        raise TooLarge("The page is nested too deeply.")
    tree = parse_html(text)
    base = tree.css_first("base[href]")
    place = (http_url(_attribute(base, "href"), url) if base else None) or url
    sizes: dict[str, int] = {}
    for node in islice(tree.css("link[rel][href]"), _MOST_LINKS):
        address, size = file_url(_attribute(node, "href"), place), _size(node)
        if address is not None and size is not None:
            sizes.setdefault(address.partition("#")[0], size)
    return sorted(sizes, key=lambda address: _rank(sizes[address]))[:MOST_NAMED]


def _size(node: "LexborNode") -> int | None:
    """How large the icon that this link names says it is; None for another link, and for drawings: SVG has scripts."""
    rels = _attribute(node, "rel").lower().split()
    is_touch = any(rel.startswith("apple-touch-icon") for rel in rels)
    if not is_touch and "icon" not in rels:
        return None
    address = path_of(_attribute(node, "href")).partition("?")[0]
    if "svg" in _attribute(node, "type").lower() or address.lower().endswith((".svg", ".svgz")):
        return None
    said = [int(size) for size in _SIZES.findall(_attribute(node, "sizes")[:200])]
    return max(said, default=_TOUCH if is_touch else _USUAL)


def _rank(size: int) -> tuple[bool, int]:
    return (size < _GOOD, size if size >= _GOOD else -size)


def _attribute(node: "LexborNode", name: str) -> str:
    return (node.attributes.get(name) or "").strip()
