"""Chapter numbers are exact decimals: never a float, never compared as text (R2). Identities of releases (R3)."""

import re
import unicodedata
from decimal import ROUND_HALF_EVEN, Decimal
from urllib.parse import quote, urlsplit

from tsuzuki.model.harvest import FoundChapter

SCALE = 10**6
"""A number is sorted by its millionths, as a whole number that fits a BIGINT."""
PLACES = Decimal(1) / SCALE
LARGEST = Decimal((2**63 - 1) // SCALE)
MAX_TEXT = 64

_NUMBER = re.compile(r"\+?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")


def parse_number(value: str | int | Decimal | None) -> Decimal | None:
    """The chapter number a source meant; None for what is not one ("Extra", -1, NaN, beyond a BIGINT).

    Rounded to millionths, so that 10.199999809265137, once a 32-bit float, is 10.2 again.
    """
    if value is None or isinstance(value, bool):
        return None
    number = _from_text(value) if isinstance(value, str) else Decimal(value)
    if number is None or not number.is_finite() or number.is_signed() or number.adjusted() > 18:
        return None
    number = number.quantize(PLACES, ROUND_HALF_EVEN)
    return _tidy(number) if number <= LARGEST else None


def _from_text(text: str) -> Decimal | None:
    """NFKC, because full-width digits are digits; no underscores, NaN or Infinity, which Decimal would take."""
    if len(text) > MAX_TEXT:
        return None
    text = unicodedata.normalize("NFKC", text).strip()
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def _tidy(number: Decimal) -> Decimal:
    """Without an exponent and without zeros at the end: 45.10 is 45.1, 4.5E+1 is 45."""
    text = f"{number:f}"
    return Decimal(text.rstrip("0").rstrip(".") if "." in text else text)


def number_key(number: Decimal) -> str:
    """The canonical text of a parsed number: `45`, `45.5`. Equal numbers have equal keys."""
    return f"{_tidy(number):f}"


def sort_value(number: Decimal | None) -> int | None:
    """What the numeric column holds: millionths, exact; None when there is no number."""
    return None if number is None else int(number * SCALE)


def release_key(found: FoundChapter) -> str:
    """Which release of its series source this is, as long as the source keeps the same words for it (R3).

    The source's own id; else number, volume, language and group; else where it is, without scheme and host, which a
    site changes overnight (R5).
    """
    if found.source_key:
        return f"id:{found.source_key}"
    if found.number is not None:
        volume = "" if found.volume is None else number_key(found.volume)
        words = (quote(_folded(word), safe="") for word in (found.language, found.group))
        return "/".join((f"n:{number_key(found.number)}", volume, *words))
    return f"url:{_place(found.url)}"


def chapter_key(found: FoundChapter) -> str:
    """Which chapter of its series this is: its number, or its release's identity when it has none (R3)."""
    return release_key(found) if found.number is None else number_key(found.number)


def _folded(text: str | None) -> str:
    return " ".join((text or "").casefold().split())


def _place(url: str) -> str:
    """Path and query of a web address; any other text as it is."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if parts.scheme not in {"http", "https"}:
        return url
    path = parts.path.rstrip("/") or "/"
    return f"{path}?{parts.query}" if parts.query else path
