"""Titles of chapters as people read them: what the number says already is not said twice."""

import re

# "Chapter 12", "Vol. 2 Ch. 012", "Episode 12.5", "#12", "第12話". A bare number must be set off: "12. Low Tide".
_NUMBERED = re.compile(
    r"(?:(?:vol(?:ume)?\.?\s{0,3}\d{1,6}\s{0,3})?(?P<word>chapter|chap|ch|episode|ep|no|#|第)[.\s]{0,3})?"
    r"0{0,9}(?P<number>\d{1,12}(?:\.\d{1,9})?)(?:\s{0,3}[話章回화])?"
    r"(?P<gap>\s{0,3}[:\-–—.|,]\s{0,3}|\s{1,3}|$)",
    re.IGNORECASE,
)


def beside_number(title: str, number: str | None) -> str:
    """The title without a beginning that only says this number; empty when that was all."""
    if number is None:
        return title
    found = _NUMBERED.match(title)
    if found is None or _plain(found["number"]) != _plain(number):
        return title
    if not found["word"] and found["gap"].isspace():
        return title
    return title[found.end() :]


def _plain(number: str) -> str:
    whole, _, part = number.partition(".")
    part = part.rstrip("0")
    return f"{whole.lstrip('0') or '0'}.{part}" if part else whole.lstrip("0") or "0"
