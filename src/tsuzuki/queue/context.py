"""Where a worker stands: what it needs of the world."""

import random
import time
from collections.abc import Callable

import msgspec

from tsuzuki.coord.wakeup import Wakeup
from tsuzuki.db import Database
from tsuzuki.model.times import Millis

Clock = Callable[[], Millis]
Timed = Callable[[str, str, float], None]
"""Told the queue, how it ended (`done` or a verdict) and the seconds, once for each task of a call."""


def _untimed(_queue: str, _outcome: str, _seconds: float) -> None:
    return None


class WorkerContext(msgspec.Struct, frozen=True, kw_only=True):
    """The database, the wake-ups and the clocks of a process, and its name on the tasks that it holds."""

    db: Database
    wakeup: Wakeup
    clock: Clock
    """Wall time, for what people see and schedule."""
    name: str
    steady: Callable[[], float] = time.monotonic
    """Seconds that never step, for waiting and for watching leases."""
    jitter: Callable[[], float] = random.random
    timed: Timed = _untimed


def cancel_wakeup(queue: str) -> str:
    """What is woken when a task of this queue was cancelled."""
    return f"{queue}:cancelled"
