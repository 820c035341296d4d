"""Bytes to text. A publisher's word about its encoding is a hint; the bytes decide (REL-37)."""

import codecs
import re

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
    declared = _declared(body)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return _decode_legacy(body, (_codec(charset), declared))
    if "\x1b" in text and declared and declared.startswith(_SEVEN_BIT):
        return body.decode(declared, "replace")
    return text


def _declared(body: bytes) -> str | None:
    found = _DECLARED.match(body[:300])
    return _codec(found.group(1).decode("ascii")) if found else None


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
    text = body.decode("utf-8", "surrogateescape")
    return text.translate(_STRAYS)
