"""Addresses of feeds as people and pages write them. Pure."""

import re

MAX_LENGTH = 8192

_FEED_SCHEME = re.compile(r"(?:feed|pcast|itpc|rss):/{0,2}(?=[^/])", re.IGNORECASE)
_WEB_SCHEME = re.compile(r"https?:", re.IGNORECASE)


def names_feed_scheme(text: str) -> bool:
    """Whether an address says by its scheme that it is a feed: `feed:https://...`, `feed://...`."""
    return _FEED_SCHEME.match(text) is not None


def web_address(text: str) -> str:
    """The http(s) address that a `feed:` address means; any other as it is."""
    text = text.strip()
    found = _FEED_SCHEME.match(text)
    if found is None:
        return text
    rest = text[found.end() :]
    return rest if _WEB_SCHEME.match(rest) else f"https://{rest}"


def typed_address(text: str) -> str:
    """The address that a person typed; https where it names no scheme."""
    text = web_address(text)
    return text if "://" in text else f"https://{text}"
