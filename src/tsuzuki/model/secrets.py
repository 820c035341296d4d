"""Secrets: how they are recognised by name, and how they are masked."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

CHANNEL: Final = "channel.config"
SOURCE: Final = "source.config"
PROXY: Final = "feed.proxy"
NOTE: Final = "source_meta.value"
FEED_OUT: Final = "feed_out.secret"
HUB: Final = "hub_subscription"
"""The columns that hold secrets (R123)."""

MASKED = "***"
UNREADABLE = "This cannot be read: it was stored with a different secret key. Enter it again."

_SECRET_WORDS = ("token", "password", "passwd", "secret", "cookie", "authorization", "apikey", "credential", "session")

# The group of each is what stays; the rest of the match is the secret. Repeats are bounded: a log line may be hostile.
_IN_TEXT = re.compile(
    r"""
      (?P<keep_user>\b[a-z][a-z0-9+.-]{0,20}://[^\s/?\#:@'"]*:)[^\s/?\#'"]*(?=@)  # scheme://user:password@
    | (?P<keep_scheme>\b(?:bearer|basic|digest)\s+)[\w.~+/=-]{6,}  # Authorization's value
    | (?P<keep_header>\b(?:set-cookie|cookie|authorization)["']?\s*[:=]\s*)[^\r\n]+
    | (?P<keep_name>\b\w{0,40}(?:token|password|passwd|secret|api_?key)["']?\s*[=:]\s*["']?)[^\s&"',;]+
    """,
    re.IGNORECASE | re.VERBOSE,
)


_SAYS_SOMETHING = re.compile(r"[:=\s]")
"""One of these is in all that is masked; most words in a log have none."""


class Sealed(msgspec.Struct, frozen=True):
    """Marks a field that is read from such a column: `config: Annotated[dict[str, Any], Sealed(CHANNEL)]`."""

    place: str


class Unreadable(str):
    """A secret as it is stored, which no key of this server opens. It is shown as `***` and used for nothing."""

    __slots__ = ()


@lru_cache(1000)
def is_secret(name: str) -> bool:
    """Whether the value under this name is never shown: tokens, passwords, cookies, Authorization headers."""
    plain = "".join(letter for letter in name.lower() if letter.isalpha())
    return any(word in plain for word in _SECRET_WORDS)


def mask_text(text: str) -> str:
    """The text with passwords in addresses, credentials in headers and `token=...` pairs replaced by `***`."""
    if isinstance(text, Unreadable):
        return MASKED
    if not _SAYS_SOMETHING.search(text):
        return text
    return _IN_TEXT.sub(lambda found: f"{next(filter(None, found.groups()))}{MASKED}", text)


def unreadable_places(value: Any, place: str = "config") -> list[str]:
    """Where in a config there are secrets that cannot be read."""
    if isinstance(value, Unreadable):
        return [place]
    if isinstance(value, Mapping):
        return [found for name, one in value.items() for found in unreadable_places(one, f"{place}.{name}")]
    if isinstance(value, list):
        return [found for index, one in enumerate(value) for found in unreadable_places(one, f"{place}[{index}]")]
    return []
