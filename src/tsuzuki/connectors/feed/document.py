"""From text to a tree, within limits: no DTD, no entities, no network, bounded depth and size (SEC-19, SEC-20).

No parser ever sees a DTD: it is skipped by where it ends, whatever it declares.
"""

import codecs
import re
from typing import TYPE_CHECKING, Any

from tsuzuki.connectors.html.tags import shape_of
from tsuzuki.model.errors import NotAFeed, TooLarge

if TYPE_CHECKING:
    from lxml import etree
    from lxml.etree import _Element as Element

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_OPENINGS = (
    (b"<\x00\x00\x00", "utf-32-le"),
    (b"\x00\x00\x00<", "utf-32-be"),
    (b"<\x00", "utf-16-le"),
    (b"\x00<", "utf-16-be"),
)
_DECLARED = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")
_SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "iso8859-9": "cp1254",
    "big5": "big5hkscs",
}
"""What publishers mean by a name is its larger sibling."""
_SEVEN_BIT = ("iso2022", "hz")
_UNTRUSTED = frozenset({"utf-7", "unicode_escape", "raw_unicode_escape", "idna", "punycode", "charmap", "undefined"})
_STRAYS = {0xDC00 + byte: bytes([byte]).decode("cp1252", "replace") for byte in range(0x80, 0x100)}
"""What `surrogateescape` makes of bytes that are no UTF-8, read as Windows-1252."""


def decode(body: bytes, charset: str | None = None) -> str:
    """The text of a document; never fails, and holds no lone surrogate."""
    for bom, encoding in _BOMS:
        if body.startswith(bom):
            return body[len(bom) :].decode(encoding, "replace")
    for opening, encoding in _OPENINGS:
        if body.startswith(opening):
            return body.decode(encoding, "replace")
    found = _DECLARED.match(body[:300])
    declared = _codec(found.group(1).decode("ascii")) if found else None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return _decode_legacy(body, (_codec(charset), declared))
    if "\x1b" in text and declared and declared.startswith(_SEVEN_BIT):
        return body.decode(declared, "replace")
    return text


def _codec(name: str | None) -> str | None:
    """Python's name of a text encoding we would believe; None for an unknown one."""
    if not name:
        return None
    try:
        info = codecs.lookup(name)
        "".encode(info.name)
    except (LookupError, ValueError, UnicodeError):
        return None
    return None if info.name in _UNTRUSTED else _SUPERSETS.get(info.name, info.name)


def _decode_legacy(body: bytes, codecs_named: tuple[str | None, ...]) -> str:
    for encoding in codecs_named:
        if encoding and not encoding.startswith("utf"):
            text = body.decode(encoding, "replace")
            if text.count("\ufffd") * 50 <= len(text):
                return text
    # Claimed UTF-8, but with stray bytes: keep what is UTF-8, read each stray byte as Windows-1252.
    return body.decode("utf-8", "surrogateescape").translate(_STRAYS)


MAX_BYTES = 10 * 1024 * 1024
MAX_NODES = 200_000
MAX_DEPTH = 200

_IN_DOCTYPE = re.compile(r"""["'\[\]>]|<!--|<\?""")
_CLOSING = {'"': '"', "'": "'", "<!--": "-->", "<?": "?>"}
_BINARY = re.compile("[\x00-\x08\x0e-\x1f]")
_FEED_ROOT = re.compile(r"<(?:[A-Za-z_][\w.-]{0,40}:)?(?:rss|feed|rdf|channel)(?=[\s>/])", re.IGNORECASE)
_ANY_ROOT = re.compile(r"<([A-Za-z_][\w.:-]{0,80})")
_PAGE = re.compile(r"<!doctype\s+html|<html[\s>]", re.IGNORECASE)
_TOO_DEEP = "boolean(" + "/*" * (MAX_DEPTH + 1) + ")"
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class NeedsLenientReader(Exception):
    """The fast reader cannot read this document reliably; the lenient one should."""


class _Counter:
    """A parser's target that keeps nothing and stops at the limits."""

    def __init__(self) -> None:
        self.nodes = 0

    def start(self, _tag: str, _attributes: object) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise _too_many()

    def close(self) -> None:
        return None


