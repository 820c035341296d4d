"""Plain markup, made harmless without a parser: a few elements, well nested, and nothing odd in or between them.

Whatever else there is makes it None here, and the thorough way decides. Plain markup becomes to the letter what the
thorough way makes of it, and is safe by itself: only names and attributes of these tables are written, only addresses
of http(s), no `<` or `>` outside a tag, and no `"` inside a value.
"""

import re
from collections.abc import Iterable
from html import unescape
from html.entities import html5

import msgspec

from tsuzuki.connectors.html.addresses import http_url, srcset_of
from tsuzuki.connectors.html.media import PLACEHOLDER
from tsuzuki.connectors.html.trackers import may_track

MOST_OPEN = 60
"""Elements within elements; far from where depth is a burden (SEC-20)."""

_TAG = re.compile(r"<([^<>]*)>")
_START = re.compile(r"""([a-z][a-z0-9]*)(?:[ \n]+[a-z][a-z-]*=(?:"[^"]*"|'[^'"]*'))*[ \n]*/?""")
_ATTRIBUTE = re.compile(r"""([a-z-]+)=(?:"([^"]*)"|'([^']*)')""")
_ADDRESS = re.compile(r"https?://(?:[a-z0-9]+(?:-[a-z0-9]+)*\.)+[a-z]{2,}(?:[/?#][\w/.%~?&=;,+@:!$'()*#-]*)?", re.ASCII)
"""One of which nobody doubts the host: no number, no port, no sign-in, nothing encoded."""
_AND = re.compile("&([A-Za-z0-9]+)([=_])")
"""Between the parameters of an address, where nobody wrote `&amp;`."""
_LOST_LINE = re.compile(r"<pre[^<>]*>\n")
_SIZE = re.compile("[1-9][0-9]{1,3}")
_REFERENCE = re.compile("&(?:#([0-9]{2,6});|#[xX]([0-9A-Fa-f]{2,5});|[A-Za-z][A-Za-z0-9]*;)?")
_SURE = (range(0x20, 0x7F), range(0xA0, 0xD800), range(0xE000, 0xFDD0), range(0x10000, 0x1FFFE))
"""Characters that a number stands for in every parser."""
_ESCAPED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\xa0": "&nbsp;"}


class _Odd(Exception):
    """Not for us."""


class Kind(msgspec.Struct, frozen=True):
    """An element, and where it may stand. Sets of elements are numbers, one bit for each."""

    name: str
    bit: int
    not_within: int
    parents: frozenset[str] = frozenset()
    """One of which must be right around it; anything may, where none is named."""
    is_void: bool = False


class _Tag(msgspec.Struct, frozen=True):
    kind: Kind
    is_end: bool = False
    attributes: tuple[tuple[str, str], ...] = ()
    written: str = ""
    """As it is written, where that is always the same."""


