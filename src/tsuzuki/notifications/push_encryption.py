"""What push services take: a message encrypted for one browser (RFC 8291), and who sends it (RFC 8292). Pure."""

import base64
import hashlib
import hmac
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec

from tsuzuki.model.times import HOUR, SECOND, Millis

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec

KEY_SIZE: Final = 32
"""Bytes of a private key."""
PUBLIC_SIZE: Final = 65  # bytes of a point of P-256, uncompressed
AUTH_SIZE: Final = 16
LONGEST: Final = 3993
"""Bytes of a message: every service takes 4,096 with what stands around it."""
_PADDED_TO: Final = (512, 1024, 2048, LONGEST)
"""A length says less about a message when there are only a few."""
_RECORD = 4096  # RFC 8291, 4: all of it is one record
_SALT_SIZE = 16
_CLAIMED_FOR: Final = Millis(12 * HOUR)
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""The order of P-256: a private key is a number below it."""


class PushKeys(msgspec.Struct, frozen=True):
    """What a browser gave us: its public key and a secret that it shares with us."""

    public: bytes
    auth: bytes


def private_key(seed: bytes) -> bytes:
    """A private key that only this seed gives."""
    digest = hashlib.sha512(b"web push key" + seed).digest()
    return (int.from_bytes(digest) % (_ORDER - 1) + 1).to_bytes(KEY_SIZE)


def public_key(private: bytes) -> bytes:
    """The public half, uncompressed."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return _key(private).public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def is_public_key(public: bytes) -> bool:
    """Whether it is a point of the curve."""
    from cryptography.hazmat.primitives.asymmetric import ec

    try:
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), public)
    except ValueError:
        return False
    return len(public) == PUBLIC_SIZE


def encrypted(message: bytes, keys: PushKeys, seed: bytes) -> bytes:
    """The body of a push. `seed` must be secret, and another one for each message: key and salt are made of it."""
    padded = message + b"\x02"  # RFC 8188, 2: marks the end of the last record, zeros follow
    size = next(size for size in _PADDED_TO if len(message) <= size) + 1
    return sealed_record(padded.ljust(size, b"\0"), keys, private_key(seed), hashlib.sha256(b"salt" + seed).digest())


def sealed_record(padded: bytes, keys: PushKeys, private: bytes, salt: bytes) -> bytes:
    """One record of RFC 8188 with its header, by this key and the first bytes of this salt."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    salt = salt[:_SALT_SIZE]
    theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), keys.public)
    ours = public_key(private)
    shared = _key(private).exchange(ec.ECDH(), theirs)
    material = _hmac(_hmac(keys.auth, shared), b"WebPush: info\0" + keys.public + ours + b"\x01")
    pseudorandom = _hmac(salt, material)
    key = _hmac(pseudorandom, b"Content-Encoding: aes128gcm\0\x01")[:16]
    nonce = _hmac(pseudorandom, b"Content-Encoding: nonce\0\x01")[:12]
    header = salt + _RECORD.to_bytes(4) + len(ours).to_bytes(1) + ours
    return header + AESGCM(key).encrypt(nonce, padded, None)


def vapid(url: str, private: bytes, contact: str, now: Millis) -> str:
    """The `Authorization` of a push to this address: valid for twelve hours, and for its origin alone."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    address = urlsplit(url)
    claims = {"aud": f"{address.scheme}://{address.netloc}", "exp": (now + _CLAIMED_FOR) // SECOND, "sub": contact}
    signed = b".".join(map(_base64, (b'{"typ":"JWT","alg":"ES256"}', msgspec.json.encode(claims))))
    r, s = decode_dss_signature(_key(private).sign(signed, ec.ECDSA(hashes.SHA256())))
    # RFC 7518, 3.4: JWT wants both numbers, not their DER form.
    token = signed + b"." + _base64(r.to_bytes(KEY_SIZE) + s.to_bytes(KEY_SIZE))
    return f"vapid t={token.decode()}, k={base64url(public_key(private))}"


def base64url(data: bytes) -> str:
    """As browsers write keys: without `=` at the end."""
    return _base64(data).decode()


def from_base64url(text: str) -> bytes:
    """The bytes; none for what is not written so."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return b""


def _key(private: bytes) -> "ec.EllipticCurvePrivateKey":
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.derive_private_key(int.from_bytes(private), ec.SECP256R1())


def _hmac(key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, hashlib.sha256)


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
