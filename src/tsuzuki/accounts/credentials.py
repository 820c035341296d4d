"""Keys, codes and passwords: how they are made, and argon2id hashing in a few threads (R72)."""

import asyncio
import base64
import hashlib

import msgspec
from pwdlib import PasswordHash
from pwdlib.exceptions import UnknownHashError
from pwdlib.hashers.argon2 import Argon2Hasher
from pwdlib.hashers.bcrypt import BcryptHasher

from tsuzuki.accounts.types import RandomBytes

TOKEN_PREFIX = "tsz_"  # noqa: S105  not a secret: what every token begins with
KEY_BYTES = 32
TYPED_BYTES = 16


def session_key(random_bytes: RandomBytes) -> str:
    """A new session key, which the browser's cookie holds."""
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
    """The hash of a key, which is what is stored of it."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def _dense(random_bytes: RandomBytes) -> str:
    return base64.urlsafe_b64encode(random_bytes(KEY_BYTES)).decode().rstrip("=")


AT_ONCE = 4
"""Hashes made at a time. Each takes 19 MiB and a core for about 30 ms; more would only wait for one another."""


class HashCost(msgspec.Struct, frozen=True):
    """What argon2id spends on a hash. A stored hash of another cost is replaced when its owner signs in."""

    memory_kib: int = 19_456
    passes: int = 2

    def hasher(self) -> Argon2Hasher:
        """Makes and checks hashes of this cost."""
        return Argon2Hasher(time_cost=self.passes, memory_cost=self.memory_kib, parallelism=1)

    def dummy_hash(self) -> str:
        """A hash to check against where there is none, so that an unknown name takes as long (SEC-38)."""
        made = "NjblNjXMVKx4MCidl1VLtA$OcriJNWXyopL3IGm1/+NG7hUyB6r3O+ZdZm47rcS7GU"
        return f"$argon2id$v=19$m={self.memory_kib},t={self.passes},p=1${made}"


USUAL_COST = HashCost()


class PasswordCheck(msgspec.Struct, frozen=True):
    """Whether the password is right, and the better hash to store instead if there is one."""

    right: bool
    better: str | None = None


WRONG = PasswordCheck(right=False)


class Passwords:
    """Hashes and checks. Passwords of any length count to their last byte (SEC-36)."""

    def __init__(self, cost: HashCost = USUAL_COST, *, at_once: int = AT_ONCE) -> None:
        self._hash = PasswordHash((cost.hasher(), BcryptHasher()))
        self._nobodys = cost.dummy_hash()
        self._turn = asyncio.Semaphore(at_once)

    async def hash(self, password: str) -> str:
        """The hash of a password, to be stored."""
        async with self._turn:
            return await asyncio.to_thread(self._hash.hash, _bytes(password))

    async def check(self, password: str, stored: str | None) -> PasswordCheck:
        """Compare with the stored hash; None takes as long and is wrong."""
        async with self._turn:
            return await asyncio.to_thread(self._check, _bytes(password), stored)

    def _check(self, password: bytes, stored: str | None) -> PasswordCheck:
        try:
            right, better = self._hash.verify_and_update(password, stored or self._nobodys)
        except (ValueError, UnknownHashError):  # bcrypt does not take more than 72 bytes, nor zeros among them
            self._hash.verify(password, self._nobodys)
            return WRONG
        return PasswordCheck(right, better) if stored else WRONG


def _bytes(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")