def root_text(text: str) -> str:
    """The document from its root element to that element's end. No declaration or DTD is left in it."""
    start = _skip_prolog(text)
    root = _FEED_ROOT.match(text, start) or _root_after_junk(text, start)
    name = root.group()[1:]
    end = text.rfind(f"</{name}>")
    return text[root.start() : end + len(name) + 3] if end > root.start() else text[root.start() :]


def _skip_prolog(text: str) -> int:
    """Where the root element starts."""
    position = 0
    while True:
        while position < len(text) and (text[position].isspace() or text[position] == "\ufeff"):
            position += 1
        if text.startswith("<?", position):
            end = text.find("?>", position)
        elif text.startswith("<!--", position):
            end = text.find("-->", position)
        elif text[position : position + 9].upper() == "<!DOCTYPE":
            end = _end_of_doctype(text, position) - 1
        else:
            return position
        if end < 0:
            return position
        position = text.index(">", end) + 1


def _end_of_doctype(text: str, position: int) -> int:
    """Behind a DTD, its internal subset included (SEC-19)."""
    if _PAGE.match(text, position):
        raise _web_page()
    is_inside, place = False, position
    while found := _IN_DOCTYPE.search(text, place):
        sign, place = found.group(), found.end()
        if sign in _CLOSING:
            place = text.find(_CLOSING[sign], place) + len(_CLOSING[sign])
            if place < found.end():
                break
        elif sign != ">":
            is_inside = sign == "["
        elif not is_inside:
            return place
    raise NotAFeed("The document begins with a DTD that never ends.")


def _root_after_junk(text: str, start: int) -> re.Match[str]:
    """Some servers print warnings before the feed."""
    if _PAGE.search(text, start, start + 1024):
        raise _web_page()
    first = _ANY_ROOT.match(text, start)
    is_one_element = first and text.rstrip().endswith(f"</{first.group(1)}>")  # and so of a type of its own
    found = None if is_one_element else _FEED_ROOT.search(text, start)
    if found is None or _BINARY.search(text, start, found.start()):
        what = f"an XML document of the type <{first.group(1)}>" if first else "neither XML nor JSON"
        raise NotAFeed(f"The answer is not a feed: it is {what}.")
    return found


def _web_page() -> NotAFeed:
    return NotAFeed("The answer is a web page, not a feed. A sign-in page or a captive portal may be in the way.")


def _too_many() -> TooLarge:
    return TooLarge(f"The feed has more than {MAX_NODES} elements.")


def _too_deep() -> TooLarge:
    return TooLarge(f"The feed is nested deeper than {MAX_DEPTH} elements.")


def check_bytes(body: bytes) -> None:
    """TooLarge for more bytes than any feed needs."""
    if len(body) > MAX_BYTES:
        raise TooLarge(f"The feed has more than {MAX_BYTES} bytes.")


def parse_tree(text: str, *, recover: bool = False) -> "Element":
    """The tree of a well-formed document, or what can be recovered of any other; else NeedsLenientReader."""
    from lxml import etree

    signs = text.count("<")  # as many elements at most, in number and in depth: what cannot be is not looked for
    encoded = text.encode()
    try:
        if signs > MAX_NODES:
            etree.fromstring(encoded, _hardened(_Counter(), recover=recover))
        root: Element | None = etree.fromstring(encoded, _hardened(recover=recover))
    except etree.XMLSyntaxError as error:
        legal = without_forbidden(text)
        if len(legal) == len(text):
            raise NeedsLenientReader from error
        return parse_tree(legal, recover=recover)
    if root is None:
        raise NeedsLenientReader
    if signs > MAX_DEPTH and root.xpath(_TOO_DEEP):
        raise _too_deep()
    return root


def without_forbidden(text: str) -> str:
    """A document without the characters that XML forbids (REL-37): not looked for until they have done harm."""
    return _FORBIDDEN.sub("", text)


def _hardened(target: Any = None, *, recover: bool) -> "etree.XMLParser":
    from lxml import etree

    return etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        recover=recover,
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
        target=target,
    )


def check_shape(text: str) -> None:
    """The same limits for a document that is not well-formed, before the forgiving reader sees it (SEC-20)."""
    depth, tags = shape_of(text, max_depth=MAX_DEPTH, max_tags=2 * MAX_NODES)
    if depth > MAX_DEPTH:
        raise _too_deep()
    if tags > 2 * MAX_NODES:
        raise _too_many()
