"""When a sign-in may be tried: so many failures within a window, then nothing for the length of a block."""

import ipaddress
from collections.abc import Iterable

import msgspec

from tsuzuki.model.times import MINUTE, SECOND, Millis

IPV6_CUSTOMER = 64

OF_ADDRESS = 3
"""As many times what one address may guess at one name, it may guess in all: a household has several people."""
OF_NAME = 10
"""As many times that, all strangers together may guess at a name: few enough to be hopeless, and so many that whoever
wants to lock its owner out needs many addresses."""


class FailureLimits(msgspec.Struct, frozen=True):
    """So many failures within the window, then nothing for the length of the block."""

    failures: int = 10
    window: Millis = MINUTE
    block: Millis = Millis(5 * MINUTE)

    def times(self, factor: int) -> "FailureLimits":
        """The same with so many times the failures."""
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
