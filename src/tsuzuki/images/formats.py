"""The types of images that are stored and shown, and how large they may be."""

from typing import Final, Literal
from urllib.parse import urlsplit

import msgspec

MediaType = Literal["image/jpeg", "image/png", "image/webp", "image/gif", "image/avif"]

EXTENSIONS: dict[MediaType, str] = {
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/webp": "webp",
    "image/gif": "gif",
    "image/avif": "avif",
}


def likely_type(address: str) -> MediaType:
    """The media type that the end of an address suggests."""
    ending = urlsplit(address).path.rpartition(".")[2].lower()
    return next((kind for kind, extension in EXTENSIONS.items() if extension == ending), "image/jpeg")


MOST_PIXELS = 80_000_000
LONGEST_SIDE = 65_535


class ImageHead(msgspec.Struct, frozen=True):
    """Type and size of an image, by its header or by decoding it."""

    media_type: MediaType
    width: int
    height: int


MOST_FRAMES: Final = 600
MOST_ANIMATED: Final = 250_000_000
"""Pixels of all frames together."""
TALLEST: Final = 3
"""A thumbnail is at most so many times as high as wide: of a long strip it shows the beginning."""


class Thumbnail(msgspec.Struct, frozen=True):
    """A smaller image, as WebP, or one as JPEG."""

    data: bytes
    width: int
    height: int
    media_type: MediaType = "image/webp"
