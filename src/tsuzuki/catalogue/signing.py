"""Addresses of other sites in URLs of ours, signed: that we have seen them in an article, and nobody made them up."""

import base64
import binascii
import hashlib
import hmac

from tsuzuki.connectors.html.addresses import MAX_ADDRESS

KEY_SIZE = 32
LONGEST_WRITTEN = -(-MAX_ADDRESS * 4 * 4 // 3)
"""Of an address in a URL of ours."""

_SIGNATURE_SIZE = 18


class Signer:
    """Signs with a secret that every process of this server shares."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def sign(self, text: str) -> str:
        """The signature of a text, as it stands in a URL."""
        digest = hmac.digest(self._secret, text.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return _written(digest[:_SIGNATURE_SIZE])

    def is_ours(self, text: str, signature: str) -> bool:
        """Whether we have signed this text so."""
        return hmac.compare_digest(self.sign(text).encode(), signature.encode())


def written(address: str) -> str:
    """An address as a part of a path."""
    return _written(address.encode())


def read_written(text: str) -> str | None:
    """The address in a part of a path; None when there is none."""
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (ValueError, binascii.Error):
        return None


def _written(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
