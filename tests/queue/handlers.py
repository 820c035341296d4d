"""Handlers that fail, wait or do what a test says, and ways to take their tasks from them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.queue.builders import Effects, Note, QueueHarness, a_queue
from tsuzuki.db.queries import parse_queries
from tsuzuki.queue.store import claim_tx
from tsuzuki.queue.tasks import Task

Handle = Callable[[Task[Note]], Awaitable[None]]

no_bell = pytest.mark.parametrize("engine", ["sqlite", "postgres"])  # leases are the database's alone


class FunctionHandler:
    """A handler made of a function."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle


class Failing:
    """Raises these errors in turn, then does what its effects do; remembers the attempts it saw."""

    def __init__(self, effects: Effects, *errors: BaseException) -> None:
        self.effects = effects
        self.errors = list(errors)
        self.attempts: list[int] = []

    async def handle(self, task: Task[Note]) -> None:
        self.attempts.append(task.attempt)
        if self.errors:
            raise self.errors.pop(0)
        await self.effects.handle(task)


class Gated(Effects):
    """Says that it has begun, and goes on when it may."""

    def __init__(self, db: Any) -> None:
        super().__init__(db)
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self.cancelled = 0
        self.most_at_once = 0
        self._now = 0

    async def handle(self, task: Task[Note]) -> None:
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        self.begun.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self._now -= 1
        await super().handle(task)


async def is_over(harness: QueueHarness, key: str) -> bool:
    statuses = await harness.statuses()
    return statuses[key] not in {"queued", "running"}


async def abandon(harness, worker_context: Any) -> None:
    """Claim everything and do nothing with it."""
    queue = a_queue()
    now = worker_context.clock()
    await harness.db.with_tx(
        lambda tx: claim_tx(tx, queue.name, queue.settings, worker=worker_context.name, now=now, most=100)
    )


async def give_back_all_but(harness, kept: str) -> None:
    back = parse_queries(
        "tests",
        "-- name: back\n"
        "update task set status = 'queued', lease_token = lease_token + 1, lease_until = null where key <> :kept",
    ).back
    await harness.db.with_tx(lambda tx: tx.run(back, kept=kept))
