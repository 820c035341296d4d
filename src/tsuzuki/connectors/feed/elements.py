"""Reading elements of a feed: names, text, people, and what the document around them says."""

import base64
import re
from collections.abc import Callable
from contextlib import suppress
from html import escape
from html.entities import html5
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from tsuzuki.connectors.feed.raw import RawFeed, RawItem, RawText, add
from tsuzuki.connectors.html.addresses import http_url
from tsuzuki.connectors.html.sanitiser import plain_text

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_PREFIXES = {
    "": "",
    "http://backend.userland.com/rss": "",
    "http://backend.userland.com/rss2": "",
    "http://blogs.law.harvard.edu/tech/rss": "",
    "http://channel.netscape.com/rdf/simple/0.9/": "",
    "http://my.netscape.com/rdf/simple/0.9/": "",
    "http://purl.org/atom/ns#": "",
    "http://purl.org/rss/1.0/": "",
    "http://www.w3.org/2005/atom": "",
    "http://purl.oclc.org/net/rss_2.0/enc#": "enc:",
    "http://purl.org/dc/elements/1.0/": "dc:",
    "http://purl.org/dc/elements/1.1/": "dc:",
    "http://purl.org/dc/terms/": "dcterms:",
    "http://purl.org/rss/1.0/modules/content/": "content:",
    "http://purl.org/rss/1.0/modules/slash/": "slash:",
    "http://purl.org/rss/1.0/modules/syndication/": "sy:",
    "http://rssnamespace.org/feedburner/ext/1.0": "feedburner:",
    "http://search.yahoo.com/mrss": "media:",
    "http://search.yahoo.com/mrss/": "media:",
    "http://www.itunes.com/dtds/podcast-1.0.dtd": "itunes:",
    "http://www.rssboard.org/media-rss": "media:",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf:",
    "http://www.w3.org/1999/xhtml": "xhtml:",
    "http://www.youtube.com/xml/schemas/2015": "yt:",
    "https://podcastindex.org/namespace/1.0": "podcast:",
    "https://github.com/podcastindex-org/podcast-namespace/blob/main/docs/1.0.md": "podcast:",
}
XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
RDF_RESOURCE = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}resource"
RDF_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"


_ATOM = "{http://www.w3.org/2005/Atom}"
_OFTEN = """
author category channel comments content description entry feed generator guid id item language lastBuildDate link name
pubDate published rss subtitle summary title ttl updated uri
"""
_USUAL = {f"{namespace}{name}": name.lower() for namespace in ("", _ATOM) for name in _OFTEN.split()}


class ElementNames(dict[str, str]):
    """`{namespace}Local` -> our short name in lower case; what we do not know is `?:local`. One per document.

    `own` is the namespace that the document's own elements have, whatever it is.
    """

    def __init__(self, own: str = "") -> None:
        super().__init__(_USUAL)
        self._own = own

    def __missing__(self, tag: str) -> str:
        namespace, _, local = tag.rpartition("}")
        namespace = namespace.removeprefix("{")
        prefix = "" if namespace == self._own else _PREFIXES.get(namespace.lower(), "?:")
        # A prefix that was not declared is a part of the name, and most often means what it says.
        self[tag] = name = prefix + local.lower().removeprefix("atom:")
        return name


def is_of_atom(tag: str) -> bool:
    """Whether an element is Atom's, by its unchanged tag."""
    return "atom" in tag.lower()


_C1 = {code: bytes([code]).decode("cp1252", "ignore") or None for code in range(0x80, 0xA0)}
_CLOSE_OR_ENTITY = re.compile(r"</\w+>|&#?\w+;")
_TAG_NAMES = re.compile(r"</?(\w+)")
_ENTITY_NAMES = re.compile(r"&(\w+);")
_HTML_NAMES = """
a abbr acronym address area article aside audio b bdi bdo big blockquote br button canvas caption center cite code col
colgroup data datalist dd del details dfn dialog dir div dl dt em fieldset figcaption figure font footer form h1 h2 h3
h4 h5 h6 header hr i img input ins kbd label legend li map mark menu meter nav noscript ol option p picture pre progress
q rp rt ruby s samp section select small source span strike strong sub summary sup table tbody td textarea tfoot th
thead time tr tt u ul var video wbr
"""
_HTML_TAGS = frozenset(_HTML_NAMES.split())
_VOID = frozenset({"area", "br", "col", "embed", "hr", "img", "input", "source", "track", "wbr"})
_HTML_TYPES = frozenset({"html", "text/html", "xhtml", "application/xhtml+xml"})
_TEXT_TYPES = _HTML_TYPES | {"", "text", "plain", "text/plain"}
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


def words(element: "Element") -> str:
    """All the text inside an element."""
    if len(element):
        return repair_text("".join(str(part) for part in element.itertext()))
    return repair_text(element.text or "")


def attribute(element: "Element", name: str) -> str | None:
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


def text_of(element: "Element", names: ElementNames, *, default: str, base: str | None, guess: bool) -> RawText | None:
    """What a text construct says; None for a type that holds no text, or for nothing at all.

    `default` is the type it has when it names none; `guess` lets plain text turn out to be markup, as RSS needs.
    """
    declared = default
    if element.keys():
        declared = (attribute(element, "type") or default).lower().partition(";")[0].strip()
        is_text = declared in _TEXT_TYPES or declared.startswith("text/") or "xml" in declared
        if not is_text or (attribute(element, "mode") or "").lower() == "base64":
            value = _unpacked(element.text or "")
            return RawText(value, is_html=declared in _HTML_TYPES, base=base) if value else None
    if len(element):
        return RawText(repair_text(inner_html(element, names)), is_html=True, base=base)
    value = repair_text(element.text or "")
    if not value:
        return None
    is_html = declared in _HTML_TYPES or (guess and looks_like_html(value))
    return RawText(value, is_html=is_html, base=base)


