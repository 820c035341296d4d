"""The errors by which a handler says how a task failed.

TsuzukiError
├── Retryable          try again, not sooner than `after`
├── Postponed          not now, and nobody's fault: given back as it was
├── NotRetryable       given up at once: a dead letter
├── Fatal              nothing of this queue can work here: the worker stops taking tasks
├── Undecodable        the payload is not what its queue carries
├── NotFinished        a handler returned and its task is still open
└── Conflict
    └── LeaseLost      the task is no longer this worker's: nothing of its effect may stay
"""

from collections.abc import Iterable

from tsuzuki.model.errors import Conflict, TsuzukiError
from tsuzuki.model.times import Millis

NO_TIME = Millis(0)


class Retryable(TsuzukiError):
    """It may work later; `after` is the least that must pass, where the other side said so."""

    code = "retryable"

    def __init__(self, message: str, *, after: Millis = NO_TIME) -> None:
        super().__init__(message)
        self.after = after


class Postponed(TsuzukiError):
    """Somebody wants this kind of work left alone for a while; only a `Gated` handler raises it."""

    code = "postponed"


class NotRetryable(TsuzukiError):
    """The task failed for good: it is not tried again."""

    code = "not_retryable"


class Fatal(TsuzukiError):
    """This process cannot do this kind of work at all: a missing secret, a full disk."""

    code = "fatal"


class Undecodable(TsuzukiError):
    """R58: a payload that does not decode dead-letters at once."""

    code = "undecodable"


class NotFinished(TsuzukiError):
    """Its effect and its completion were not one transaction (I4): a mistake in the handler."""

    code = "not_finished"


class LeaseLost(Conflict):
    """I4: cancelled, or taken by another worker; raised inside the transaction of the effect, which it undoes."""

    def __init__(self, task_ids: Iterable[int]) -> None:
        self.task_ids = tuple(task_ids)
        super().__init__(f"No longer ours: {', '.join(map(str, self.task_ids))}.")
