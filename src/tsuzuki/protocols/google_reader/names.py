"""How the Google Reader API names things: items, streams, labels and moments. Pure."""

import re
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Literal

import msgspec

from tsuzuki.model.errors import Invalid
from tsuzuki.model.times import SECOND, Millis, from_datetime
from tsuzuki.protocols.params import whole_number

# -- items

LONG = "tag:google.com,2005:reader/item/"
_HEX = re.compile(r"[0-9a-fA-F]{1,16}")
_DIGITS_OF_LONG = 16
_SIGNED = 2**63
_ALL = 2**64


def long_id(number: int) -> str:
    """As items are named: sixteen hexadecimal digits, of two's complement."""
    return f"{LONG}{number % _ALL:016x}"


def read_item_id(text: str) -> int | None:
    """The number that an app means, long or short, hexadecimal or decimal; None for what is none.

    Ours have fewer than 16 decimal digits: so many characters, a zero before others or a letter mean hexadecimal.
    """
    text = text.strip()
    if text.startswith(LONG):
        return _hexadecimal(text.removeprefix(LONG))
    # Apps send both forms without saying which.
    is_decimal = len(text) != _DIGITS_OF_LONG and not (len(text) > 1 and text.startswith("0"))
    if is_decimal and (number := whole_number(text)) is not None:
        return number if -_SIGNED <= number < _SIGNED else None
    return _hexadecimal(text)


def _hexadecimal(text: str) -> int | None:
    if not _HEX.fullmatch(text):
        return None
    number = int(text, 16)
    return number - _ALL if number >= _SIGNED else number


# -- labels

SLASH, WIDE_SLASH = "/", "／"
"""Apps take the last part of an id for the name; so a slash in it is shown as another character."""


def shown_label(name: str) -> str:
    """The name of a group as apps see it."""
    return name.replace(SLASH, WIDE_SLASH)


def name_of_label(label: str) -> str:
    """The name that somebody means who gives a group this label."""
    return label.replace(WIDE_SLASH, SLASH)


def label_id(name: str) -> str:
    """The stream of a group."""
    return f"user/-/label/{shown_label(name)}"


# -- streams

STATE = "user/-/state/com.google/"
READING_LIST = f"{STATE}reading-list"
_USERS = re.compile(r"user/[^/]*/(?:state/com\.google/|(label)/)(.+)", re.DOTALL)
_FEED = "feed/"
_FEEDS = re.compile(r"\A(?:feed/)+")
"""Some apps put it before what has it already."""


class StreamName(msgspec.Struct, frozen=True):
    """What a stream's id says: a feed by number or address, a label, or a state."""

    kind: Literal["feed", "label", "state"]
    value: str

    @property
    def id(self) -> str:
        """As we say it, whichever way it was asked for."""
        prefix = {"feed": _FEED, "label": "user/-/label/", "state": STATE}[self.kind]
        return prefix + (shown_label(self.value) if self.kind == "label" else self.value)


def read_stream(text: str) -> StreamName:
    """What this id names; nothing at all is everything there is."""
    text = text.strip()
    if text.startswith(_FEED):
        return StreamName("feed", _FEEDS.sub("", text))
    found = _USERS.fullmatch(text)
    if found is None:
        return StreamName("state", text or "reading-list")
    return StreamName("label" if found[1] else "state", found[2])


def read_label(text: str) -> str | None:
    """The label that this id names; None for another stream."""
    stream = read_stream(text)
    return stream.value if stream.kind == "label" else None


# -- moments

_UNITS = ((12, 1), (15, 1_000), (18, 1_000_000))
"""Up to so many digits, so many to a second."""
_NANO = 1_000_000_000
_NUMBER = re.compile(r"(-?)([0-9]+)(?:\.[0-9]*)?")


def read_moment(text: str, *, is_end: bool = False) -> Millis | None:
    """A moment by the number of its digits: seconds to nanoseconds; or a date as headers have it. None for none.

    A second means all of it: its first moment, or its last for `is_end`. Whatever was before 1970, which apps send that
    have never synchronised, is then. Invalid for anything else.
    """
    text = text.strip()
    if not text:
        return None
    found = _NUMBER.fullmatch(text)
    if found is None:
        return max(Millis(0), _of_date(text, is_end=is_end))
    if found[1]:
        return Millis(0)
    digits = found[2].lstrip("0")[:20]  # no clock needs more, and int() of very many is slow
    if not digits:
        return None
    unit = next((unit for most, unit in _UNITS if len(digits) <= most), _NANO)
    at = int(digits) * SECOND // unit
    return Millis(at + SECOND - 1) if is_end and unit == 1 else Millis(at)


def _of_date(text: str, *, is_end: bool) -> Millis:
    try:
        moment = parsedate_to_datetime(text)
        at = from_datetime(moment.replace(tzinfo=moment.tzinfo or UTC))
    except (ValueError, OverflowError, IndexError):
        raise Invalid("This is no time.") from None
    return Millis(at + SECOND - 1) if is_end else at


def micros(at: Millis | None) -> str:
    """Microseconds, as a text: apps take no number here."""
    return str((at or 0) * 1_000)
