"""The order in which people expect names."""

import re
import unicodedata

_DIGITS = re.compile(r"(\d{1,18})")


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts 2 before 10, letters without regard to case or width."""
    parts = _DIGITS.split(unicodedata.normalize("NFKC", name).casefold())
    return tuple((0, int(part), part) if part.isdecimal() else (1, 0, part) for part in parts if part)
