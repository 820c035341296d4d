"""What counts as audio or video, which part of it is requested, and when images are retried. Pure.

A publisher's word alone counts for nothing, and neither do bytes alone: both must say that it is one, and what goes out
is called by one of our own names for it (SEC-12).
"""

import re
from typing import Final, Literal

import msgspec

from tsuzuki.model.errors import NotMedia, NotOurTurn, RefusedAddress, SourceError
from tsuzuki.model.times import DAY, HOUR, MINUTE, SECOND, Millis

IMAGE_CAP: Final = 32 * 1024 * 1024
"""Bytes of one image."""

WIDTHS: Final = (160, 320, 640)
"""The widths of thumbnails. They are few and fixed: a free choice would fill the disk (SEC-24)."""
Width = Literal[160, 320, 640]

COARSE: Final = HOUR
"""How exactly the last use is remembered: a write for every look would cost more than the look."""

LONGEST_ERROR: Final = 500

_FIRST_WAIT = Millis(30 * SECOND)
_STALE_ADDRESS = frozenset({401, 403, 404, 410})


def retry_delay(failures: int, error: SourceError) -> Millis:
    """How long to leave a broken image alone after so many failures in a row, this one included."""
    if isinstance(error, RefusedAddress):
        return DAY
    # Bounded: a power with a million digits takes long, and the ceiling is a day.
    planned = min(_FIRST_WAIT * 4 ** min(max(failures - 1, 0), 10), DAY)
    return Millis(min(max(planned, error.retry_after or 0), DAY))


ICON_EVERY: Final = Millis(30 * DAY)
"""How often an icon is fetched again."""


def icon_delay(failures: int, error: SourceError) -> Millis:
    """How long to leave an icon alone after so many failures in a row, this one included; nobody misses it much."""
    planned = HOUR if isinstance(error, NotOurTurn) else DAY * 4 ** min(max(failures - 1, 0), 5)
    return Millis(min(max(planned, error.retry_after or 0), ICON_EVERY))


def is_stale_address(error: SourceError) -> bool:
    """Whether the page list should be asked anew: an address that was signed, or moved, is refused like this (R66)."""
    return error.status in _STALE_ADDRESS


def is_due(used_at: Millis, now: Millis) -> bool:
    """Whether the last use is to be written again; also after a clock that was ahead."""
    return abs(now - used_at) >= COARSE


def ceiling(size: int) -> int:
    """What is left after making room: some, so that the next image does not make room again."""
    return size - size // 10


SWEEP_AFTER: Final = Millis(2 * HOUR)
"""A draft older than this belongs to nobody who lives."""
FORGET_FAILURES_AFTER: Final = Millis(30 * DAY)
UNREFERENCED_FOR: Final = Millis(10 * MINUTE)
"""An image that nothing shows any more is forgotten after this; before, somebody may just be storing what it shows."""


Kind = Literal["audio", "video"]

ENOUGH = 64
"""Bytes from which a file's type can be recognised."""

_SILENT = frozenset({"", "application/octet-stream", "binary/octet-stream"})
"""Types that declare nothing: many stores of files send them for everything. Then the feed's own word counts."""
_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})", re.ASCII)
_CONTENT_RANGE = re.compile(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15}|\*)", re.ASCII)


class Container(msgspec.Struct, frozen=True):
    """What bytes can be, and what we call it; a film in a container that has none is a sound."""

    audio: str
    video: str

    def called(self, kind: Kind) -> str:
        """The media type that the answer names."""
        return self.audio if kind == "audio" else self.video


_MPEG = Container("audio/mpeg", "audio/mpeg")
_AAC = Container("audio/aac", "audio/aac")
_FLAC = Container("audio/flac", "audio/flac")
_WAV = Container("audio/wav", "audio/wav")
_OGG = Container("audio/ogg", "video/ogg")
_MP4 = Container("audio/mp4", "video/mp4")
_WEBM = Container("audio/webm", "video/webm")
_MARKS = (
    (re.compile(rb"ID3"), _MPEG),
    (re.compile(rb"OggS\0"), _OGG),
    (re.compile(rb"fLaC"), _FLAC),
    (re.compile(rb"\x1a\x45\xdf\xa3"), _WEBM),
    (re.compile(rb"RIFF....WAVE", re.DOTALL), _WAV),
    (re.compile(rb"....ftyp", re.DOTALL), _MP4),
)
"""The first bytes of each type."""


class ByteRange(msgspec.Struct, frozen=True):
    """A range of bytes that a browser asks for."""

    first: int | None
    """None for the last `last` bytes."""
    last: int | None

    def __str__(self) -> str:
        return f"bytes={'' if self.first is None else self.first}-{'' if self.last is None else self.last}"


class ContentRange(msgspec.Struct, frozen=True):
    """Which bytes an answer has, and of how many; None where it does not say."""

    first: int
    last: int
    total: int | None

    def __str__(self) -> str:
        return f"bytes {self.first}-{self.last}/{'*' if self.total is None else self.total}"


def read_range(text: str) -> ByteRange | None:
    """The one range that is asked for; None for the whole: several ranges may be answered like that (SEC-45)."""
    found = _RANGE.fullmatch(text.strip())
    if found is None or not any(found.groups()):
        return None
    first, last = (int(digits) if digits else None for digits in found.groups())
    if first is not None and last is not None and last < first:
        return None
    return ByteRange(first, last)


def read_part(text: str, wanted: ByteRange) -> ContentRange:
    """The range in a 206; NotMedia for another one than requested."""
    found = _CONTENT_RANGE.fullmatch(text.strip())
    if found is not None:
        first, last = int(found[1]), int(found[2])
        total = None if found[3] == "*" else int(found[3])
        if last >= first and (total is None or last < total) and wanted.first in (None, first):
            return ContentRange(first, last, total)
    raise NotMedia("The publisher sent a different part than the one requested.")


def kind_of(declared: str, feed_kind: Kind) -> Kind:
    """The kind that the publisher declares, else the feed's; NotMedia for anything but audio or video."""
    name = declared.partition(";")[0].strip().lower()
    if name in _SILENT:
        return feed_kind
    if name.startswith("audio/"):
        return "audio"
    if name.startswith("video/"):
        return "video"
    raise NotMedia(f"The publisher calls it {name[:80]}, which is neither audio nor video.")


def sniff_media(head: bytes) -> Container:
    """What begins with these bytes; NotMedia for what no browser plays, whatever else it is."""
    found = next((kind for mark, kind in _MARKS if mark.match(head)), None) or _framed(head)
    if found is None:
        raise NotMedia("The content is not audio or video that a browser can play.")
    return found


def _framed(head: bytes) -> Container | None:
    """A bare MPEG frame: its sync, a layer, a bit rate and a sampling rate that exist."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    if head[1] & 0xF6 == 0xF0:
        return _AAC
    layer, rate, sampling = head[1] >> 1 & 3, head[2] >> 4, head[2] >> 2 & 3
    is_frame = layer in {1, 2} and head[1] >> 3 & 3 != 1 and rate not in {0, 15} and sampling != 3
    return _MPEG if is_frame else None
