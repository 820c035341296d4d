"""Backups written field by field, as Mihon's encoder writes them."""

import gzip
from collections.abc import Iterable

from tsuzuki.connectors.protocol import computed_uid
from tsuzuki.transfer.mihon.wire import bytes_field, decimal_field, number_field, text_field

MANGADEX = computed_uid("MangaDex", "en")
UNKNOWN = 4_242_424_242_424_242_424
UUID = "d8a959f7-648e-4c8d-8f23-f1f3f8e129f3"


def a_chapter(url: str, name: str = "", **of: float | str | bytes) -> bytes:
    """`read`, `bookmark`, `page`, `number`, `order`, `scanlator`, `uploaded`, or `extra` bytes."""
    numbers = {"read": 4, "bookmark": 5, "page": 6, "fetched": 7, "uploaded": 8, "order": 10, "modified": 11}
    out = text_field(1, url) + text_field(2, name)
    for key, value in of.items():
        if key == "scanlator":
            out += text_field(3, str(value))
        elif key == "number":
            out += decimal_field(9, float(value))
        elif key == "extra":
            assert isinstance(value, bytes)
            out += value
        else:
            out += number_field(numbers[key], int(value))
    return out


def a_manga(
    source: int = UNKNOWN,
    url: str = "/manga/one",
    title: str = "One",
    *,
    chapters: Iterable[bytes] = (),
    categories: Iterable[int] = (),
    history: Iterable[tuple[str, int]] = (),
    extra: bytes = b"",
) -> bytes:
    out = number_field(1, source) + text_field(2, url) + text_field(3, title)
    out += b"".join(bytes_field(16, chapter) for chapter in chapters)
    out += b"".join(number_field(17, category) for category in categories)
    out += b"".join(bytes_field(104, text_field(1, of) + number_field(2, at)) for of, at in history)
    return out + extra


def a_backup(
    *manga: bytes,
    categories: Iterable[tuple[str, int]] = (),
    sources: Iterable[tuple[str, int]] = (),
    extra: bytes = b"",
) -> bytes:
    out = b"".join(bytes_field(1, each) for each in manga)
    out += b"".join(bytes_field(2, text_field(1, name) + number_field(2, order)) for name, order in categories)
    out += b"".join(bytes_field(101, text_field(1, name) + number_field(2, uid)) for name, uid in sources)
    return out + extra


def packed(backup: bytes) -> bytes:
    return gzip.compress(backup, mtime=0)
