"""Secrets that we make: shown to their owner once, kept as a hash (R73, R77, SEC-35).

A plain SHA-256 suffices where nobody can guess: each holds at least 128 random bits.
"""

import base64
import hashlib

from tsuzuki.accounts.nouns import RandomBytes

TOKEN_PREFIX = "tsz_"  # noqa: S105  not a secret: what every token begins with
KEY_BYTES = 32
TYPED_BYTES = 16


def session_key(random_bytes: RandomBytes) -> str:
    """The value of a cookie."""
    return _dense(random_bytes)


def device_key(random_bytes: RandomBytes) -> str:
    """The value of the cookie that a browser is known again by."""
    return _dense(random_bytes)


def token_key(random_bytes: RandomBytes) -> str:
    """A token; the prefix lets people and scanners recognise one that leaked."""
    return TOKEN_PREFIX + _dense(random_bytes)


def device_password(random_bytes: RandomBytes) -> str:
    """A token that can be typed on an e-reader."""
    return TOKEN_PREFIX + typed_code(random_bytes)


def typed_code(random_bytes: RandomBytes) -> str:
    """A code that people copy by hand: letters of one case and digits that no letter looks like."""
    return base64.b32encode(random_bytes(TYPED_BYTES)).decode().rstrip("=").lower()


def hash_of(key: str) -> bytes:
    """What is stored of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def _dense(random_bytes: RandomBytes) -> str:
    return base64.urlsafe_b64encode(random_bytes(KEY_BYTES)).decode().rstrip("=")
