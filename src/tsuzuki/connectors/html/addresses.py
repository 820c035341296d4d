"""Addresses as documents write them, made absolute; whatever is not http or https is no address to us (SEC-08)."""

import re
from collections.abc import Iterator
from functools import lru_cache
from html import escape
from urllib.parse import SplitResult, urljoin, urlsplit

MAX_ADDRESS = 4096

_NOT_IN_ADDRESSES = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029\ufeff]+")
_ORDINARY = r"https?://(?![^/?#]{0,300}[xX][nN]--)(?:[A-Za-z0-9-]++\.)*+[A-Za-z][A-Za-z0-9-]*+(?::\d{1,4})?+"
"""An origin whose host needs no second look: no Punycode, no number at its end."""
_ORIGINAL = re.compile(rf"{_ORDINARY}(?=[/?#]|\Z)", re.ASCII)
_PLAIN = re.compile(rf"{_ORDINARY}(?:[/?#][\w/.%~?&=;,+@:!$'()*#-]*)?", re.ASCII)
_ROOTED = re.compile(r"/(?!/)[\w/.%~?&=;,+@:!$'()*#-]*", re.ASCII)
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(?=/|\Z)", re.ASCII)
_QUOTED = str.maketrans({'"': "%22", "<": "%3C", ">": "%3E", "`": "%60", "\\": "/"})
_SIZE = re.compile(r"([0-9.]{1,20})([wxh])")
MAX_SRCSET = 20_000

_NO_FILE = re.compile(r"[\s#?\x00-\x20\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*+")
"""Nothing that can be seen, or only the beginning of a query or of a place in the page."""

# Names of parameters: those that follow a reader first, then those of sessions.
_NOISE = re.compile(
    r"(?:utm_\w+|at_(?:campaign|medium|custom\d)|mtm_\w+|pk_\w+|piwik_\w+|ga_\w+|hsa_\w+|_ga|_gl|_hsenc|_hsmi|fbclid"
    r"|gclid|dclid|gbraid|wbraid|msclkid|yclid|twclid|igshid|igsh|mc_[ce]id|mkt_tok|oly_(?:anon|enc)_id|rss_?id|cmpid"
    r"|ncid|ns_\w+|wt_mc|xtor|s_cid|spm|vero_id|wickedid|__s"
    r"|jsessionid|phpsessid|aspsessionid\w*|asp\.net_sessionid|sessionid|session_id|session|sid|cfid|cftoken|zenid"
    r"|oscsid|_?nonce|cachebuster|cache_?bust)",
    re.IGNORECASE,
)
_PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/?#;]*", re.IGNORECASE)
_STABLE = re.compile(r"https?://([a-z0-9-]+(?:\.[a-z0-9-]+)*/[^?#;\s]*)")
_TRACKING_FRAGMENT = re.compile(r"(?:xtor=|utm_|:~:text=|rss\Z|ref=)", re.IGNORECASE)


def parts_of(address: str) -> SplitResult | None:
    """The parts of an address, or None for one that cannot be read."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return None
    return parts


def path_of(address: str) -> str:
    """An address without its scheme and host, beginning with a slash."""
    return "/" + address.partition("://")[2].partition("/")[2]


def http_url(text: str | None, base: str = "") -> str | None:
    """The absolute http(s) address that `text` means beside `base`; None when it means none."""
    if not text or len(text) > MAX_ADDRESS:
        return None
    if _PLAIN.fullmatch(text):
        return text
    if _ROOTED.fullmatch(text) and "/." not in text and (origin := _ORIGIN.match(base)):
        return origin.group() + text
    address = spaceless(text)
    try:
        joined = urljoin(base, address) if address else ""
    except ValueError:
        return None
    parts = parts_of(joined) if len(joined) <= MAX_ADDRESS else None
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname or "%" in parts.hostname:
        return None
    return joined if _ORIGINAL.match(joined) or _is_readable(f"{parts.scheme}://{parts.netloc}/") else None


def file_url(text: str | None, base: str) -> str | None:
    """`http_url` of a file or picture: a blank address, `#` and `?` would mean the feed itself, and are none."""
    return None if not text or _NO_FILE.fullmatch(text) else http_url(text, base)


def stable_url(url: str) -> str:
    """An address without what changes while the page stays: the scheme, tracking parameters, session ids."""
    if plain := _STABLE.fullmatch(url):
        return f"https://{plain.group(1)}"
    parts = parts_of(url)
    if parts is None:
        return url
    host, port = (parts.hostname or "").removesuffix("."), parts.port
    if port and (parts.scheme, port) not in {("http", 80), ("https", 443)}:
        host = f"{host}:{port}"
    query = "&".join(pair for pair in parts.query.split("&") if pair and not _NOISE.fullmatch(pair.partition("=")[0]))
    fragment = "" if _TRACKING_FRAGMENT.match(parts.fragment) else parts.fragment
    path = _PATH_SESSION.sub("", parts.path) or "/"
    return f"https://{host}{path}" + (f"?{query}" if query else "") + (f"#{fragment}" if fragment else "")


@lru_cache(1000)
def _is_readable(origin: str) -> bool:
    """Whether the sanitiser can read it: it has the last word, and knows which hosts there cannot be."""
    import nh3

    return "src" in nh3.clean(f'<img src="{escape(origin)}">')


def spaceless(text: str) -> str:
    """An address without line breaks and control characters, its inner blanks and quotes escaped."""
    text = text.strip()
    if _NOT_IN_ADDRESSES.search(text):
        text = _NOT_IN_ADDRESSES.sub(lambda found: "%20" if found.group() == " " else "", text)
    return text.translate(_QUOTED)


def srcset_of(text: str, base: str = "") -> list[tuple[str, str, float]]:
    """The usable candidates of a srcset: address, descriptor, and how large the descriptor says it is."""
    found = []
    for address, size, unit in _candidates(text[:MAX_SRCSET]):
        absolute = http_url(address, base)
        if absolute is not None and "," not in absolute:
            found.append((absolute, f" {size}{unit}" if size else "", _number(size)))
    return found


def _candidates(text: str) -> Iterator[tuple[str, str, str]]:
    """Address, number and unit of each. An address ends at a blank or with a comma at its end, sizes end at a comma."""
    address, sizes = "", list[str]()
    for word in text.split():
        if address:
            size, comma, word = word.partition(",")
            sizes.append(size)
            if not comma:
                continue
            yield from _candidate(address, sizes)
        address, sizes = word.strip(","), []
        if word.endswith(","):
            yield from _candidate(address, sizes)
            address = ""
    yield from _candidate(address, sizes)


def _candidate(address: str, sizes: list[str]) -> Iterator[tuple[str, str, str]]:
    """None where there is no address, or where its size cannot be read."""
    known = [found for size in sizes if (found := _SIZE.fullmatch(size))]
    if address and (known or not any(sizes)):
        yield address, known[0][1] if known else "", known[0][2] if known else ""


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
