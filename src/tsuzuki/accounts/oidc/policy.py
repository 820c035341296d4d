"""What a provider says, who may come in by it, and where to afterwards."""

import re
from typing import Protocol

import msgspec

from tsuzuki.model.errors import Unavailable

LONGEST_PATH = 2000

_PATH_END = re.compile(r"[?#]")


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody, as the provider vouches for them."""

    issuer: str
    subject: str
    email: str | None = None
    is_verified: bool = False
    """Whether the provider has seen that the address is theirs."""
    names: tuple[str, ...] = ()
    """What they are called, best first."""


class ProviderFailed(Unavailable):
    """The provider does not answer, or not as it should; the message is for the log."""


class IdentityProvider(Protocol):
    """Whoever vouches for people."""

    async def authorization_url(self, *, state: str, nonce: str, verifier: str) -> str:
        """Where to send the browser; ProviderFailed when nobody answers."""
        ...

    async def identify(self, code: str, *, nonce: str, verifier: str) -> Identity:
        """Whom the code stands for; ProviderFailed when that is not proved."""
        ...


def is_allowed(identity: Identity, allowed_user: str | None) -> bool:
    """Whether the operator lets this identity in: by subject, or by an address that the provider has verified."""
    if allowed_user is None or allowed_user == identity.subject:
        return True
    return identity.is_verified and (identity.email or "").casefold() == allowed_user.casefold()


def local_path(wish: str) -> str:
    r"""Where to go after signing in: the wish if it is plainly a path of ours, else the front page (SEC-41).

    Browsers read `\` as `/` and drop tabs and line ends, so only what needs no reading is taken.
    """
    if not wish.startswith("/") or len(wish) > LONGEST_PATH or not wish.isascii():
        return "/"
    if any(letter == "\\" or not letter.isprintable() or letter.isspace() for letter in wish):
        return "/"
    parts = _PATH_END.split(wish, 1)[0][1:].split("/")
    if "" in parts[:-1] or not {".", ".."}.isdisjoint(parts):
        return "/"
    return "/" if "%" in parts[0] or ":" in parts[0] else wish
