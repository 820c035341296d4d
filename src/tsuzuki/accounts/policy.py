"""What may be decided from values alone: names, passwords, lifetimes."""

import re
from collections.abc import Iterable

from tsuzuki.model.errors import Problem
from tsuzuki.model.times import DAY, MINUTE, Millis

SESSION_LIFE = Millis(30 * DAY)
SESSION_TOUCH = Millis(5 * MINUTE)
TOKEN_TOUCH = MINUTE
INVITE_LIFE = Millis(7 * DAY)
SETUP_LIFE = Millis(365 * DAY)
DEVICE_LIFE = Millis(365 * DAY)
"""From its last sign-in a device is known for so long."""
MOST_DEVICES = 50
"""That are known of one person."""
FLOW_LIFE = Millis(10 * MINUTE)

SHORTEST_PASSWORD = 8
LONGEST_NAME = 64

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
    said = f"A username has 1 to {LONGEST_NAME} letters a-z, digits or . _ @ + - and begins with a letter or digit."
    return (Problem("username", said),)


def password_problems(password: str, field: str = "password") -> tuple[Problem, ...]:
    """What is wrong with a password that someone wants; there is no upper limit."""
    if len(password) >= SHORTEST_PASSWORD:
        return ()
    return (Problem(field, f"A password has at least {SHORTEST_PASSWORD} characters."),)


def name_from(wishes: Iterable[str | None]) -> str:
    """A username out of what an identity provider calls someone; `reader` when nothing of it is usable."""
    for wish in wishes:
        name = _NOT_IN_NAMES.sub("", plain_name(wish or "")).lstrip("._@+-")[: LONGEST_NAME - 4]
        if name:
            return name
    return "reader"


# -- lifetimes


def is_stale(last_used_at: Millis | None, now: Millis, after: Millis) -> bool:
    """Whether the time of last use is worth a write: not at every request."""
    return last_used_at is None or now - last_used_at >= after


def outlives(wished: Millis | None, own: Millis | None) -> bool:
    """Whether a key that ends at `wished` (None: never) would live on after one that ends at `own`."""
    return own is not None and (wished is None or wished > own)
