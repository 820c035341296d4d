"""What a poll leaves behind: the outcome on its watch, fenced by its lease, and tasks for what is new."""

from collections.abc import Callable
from typing import TypeVar

import msgspec
import structlog

from tsuzuki.connectors.protocol import Visit
from tsuzuki.db import Tx
from tsuzuki.delivery.fanout import NOTHING, Delivered
from tsuzuki.delivery.outages.alerts import alert_broken_tx, alert_healed_tx
from tsuzuki.model.errors import Gone, ShapeChanged, SourceError, Unavailable
from tsuzuki.model.times import DAY, HOUR, Millis
from tsuzuki.net.options import SourceIdentity
from tsuzuki.polling.policy import Failed, Look, PullPace, Watched, is_broken, next_look
from tsuzuki.polling.rows import PollAnswer, PollFailure
from tsuzuki.polling.store import save_answer_tx, save_failure_tx
from tsuzuki.polling.visit import Driver, LocalReader
from tsuzuki.queue.errors import LeaseLost
from tsuzuki.sources.store import ClaimedWatch

T = TypeVar("T")

_log = structlog.stdlib.get_logger("tsuzuki.polling")

CONFIRM_GONE_AFTER = DAY
NEARLY = HOUR
"""A confirmation may come a little early: the schedule is not exact."""
BELIEVE_MOVE_AFTER = Millis(2 * DAY)
BELIEVE_MOVE_COUNT = 5


def _silence(*_: str) -> None:
    return None


class Conditions(msgspec.Struct, frozen=True):
    """What a poll needs besides its watch."""

    pace: PullPace
    clock: Callable[[], Millis]
    dice: Callable[[], float]
    wake: Callable[..., None] = _silence
    """Wakes those who wait for what a poll wrote; called with their names after the commit."""


class Moved(msgspec.Struct, frozen=True):
    """How often and since when a permanent redirect has led to the same place (R29)."""

    to: str | None
    count: int
    since: Millis | None


async def visited(driver: Driver, visit: Visit[T], origin: SourceIdentity, *, folder: LocalReader | None = None) -> T:
    """What a visit brought. A connector that stumbles over what it got is a failure of that source, not ours."""
    try:
        return await driver.run(visit, origin, folder=folder)
    except (SourceError, Unavailable):
        raise
    except Exception as error:
        _log.exception("connector_stumbled", source=origin.source)
        raise ShapeChanged(f"The connector does not understand the answer: {type(error).__name__}: {error}") from error


def moved_again(before: Moved, target: str | None, now: Millis) -> Moved:
    """One more answer: the same target counts up, another begins anew, none forgets."""
    if target is None:
        return Moved(None, 0, None)
    if target == before.to and before.since is not None:
        return Moved(target, before.count + 1, before.since)
    return Moved(target, 1, now)


def is_believed(moved: Moved, now: Millis) -> bool:
    """R29: five same answers over at least two days."""
    return moved.since is not None and moved.count >= BELIEVE_MOVE_COUNT and now - moved.since >= BELIEVE_MOVE_AFTER


def after_failure(
    watched: Watched,
    watch: ClaimedWatch,
    error: SourceError,
    *,
    gone_since: Millis | None,
    conditions: Conditions,
    now: Millis,
) -> PollFailure:
    """What to write after a failed poll. REL-33: a 410 suspends once a second one a day later confirms it."""
    pace = conditions.pace
    wait = None if error.retry_after is None else Millis(min(error.retry_after, pace.ceiling))
    look = next_look(watched, Failed(watch.consecutive_failures + 1, wait), pace, now, dice=conditions.dice())
    gone = isinstance(error, Gone)
    confirmed = gone and gone_since is not None and now - gone_since >= CONFIRM_GONE_AFTER - NEARLY
    if gone and not confirmed:
        look = Look(Millis(now + min(CONFIRM_GONE_AFTER, pace.ceiling)), look.priority, "to confirm that it is gone")
    assert look.at is not None
    return PollFailure(
        next_check_at=look.at,
        why=look.why,
        priority=look.priority,
        status=error.status,
        error=str(error),
        error_code=error.code,
        retry_after_until=None if wait is None else Millis(now + wait),
        gone_since=(gone_since or now) if gone else None,
        suspended_at=now if confirmed else None,
        suspended_reason="the source says that it is gone for good (410)" if confirmed else None,
    )


async def save_failure_or_lose_tx(tx: Tx, watch: ClaimedWatch, failure: PollFailure, now: Millis) -> Delivered:
    """Write the outcome, and tell those who follow when it counts as broken now; LeaseLost when it is not ours."""
    failures = await save_failure_tx(tx, watch, failure, now)
    if failures is None:
        raise LeaseLost([watch.id])
    if not is_broken(failures, is_suspended=failure.suspended_at is not None):
        return NOTHING
    return await alert_broken_tx(tx, watch.id, reason=failure.error, now=now)


async def save_answer_or_lose_tx(tx: Tx, watch: ClaimedWatch, answer: PollAnswer, now: Millis) -> Delivered:
    """Write the outcome, and tell those who follow when the source was broken before; LeaseLost when it is not ours."""
    if not await save_answer_tx(tx, watch, answer, now):
        raise LeaseLost([watch.id])
    # One that never failed cannot be broken, and most never do.
    return await alert_healed_tx(tx, watch.id, now=now) if watch.consecutive_failures else NOTHING