def _unpacked(text: str) -> str | None:
    try:
        return repair_text(base64.b64decode(text).decode())
    except ValueError:
        return repair_text(text) or None


def inner_html(element: "Element", names: ElementNames) -> str:
    """The markup inside an element, without prefixes. A lone XHTML div is only the envelope."""
    if len(element) == 1 and not (element.text or "").strip() and not (element[0].tail or "").strip():
        only = element[0]
        if names[only.tag].rpartition(":")[2] == "div":
            element = only
    pieces: list[str] = []
    _write_inside(element, names, pieces)
    return "".join(pieces)


def _write_inside(element: "Element", names: ElementNames, pieces: list[str]) -> None:
    pieces.append(escape(element.text or "", quote=False))
    for child in element:
        _write_element(child, names, pieces)
        pieces.append(escape(child.tail or "", quote=False))


def _write_element(element: "Element", names: ElementNames, pieces: list[str]) -> None:
    name = names[element.tag].rpartition(":")[2]
    attributes = "".join(
        f' {str(key).rpartition("}")[2]}="{escape(str(value))}"' for key, value in element.attrib.items()
    )
    pieces.append(f"<{name}{attributes}>")
    if name not in _VOID:
        _write_inside(element, names, pieces)
        pieces.append(f"</{name}>")


MAX_AUTHOR = 2000
"""Characters that are looked at."""
_EMAIL = re.compile(r"(?:[mM][aA][iI][lL][tT][oO]:)?([\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8})")

_ALONE = re.compile(r"<(?:br|hr|img|wbr)(?=[\s/>])[^<>]*+>", re.IGNORECASE)
_BETWEEN = " \t\n,;|-–—/"
"""What stands between a name and an address."""


def author_of(text: str) -> str | None:
    """The name in `mail@example.org (Name)` and its relatives; the address itself where there is no name."""
    text = text[:MAX_AUTHOR]
    text = _ALONE.sub(" ", text)
    if ("<" in text or "&" in text) and looks_like_html(text):
        text = plain_text(text)
    found = _EMAIL.findall(text) if "@" in text else []
    if not found:
        return text.strip() or None
    name = _EMAIL.sub("", text)
    for empty in ("()", "<>", "[]"):
        name = name.replace(empty, "")
    name = name.strip(_BETWEEN).removeprefix("(").removesuffix(")").strip(_BETWEEN)
    return name or ", ".join(dict.fromkeys(found))


class DocumentScope:
    """The document's kind and address, and the base that xml:base has set so far. Made once per document or entry."""

    __slots__ = ("base", "has_bases", "is_rss", "names", "url")

    def __init__(
        self, url: str, *, is_rss: bool, has_bases: bool, names: ElementNames, base: str | None = None
    ) -> None:
        self.url = url
        self.is_rss = is_rss
        self.has_bases = has_bases
        self.names = names
        self.base = base

    def within(self, element: "Element") -> "DocumentScope":
        """The scope of an element's children."""
        if not self.has_bases or element.get(XML_BASE) is None:
            return self
        base = self.explicit_base(element)
        return DocumentScope(self.url, is_rss=self.is_rss, has_bases=True, names=self.names, base=base)

    def explicit_base(self, element: "Element") -> str | None:
        """The base that the document itself sets for this element; None when it sets none."""
        own = element.get(XML_BASE) if self.has_bases else None
        if own is None:
            return self.base
        return http_url(own, self.base or self.url) or self.base

    def base_of(self, element: "Element") -> str:
        """What addresses in this element are relative to."""
        return self.explicit_base(element) or self.url

    def address(self, text: str, element: "Element") -> str | None:
        """The address that some text is, made absolute where it is relative; of any scheme."""
        if not text:
            return None
        base = self.base_of(element)
        try:
            return http_url(text, base) or urljoin(base, text)
        except ValueError:
            return text

    def text(self, element: "Element", default: str, *, guess: bool = False) -> RawText | None:
        """A text construct. RSS has no types, so its plain text may turn out to be markup."""
        base = self.explicit_base(element)
        return text_of(element, self.names, default=default, base=base, guess=guess or self.is_rss)

    def person(self, element: "Element") -> str | None:
        """An Atom person's name, else address; or the text of an RSS author."""
        if not len(element):
            return author_of(words(element))
        found = {self.names[child.tag].rpartition(":")[2]: child for child in element}
        said = [words(found[name]) for name in ("name", "email") if name in found]
        if not said and "uri" not in found and "url" not in found:
            return author_of(words(element))
        return next((author for text in said if (author := author_of(text))), None)


Handler = Callable[[DocumentScope, Any, "Element"], None]
"""Adds what an element says to the feed or the entry that it stands in."""


def last_words(name: str) -> Handler:
    """Note what the element says under this name; the last that says anything counts."""

    def handler(_scope: DocumentScope, raw: RawFeed | RawItem, element: "Element") -> None:
        setattr(raw, name, words(element) or getattr(raw, name))

    return handler


def add_author(scope: DocumentScope, raw: RawFeed | RawItem, element: "Element") -> None:
    """A person, as Atom and RSS write one."""
    add(raw.authors, scope.person(element))


def add_creator(_scope: DocumentScope, raw: RawFeed | RawItem, element: "Element") -> None:
    """A name, as Dublin Core and iTunes write one."""
    add(raw.authors, author_of(words(element)))
