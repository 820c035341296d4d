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


class Polls(msgspec.Struct, frozen=True):
    """What waits to be called: watches are their own queue. `last_minute` is the last that was written down."""

    due: int
    oldest_due_at: Millis | None
    last_minute: int


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
