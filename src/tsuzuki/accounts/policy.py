"""Decisions from values alone: names, passwords, lifetimes, sign-in limits, OIDC identities. Pure."""

import ipaddress
import re
from collections.abc import Container, Iterable
from itertools import count
from typing import Protocol

import msgspec

from tsuzuki.accounts.types import ShelfRole
from tsuzuki.model.errors import Problem, Unavailable
from tsuzuki.model.times import DAY, MINUTE, SECOND, Millis

SESSION_LIFE = Millis(30 * DAY)
SESSION_TOUCH = Millis(5 * MINUTE)
TOKEN_TOUCH = MINUTE
INVITE_LIFE = Millis(7 * DAY)
SETUP_LIFE = Millis(365 * DAY)
DEVICE_LIFE = Millis(365 * DAY)
"""How long a device is known after its last sign-in."""
MOST_DEVICES = 50
"""That are known of one person."""
FLOW_LIFE = Millis(10 * MINUTE)

FIRST_ADMIN = "admin"
SHORTEST_PASSWORD = 8
LONGEST_USERNAME = 64

_USERNAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9._@+-]+")

# -- names and passwords


def plain_name(name: str) -> str:
    """A username as it is stored and compared."""
    return name.strip().lower()


def name_problems(name: str) -> tuple[Problem, ...]:
    """What is wrong with a username that someone wants."""
    if _USERNAME.fullmatch(name):
        return ()
    said = (
        f"A username must have 1 to {LONGEST_USERNAME} letters a-z, digits or . _ @ + - "
        "and begin with a letter or digit."
    )
    return (Problem("username", said),)


def password_problems(password: str, field: str = "password") -> tuple[Problem, ...]:
    """What is wrong with a password that someone wants; there is no upper limit."""
    if len(password) >= SHORTEST_PASSWORD:
        return ()
    return (Problem(field, f"The password must have at least {SHORTEST_PASSWORD} characters."),)


def name_from(candidates: Iterable[str | None]) -> str:
    """A username out of what an identity provider calls someone; `reader` when nothing of it is usable."""
    for candidate in candidates:
        name = _NOT_IN_NAMES.sub("", plain_name(candidate or "")).lstrip("._@+-")[: LONGEST_USERNAME - 4]
        if name:
            return name
    return "reader"


# -- lifetimes


def is_stale(last_used_at: Millis | None, now: Millis, after: Millis) -> bool:
    """Whether the time of last use is worth a write: not at every request."""
    return last_used_at is None or now - last_used_at >= after


def outlives(end: Millis | None, own: Millis | None) -> bool:
    """Whether a key that ends at `end` (None: never) would live on after one that ends at `own`."""
    return own is not None and (end is None or end > own)


IPV6_CUSTOMER = 64

OF_ADDRESS = 3
"""The factor by which an address may guess more in all than at one name: a household has several people."""
OF_NAME = 10
"""As many times that, all strangers together may guess at a name: few enough to be hopeless, and so many that whoever
wants to lock its owner out needs many addresses."""


class FailureLimits(msgspec.Struct, frozen=True):
    """So many failures within the window, then nothing for the length of the block."""

    failures: int = 10
    window: Millis = MINUTE
    block: Millis = Millis(5 * MINUTE)

    def times(self, factor: int) -> "FailureLimits":
        """These limits with so many times the failures."""
        return msgspec.structs.replace(self, failures=self.failures * factor)


class FailureRecord(msgspec.Struct, frozen=True):
    """What is remembered of one key: when it failed lately, and until when it is blocked."""

    recent: tuple[Millis, ...] = ()
    blocked_until: Millis | None = None


def wait(guard: FailureRecord, now: Millis, limits: FailureLimits) -> Millis:
    """How long until the next attempt may be made; 0 for at once.

    A block that ends later than one from now would was begun while the clock was ahead, and does not count (REL-19g).
    """
    waits = [0]
    if guard.blocked_until is not None and now < guard.blocked_until <= now + limits.block:
        waits.append(guard.blocked_until - now)
    within = _within(guard.recent, now, limits)
    if len(within) >= limits.failures:  # it is used up until the window has moved on, also when the block is shorter
        waits.append(within[-limits.failures] + limits.window - now)
    return Millis(min(max(waits), max(limits.block, limits.window)))


def attempted(guard: FailureRecord, now: Millis, limits: FailureLimits) -> FailureRecord:
    """An attempt counts as a failure from its beginning, or ten thousand at once would all be checked."""
    recent = (*_within(guard.recent, now, limits), now)
    blocked = Millis(now + limits.block) if len(recent) >= limits.failures else None
    return FailureRecord(recent, blocked)


def forgiven(guard: FailureRecord, attempt: Millis, limits: FailureLimits) -> FailureRecord:
    """The attempt turned out right: it alone is taken back, so a success never pays for others' guesses."""
    if attempt not in guard.recent:
        return guard
    at = guard.recent.index(attempt)
    recent = guard.recent[:at] + guard.recent[at + 1 :]
    return FailureRecord(recent, guard.blocked_until if len(recent) >= limits.failures else None)


def forget_at(guard: FailureRecord, now: Millis, limits: FailureLimits) -> Millis:
    """When nothing is left to remember."""
    return Millis(max(now + limits.window, guard.blocked_until or 0))


def retry_after(delay: Millis) -> int:
    """In whole seconds, as the header says it."""
    return max(1, -(-delay // SECOND))


def _within(recent: Iterable[Millis], now: Millis, limits: FailureLimits) -> tuple[Millis, ...]:
    return tuple(at for at in recent if abs(at - now) < limits.window)


def neighbourhood(address: str) -> str:
    """What is limited together: an IPv4 address, or the /64 that one IPv6 customer has all of."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, IPV6_CUSTOMER), strict=False))


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


def local_path(path: str) -> str:
    r"""Where to go after signing in: the path if it is plainly a path of ours, else the front page (SEC-41).

    Browsers read `\` as `/` and drop tabs and line ends, so only what needs no reading is taken.
    """
    if not path.startswith("/") or len(path) > LONGEST_PATH or not path.isascii():
        return "/"
    if any(letter == "\\" or not letter.isprintable() or letter.isspace() for letter in path):
        return "/"
    parts = _PATH_END.split(path, 1)[0][1:].split("/")
    if "" in parts[:-1] or not {".", ".."}.isdisjoint(parts):
        return "/"
    return "/" if "%" in parts[0] or ":" in parts[0] else path


LONGEST_SHELF_NAME = 200
MOST_OWNED = 20


def may_write(role: ShelfRole) -> bool:
    """Whether this role may change what is on a shelf."""
    return role != "reader"


def free_name(wanted: str, taken: Container[str]) -> str:
    """The name, with a number behind it where the tenant has a shelf of that name."""
    if wanted not in taken:
        return wanted
    return next(name for number in count(2) if (name := f"{wanted} {number}") not in taken)
