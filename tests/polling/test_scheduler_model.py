"""The scheduler against a model of it: whatever happens, no poll comes early, twice or never.

The model knows only what was promised: when each watch may be polled at the earliest, until when it is leased, whether
a person asked for it. Steps are everything that can happen to a scheduler: time, several processes that claim, polls
that succeed, fail or die, refreshes, suspensions, and clocks that step.
"""

import asyncio
import os
from collections.abc import Awaitable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from tests.builders import NOON, stored_feed, stored_watch
from tests.polling.builders import Clock
from tests.scale import scaled
from tsuzuki.db import Database, DatabaseOptions, open_database
from tsuzuki.db.migrate import migrate
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.ids import WatchId
from tsuzuki.model.priorities import COLD, HOT, WARM
from tsuzuki.model.times import DAY, HOUR, MINUTE, SECOND, Millis
from tsuzuki.polling.claims import PollOptions
from tsuzuki.polling.outcomes import (
    EndedPoll,
    PollAnswer,
    PollContext,
    PollFailure,
    save_answers_tx,
    save_failure_tx,
)
from tsuzuki.polling.policy import ClaimedWatch, PollAnswered, PollFailed, PullPace, WatchState, next_poll
from tsuzuki.polling.service import Poller
from tsuzuki.polling.store import CLOCKS_DIFFER

T = TypeVar("T")

LEASE = Millis(30 * SECOND)
PACE = PullPace(Millis(30 * MINUTE), Millis(48 * HOUR))
HOSTS = ("a.example", "b.example", "c.example", "d.example")
PER_HOST = 2
WATCHES = 10
RUNS, STEPS = 200, 60
POSTGRES_RUNS = 100
"""Each step is several round trips."""

q = parse_queries(
    "tests",
    """
-- name: suspend
update watch set suspended_at = 1 where id = :id;
-- name: resume
update watch set suspended_at = null where id = :id;
-- name: watches
select id, next_check_at, lease_until, lease_token from watch;
-- name: empty
delete from feed;
""",
)


MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Thousands of small transactions: what is tested here is not the disk."""


class Row(msgspec.Struct, frozen=True):
    id: WatchId
    next_check_at: Millis
    lease_until: Millis | None
    lease_token: int


class Model(msgspec.Struct):
    """What was promised about one watch."""

    host: str
    due_at: Millis
    planned_at: Millis = NOON
    """When that was planned, by the clock of that moment."""
    checked_at: Millis | None = None
    failures: int = 0
    is_suspended: bool = False
    is_asked_for: bool = False
    leased_until: Millis | None = None
    token: int = 0

    def is_free(self, now: Millis) -> bool:
        return self.leased_until is None or self.leased_until <= now

    def may_be_polled(self, now: Millis) -> bool:
        wanted = self.is_asked_for or (not self.is_suspended and self.due_at <= now)
        return wanted and self.is_free(now)


class Scheduling(RuleBasedStateMachine):
    """Two processes over one database, and a clock that is turned."""

    url: str | None = None
    """The database; None for a file of its own."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = TemporaryDirectory(dir=MEMORY)
        self._loop = asyncio.new_event_loop()
        self.clock = Clock()
        self.models: dict[WatchId, Model] = {}
        self.held: list[ClaimedWatch] = []
        self.db: Database = self._await(self._open())
        context = PollContext(PACE, self.clock, lambda: 0.5)
        missing: Any = None
        self.pollers = [
            Poller(
                self.db,
                missing,
                missing,
                context,
                folder_of=missing,
                options=PollOptions(lease=LEASE, per_host=PER_HOST),
            )
            for _ in range(2)
        ]

    async def _open(self) -> Database:
        if self.url is not None:
            db = await open_database(DatabaseOptions(self.url))
            await db.with_tx(lambda tx: tx.run(q.empty))
            return db
        options = DatabaseOptions(f"sqlite://{Path(self._folder.name) / 'tsuzuki.db'}")
        await migrate(options, now=NOON)
        return await open_database(options)

    def _await(self, work: Awaitable[T]) -> T:
        return self._loop.run_until_complete(_coroutine(work))

    def teardown(self) -> None:
        self._await(self.db.close())
        self._loop.close()
        self._folder.cleanup()

    @initialize(offsets=st.lists(st.integers(0, 2 * HOUR), min_size=WATCHES, max_size=WATCHES))
    def add_watches(self, offsets: list[int]) -> None:
        for number, offset in enumerate(offsets):
            host, due_at = HOSTS[number % len(HOSTS)], Millis(NOON + offset)
            watch = self._await(self._add(host, due_at, priority=(HOT, WARM, COLD)[number % 3]))
            self.models[watch] = Model(host, due_at)

    async def _add(self, host: str, due_at: Millis, priority: int) -> WatchId:
        return await stored_watch(
            self.db, await stored_feed(self.db), host=host, next_check_at=due_at, priority=priority
        )

    # -- what happens

    @rule(span=st.sampled_from([SECOND, 6 * SECOND, LEASE, MINUTE, 10 * MINUTE, 31 * MINUTE, 3 * HOUR, 3 * DAY]))
    def time_passes(self, span: Millis) -> None:
        self.clock.turn(span)

    @rule(back=st.sampled_from([SECOND, MINUTE, HOUR]))
    def the_clock_steps_back(self, back: Millis) -> None:
        self.clock.turn(-back)

    @rule(process=st.integers(0, 1), slots=st.integers(1, 12))
    def claim(self, process: int, slots: int) -> None:
        now = self.clock()
        allowed = {watch for watch, model in self.models.items() if model.may_be_polled(now)}
        claimed = self._await(self.pollers[process].claim(slots, {}))
        ids = [watch.id for watch in claimed]
        assert len(set(ids)) == len(ids) <= slots, "claimed twice, or more than there are places"
        assert set(ids) <= allowed, "an early poll, or one of a watch that somebody polls"
        per_host = [self.models[watch].host for watch in ids]
        assert all(per_host.count(host) <= PER_HOST for host in per_host), "a host took more than its share"
        if allowed:
            assert ids, "something is due, there is a place, and nothing was taken"
        for watch in claimed:
            model = self.models[watch.id]
            assert watch.lease_token > model.token, "a token that was given out before"
            model.token, model.leased_until = watch.lease_token, Millis(now + LEASE)
            model.due_at, model.is_asked_for = min(model.due_at, now), False
        self.held += claimed
        self._learn_of_deferrals(allowed - set(ids), now)

    def _learn_of_deferrals(self, left: set[WatchId], now: Millis) -> None:
        """R97: what was left because its host has its share is due as it was, or as it was before its worker died."""
        rows = {row.id: row for row in self._rows()}
        for watch in left:
            row, model = rows[watch], self.models[watch]
            assert row.lease_until is None or row.lease_until <= now, "leased, and not given to anybody"
            if not model.is_suspended and model.due_at <= now:
                assert row.next_check_at <= model.due_at, "put off"
            model.due_at = row.next_check_at
            if row.lease_token != model.token:  # taken and given back: whoever had it before cannot write any more
                model.token, model.leased_until = row.lease_token, None

    @rule(
        number=st.integers(0, 10_000),
        outcome=st.sampled_from(["answered", "answered together", "failed", "died"]),
        jitter=st.sampled_from([0.0, 0.5, 0.99]),
    )
    def a_poll_ends(self, number: int, outcome: str, jitter: float) -> None:
        # Neither a precondition nor a bound: of watches that are due at the same moment a database may give any.
        if not self.held:
            return
        watch = self.held.pop(number % len(self.held))
        model, now = self.models[watch.id], self.clock()
        if outcome == "died":
            return  # its lease runs out by itself
        is_ours, has_run_out = watch.lease_token == model.token, model.is_free(now)
        saved = self._await(self._save(watch, model, outcome, jitter=jitter))
        assert is_ours or not saved, "whoever lost the lease wrote"
        # One that has run out may have been taken and put off again, for its host's sake.
        assert saved or not is_ours or has_run_out, "whoever has the lease could not write"
        if saved:
            model.leased_until = None
            model.failures = model.failures + 1 if outcome == "failed" else 0
            model.due_at = next(row for row in self._rows() if row.id == watch.id).next_check_at
            model.planned_at = model.checked_at = now
            model.is_asked_for = False
            assert PACE.interval <= model.due_at - now <= PACE.ceiling, "a delay beyond its bounds"

    async def _save(self, watch: ClaimedWatch, model: Model, outcome: str, *, jitter: float) -> bool:
        now, watched = self.clock(), WatchState(kind="feed", last_release_at=NOON)
        if outcome != "failed":
            look = next_poll(watched, PollAnswered(), PACE, now, jitter=jitter)
            assert look.at is not None
            answer = PollAnswer(next_check_at=look.at, why=look.why, priority=look.priority, status=200)
            ended, waits = [EndedPoll(watch, answer, now)], outcome != "answered together"
            return bool(await self.db.with_tx(lambda tx: save_answers_tx(tx, ended, waits=waits)))
        look = next_poll(watched, PollFailed(model.failures + 1), PACE, now, jitter=jitter)
        assert look.at is not None
        failure = PollFailure(
            next_check_at=look.at, why=look.why, priority=look.priority, status=500, error="no", error_code="x"
        )
        return await self.db.with_tx(lambda tx: save_failure_tx(tx, watch, failure, now)) is not None

    @rule(number=st.integers(0, WATCHES - 1))
    def somebody_asks(self, number: int) -> None:
        """R96: once, and not what was seen within the last minute, also by a clock that is a little ahead."""
        watch = list(self.models)[number]
        model, now = self.models[watch], self.clock()
        queued = self._await(self.pollers[0].ask_refresh(watch)).queued
        is_known = model.checked_at is not None and now - MINUTE < model.checked_at <= now + CLOCKS_DIFFER
        assert queued == (not model.is_asked_for and not is_known)
        model.is_asked_for = model.is_asked_for or queued == 1

    @rule(number=st.integers(0, WATCHES - 1), is_suspended=st.booleans())
    def somebody_suspends_or_resumes(self, number: int, is_suspended: bool) -> None:
        watch = list(self.models)[number]
        query = q.suspend if is_suspended else q.resume
        self._await(self.db.with_tx(lambda tx: tx.run(query, id=watch)))
        self.models[watch].is_suspended = is_suspended

    @rule()
    def a_wrong_clock_is_repaired(self) -> None:
        """REL-19g: afterwards nothing is further off than it was planned to be, counted from now."""
        self._await(self.pollers[0].repair())
        now = self.clock()
        for row in self._rows():
            model = self.models[row.id]
            repaired = self._repaired(model, now)
            assert row.next_check_at == (model.due_at if repaired is None else repaired)
            model.due_at = row.next_check_at
            is_capped = model.leased_until is not None and model.leased_until > now + LEASE
            if repaired is not None or is_capped or model.planned_at > now + MINUTE:
                model.planned_at = min(model.planned_at, now)
                model.checked_at = None if model.checked_at is None else min(model.checked_at, now)
            if model.leased_until is not None:
                model.leased_until = min(model.leased_until, Millis(now + LEASE))

    @staticmethod
    def _repaired(model: Model, now: Millis) -> int | None:
        """When it is due once it is repaired; None where nothing is wrong with it."""
        if model.planned_at > now + MINUTE:
            by = model.due_at - model.planned_at
            return now + by if by <= PACE.ceiling else now
        return now if model.due_at > now + PACE.ceiling else None

    # -- what always holds

    def _rows(self) -> list[Row]:
        return self._await(self.db.read(lambda tx: tx.many(Row, q.watches)))

    @invariant()
    def no_watch_is_never_due(self) -> None:
        """I5: what the table says is what was promised, and it is never further off than the ceiling."""
        if not self.models:
            return
        for row in self._rows():
            assert row.next_check_at == self.models[row.id].due_at
            assert row.next_check_at - self.latest <= max(PACE.ceiling, 2 * HOUR)

    @property
    def latest(self) -> Millis:
        """The clock as it was at its furthest: what was promised then still stands."""
        self._latest = max(getattr(self, "_latest", NOON), self.clock())
        return self._latest


async def _coroutine(work: Awaitable[T]) -> T:
    return await work


@pytest.mark.soak
def test_no_poll_comes_early_or_twice_or_never_whatever_happens(engine, database_url):
    """R25, REL-09, REL-19g, REL-39: 200 runs of 60 steps in the soak, a tenth of them ordinarily; fewer by the wire."""
    runs = scaled(RUNS // 10, RUNS) if engine == "sqlite" else scaled(POSTGRES_RUNS // 10, POSTGRES_RUNS)
    bounds = settings(
        max_examples=runs,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=(Phase.generate,),  # shrinking takes minutes; the steps are printed as they are
        suppress_health_check=list(HealthCheck),
    )

    class Here(Scheduling):
        url = database_url if engine == "postgres" else None

    run_state_machine_as_test(Here, settings=bounds)