_PHRASES = "a abbr b bdi cite code del dfn em i ins kbd mark q s samp small span strong sub sup time u var"
_SECTIONS = "article aside blockquote div dl figcaption figure footer header ol section ul"
_INLINE = tuple(_PHRASES.split())
_LEAVES = ("p", "h1", "h2", "h3", "h4", "h5", "h6", "pre")
_BOXES = tuple(_SECTIONS.split())
_PARTS = {"li": frozenset({"ul", "ol"}), "dt": frozenset({"dl"}), "dd": frozenset({"dl"})}
_BITS = {name: 1 << place for place, name in enumerate([*_INLINE, *_LEAVES, *_BOXES, *_PARTS])}
_NO_BOX = sum(_BITS[name] for name in [*_INLINE, *_LEAVES])
"""What ends, or is torn apart, where a paragraph or a box begins in it."""
KINDS = {
    kind.name: kind
    for kind in (
        *(Kind(name, _BITS[name], _BITS[name]) for name in _INLINE),
        *(Kind(name, _BITS[name], _NO_BOX) for name in [*_LEAVES, *_BOXES]),
        *(Kind(name, _BITS[name], _NO_BOX, parents) for name, parents in _PARTS.items()),
        Kind("br", 0, 0, is_void=True),
        Kind("hr", 0, _NO_BOX, is_void=True),
        Kind("img", 0, 0, is_void=True),
    )
}
_ADDED = {"a": ' rel="noopener noreferrer"', "img": ' loading="lazy"'}
_BARE = {
    name: _Tag(kind, written=f"<{name}{_ADDED.get(name, '')}>") for name, kind in KINDS.items() if name != "img"
} | {f"/{name}": _Tag(kind, is_end=True, written=f"</{name}>") for name, kind in KINDS.items() if not kind.is_void}
"""Tags that are only a name."""
ATTRIBUTES = {"a": frozenset({"href"}), "img": frozenset({"src", "srcset", "sizes", "alt", "width", "height"})}
EVERYWHERE = frozenset({"dir", "lang", "title"})
_NONE: frozenset[str] = frozenset()
_NOTED = """
align border class clear decoding fetchpriority hspace id imageanchor itemprop itemtype loading name rel role style
tabindex target valign vspace
"""
_UNHEEDED = frozenset(_NOTED.split())
"""Written by many, kept by nobody. Anything beyond is for the thorough way."""
_SPACED = frozenset({*_LEAVES, "blockquote", "br", "div", "figure", "li", "ol", "section", "ul"})
"""Before which words end."""


def plain_markup(html: str, base: str) -> str | None:
    """The markup made harmless, on a page at `base`; None where it is not plain."""
    try:
        words, tags = _split(html)
        known = {tag: _read(tag) for tag in set(tags)}
        written = {tag: read.written or _written(read, base) for tag, read in known.items()}
        _check_images(f"<{tag}>{written[tag]}" for tag, read in known.items() if read.kind.name == "img")
        _check_nesting([known[tag] for tag in tags])
        words = _settled(words)
    except _Odd:
        return None
    return _joined(words, [written[tag] for tag in tags]).strip()


def plain_words(html: str) -> str | None:
    """The words of the markup, with blanks where blocks begin and end; None where it is not plain."""
    try:
        words, tags = _split(html)
        known = {tag: _read(tag) for tag in set(tags)}
        _check_nesting([known[tag] for tag in tags])
        words = _settled(words)
    except _Odd:
        return None
    return unescape(_joined(words, [" " if known[tag].kind.name in _SPACED else "" for tag in tags]))


def _split(html: str) -> tuple[list[str], list[str]]:
    """What is between the tags, and the tags."""
    # Parsers change or leave out these; so nothing is plain that has them.
    if "\r" in html or "\ufeff" in html or ("&" in html and "& " in html):
        raise _Odd
    pieces = _TAG.split(html.replace("\xa0", "&nbsp;"))
    tags = pieces[1::2]
    if html.count("<") != len(tags) or html.count(">") != len(tags):
        raise _Odd
    starts = "<" + "<".join(tags)
    if len(tags) != 2 * starts.count("</") + starts.count("<br") + starts.count("<img") + starts.count("<hr"):
        raise _Odd  # as wherever something was left open; seen here, it has cost next to nothing
    if "<pre" in starts and _LOST_LINE.search(html):
        raise _Odd
    return pieces[::2], tags


def _settled(words: list[str]) -> list[str]:
    return [_REFERENCE.sub(_character, text) if "&" in text else text for text in words]


def _joined(words: list[str], tags: list[str]) -> str:
    pieces = [""] * (len(words) + len(tags))
    pieces[::2] = words
    pieces[1::2] = tags
    return "".join(pieces)


def _check_nesting(tags: list[_Tag]) -> None:
    """Each element ends where it should, and stands where it may."""
    opened: list[tuple[Kind | None, int]] = []
    last, around = None, 0
    for tag in tags:
        kind = tag.kind
        if tag.is_end:
            if last is not kind:
                raise _Odd
            last, around = opened.pop()
            continue
        if around & kind.not_within or (kind.parents and (last is None or last.name not in kind.parents)):
            raise _Odd
        if not kind.is_void:
            opened.append((last, around))
            last, around = kind, around | kind.bit
            if len(opened) > MOST_OPEN:
                raise _Odd
    if opened:
        raise _Odd


