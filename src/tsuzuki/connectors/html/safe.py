"""The sanitiser: the only door through which markup from outside becomes `SafeHtml` (I7, SEC-14, SEC-17)."""

import re
from html import escape
from typing import NewType

import nh3
from selectolax.lexbor import LexborHTMLParser

from tsuzuki.connectors.html.addresses import absolute_srcset, http_url
from tsuzuki.connectors.html.media import reveal

SafeHtml = NewType("SafeHtml", str)
"""Markup that went through `sanitise`; a template may show this type unescaped, and no other."""

MAX_HTML = 2_000_000
"""Characters of one body; what is longer is cut before it is parsed."""

_SHOWN = """
a abbr article aside audio b bdi bdo blockquote br caption center cite code col colgroup data dd del details dfn div dl
dt em figcaption figure footer h1 h2 h3 h4 h5 h6 header hgroup hr i img ins kbd li main mark nav ol p picture pre q rp
rt ruby s samp section small source span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var
video wbr
"""
_DROPPED = """
script style template noscript iframe object embed applet svg math title head select textarea button noembed noframes
frameset frame plaintext xmp canvas dialog map
"""
TAGS = frozenset(_SHOWN.split())
_DROPPED_WHOLE = frozenset(_DROPPED.split())
_DIRECTION = {"dir", "lang", "title"}
_ATTRIBUTES: dict[str, set[str]] = {
    "*": _DIRECTION,
    "a": {"href"},
    "audio": {"src"},
    "blockquote": {"cite"},
    "col": {"span"},
    "colgroup": {"span"},
    "del": {"cite", "datetime"},
    "details": {"open"},
    "img": {"src", "srcset", "sizes", "alt", "width", "height"},
    "ins": {"cite", "datetime"},
    "li": {"value"},
    "ol": {"start", "reversed", "type"},
    "q": {"cite"},
    "source": {"src", "srcset", "sizes", "media", "type"},
    "td": {"colspan", "rowspan", "headers"},
    "th": {"colspan", "rowspan", "headers", "scope"},
    "time": {"datetime"},
    "video": {"src", "poster", "width", "height"},
}
# One attribute for each: the sanitiser sets several in no fixed order, and bodies are compared by their text.
_ALWAYS = {"img": {"loading": "lazy"}, "video": {"controls": ""}, "audio": {"controls": ""}}
_ADDRESSES = frozenset({"href", "src", "poster", "cite"})
_SIZES = frozenset({"width", "height", "colspan", "rowspan", "span", "start", "value"})
_ROUNDS = 4

_NEVER_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_BLOCK = re.compile(
    r"(?=</?(?:p|div|br|li|ul|ol|tr|td|th|h[1-6]|blockquote|table|pre|figure|section)\b)", re.IGNORECASE
)
_PARAGRAPHS = re.compile(r"\n\s*\n+")
_BLANKS = re.compile(r"\s+")


def valid_text(text: str) -> str:
    """Text without characters that no document may hold: control characters, lone surrogates (REL-37)."""
    return _NEVER_TEXT.sub("", text) if _NEVER_TEXT.search(text) else text


def sanitise(html: str, base: str) -> SafeHtml:
    """Markup that is safe to show: allow-listed, absolute, and a fixed point of this function."""
    html = valid_text(html[:MAX_HTML])
    if "<" not in html and "&" not in html:
        return SafeHtml(html.strip().replace(">", "&gt;"))
    cleaner = _cleaner(base)
    safe = cleaner.clean(reveal(html, base)).strip()
    # Nesting that a second parser reads differently is where filters are passed: repeat until both agree.
    for _ in range(_ROUNDS):
        again = cleaner.clean(safe).strip()
        if again == safe:
            return SafeHtml(safe)
        safe = again
    return text_to_html(plain_text(safe))


def _cleaner(base: str) -> nh3.Cleaner:
    def keep(tag: str, name: str, value: str) -> str | None:
        if name in _ADDRESSES:
            return _link(value, base) if tag == "a" else http_url(value, base)
        if name == "srcset":
            return absolute_srcset(value, base)
        if name in _SIZES:
            return value.strip() if value.strip().isdecimal() and len(value) < 6 else None
        return value

    return nh3.Cleaner(
        tags=TAGS,
        clean_content_tags=_DROPPED_WHOLE,
        attributes=_ATTRIBUTES,
        attribute_filter=keep,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
        set_tag_attribute_values=_ALWAYS,
    )


def _link(value: str, base: str) -> str | None:
    if value.strip().lower().startswith("mailto:"):
        return value.strip()
    return http_url(value, base)


def text_to_html(text: str) -> SafeHtml:
    """Plain text as markup: paragraphs at empty lines, breaks at line ends."""
    text = valid_text(text).strip()
    if "\n" not in text:
        return SafeHtml(_escaped(text))
    paragraphs = [_escaped(part.strip()).replace("\n", "<br>") for part in _PARAGRAPHS.split(text)]
    return SafeHtml("".join(f"<p>{part}</p>" for part in paragraphs))


def _escaped(text: str) -> str:
    # The sanitiser writes a no-break space by its name; so do we, or the output would be no fixed point.
    return escape(text, quote=False).replace("\xa0", "&nbsp;").replace("\r", "")


def plain_text(html: str) -> str:
    """The words of some markup on one line; scripts and styles have none."""
    html = valid_text(html)
    if "<" in html or "&" in html:
        tree = LexborHTMLParser(_BLOCK.sub(" ", html), is_fragment=True)
        for node in tree.css(",".join(_DROPPED_WHOLE)):
            node.decompose()
        html = tree.text()
    return one_line(html)


def one_line(text: str) -> str:
    """Text with every run of white space made one blank."""
    return _BLANKS.sub(" ", valid_text(text)).strip()
