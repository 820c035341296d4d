"""What an image is, by its first bytes alone: its type and size, before anything is decoded or passed on. Pure.

What a server or a file name says of an image counts for nothing (SEC-12): only the five types below ever leave under
our name. Sizes are read from the header, so that a bomb is refused before it can unfold (SEC-24).
"""

from collections.abc import Callable
from typing import Literal

import msgspec

from tsuzuki.model.errors import NotAnImage, TooLarge

MediaType = Literal["image/jpeg", "image/png", "image/webp", "image/gif", "image/avif"]

EXTENSIONS: dict[MediaType, str] = {
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/webp": "webp",
    "image/gif": "gif",
    "image/avif": "avif",
}

MOST_PIXELS = 80_000_000
LONGEST_SIDE = 65_535
LONGEST_HEADER = 1024 * 1024
"""By then an image must have said how large it is: colour profiles and cameras' notes come first in some."""

_PNG = b"\x89PNG\r\n\x1a\n"
_AVIF_BRANDS = frozenset({b"avif", b"avis"})
_JPEG_SIZES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""The segments that say how large the image is."""
_JPEG_BARE = frozenset({0x01, *range(0xD0, 0xD8)})
_SHORTEST = 12


class Head(msgspec.Struct, frozen=True):
    """What the header says."""

    media_type: MediaType
    width: int
    height: int


def sniff(data: bytes, *, is_whole: bool = False) -> Head | None:
    """The head of an image that begins with these bytes; None when it takes more of them.

    NotAnImage for anything else, TooLarge for dimensions that we do not accept.
    """
    if len(data) < _SHORTEST and not is_whole:
        return None
    reader = _reader_of(data)
    if reader is None:
        raise NotAnImage(f"This is not an image: {_what_it_is(data)}.")
    head = reader(data)
    if head is None:
        if is_whole or len(data) > LONGEST_HEADER:
            raise NotAnImage("The image does not say how large it is.")
        return None
    return _within_bounds(head)


def _reader_of(data: bytes) -> "Callable[[bytes], Head | None] | None":
    if data.startswith(b"\xff\xd8\xff"):
        return _jpeg
    if data.startswith(_PNG):
        return _png
    if data.startswith((b"GIF87a", b"GIF89a")):
        return _gif
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return _webp
    if data[4:8] == b"ftyp" and data[8:12] in _AVIF_BRANDS:
        return _avif
    return None


def _what_it_is(data: bytes) -> str:
    """A word for what came instead; nothing of it is repeated (SEC-13)."""
    start = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not data:
        return "it is empty"
    if b"<svg" in start:
        return "it is SVG, which can hold scripts"
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<body", b"<script")) or b"<html" in start:
        return "it is a web page"
    if start.startswith(b"pk\x03\x04"):
        return "it is an archive"
    return "it begins like no type that we show (JPEG, PNG, WebP, GIF, AVIF)"


def _within_bounds(head: Head) -> Head:
    width, height = head.width, head.height
    if not width or not height:
        raise NotAnImage("The image has no size.")
    if max(width, height) > LONGEST_SIDE:
        raise TooLarge(f"The image is {width:,} x {height:,}; we accept {LONGEST_SIDE:,} on its longer side.")
    if width * height > MOST_PIXELS:
        raise TooLarge(f"The image has {width * height / 1e6:.0f} megapixels; we accept {MOST_PIXELS / 1e6:.0f}.")
    return head


def _png(data: bytes) -> Head | None:
    if len(data) < 24:
        return None
    if data[12:16] != b"IHDR":
        raise NotAnImage("The PNG does not begin with its header.")
    return Head("image/png", int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big"))


def _gif(data: bytes) -> Head | None:
    return Head("image/gif", int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little"))


def _webp(data: bytes) -> Head | None:
    if len(data) < 30:
        return None
    kind = data[12:16]
    if kind == b"VP8X":
        width, height = (1 + int.from_bytes(data[start : start + 3], "little") for start in (24, 27))
        return Head("image/webp", width, height)
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return Head("image/webp", 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
    if kind == b"VP8 ":
        width, height = (int.from_bytes(data[start : start + 2], "little") & 0x3FFF for start in (26, 28))
        return Head("image/webp", width, height)
    raise NotAnImage("The WebP holds nothing that we know.")


def _jpeg(data: bytes) -> Head | None:
    """Walked segment by segment to the one with the size."""
    place = 2
    while place + 4 <= len(data):
        if data[place] != 0xFF:
            raise NotAnImage("The JPEG is broken in its header.")
        marker = data[place + 1]
        if marker == 0xFF:  # padding
            place += 1
            continue
        if marker in _JPEG_BARE:
            place += 2
            continue
        if marker in {0xD9, 0xDA}:
            raise NotAnImage("The JPEG does not say how large it is.")
        if marker in _JPEG_SIZES:
            return _jpeg_size(data, place)
        place += 2 + max(2, int.from_bytes(data[place + 2 : place + 4], "big"))
    return None


def _jpeg_size(data: bytes, place: int) -> Head | None:
    if len(data) < place + 9:
        return None
    height, width = (int.from_bytes(data[start : start + 2], "big") for start in (place + 5, place + 7))
    return Head("image/jpeg", width, height)


def _avif(data: bytes) -> Head | None:
    """The largest of the sizes in the `meta` box: that of a grid is larger than those of its tiles."""
    meta = _box(data, b"meta")
    if meta is None:
        return None
    sizes = []
    place = meta.find(b"ispe")
    while 0 <= place <= len(meta) - 16:
        sizes.append((int.from_bytes(meta[place + 8 : place + 12], "big"), meta[place + 12 : place + 16]))
        place = meta.find(b"ispe", place + 4)
    if not sizes:
        raise NotAnImage("The AVIF does not say how large it is.")
    return Head("image/avif", max(width for width, _ in sizes), max(int.from_bytes(tall, "big") for _, tall in sizes))


def _box(data: bytes, name: bytes) -> bytes | None:
    """The whole of the first box of this name; None while it has not arrived."""
    place = 0
    while place + 8 <= len(data):
        size = int.from_bytes(data[place : place + 4], "big")
        if size < 8:
            raise NotAnImage("The AVIF is broken in its header.")
        if data[place + 4 : place + 8] == name:
            return data[place : place + size] if place + size <= len(data) else None
        place += size
    return None
