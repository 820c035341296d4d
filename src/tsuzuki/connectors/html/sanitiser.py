"""The sanitiser: the only way in which markup from outside becomes `SafeHtml` (I7, SEC-14, SEC-17)."""

import re
from collections.abc import Callable
from functools import cache, cached_property
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, NewType

from tsuzuki.connectors.html.addresses import absolute_srcset, http_url
from tsuzuki.connectors.html.lexbor import LIBRARIES, parse_html
from tsuzuki.connectors.html.media import is_anchor, reveal
from tsuzuki.connectors.html.tags import normalise
from tsuzuki.model.titles import unescaped

if TYPE_CHECKING:
    import nh3

FOR_PARSERS = LIBRARIES

SafeHtml = NewType("SafeHtml", str)
"""Markup that went through `sanitise`; a template may show this type unescaped, and no other."""

MAX_HTML = 2_000_000
"""Characters of one body; what is longer is cut before it is parsed."""

MAX_TAGS = 50_000
"""Signs that begin one; a text of a hundred thousand words has fewer. What comes after is cut: pages parse it again."""

MAX_NESTING = 400
"""Elements within elements; parsers take time by the square of it, and no text needs so many."""

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
_DROPPED_SELECTOR = ", ".join(sorted(_DROPPED_WHOLE))
_MAYBE_DROPPED = re.compile(f"<(?:{'|'.join(sorted(_DROPPED_WHOLE))})", re.IGNORECASE)
_DIRECTION = {"dir", "id", "lang", "title"}
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
_GIVEN = frozenset({"a", *_ALWAYS})
_ADDRESSES = frozenset({"href", "src", "poster", "cite"})
_SIZES = frozenset({"width", "height", "colspan", "rowspan", "span", "start", "value"})
_ROUNDS = 4

_NEVER_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_VALID_BYTES = bytes([*b"\t\n\r", *range(0x20, 0x100)])
_BEFORE_INVALID = "\uffff".encode()[:1]
"""With what the other characters begin that are never text."""
_BLOCK = re.compile(
    r"(?=</?(?:p|div|br|li|ul|ol|tr|td|th|h[1-6]|blockquote|table|pre|figure|section)\b)", re.IGNORECASE
)
_TAGS = re.compile(r"<[^<>]*>")
_LESS = re.compile("<")
_SAFE_TAG = re.compile(r'<(/?)([a-z0-9]++)[^"<>]*+(?:"[^"]*+"[^"<>]*+)*+>')
_SINGLE = frozenset({"br", "col", "hr", "img", "source", "wbr"})
_PARAGRAPHS = re.compile(r"\n\s*\n+")


def valid_text(text: str) -> str:
    """Text without characters that no document may hold: control characters, lone surrogates (REL-37)."""
    return text if _is_valid(text) else _NEVER_TEXT.sub("", text)


