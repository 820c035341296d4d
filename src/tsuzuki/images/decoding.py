"""What is done to images in the bounded processes: decoding them whole, and making them small.

These functions run in children of a `ParsePool`, which have little memory, little time and no way to write (SEC-24).
They are given the name of a file, because an image is larger than what one likes to copy through a pipe.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Final, Literal

import msgspec
from PIL import (
    AvifImagePlugin,
    GifImagePlugin,
    Image,
    JpegImagePlugin,
    PngImagePlugin,
    UnidentifiedImageError,
    WebPImagePlugin,
)

from tsuzuki.model.errors import NotAnImage, SourceError, TooLarge

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
    """What an image is, by its header or by decoding it."""

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
    if head is None and (is_whole or len(data) > LONGEST_HEADER):
        raise NotAnImage("The image does not say how large it is.")
    return None if head is None else _within_bounds(head)


def _reader_of(data: bytes) -> "Callable[[bytes], Head | None] | None":
    if data.startswith(b"\xff\xd8\xff"):
        return _jpeg
    if data.startswith(_PNG):
        return _png
    if data.startswith((b"GIF87a", b"GIF89a")):
        return _gif
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return _webp_size
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


def _webp_size(data: bytes) -> Head | None:
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
            height, width = (int.from_bytes(data[start : start + 2], "big") for start in (place + 5, place + 7))
            return None if len(data) < place + 9 else Head("image/jpeg", width, height)
        place += 2 + max(2, int.from_bytes(data[place + 2 : place + 4], "big"))
    return None


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


MOST_FRAMES: Final = 600
MOST_ANIMATED: Final = 250_000_000
"""Pixels of all frames together."""
TALLEST: Final = 3
"""A thumbnail is at most so many times as high as wide: of a long strip it shows the beginning."""

_TYPES: dict[str, MediaType] = {
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",  # a JPEG with a second picture behind it, as some cameras write them
    "PNG": "image/png",
    "WEBP": "image/webp",
    "GIF": "image/gif",
    "AVIF": "image/avif",
}
_DECODERS = (AvifImagePlugin, GifImagePlugin, JpegImagePlugin, PngImagePlugin, WebPImagePlugin)
"""Imported, and so known to Pillow: these and no others are tried."""
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "AVIF")
_QUALITY = 80


class Small(msgspec.Struct, frozen=True):
    """A smaller image, as WebP."""

    data: bytes
    width: int
    height: int


def examine(path: str) -> Head:
    """What the file is, every frame of it decoded; NotAnImage or TooLarge with the reason."""
    with _opened(path) as image:
        frames: int = getattr(image, "n_frames", 1)
        if frames > MOST_FRAMES or frames * image.width * image.height > max(MOST_ANIMATED, MOST_PIXELS):
            raise TooLarge(f"The animation has {frames:,} frames of {image.width} x {image.height}; that is too much.")
        for frame in range(frames):
            image.seek(frame)
            image.load()
        return Head(_TYPES[image.format or ""], image.width, image.height)


def shrink(path: str, width: int) -> Small:
    """The first frame, at most this wide; never larger than it was."""
    with _opened(path) as image:
        tall = min(image.height, TALLEST * image.width)
        image.draft("RGB", (width * 2, max(1, tall * width * 2 // image.width)))
        image.load()
        small = image.convert("RGBA" if image.has_transparency_data else "RGB")
        small = small.crop((0, 0, small.width, min(small.height, TALLEST * small.width)))
        small.thumbnail((width, TALLEST * width), reducing_gap=2.0)
        written = BytesIO()
        small.save(written, "WEBP", quality=_QUALITY)
        return Small(written.getvalue(), small.width, small.height)


@contextmanager
def _opened(path: str) -> Iterator[Image.Image]:
    """The file as an image within bounds; whatever a decoder raises is told as what it means."""
    Image.MAX_IMAGE_PIXELS = None  # our own bounds are narrower, and refuse instead of warning
    try:
        with Image.open(path, formats=_FORMATS) as image:
            _check_size(image)
            yield image
    except (SourceError, MemoryError):
        raise
    except FileNotFoundError:
        raise NotAnImage("The image is not here any more.") from None
    except UnidentifiedImageError:
        raise NotAnImage("This is not an image that we can read.") from None
    except Exception as error:  # a decoder raises anything at all over a hostile file
        raise NotAnImage(f"The image does not decode: {error}.") from error


def _check_size(image: Image.Image) -> None:
    if image.width * image.height > MOST_PIXELS or max(image.size) > LONGEST_SIDE:
        raise TooLarge(f"The image has {image.width * image.height / 1e6:.0f} megapixels; that is too much.")
