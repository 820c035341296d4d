"""Ids. Inside, every row has a number of its table's own type; outside, some have a UUIDv7."""

from typing import NewType

from tsuzuki.model.times import Millis

TenantId = NewType("TenantId", int)
UserId = NewType("UserId", int)
ShelfId = NewType("ShelfId", int)
GroupId = NewType("GroupId", int)
SourceId = NewType("SourceId", int)
SeriesId = NewType("SeriesId", int)
SeriesSourceId = NewType("SeriesSourceId", int)
ChapterId = NewType("ChapterId", int)
ReleaseId = NewType("ReleaseId", int)
FeedId = NewType("FeedId", int)
ItemId = NewType("ItemId", int)
WatchId = NewType("WatchId", int)
TagId = NewType("TagId", int)
EntryId = NewType("EntryId", int)

PublicId = NewType("PublicId", bytes)
"""A UUIDv7 in 16 bytes."""

MOST_DIGITS = 18
"""Digits of the longest number that surely fits a BIGINT."""


def uuid7(now: Millis, random_bytes: bytes) -> PublicId:
    """The UUIDv7 of this moment; `random_bytes` are ten. Later moments sort later."""
    if len(random_bytes) != 10:
        raise ValueError("a UUIDv7 takes ten random bytes")
    high = 0x7000 | int.from_bytes(random_bytes[:2], "big") & 0x0FFF
    low = 0x8000_0000_0000_0000 | int.from_bytes(random_bytes[2:], "big") & 0x3FFF_FFFF_FFFF_FFFF
    return PublicId(now.to_bytes(6, "big") + high.to_bytes(2, "big") + low.to_bytes(8, "big"))


def show_id(public_id: PublicId) -> str:
    """`01952ff9-…` as clients see it."""
    text = public_id.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def read_number(text: str) -> int | None:
    """The number that a client sent as an id; None for what is none, or too large for a BIGINT."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else None


def read_id(text: str) -> PublicId | None:
    """The id that a client sent; None when it is none."""
    digits = text.replace("-", "")
    if len(text) != 36 or len(digits) != 32:
        return None
    try:
        return PublicId(bytes.fromhex(digits))
    except ValueError:
        return None
