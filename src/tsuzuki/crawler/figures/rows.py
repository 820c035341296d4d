"""Figures as they are stored and asked for."""

import msgspec

from tsuzuki.model.ids import SourceId
from tsuzuki.model.times import Millis


class Figure(msgspec.Struct, frozen=True):
    """How the server fared in a minute, or in several: then levels are averages, and what happened is counted up."""

    at: Millis
    depth: int
    oldest_ms: int
    finished: int
    failed: int
    dead_letters: int
    polls: int
    failing: int


class Minute(msgspec.Struct, frozen=True):
    """What the tables say of the last minute."""

    failed: int
    polls: int
    failing: int


class WatchFigures(msgspec.Struct, frozen=True):
    """How the watches of one class fare; those that are suspended do not count."""

    priority: int
    watched: int
    due: int
    running: int
    oldest_due_at: Millis | None
    failing: int
    polled_last_minute: int
    failed_last_hour: int


class FailingFeed(msgspec.Struct, frozen=True):
    """A feed whose last polls failed."""

    title: str
    host: str
    failures: int
    error: str | None
    last_success_at: Millis | None
    next_check_at: Millis


class Pulse(msgspec.Struct, frozen=True):
    """What came of calling a source in an hour, counted since 1970."""

    source_id: SourceId
    hour: int
    jobs: int
    failed: int
    spent_ms: int


class Amount(msgspec.Struct, frozen=True):
    """How much there is of something: bytes of `database` and `images`, rows of the rest."""

    name: str
    amount: int
