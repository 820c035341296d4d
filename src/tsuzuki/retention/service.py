"""Removes what is old: at night, in small portions with pauses, so that nobody waits for it."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime

import structlog

from tsuzuki.db import Database, load_queries
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.retention.policy import DUE_AFTER, RetentionRules, is_due, is_night
from tsuzuki.retention.steps import STEPS, PruneDeps, PruneStep
from tsuzuki.retention.store import StepRow, list_steps_tx

q = load_queries("tsuzuki.retention")

LONGEST_RUN = 20.0
"""Seconds: other chores wait for this one."""
SHORTEST_PAUSE = 0.01

_log = structlog.stdlib.get_logger("tsuzuki.retention")


def _uncounted(_what: str, _rows: int) -> None:
    return None


def _local_hour(now: Millis) -> int:
    return datetime.fromtimestamp(now / SECOND, UTC).astimezone().hour


class Pruner:
    """Does the work. Any number of processes may: what one has removed, the others do not find."""

    def __init__(
        self,
        db: Database,
        clock: Callable[[], Millis],
        rules: RetentionRules,
        *,
        pruned: Callable[[str, int], None] = _uncounted,
        hour_of: Callable[[Millis], int] = _local_hour,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._deps = PruneDeps(db, clock, rules)
        self._pruned = pruned
        self._hour_of = hour_of
        self._pause = pause
        self._steady = steady

    async def work(self) -> Mapping[str, int]:
        """Go on with what is due, for a few seconds; what was removed, by kind. For the night's chore."""
        now = self._deps.clock()
        night = is_night(self._hour_of(now), self._deps.rules.hours)
        until = self._steady() + LONGEST_RUN
        count: Counter[str] = Counter()
        rows = await self._rows(now)
        for step in STEPS:
            row = rows[step.name]
            if is_due(row.counted_from, now, night=night):
                count[step.name] += await self._run(step, row.after_id, until)
        return self._log_removed(count)

    async def prune(self) -> Mapping[str, int]:
        """Do all of it now; what was removed, by kind."""
        await self._rows(self._deps.clock())
        return self._log_removed(Counter({step.name: await self._run(step, 0, None) for step in STEPS}))

    async def _rows(self, now: Millis) -> dict[str, StepRow]:
        """How far each step is. A new server, or one that was just upgraded, begins in the next night."""
        rows = {row.name: row for row in await self._deps.db.read(list_steps_tx)}
        if missing := [step.name for step in STEPS if step.name not in rows]:
            begun = Millis(now - DUE_AFTER)
            await self._deps.db.with_tx(
                lambda tx: tx.run(q.add_steps, rows=[[name] for name in missing], counted_from=begun)
            )
            return {row.name: row for row in await self._deps.db.read(list_steps_tx)}
        return rows

    async def _run(self, step: PruneStep, after: int, until: float | None) -> int:
        """One step, portion by portion, to its end or until then; where it stopped is saved."""
        total, place = 0, after
        while until is None or self._steady() < until:
            begun = self._steady()
            done = await step.portion(self._deps, place)
            total += done.pruned
            if done.after is None:
                await self._save(step, 0, self._deps.clock(), total)
                return total
            place = done.after
            await self._pause(max(SHORTEST_PAUSE, self._steady() - begun) if done.pruned else 0)
        await self._save(step, place, None, total)
        return total

    async def _save(self, step: PruneStep, after: int, finished_at: Millis | None, pruned: int) -> None:
        await self._deps.db.with_tx(
            lambda tx: tx.run(q.save_step, name=step.name, after_id=after, finished_at=finished_at, pruned=pruned)
        )

    def _log_removed(self, count: Counter[str]) -> Mapping[str, int]:
        found = {what: rows for what, rows in count.items() if rows}
        for what, rows in found.items():
            self._pruned(what, rows)
        if found:
            _log.info("pruned", **found)
        return found
