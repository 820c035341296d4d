"""Sanitised markup as XHTML for EPUB: well-formed, without what readers of books do not know. For parser processes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tsuzuki.connectors.html.addresses import http_url
from tsuzuki.connectors.html.lexbor import LIBRARIES, parse_html
from tsuzuki.connectors.html.sanitiser import SafeHtml, flattened
from tsuzuki.model import xml

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

FOR_PARSERS = LIBRARIES

DEEPEST = 200
"""Elements within elements: many readers refuse a document beyond 256. What is deeper loses its tags, not its text."""
_RENAMED = {"center": "div", "strike": "s", "tt": "code", "time": "span"}
"""Elements that were removed from HTML, and `time`, whose text would have to be a valid date."""
_DIRECTIONS = frozenset({"ltr", "rtl", "auto"})
_SINGLE = frozenset({"br", "col", "hr", "img", "wbr"})
_PLAYERS = frozenset({"audio", "video"})
_PLAIN = frozenset({"title", "lang", "cite", "colspan", "rowspan", "start", "reversed", "value", "open"})


def to_xhtml(html: str, pictures: dict[str, str]) -> str:
    """The markup in a `div`, with those images that are in the book, at their paths there. Players become links."""
    body = parse_html(f"<div>{flattened(SafeHtml(html))}</div>").body
    return "" if body is None or body.child is None else _XhtmlWriter(pictures).written(body.child)


class _XhtmlWriter:
    """Writes a tree without recursion: it may nest deeper than Python likes to."""

    def __init__(self, pictures: Mapping[str, str]) -> None:
        self._pictures = pictures
        self._ids: set[str] = set()
        self._open: list[LexborNode | str] = []
        """What is still to be written, nodes and the ends of elements, the next last."""
        self._depth = 0

    def written(self, root: "LexborNode") -> str:
        parts = []
        self._open = [root]
        while self._open:
            one = self._open.pop()
            if isinstance(one, str):
                self._depth -= 1
            parts.append(one if isinstance(one, str) else self._begun(one))
        return "".join(parts)

    def _begun(self, node: "LexborNode") -> str:
        """The beginning of a node; its children and its end are pushed to be written next."""
        tag = node.tag or "-"
        if tag == "-text":
            return xml.text(node.text_content or "")
        if tag == "img":
            return self._image(node)
        if tag in _PLAYERS:
            return self._player(node)
        if tag.startswith("-") or tag == "source":
            return ""
        children = list(node.iter(include_text=True))[::-1]
        if tag == "picture" or self._depth >= DEEPEST:
            self._open += children
            return ""
        name = _RENAMED.get(tag, tag)
        opened = f"<{name}{xml.attributes_of(self._attributes(node))}"
        if name in _SINGLE:
            return f"{opened}/>"
        self._depth += 1
        self._open += [f"</{name}>", *children]
        return f"{opened}>"

    def _attributes(self, node: "LexborNode") -> dict[str, str | int | None]:
        given = node.attributes
        kept: dict[str, str | int | None] = {name: given[name] or name for name in _PLAIN & given.keys()}
        anchor = given.get("id")
        if anchor and anchor not in self._ids:  # an id stands once in a document
            self._ids.add(anchor)
            kept["id"] = anchor
        if given.get("dir") in _DIRECTIONS:
            kept["dir"] = given["dir"]
        if node.tag == "a" and given.get("href"):
            kept["href"] = given["href"]
        return dict(sorted(kept.items()))

    def _image(self, node: "LexborNode") -> str:
        address, alt = http_url(node.attributes.get("src")) or "", node.attributes.get("alt") or ""
        if address in self._pictures:
            return xml.empty("img", src=self._pictures[address], alt=alt)
        return xml.text(f"[{alt}]") if alt else ""

    def _player(self, node: "LexborNode") -> str:
        sources = (child.attributes.get("src") for child in node.iter() if child.tag == "source")
        address = http_url(node.attributes.get("src") or next(sources, None))
        return xml.element("a", address, href=address) if address else ""
