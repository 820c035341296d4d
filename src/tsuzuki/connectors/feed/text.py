"""What an element says: words, escaped markup, or markup inline; and repairs of common damage."""

import base64
import re
from contextlib import suppress
from html import escape
from html.entities import html5

from lxml.etree import _Element as Element

from tsuzuki.connectors.feed.names import Names
from tsuzuki.connectors.feed.raw import RawText

_C1 = {code: bytes([code]).decode("cp1252", "ignore") or None for code in range(0x80, 0xA0)}
_CLOSE_OR_ENTITY = re.compile(r"</\w+>|&#?\w+;")
_TAG_NAMES = re.compile(r"</?(\w+)")
_ENTITY_NAMES = re.compile(r"&(\w+);")
_KNOWN = """
a abbr acronym address area article aside audio b bdi bdo big blockquote br button canvas caption center cite code col
colgroup data datalist dd del details dfn dialog dir div dl dt em fieldset figcaption figure font footer form h1 h2 h3
h4 h5 h6 header hr i img input ins kbd label legend li map mark menu meter nav noscript ol option p picture pre progress
q rp rt ruby s samp section select small source span strike strong sub summary sup table tbody td textarea tfoot th
thead time tr tt u ul var video wbr
"""
_HTML_TAGS = frozenset(_KNOWN.split())
_NEVER_CLOSED = "area br col embed hr img input source track wbr"
_VOID = frozenset(_NEVER_CLOSED.split())
_HTML_TYPES = frozenset({"html", "text/html", "xhtml", "application/xhtml+xml"})
_TEXT_TYPES = frozenset({"", "text", "plain", "text/plain"})
_MAYBE_DOUBLE = re.compile("[\xc2-\xf4][\x80-\xbf]")


def repair_text(text: str) -> str:
    """The text without the two usual damages: UTF-8 read as Latin-1, and Windows-1252 punctuation as controls."""
    text = text.strip()
    if text.isascii():
        return text
    if _MAYBE_DOUBLE.search(text):
        with suppress(UnicodeError):
            text = text.encode("iso-8859-1").decode()
    return text.translate(_C1)


def words(element: Element) -> str:
    """All the text inside an element."""
    if len(element):
        return repair_text("".join(str(part) for part in element.itertext()))
    return repair_text(element.text or "")


def attribute(element: Element, name: str) -> str | None:
    """An attribute, however its name is cased."""
    value = element.get(name)
    if value is None:
        lowered = name.lower()
        for key in element.keys():  # noqa: SIM118 - an element is no mapping: iterating it gives its children
            if key.lower() == lowered:
                return element.get(key)
    return value


def looks_like_html(text: str) -> bool:
    """Whether text that should be plain is markup: it closes a tag or has an entity, and all its tags are HTML's."""
    if not _CLOSE_OR_ENTITY.search(text):
        return False
    if any(name.lower() not in _HTML_TAGS for name in _TAG_NAMES.findall(text)):
        return False
    return all(f"{name};" in html5 for name in _ENTITY_NAMES.findall(text))


def text_of(element: Element, names: Names, *, default: str, base: str | None, guess: bool) -> RawText | None:
    """What a text construct says; None for a type that holds no text, or for nothing at all.

    `default` is the type it has when it names none; `guess` lets plain text turn out to be markup, as RSS needs.
    """
    declared = default
    if element.keys():
        declared = (attribute(element, "type") or default).lower().partition(";")[0].strip()
        if not _is_text(declared) or (attribute(element, "mode") or "").lower() == "base64":
            value = _unpacked(element.text or "")
            return RawText(value, is_html=declared in _HTML_TYPES, base=base) if value else None
    if len(element):
        return RawText(repair_text(inner_html(element, names)), is_html=True, base=base)
    value = repair_text(element.text or "")
    if not value:
        return None
    is_html = declared in _HTML_TYPES or (guess and looks_like_html(value))
    return RawText(value, is_html=is_html, base=base)


def _is_text(declared: str) -> bool:
    return declared in _TEXT_TYPES or declared in _HTML_TYPES or declared.startswith("text/") or "xml" in declared


def _unpacked(text: str) -> str | None:
    try:
        return repair_text(base64.b64decode(text).decode())
    except ValueError:
        return repair_text(text) or None


def inner_html(element: Element, names: Names) -> str:
    """The markup inside an element, without prefixes. A lone XHTML div is only the envelope."""
    if len(element) == 1 and not (element.text or "").strip() and not (element[0].tail or "").strip():
        only = element[0]
        if names[only.tag].rpartition(":")[2] == "div":
            element = only
    pieces: list[str] = []
    _write_inside(element, names, pieces)
    return "".join(pieces)


def _write_inside(element: Element, names: Names, pieces: list[str]) -> None:
    pieces.append(escape(element.text or "", quote=False))
    for child in element:
        _write_element(child, names, pieces)
        pieces.append(escape(child.tail or "", quote=False))


def _write_element(element: Element, names: Names, pieces: list[str]) -> None:
    name = names[element.tag].rpartition(":")[2]
    attributes = "".join(
        f' {str(key).rpartition("}")[2]}="{escape(str(value))}"' for key, value in element.attrib.items()
    )
    pieces.append(f"<{name}{attributes}>")
    if name not in _VOID:
        _write_inside(element, names, pieces)
        pieces.append(f"</{name}>")
