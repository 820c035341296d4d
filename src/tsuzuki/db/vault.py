"""Secrets at rest (R123): sealed with a key that is not in the database, so that a backup alone reveals none.

A column that holds secrets is read into a field annotated with `Sealed`, which opens it; whoever writes it seals it
with `tx.vault`. What no key opens is read as `Unreadable`, and written back as it was.
"""

import base64
import binascii
import hmac
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from tsuzuki.files.disk import sync
from tsuzuki.model.errors import Unavailable
from tsuzuki.model.secrets import CHANNEL, NOTE, PROXY, SOURCE, Unreadable, is_secret

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

PREFIX = "enc:v1:"
_NONCE = 16
_ALIKE = bytes(_NONCE)
"""In place of random bytes, where what is equal must be found again by its sealed text."""
_EMPTY: tuple[Any, ...] = (None, "", [], {})


class Vault:
    """Seals and opens with AES-SIV. The first key seals, all open; a vault without a key seals nothing.

    A sealed text is bound to its column: elsewhere it opens nothing.
    """

    def __init__(self, keys: Sequence[str] = ()) -> None:
        self._keys = tuple(keys)
        self.fingerprint = _stretched(keys[0], "fingerprint", 32) if keys else None
        """By which the first key is known again, and nothing else of it."""

    @cached_property
    def _ciphers(self) -> list["AESSIV"]:
        """Made for the first secret: the library takes seven megabytes, and many servers have no secrets."""
        return [_cipher(key) for key in self._keys]

    # -- texts

    def seal(self, text: str, place: str) -> str:
        """Encrypt a text; the same one gives another result each time."""
        return self._seal(text, place, os.urandom(_NONCE))

    def open(self, stored: str, place: str) -> str:
        """The text; one from before there was a key is itself, and what no key of ours opens is Unreadable."""
        if isinstance(stored, Unreadable) or not stored.startswith(PREFIX):
            return stored
        for cipher in self._ciphers:
            text = _opened(cipher, stored, place)
            if text is not None:
                return text
        return Unreadable(stored)

    def reseal(self, stored: str, place: str) -> str:
        """What is stored, sealed with the first key; as it is where it is so already, or cannot be read."""
        if self._keys and _opened(self._ciphers[0], stored, place) is not None:
            return stored
        text = self.open(stored, place)
        return text if isinstance(text, Unreadable) else self.seal(text, place)

    # -- columns

    def seal_channel(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """A channel's config: all of it, for what is secret differs from kind to kind."""
        return {name: self._seal_json(value, CHANNEL) for name, value in config.items()}

    def seal_source(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """A source's config: what is secret by its name, and addresses with a password."""
        return _walked(config, lambda value: self._seal_json(value, SOURCE))

    def seal_proxy(self, proxy: str) -> str:
        """A feed's proxy, if it has a password; always alike, because it is part of what the feed is."""
        if isinstance(proxy, Unreadable) or not has_password(proxy):
            return str(proxy)
        return self._seal(proxy, PROXY, _ALIKE)

    def seal_note(self, key: str, value: str) -> str:
        """What is noted of a source under this key."""
        return self.seal(value, NOTE) if value and is_secret(key) else value

    def open_values(self, config: Mapping[str, Any], place: str) -> dict[str, Any]:
        """A config with all that is sealed in it opened, however deep it lies."""
        opened = _opened_values(config, lambda text: self._open_json(text, place))
        assert isinstance(opened, dict)
        return opened

    # -- what is stored already, with the first key

    def reseal_channel(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """The config of a channel as it should be stored."""
        return {name: self._reseal_json(value, CHANNEL) for name, value in stored.items()}

    def reseal_source(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """The config of a source as it should be stored."""
        return _walked(stored, lambda value: self._reseal_json(value, SOURCE))

    def reseal_proxy(self, stored: str) -> str:
        """A feed's proxy as it should be stored."""
        return self.seal_proxy(self.open(stored, PROXY))

    def reseal_note(self, key: str, stored: str) -> str:
        """A note as it should be stored."""
        return self.reseal(stored, NOTE) if stored and is_secret(key) else stored

    # -- inside

    def _seal(self, text: str, place: str, nonce: bytes) -> str:
        if isinstance(text, Unreadable) or not self._keys:
            return str(text)
        box = self._ciphers[0].encrypt(text.encode("utf-8", "surrogatepass"), [place.encode(), nonce])
        return PREFIX + base64.urlsafe_b64encode(nonce + box).decode().rstrip("=")

    def _seal_json(self, value: Any, place: str) -> Any:
        if isinstance(value, Unreadable):
            return str(value)
        return value if value in _EMPTY or not self._keys else self.seal(_json(value), place)

    def _reseal_json(self, value: Any, place: str) -> Any:
        is_sealed = isinstance(value, str) and value.startswith(PREFIX)
        return self.reseal(value, place) if is_sealed else self._seal_json(value, place)

    def _open_json(self, text: str, place: str) -> Any:
        opened = self.open(text, place)
        return opened if isinstance(opened, Unreadable) else msgspec.json.decode(opened)


NO_KEY: Final = Vault()


def has_password(text: str) -> bool:
    """Whether this is an address with a password in it."""
    try:
        return urlsplit(text).password is not None
    except ValueError:
        return False


def _walked(config: Mapping[str, Any], do: Callable[[Any], Any]) -> dict[str, Any]:
    """The config with `do` done to every value that is secret by its name, has a password in it, or is sealed."""
    return {name: do(value) if is_secret(str(name)) else _inside(value, do) for name, value in config.items()}


def _inside(value: Any, do: Callable[[Any], Any]) -> Any:
    if isinstance(value, Mapping):
        return _walked(value, do)
    if isinstance(value, list | tuple):
        return [_inside(one, do) for one in value]
    if isinstance(value, str) and (value.startswith(PREFIX) or has_password(value)):
        return do(value)
    return value


def _opened_values(value: Any, do: Callable[[str], Any]) -> Any:
    if isinstance(value, Mapping):
        return {name: _opened_values(one, do) for name, one in value.items()}
    if isinstance(value, list):
        return [_opened_values(one, do) for one in value]
    return do(value) if isinstance(value, str) and value.startswith(PREFIX) else value


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _opened(cipher: "AESSIV", stored: str, place: str) -> str | None:
    from cryptography.exceptions import InvalidTag

    text = stored.removeprefix(PREFIX)
    try:
        box = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        nonce, box = box[:_NONCE], box[_NONCE:]
        return cipher.decrypt(box, [place.encode(), nonce]).decode("utf-8", "surrogatepass")
    except (InvalidTag, ValueError, binascii.Error):
        return None


def _cipher(key: str) -> "AESSIV":
    """What the operator wrote is stretched to a key's length; a short one would be guessed, so none is taken."""
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    return AESSIV(_stretched(key, "secrets v1", 64))


def _stretched(key: str, purpose: str, length: int) -> bytes:
    """HKDF with SHA-512 and no salt (RFC 5869), one block of it."""
    extracted = hmac.digest(bytes(64), key.encode(), "sha512")
    return hmac.digest(extracted, f"tsuzuki {purpose}\x01".encode(), "sha512")[:length]


FILE = "secret.key"
SHORTEST = 32


def load_vault(keys: Sequence[str], folder: Path) -> Vault:
    """The vault of these keys; without any, of the one in the folder, which is made at the first start.

    What was sealed with the file's key is opened by it still, after the operator has set another.
    """
    file = folder / FILE
    if not keys and not file.exists():
        _make(file)
    return Vault([*keys, *(_read(file) if file.exists() else ())])


def _make(file: Path) -> None:
    """Whole or not at all; of several processes that start at once, one makes it."""
    part = file.with_name(f"{FILE}.{secrets.token_hex(8)}.part")  # not by process: containers have the same ids
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
            opened.write(secrets.token_hex(32) + "\n")
        sync(part)
        try:
            os.link(part, file)
        except FileExistsError:
            return
        sync(file.parent)
    except OSError as error:
        why = error.strerror or error
        raise Unavailable(f"The secret key {file} cannot be created: {why}. Set TSUZUKI_SECRET_KEY instead.") from error
    finally:
        part.unlink(missing_ok=True)


def _read(file: Path) -> list[str]:
    try:
        keys = file.read_text("ascii").split()
    except (OSError, UnicodeDecodeError) as error:
        raise Unavailable(f"The secret key {file} cannot be read: {error}.") from error
    if not keys or min(map(len, keys)) < SHORTEST:
        raise Unavailable(f"{file} contains no secret key: a key has at least {SHORTEST} characters, on its own line.")
    return keys
