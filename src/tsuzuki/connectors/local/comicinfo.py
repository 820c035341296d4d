"""ComicInfo.xml, which many archives carry: who made it and which chapter it is."""

from decimal import Decimal

import msgspec
from lxml import etree

from tsuzuki.model.numbers import parse_number

MAX_BYTES = 256 * 1024
MAX_TEXT = 10_000
FIRST_YEAR = 1800


class ComicInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What it says; None where it does not."""

    title: str | None = None
    series: str | None = None
    number: Decimal | None = None
    volume: Decimal | None = None
    summary: str | None = None
    writer: str | None = None
    artist: str | None = None
    genres: tuple[str, ...] = ()
    language: str | None = None
    translator: str | None = None
    web: str | None = None
    year: int | None = None
    month: int | None = None
    day: int | None = None
    is_nsfw: bool = False


def read_comic_info(data: bytes) -> ComicInfo:
    """What the file says; nothing at all when it is too large, has a DTD or is not readable (SEC-19, SEC-20)."""
    if len(data) > MAX_BYTES or b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        return ComicInfo()
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=False)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError):
        return ComicInfo()
    if root is None or root.getroottree().docinfo.internalDTD is not None:  # UTF-16 hides a DTD from the search above
        return ComicInfo()
    return _read({etree.QName(child).localname: _text(child) for child in root if isinstance(child.tag, str)})


def _read(texts: dict[str, str]) -> ComicInfo:
    genres = [genre.strip() for name in ("Genre", "Tags") for genre in texts.get(name, "").split(",")]
    return ComicInfo(
        title=texts.get("Title") or None,
        series=texts.get("Series") or None,
        number=parse_number(texts.get("Number")),
        volume=_volume(parse_number(texts.get("Volume"))),
        summary=texts.get("Summary") or None,
        writer=texts.get("Writer") or None,
        artist=texts.get("Penciller") or None,
        genres=tuple(dict.fromkeys(genre for genre in genres if genre)),
        language=texts.get("LanguageISO") or None,
        translator=texts.get("Translator") or texts.get("ScanInformation") or None,
        web=_web(texts.get("Web", "")),
        year=_whole(texts.get("Year"), FIRST_YEAR, 9999),
        month=_whole(texts.get("Month"), 1, 12),
        day=_whole(texts.get("Day"), 1, 31),
        is_nsfw=texts.get("AgeRating", "") in {"Adults Only 18+", "X18+", "R18+", "Mature 17+"},
    )


def _text(element: etree._Element) -> str:
    return (element.text or "").strip()[:MAX_TEXT]


def _volume(number: Decimal | None) -> Decimal | None:
    """Western comics write the year in which the series began there, which is no volume."""
    return None if number is not None and number >= FIRST_YEAR else number


def _web(text: str) -> str | None:
    """The first of the addresses it lists, if it is one."""
    first = text.split(" ", maxsplit=1)[0]
    return first if first.startswith(("https://", "http://")) else None


def _whole(text: str | None, low: int, high: int) -> int | None:
    number = int(text) if text and text.isascii() and text.isdigit() and len(text) <= 4 else None
    return number if number is not None and low <= number <= high else None
