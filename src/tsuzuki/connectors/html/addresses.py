"""Addresses as documents write them, made absolute; whatever is not http or https is no address to us (SEC-08)."""

import re
from urllib.parse import SplitResult, urljoin, urlsplit

MAX_ADDRESS = 4096

_NOT_IN_ADDRESSES = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029\ufeff]+")
_PLAIN = re.compile(r"https?://[A-Za-z0-9.-]+(?::\d{1,4})?(?:[/?#][\w/.%~?&=;,+@:!$'()*#-]*)?", re.ASCII)
_ROOTED = re.compile(r"/(?!/)[\w/.%~?&=;,+@:!$'()*#-]*", re.ASCII)
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(?=/|$)", re.ASCII)
_QUOTED = str.maketrans({'"': "%22", "<": "%3C", ">": "%3E", "`": "%60", "\\": "/"})
_CANDIDATE = re.compile(r"\s*([^\s,]\S*[^\s,]|[^\s,])(?:\s+([\d.]+)([wxh]))?\s*(?:,|$)")


def parts_of(address: str) -> SplitResult | None:
    """The parts of an address, or None for one that cannot be read."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return None
    return parts


def http_url(text: str | None, base: str = "") -> str | None:
    """The absolute http(s) address that `text` means beside `base`; None when it means none."""
    if not text or len(text) > MAX_ADDRESS:
        return None
    if _PLAIN.fullmatch(text):
        return text
    if _ROOTED.fullmatch(text) and "/." not in text and (origin := _ORIGIN.match(base)):
        return origin.group() + text
    try:
        joined = urljoin(base, spaceless(text))
    except ValueError:
        return None
    parts = parts_of(joined) if len(joined) <= MAX_ADDRESS else None
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname or "%" in parts.hostname:
        return None
    return joined


def spaceless(text: str) -> str:
    """An address without line breaks and control characters, its inner blanks and quotes escaped."""
    text = text.strip()
    if _NOT_IN_ADDRESSES.search(text):
        text = _NOT_IN_ADDRESSES.sub(lambda found: "%20" if found.group() == " " else "", text)
    return text.translate(_QUOTED)


def srcset_of(text: str, base: str = "") -> list[tuple[str, str, float]]:
    """The usable candidates of a srcset: address, descriptor, and how large the descriptor says it is."""
    found = []
    for match in _CANDIDATE.finditer(text[:20_000]):
        address, size, unit = match.groups()
        absolute = http_url(address, base)
        if absolute is not None and "," not in absolute:
            descriptor = f" {size}{unit}" if size else ""
            found.append((absolute, descriptor, _number(size)))
    return found


def absolute_srcset(text: str, base: str) -> str | None:
    """The same srcset with absolute addresses only; None when nothing is left."""
    return ", ".join(address + descriptor for address, descriptor, _ in srcset_of(text, base)) or None


def largest_of(text: str, base: str = "") -> str | None:
    """The address of a srcset's largest picture."""
    candidates = srcset_of(text, base)
    return max(candidates, key=lambda candidate: candidate[2])[0] if candidates else None


def _number(text: str | None) -> float:
    try:
        return float(text or 1)
    except ValueError:
        return 1.0
