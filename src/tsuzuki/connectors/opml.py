"""OPML, the format in which readers hand lists of feeds to one another. Pure; runs in a parser process.

Read by the hardened parser of feeds: the prolog with any DTD is cut off before a parser sees it, so that no entity can
grow (SEC-19), and depth and size are bounded (SEC-20). Written by a serializer, never by joining strings (SEC-18).
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from tsuzuki.connectors.feed.document import NeedsLenientReader, decode, parse_tree, without_forbidden
from tsuzuki.connectors.html.lexbor import LIBRARIES
from tsuzuki.connectors.html.sanitiser import one_line
from tsuzuki.model.errors import NotAFeed, TooLarge

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

FOR_PARSERS = LIBRARIES

MAX_BYTES = 10 * 1024 * 1024
MAX_FEEDS = 10_000
LONGEST_NAME = 200
MAX_ATTRIBUTES = 100
"""Attributes of one outline: reading them takes time by the square of their number."""
MAX_REPAIRS = 100_000
"""Bare ampersands of a list; a document with more is no list."""
BETWEEN_GROUPS = " / "
_PAGES = {"html+xpath", "xml+xpath", "json+dotpath", "json+dotnotation", "html+xpath+json+dotnotation"}

_ROOT = re.compile(r"<(?:opml)(?=[\s>])", re.IGNORECASE)
# Nothing is searched beyond the next tag, or a list of nothing but `<!DOCTYPE` would be searched for hours.
_OWN_ENTITIES = re.compile(r"<!ENTITY|<!DOCTYPE[^<>]*\[", re.IGNORECASE)
_BARE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});)")


class Outline(msgspec.Struct, frozen=True):
    """A feed in a list; `group` is the path of what it stands in, empty at the top."""

    link: str
    title: str = ""
    site_url: str | None = None
    group: str = ""
    line: int = 0
    """Where it stands in the document."""
    is_page: bool = False
    """Whether the address is that of a page, of which FreshRSS makes a feed by rules of its own."""


def read_opml(body: bytes) -> list[Outline]:
    """The feeds of a list in their order; NotAFeed for what is none, TooLarge for one that nobody has."""
    if len(body) > MAX_BYTES:
        raise TooLarge(f"The list has more than {MAX_BYTES:,} bytes.")
    text = decode(body)
    root = _ROOT.search(text)
    if root is None:
        raise NotAFeed("This is not OPML: it has no <opml> element.")
    if _OWN_ENTITIES.search(text, 0, root.start()):
        raise NotAFeed("The list declares its own entities (a DTD), which is not allowed.")
    lines_before = text.count("\n", 0, root.start())
    outlines = list(_outlines(_tree(text[root.start() :]), lines_before))
    if len(outlines) > MAX_FEEDS:
        raise TooLarge(f"The list has more than {MAX_FEEDS:,} feeds.")
    return outlines


def _tree(text: str) -> "Element":
    try:
        return parse_tree(text)
    except NeedsLenientReader:
        text, repairs = _BARE_AMPERSAND.subn("&amp;", text, count=MAX_REPAIRS + 1)
    if repairs <= MAX_REPAIRS:
        with suppress(NeedsLenientReader):
            return parse_tree(text)
    raise NotAFeed("This is not OPML: its XML is damaged.")


def _outlines(root: "Element", lines_before: int) -> Iterator[Outline]:
    groups: list[tuple[Element, str]] = []
    for element in root.iter("{*}outline"):
        while groups and groups[-1][0] is not element.getparent():
            groups.pop()
        if len(element.attrib) > MAX_ATTRIBUTES:
            raise TooLarge(f"An outline of the list has more than {MAX_ATTRIBUTES} attributes.")
        said = {str(name).lower(): str(value).strip() for name, value in element.attrib.items()}
        title = one_line(said.get("title") or said.get("text") or "")[:LONGEST_NAME]
        link = said.get("xmlurl")
        group = groups[-1][1] if groups else ""
        if not link:
            path = BETWEEN_GROUPS.join(part for part in (group, title) if part)
            groups.append((element, path[:LONGEST_NAME]))
            continue
        yield Outline(
            link=link,
            title=title,
            site_url=said.get("htmlurl") or None,
            group=group.strip(),
            line=lines_before + int(getattr(element, "sourceline", None) or 0),
            is_page=said.get("type", "").lower() in _PAGES,
        )


def write_opml(title: str, feeds: dict[str, list[Outline]]) -> bytes:
    """OPML 2.0 of feeds by their groups; those of the group '' stand at the top."""
    from lxml import etree

    root = etree.Element("opml", version="2.0")
    etree.SubElement(etree.SubElement(root, "head"), "title").text = without_forbidden(title)
    body = etree.SubElement(root, "body")
    for group, outlines in feeds.items():
        parent = body if not group else etree.SubElement(body, "outline", _clean({"text": group, "title": group}))
        for feed in outlines:
            said = {"type": "rss", "text": feed.title, "title": feed.title, "xmlUrl": feed.link}
            etree.SubElement(parent, "outline", _clean(said | ({"htmlUrl": feed.site_url} if feed.site_url else {})))
    return etree.tostring(root, encoding="utf-8", xml_declaration=True, pretty_print=True)


def _clean(attributes: Mapping[str, str]) -> dict[str, str]:
    return {name: without_forbidden(value) for name, value in attributes.items()}
