"""Files, pictures and numbers of the extensions: enclosures, media:, iTunes, podcast."""

import re

from lxml.etree import _Element as Element

from tsuzuki.connectors.feed.raw import RawMedia
from tsuzuki.connectors.feed.text import attribute
from tsuzuki.connectors.html.addresses import http_url

_CLOCK = re.compile(r"(?:(\d{1,4}):)?(\d{1,4}):(\d{1,2})(?:\.\d+)?")
_SECONDS = re.compile(r"(\d{1,7})(?:\.\d+)?(?:\s*(?:s|sec|seconds))?", re.IGNORECASE)


def seconds_of(text: str | None) -> int | None:
    """`1:02:03`, `62:03` or `3723` as seconds; None for anything else."""
    text = (text or "").strip()
    if clock := _CLOCK.fullmatch(text):
        hours, minutes, seconds = clock.groups()
        return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    if plain := _SECONDS.fullmatch(text):
        return int(plain.group(1))
    return None


def length_of(text: str | None) -> int | None:
    """A size in bytes; None where it is missing, broken or the usual 0."""
    text = (text or "").strip()
    return int(text) or None if text.isascii() and text.isdigit() and len(text) < 16 else None


def enclosure_of(element: Element, base: str, address: str | None, *, title: str | None = None) -> RawMedia | None:
    """The file at an address, with what an element's attributes say of it."""
    url = http_url(address, base)
    if url is None:
        return None
    return RawMedia(
        url,
        media_type=(attribute(element, "type") or "").strip().lower() or None,
        length=length_of(attribute(element, "length") or attribute(element, "fileSize")),
        title=attribute(element, "title") or title,
        duration_seconds=seconds_of(attribute(element, "duration")),
        medium=(attribute(element, "medium") or "").lower() or None,
    )


def is_image(media: RawMedia) -> bool:
    """Whether a file is a picture."""
    return media.medium == "image" or (media.media_type or "").startswith("image/")


def is_player(media: RawMedia) -> bool:
    """Whether a file is only a player's program, such as the Flash one that YouTube still names."""
    return media.media_type == "application/x-shockwave-flash"