def _with_plain_breaks(text: str) -> str:
    """As every parser of HTML reads line breaks."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _trimmed(text: str) -> str:
    """Without blanks at its ends, nor a byte order mark, which parsers drop where a text begins."""
    while text != (trimmed := text.strip().strip("\ufeff")):
        text = trimmed
    return text


def _is_valid(text: str) -> bool:
    """Checked on the bytes where the text is long: looking at each character takes three times as long."""
    if len(text) < 100 and text.isprintable():
        return True
    try:
        encoded = text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    if encoded.translate(None, _VALID_BYTES):
        return False
    return _BEFORE_INVALID not in encoded or not _NEVER_TEXT.search(text)


def sanitise(html: str, base: str, page: str = "") -> SafeHtml:
    """Markup that is safe to show: allow-listed, absolute, and a fixed point of this function.

    Addresses in it are relative to `base`; links to its own `page` stay within it.
    """
    return Sanitiser().sanitise(html, base, page)


class Sanitiser:
    """`sanitise` for many bodies: building one costs more than a short body does. For one thread at a time."""

    def __init__(self) -> None:
        self._kept = _Kept()

    @cached_property
    def _cleaner(self) -> "nh3.Cleaner":
        # Not a method of ours: no collector sees through a cleaner, and what it holds must not hold it.
        return _cleaner(self._kept.value)

    def sanitise(self, html: str, base: str, page: str = "") -> SafeHtml:
        """As the function of the same name; two parsers have read what comes out."""
        html = _with_plain_breaks(valid_text(_cut(html[:MAX_HTML], 4 * MAX_TAGS)))
        if "<" not in html and "&" not in html:
            return SafeHtml(_escaped(_trimmed(html)))
        settled = normalise(html, MAX_NESTING)
        if settled.is_too_deep:
            return text_to_html(_without_tags(html))
        self._kept.base, self._kept.has_dropped = base, False
        cleaned = self._cleaner.clean(reveal(settled.html, base, page))
        safe = _trimmed(_with_plain_breaks(valid_text(cleaned)))  # a reference may have meant one of those
        if self._kept.has_dropped:  # the cleaner then leaves attributes in another order than it would write itself
            safe = _trimmed(_proof().clean(safe))
        if is_deep(safe):
            return flattened(SafeHtml(safe))
        if (cut := _cut(safe, MAX_TAGS)) != safe:
            safe = _trimmed(_proof().clean(cut))
        # Nesting that a second parser reads differently is where filters are passed. Where another parser writes the
        # same again, nothing is left to argue about; where it does not, repeat until the sanitiser agrees with itself.
        if parse_html(safe, is_fragment=True).html == safe:
            return SafeHtml(safe)
        for _ in range(_ROUNDS):
            again = _trimmed(_proof().clean(safe))
            if again == safe:
                return SafeHtml(safe)
            safe = again
        return text_to_html(plain_text(safe))


def is_deep(safe: str) -> bool:
    """Whether what a sanitiser wrote nests too deep to be parsed for a page: exact, and linear in its length."""
    if safe.count("<") <= MAX_NESTING:
        return False
    depth = 0
    for tag in _SAFE_TAG.finditer(safe):
        if tag[2] not in _SINGLE:
            depth += -1 if tag[1] else 1
            if depth > MAX_NESTING:
                return True
    return False


def flattened(safe: SafeHtml) -> SafeHtml:
    """The same, cut where it has too many tags, as text where it nests too deep: what was stored earlier may do so."""
    return text_to_html(_without_tags(safe)) if is_deep(safe) else SafeHtml(_cut(safe, MAX_TAGS))


def _cut(html: str, most: int) -> str:
    """The text up to so many tags. To end those that are open then takes no more than is left over here."""
    if html.count("<") <= most + MAX_NESTING:
        return html
    return html[: next(islice(_LESS.finditer(html), most, None)).start()]


class _Kept:
    """The attributes that are kept, on a page at `base`."""

    base = ""
    has_dropped = False

    def value(self, tag: str, name: str, value: str) -> str | None:
        """The value as it is written; None where the attribute goes."""
        kept = self._value(tag, name, value)
        self.has_dropped |= kept is None and tag in _GIVEN
        return kept

    def _value(self, tag: str, name: str, value: str) -> str | None:
        if name in _ADDRESSES:
            return _link(value, self.base) if tag == "a" else http_url(value, self.base)
        if name == "id":
            return value if is_anchor(value) else None
        if name == "srcset":
            return absolute_srcset(value, self.base)
        if name in _SIZES:
            return value.strip() if value.strip().isdecimal() and len(value) < 6 else None
        return value


def _cleaner(keep: Callable[[str, str, str], str | None]) -> "nh3.Cleaner":
    import nh3

    return nh3.Cleaner(
        tags=TAGS,
        clean_content_tags=_DROPPED_WHOLE,
        attributes=_ATTRIBUTES,
        attribute_filter=keep,
        url_schemes={"http", "https", "mailto"},
        url_relative="pass_through",
        link_rel="noopener noreferrer",
        set_tag_attribute_values=_ALWAYS,
    )


@cache
def _proof() -> "nh3.Cleaner":
    return _cleaner(_Kept().value)


"""The same where addresses are absolute already: what it leaves alone is well nested, and so safe whoever parses it."""


def _link(value: str, base: str) -> str | None:
    if value.startswith("#") and is_anchor(value[1:]):
        return value
    if value.strip().lower().startswith("mailto:"):
        return value.strip()
    return http_url(value, base)


def text_to_html(text: str) -> SafeHtml:
    """Plain text as markup: paragraphs at empty lines, breaks at line ends."""
    text = _trimmed(valid_text(text).replace("\r\n", "\n").replace("\r", "\n"))
    if "\n" not in text:
        return SafeHtml(_escaped(text))
    paragraphs = [_escaped(part.strip()).replace("\n", "<br>") for part in _PARAGRAPHS.split(text)]
    return SafeHtml("".join(f"<p>{part}</p>" for part in paragraphs))


def _escaped(text: str) -> str:
    # The sanitiser writes a no-break space by its name; so do we, or the output would be no fixed point.
    return escape(text, quote=False).replace("\xa0", "&nbsp;")


def plain_text(html: str) -> str:
    """The words of some markup on one line; scripts and styles have none."""
    html = valid_text(html)
    if "<" not in html and "&" not in html:
        return one_line(html)
    settled = normalise(html, MAX_NESTING)
    if settled.is_too_deep:
        return one_line(_without_tags(html))
    tree = parse_html(_BLOCK.sub(" ", settled.html), is_fragment=True)
    if _MAYBE_DROPPED.search(settled.html):
        for node in tree.css(_DROPPED_SELECTOR):
            node.decompose()
    return one_line(tree.text())


def _without_tags(html: str) -> str:
    """What is left of markup that no parser should see."""
    return unescaped(_TAGS.sub(" ", html))


def one_line(text: str) -> str:
    """Text with every run of white space made one blank."""
    return " ".join(valid_text(text).split())
