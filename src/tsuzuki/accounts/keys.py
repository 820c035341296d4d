"""Secrets that we make: shown to their owner once, kept as a hash (R73, R77, SEC-35).

A plain SHA-256 suffices where nobody can guess: each holds at least 128 random bits.
"""

import base64
import hashlib

from tsuzuki.accounts.nouns import Dice

TOKEN_PREFIX = "tsz_"  # noqa: S105  not a secret: what every token begins with
KEY_BYTES = 32
TYPED_BYTES = 16


def session_key(dice: Dice) -> str:
    """The value of a cookie."""
    return _dense(dice)


def device_key(dice: Dice) -> str:
    """The value of the cookie that a browser is known again by."""
    return _dense(dice)


def token_key(dice: Dice) -> str:
    """A token; the prefix lets people and scanners recognise one that leaked."""
    return TOKEN_PREFIX + _dense(dice)


def device_password(dice: Dice) -> str:
    """A token that can be typed on an e-reader."""
    return TOKEN_PREFIX + typed_code(dice)


def typed_code(dice: Dice) -> str:
    """A code that people copy by hand: letters of one case and digits that no letter looks like."""
    return base64.b32encode(dice(TYPED_BYTES)).decode().rstrip("=").lower()


def hash_of(key: str) -> bytes:
    """What is stored of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def _dense(dice: Dice) -> str:
    return base64.urlsafe_b64encode(dice(KEY_BYTES)).decode().rstrip("=")
