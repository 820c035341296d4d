"""What a queue is about: its name and payload, a task to be done, one given up, and how a queue fares."""

from typing import Any, Generic, Literal, NewType, Protocol, TypeVar

import msgspec

from tsuzuki.model.times import Millis
from tsuzuki.queue.errors import Undecodable
from tsuzuki.queue.policy import QueueSettings

TaskId = NewType("TaskId", int)
DeadLetterId = NewType("DeadLetterId", int)
Status = Literal["queued", "running", "done", "failed", "cancelled", "skipped"]
Ending = Literal["done", "skipped"]

P = TypeVar("P", bound=msgspec.Struct)


class Queue(msgspec.Struct, Generic[P], frozen=True):
    """A queue and the Struct that its tasks carry."""

    name: str
    payload: type[P]
    settings: QueueSettings = QueueSettings()

    def decode(self, text: str) -> P:
        """The payload as it was enqueued; Undecodable when it is something else (R58)."""
        try:
            return msgspec.json.decode(text, type=self.payload)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Undecodable(f"This is no {self.payload.__name__}: {error}") from error


class NewTask(msgspec.Struct, Generic[P], frozen=True):
    """A task to be enqueued. Priorities are 1 (first) to 3; without `run_at` it is due at once."""

    key: str
    payload: P
    priority: int = 2
    run_at: Millis | None = None


class Enqueued(msgspec.Struct, frozen=True):
    """The task under that key; not new when one was queued or running already."""

    id: TaskId
    is_new: bool


class ClaimedTask(Protocol):
    """A task and the token that it was claimed with."""

    @property
    def id(self) -> TaskId: ...

    @property
    def lease_token(self) -> int: ...

    @property
    def key(self) -> str: ...


class ClaimedRow(msgspec.Struct, frozen=True):
    """A task as the database gives it to a worker."""

    id: TaskId
    lease_token: int
    key: str
    payload: str
    priority: int
    run_at: Millis
    attempts: int
    losses: int
    created_at: Millis


class Task(msgspec.Struct, Generic[P], kw_only=True):
    """A task that is this worker's for as long as its lease is kept."""

    id: TaskId
    lease_token: int
    key: str
    payload: P
    priority: int
    attempt: int
    """1 for the first try; tries that died with their worker do not count."""
    losses: int
    created_at: Millis
    is_finished: bool = False
    """Set by `finish_tx`, so that a handler that forgot it is seen."""


class TaskRow(msgspec.Struct, frozen=True):
    """A task as people see it."""

    id: TaskId
    queue: str
    key: str
    priority: int
    run_at: Millis
    status: Status
    attempts: int
    losses: int
    worker: str | None
    error: str | None
    created_at: Millis
    finished_at: Millis | None


class DeadLetter(msgspec.Struct, frozen=True):
    """A task that was given up, with all that is needed to replay it (R55)."""

    id: DeadLetterId
    task_id: TaskId
    queue: str
    key: str
    payload: str
    priority: int
    error: str
    error_code: str
    stack: str
    attempts: int
    first_failed_at: Millis
    last_failed_at: Millis
    replayed_at: Millis | None
    replayed_as: TaskId | None
    discarded_at: Millis | None


class LetterFilter(msgspec.Struct, frozen=True):
    """Which dead letters; None means any."""

    queue: str | None = None
    error_code: str | None = None
    key: str | None = None

    def parameters(self) -> dict[str, Any]:
        """As the queries take it."""
        return {"queue": self.queue, "error_code": self.error_code, "key": self.key}


class QueueStats(msgspec.Struct, frozen=True):
    """How a queue fares, for metrics and the admin page."""

    queue: str
    due: int
    scheduled: int
    running: int
    oldest_due_at: Millis | None
    finished_last_minute: int
    failed_last_hour: int
    dead_letters: int

    @property
    def depth(self) -> int:
        """All that is still to be done."""
        return self.due + self.scheduled + self.running

    def oldest_age(self, now: Millis) -> Millis:
        """How long the oldest due task has been waiting."""
        return Millis(max(0, now - self.oldest_due_at)) if self.oldest_due_at is not None else Millis(0)