def _check_images(tags: Iterable[str]) -> None:
    """None of them is there to count readers."""
    if may_track("".join(tags).lower()):
        raise _Odd


def _read(text: str) -> _Tag:
    """The tag that stands between `<` and `>`."""
    if (bare := _BARE.get(text)) is not None:
        return bare
    found = _START.fullmatch(text)
    kind = KINDS.get(found.group(1)) if found else None
    if kind is None or (text[-1] == "/" and not kind.is_void):
        raise _Odd
    attributes = tuple((name, one or other) for name, one, other in _ATTRIBUTE.findall(text))
    return _Tag(kind, attributes=attributes)


def _written(tag: _Tag, base: str) -> str:
    """A tag with what is kept of its attributes."""
    name = tag.kind.name
    written = f"<{name}"
    own = ATTRIBUTES.get(name, _NONE)
    for key, value in tag.attributes:
        if key in own or key in EVERYWHERE:
            written += f' {key}="{_value(key, value, base)}"'
        elif key not in _UNHEEDED and (name == "img" or not key.startswith(("data-", "aria-"))):
            raise _Odd
    _check_attributes(name, tag.attributes)
    return written + _ADDED.get(name, "") + ">"


def _check_attributes(name: str, attributes: tuple[tuple[str, str], ...]) -> None:
    """None stands twice, and a picture shows itself."""
    values = dict(attributes)
    if len(values) < len(attributes):
        raise _Odd
    if name == "img" and (
        "src" not in values or ("srcset" in values and PLACEHOLDER.search(_read_address(values["src"])))
    ):
        raise _Odd


def _value(key: str, value: str, base: str) -> str:
    """An attribute's value as it is written between quotes."""
    if key in {"href", "src", "srcset"}:
        return _addresses(key, value, base).replace("&", "&amp;")
    if "&" in value:
        value = _REFERENCE.sub(_character, value)
    if '"' in value or (key in {"width", "height"} and not _SIZE.fullmatch(value)):
        raise _Odd
    return value


def _addresses(key: str, text: str, base: str) -> str:
    """The address, or those of a srcset."""
    text = _read_address(text)
    if key == "srcset":
        found = srcset_of(text, base)
        return _sure_addresses(", ".join(each + size for each, size, _ in found), [each for each, _, __ in found])
    address = http_url(text, base)
    if address is None or (text != address and ":" in text and text[0] != "/"):
        raise _Odd
    return _sure_addresses(address, [address])


def _read_address(text: str) -> str:
    return unescape(_REFERENCE.sub(_character, _AND.sub(_and, text))) if "&" in text else text


def _sure_addresses(written: str, addresses: list[str]) -> str:
    if not addresses or not all(map(_ADDRESS.fullmatch, addresses)):
        raise _Odd
    return written


def _and(found: re.Match[str]) -> str:
    """In an address `&copy=` is no sign, while `&copy_` is one."""
    name, after = found.groups()
    return found.group() if after == "_" and name in html5 else f"&amp;{name}{after}"


def _character(reference: re.Match[str]) -> str:
    """A reference as it is written: by its name where it must be, else as the character."""
    known = _NAMED.get(reference.group())
    if known is not None:
        return known
    decimal, hexadecimal = reference.groups()
    if decimal is None and hexadecimal is None:
        raise _Odd
    return _sure(int(decimal) if decimal else int(hexadecimal, 16))


def _sure(code: int) -> str:
    if not any(code in codes for codes in _SURE):
        raise _Odd
    return _ESCAPED.get(chr(code), chr(code))


_NAMED = {
    f"&{name}": _ESCAPED.get(character, character)
    for name, character in html5.items()
    if name.endswith(";") and len(character) == 1 and any(ord(character) in codes for codes in _SURE)
}
