"""What must never be shown: how a secret is recognised, and what stands in its place."""

import re
from functools import lru_cache

MASKED = "***"

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


@lru_cache(1000)
def is_secret(name: str) -> bool:
    """Whether the value under this name is never shown: tokens, passwords, cookies, Authorization headers."""
    plain = "".join(letter for letter in name.lower() if letter.isalpha())
    return any(word in plain for word in _SECRET_WORDS)


def mask_text(text: str) -> str:
    """The text with passwords in addresses, credentials in headers and `token=...` pairs replaced by `***`."""
    return _IN_TEXT.sub(lambda found: f"{next(filter(None, found.groups()))}{MASKED}", text)
