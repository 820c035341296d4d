"""When to try again, when to give up, whose lease has run out, and how long to keep what is over. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec

from tsuzuki.model.errors import (
    Forbidden,
    Gone,
    Invalid,
    LimitExceeded,
    NotFound,
    RefusedAddress,
    SourceError,
    TsuzukiError,
    Unauthorized,
    Unavailable,
)
from tsuzuki.model.times import DAY, HOUR, SECOND, Millis
from tsuzuki.queue.errors import Fatal, LeaseLost, NotRetryable, Postponed, Retryable, Undecodable

FLOOR: Final = Millis(SECOND)
"""How long a worker that nothing wakes sleeps at most."""

LONGEST_DELAY: Final = Millis(HOUR)
LONGEST_TEXT: Final = 8_000

Verdict = Literal["retry", "postpone", "give up", "drop", "stop"]


class QueueSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How one queue is worked. R56: a task is tried `attempts` times, with these delays between; then they double."""

    attempts: int = 4
    delays: tuple[Millis, ...] = (Millis(5 * SECOND), Millis(10 * SECOND), Millis(20 * SECOND))
    jitter: float = 0.1
    """A delay is lengthened by up to this share, so that what failed together does not come back together."""
    lease: Millis = Millis(30 * SECOND)
    most_losses: int = 3
    """R42: at this many losses a task is given up; it is what kills its workers."""
    concurrency: int = 10
    """Handlers at the same time in one process."""
    batch: int = 50
    """Most tasks in one call of a batch handler."""
    is_routine: bool = False
    """Its tasks come by the clock, or are parts of something, and are no news: the log has them at debug."""
    gather: Millis = Millis(50)
    """How long tasks that come one by one wait behind a batch that is being done: together they cost little more."""

    @property
    def heartbeat(self) -> Millis:
        """How often a lease is renewed: two beats may be missed."""
        return Millis(self.lease // 3)

    @property
    def suspect_losses(self) -> int:
        """A task with so many losses runs alone: its next may be its last, and must not be a neighbour's fault."""
        return max(1, self.most_losses - 1)


INGEST: Final = QueueSettings(batch=20)
DELIVERY: Final = QueueSettings(concurrency=2, is_routine=True)
NOTIFICATIONS: Final = QueueSettings(attempts=5)
CRAWL: Final = QueueSettings(concurrency=5)


# -- after a failure


def judge(error: BaseException, attempt: int, settings: QueueSettings) -> Verdict:
    """What to do with a task whose handler raised this.

    Our own database not answering is no fault of the task: it is postponed and the attempt not counted.
    """
    if isinstance(error, Fatal):
        return "stop"
    if isinstance(error, LeaseLost):
        return "drop"
    if isinstance(error, (Unavailable, Postponed)):
        return "postpone"
    if is_hopeless(error) or attempt >= settings.attempts:
        return "give up"
    return "retry"


def is_hopeless(error: BaseException) -> bool:
    """R56: not found, invalid, not allowed: trying again would change nothing."""
    if isinstance(error, SourceError):
        return isinstance(error, (Gone, RefusedAddress)) or error.status in {401, 403, 404, 410}
    return isinstance(error, (NotRetryable, Undecodable, NotFound, Invalid, Unauthorized, Forbidden, LimitExceeded))


def retry_delay(settings: QueueSettings, attempt: int, error: BaseException, jitter: float) -> Millis:
    """How long to leave a task alone after this attempt failed; `jitter` is from 0 to 1."""
    if not settings.delays:
        planned = 0
    elif attempt <= len(settings.delays):
        planned = settings.delays[attempt - 1]
    else:
        # The exponent is clamped: an attempt count from a row may be anything.
        planned = settings.delays[-1] * 2 ** min(attempt - len(settings.delays), 20)
    wished = _requested_delay(error)
    return Millis(min(max(int(min(planned, LONGEST_DELAY) * (1 + settings.jitter * jitter)), wished), DAY))


def longest_wait(settings: QueueSettings) -> Millis:
    """No task that failed waits longer than this, unless the other side asked for more."""
    return Millis(int(LONGEST_DELAY * (1 + settings.jitter)))


def _requested_delay(error: BaseException) -> Millis:
    """What the other side asked for."""
    if isinstance(error, Retryable):
        return error.after
    return Millis(error.retry_after or 0) if isinstance(error, SourceError) else Millis(0)


def code_of(error: BaseException) -> str:
    """A stable code where the error has one, else its class."""
    return error.code if isinstance(error, TsuzukiError) else type(error).__name__


def storable(text: str) -> str:
    """A text that both engines take: no NUL, no half of a character, not endless."""
    return text[:LONGEST_TEXT].replace("\0", "�").encode("utf-8", "replace").decode("utf-8")


# -- leases


class LeasedTask(msgspec.Struct, frozen=True):
    """A running task as everyone sees it."""

    id: int
    lease_token: int
    lease_until: Millis


class SeenLease(msgspec.Struct, frozen=True):
    """A lease, and since when (on the monotonic clock) it has looked like this."""

    lease: LeasedTask
    since: float


def observe_leases(leases: Iterable[LeasedTask], seen: Mapping[int, SeenLease], steady: float) -> dict[int, SeenLease]:
    """What is known of the leases now: a renewed one begins anew, one that is gone is forgotten."""
    known = {}
    for lease in leases:
        before = seen.get(lease.id)
        known[lease.id] = before if before is not None and before.lease == lease else SeenLease(lease, steady)
    return known


def is_lost(seen: SeenLease, settings: QueueSettings, *, now: Millis, steady: float) -> bool:
    """Whether nobody keeps this lease any more.

    REL-19g: clocks step and differ between machines, so the lease's end alone proves nothing. A worker that lives
    changes the lease at every heartbeat. It is lost when it has ended and a heartbeat was missed while we looked, or,
    whatever its end says, when we have seen no heartbeat for as long as a lease lasts.
    """
    silent = (steady - seen.since) * 1000
    return silent >= settings.lease or (seen.lease.lease_until <= now and silent >= settings.heartbeat * 1.5)


# -- what is over


class TaskRetention(msgspec.Struct, frozen=True):
    """Tasks that ended are kept for so long, and no more than so many of a queue."""

    age: Millis
    count: int


_FINISHED = TaskRetention(HOUR, 1_000)
KEPT: Final[Mapping[str, TaskRetention]] = {
    "done": _FINISHED,
    "skipped": _FINISHED,
    "cancelled": _FINISHED,
    "failed": TaskRetention(Millis(7 * DAY), 5_000),
}
"""R58."""
