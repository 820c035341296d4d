"""Response headers and what they mean, and which request headers may be sent. Pure."""

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from tsuzuki import __version__
from tsuzuki.model.requests import RateHeaders, Validators
from tsuzuki.model.times import DAY, SECOND, Millis, from_datetime

PROJECT_URL = "https://github.com/tsuzuki-server/tsuzuki"
LONGEST_FRESHNESS = Millis(365 * DAY)
LONGEST_VALIDATOR = 8192

_NUMBER = re.compile(r"\d{1,18}(?:\.\d+)?(?:[eE]\+?\d{1,2})?")
_HTTP_DATE = re.compile(
    r"[A-Za-z]{3,9}, \d{1,2}[ -][A-Za-z]{3}[ -]\d{2,4} \d\d:\d\d:\d\d [A-Za-z0-9+-]{1,5}"  # IMF-fixdate and RFC 850
    r"|[A-Za-z]{3} [A-Za-z]{3} [ \d]\d \d\d:\d\d:\d\d \d{4}"  # asctime
)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LINE_BREAKING = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
_DIRECTIVE = re.compile(r'([A-Za-z-]+)(?:\s*=\s*("[^"]*"|[^,\s]*))?')

# The client's own business: a source's config or a connector may not set these.
_RESERVED = frozenset(
    {"accept-encoding", "connection", "content-length", "expect", "host", "keep-alive", "proxy-authorization"}
    | {"proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "via"}
)
# What may go to a stranger. Everything else may be a credential, whatever it is called (SEC-09).
_HARMLESS = frozenset(
    {"accept", "accept-language", "cache-control", "content-type", "if-modified-since", "if-none-match", "origin"}
    | {"pragma", "range", "referer", "user-agent"}
)


def user_agent(contact_url: str | None) -> str:
    """An honest name, with a way to reach whoever runs this installation, or else whoever made it."""
    return f"Tsuzuki/{__version__} (+{contact_url or PROJECT_URL})"


def sendable(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that a source or a connector may set, by lower-case name; ones that break a line are left out."""
    return {
        name.lower(): value.strip()
        for name, value in headers.items()
        if _TOKEN.fullmatch(name) and name.lower() not in _RESERVED and not _LINE_BREAKING.search(value)
    }


def harmless(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that may also go to another origin."""
    return {name: value for name, value in headers.items() if name in _HARMLESS}


def has_credentials(headers: Mapping[str, str]) -> bool:
    """True when some header may only go to the origin it is meant for."""
    return any(name not in _HARMLESS for name in headers)


def echo(validators: Validators) -> dict[str, str]:
    """The conditional headers, byte for byte (R26); one that is empty, endless or breaks a line is not sent."""
    pairs = (("if-none-match", validators.etag), ("if-modified-since", validators.last_modified))
    return {name: value for name, value in pairs if value is not None and is_echoable(value)}


def is_echoable(validator: str) -> bool:
    """False for what cannot be sent back exactly as it came."""
    return 0 < len(validator.encode(errors="replace")) <= LONGEST_VALIDATOR and not _LINE_BREAKING.search(validator)


def http_date(text: str) -> Millis | None:
    """The moment an HTTP date names, in any of its three forms; None when it names none."""
    if not _HTTP_DATE.fullmatch(text.strip()):
        return None
    try:
        return from_datetime(parsedate_to_datetime(text.strip()).astimezone())
    except (ValueError, OverflowError):
        return None


def freshness(headers: Mapping[str, str], received_at: Millis) -> Millis | None:
    """How long the answer is good for from now on; None when it does not say (R26), 0 when it must be asked again."""
    lifetime = _lifetime(headers, received_at)
    if lifetime is None:
        return None
    age = _whole_seconds(headers.get("age", "")) or 0
    return Millis(max(0, min(lifetime - age * SECOND, LONGEST_FRESHNESS)))


def _lifetime(headers: Mapping[str, str], received_at: Millis) -> int | None:
    directives = _DIRECTIVE.findall(headers.get("cache-control", ""))
    names = {name.lower() for name, _ in directives}
    if names & {"no-store", "no-cache"}:
        return 0
    ages = [_whole_seconds(value.strip('"')) for name, value in directives if name.lower() == "max-age"]
    if ages:  # RFC 9111: of several the shortest, and what cannot be read is stale
        return min(age or 0 for age in ages) * SECOND
    if "expires" not in headers:
        return None
    expires = http_date(headers["expires"])
    sent_at = http_date(headers.get("date", ""))
    return 0 if expires is None else expires - (received_at if sent_at is None else sent_at)


def _whole_seconds(text: str) -> int | None:
    text = text.strip()
    return min(int(text), 2**31) if text.isascii() and text.isdigit() and len(text) < 40 else None


def retry_after(value: str | None, now: Millis, *, ceiling: Millis) -> Millis | None:
    """The wait that a Retry-After asks for, at most `ceiling` (R21); None for garbage. Of two headers the longer."""
    if value is None:
        return None
    moments = [http_date(text) for text in _HTTP_DATE.findall(value)]
    numbers = [text for text in _HTTP_DATE.sub("", value).split(",") if _NUMBER.fullmatch(text.strip())]
    waits = [moment - now for moment in moments if moment is not None]
    waits += [int(min(float(text), 1e12) * SECOND) for text in numbers]
    return Millis(max(0, min(max(waits), ceiling))) if waits else None


def rate_limit_wait(headers: Mapping[str, str], how: RateHeaders, now: Millis, *, ceiling: Millis) -> Millis | None:
    """The wait until the allowance is filled up again; None while there is some left or the source does not say."""
    left, reset = _whole_seconds(headers.get(how.remaining, "")), headers.get(how.reset, "").strip()
    if left is None or left > 0 or not _NUMBER.fullmatch(reset):
        return None
    number = min(float(reset), 1e15)
    waits = {"seconds": number * SECOND, "epoch_seconds": number * SECOND - now, "epoch_millis": number - now}
    return Millis(max(0, min(int(waits[how.unit]), ceiling)))
