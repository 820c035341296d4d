"""Addresses of feeds as people and pages write them. Pure."""

import re

from tsuzuki.model.errors import RefusedAddress

_FEED_SCHEME = re.compile(r"(?:feed|pcast|itpc|rss):/{0,2}(?=[^/])", re.IGNORECASE)
_WEB_SCHEME = re.compile(r"https?:", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:(?!\d+(?:[/?#]|\Z))", re.IGNORECASE)
"""`javascript:`, `mailto:`; not the name before a port."""
_WITH_PORT = re.compile(r"[^/?#]*:(?!443(?:[/?#]|\Z))\d+(?:[/?#]|\Z)")


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
    """The address that a person typed. Without a scheme it is https, with a port http, as in browsers.

    RefusedAddress for any other scheme.
    """
    text = web_address(text)
    if text.lower().startswith(("http://", "https://")):
        return text
    if _SCHEME.match(text):
        raise RefusedAddress(
            f"Write the whole address, beginning with http:// or https://. This is none: {text[:80]!r}."
        )
    return f"http://{text}" if _WITH_PORT.match(text) else f"https://{text}"
