"""Health, readiness and metrics of a process."""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from tsuzuki.app.pipeline import QUEUES
from tsuzuki.coord.wakeup import POLL_WAKEUP
from tsuzuki.crawler.figures import Figures, WatchFigures
from tsuzuki.db import Database
from tsuzuki.http.errors import json_failure
from tsuzuki.http.metrics import PATHS, Check, Metrics, NotReady, probes
from tsuzuki.http.middleware import build_app
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import Unavailable
from tsuzuki.model.priorities import CLASS_NAME
from tsuzuki.model.times import MINUTE, SECOND, Millis
from tsuzuki.queue.leases import Timed
from tsuzuki.queue.service import Tasks
from tsuzuki.queue.tasks import QueueStats
from tsuzuki.queue.workers import Workers, Workforce
from tsuzuki.worker.loops import WorkerLoops

if TYPE_CHECKING:
    from tsuzuki.coord.redis_client import Redis
    from tsuzuki.db.replica import ReplicatedDatabase

FIRST_WORKER_WITHIN = MINUTE
"""After the start of a server that does no work itself: its workers may be started after it."""


class ProbeDeps(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that the probes ask."""

    db: Database
    redis: "Redis | None"
    replica: "ReplicatedDatabase | None"
    metrics: Metrics
    tasks: Tasks
    figures: Figures
    workers: Workers
    clock: Callable[[], Millis]


def probes_of(deps: ProbeDeps, worker_loops: WorkerLoops) -> list[Resource]:
    """/healthz, /readyz and /metrics of this process, with its loops."""

    async def queue() -> None:
        if worker_loops.problem is not None:
            raise Unavailable(worker_loops.problem)
        await deps.tasks.stats()

    checks: Mapping[str, Check] = {
        "database": deps.db.ping,
        "queue": queue,
        "workers": _somebody_works(deps.workers, worker_loops),
    }
    helpers: dict[str, Check] = {}
    if deps.redis is not None:
        helpers["redis"] = deps.redis.ping
    if deps.replica is not None:
        helpers["replica"] = _is_used(deps.replica)
    return probes(
        checks,
        deps.metrics,
        helpers=helpers,
        measure=lambda: _measure(deps),
    )


def probe_app(deps: ProbeDeps, worker_loops: WorkerLoops, *, is_https: bool = False) -> ASGIApp:
    """Nothing but the probes, for a process that serves no pages."""
    resources = probes_of(deps, worker_loops)
    return build_app(resources, metrics=deps.metrics, error_page=json_failure, is_https=is_https)


class BuiltLater:
    """The probes, and an application that is built when something else is first asked for."""

    def __init__(self, probes: ASGIApp, build: Callable[[], ASGIApp]) -> None:
        self._probes = probes
        self._build = build
        self._built: ASGIApp | None = None
        self._lock = threading.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        app = self._probes if scope["path"] in PATHS else self._built
        if app is None:
            app = await asyncio.to_thread(self.built)  # others are answered meanwhile
        await app(scope, receive, send)

    def built(self) -> ASGIApp:
        """The application; whoever asks while it is built waits."""
        with self._lock:
            if self._built is None:
                self._built = self._build()
            return self._built


def _somebody_works(workers: Workers, worker_loops: WorkerLoops) -> Check:
    """R125: in this process or in another."""
    began = time.monotonic()

    async def check() -> None:
        if worker_loops.is_working or time.monotonic() - began < FIRST_WORKER_WITHIN / SECOND:
            return
        if (why := await workers.why_nobody_works()) is not None:
            raise NotReady(why)

    return check


def timed_by(metrics: Metrics) -> Timed:
    """Count polls and tasks in these metrics."""

    def timed(queue: str, outcome: str, seconds: float) -> None:
        if queue == POLL_WAKEUP:
            metrics.polled(outcome, seconds)
        else:
            metrics.worked(queue, outcome, seconds)

    return timed


def _is_used(replica: "ReplicatedDatabase") -> Check:
    async def check() -> None:
        if replica.why_unused is not None:
            raise NotReady(replica.why_unused)

    return check


# -- numbers of all processes, read when they are asked for


async def _measure(deps: ProbeDeps) -> None:
    now, metrics = deps.clock(), deps.metrics
    for stats in await deps.figures.queues():
        metrics.queued(stats.queue, queue_figures(stats, now))
    by_class = {each.priority: each for each in await deps.figures.watches()}
    for priority, name in CLASS_NAME.items():
        metrics.watching(name, watch_figures(by_class.get(priority), now))
    if deps.replica is not None:
        metrics.replicated(used=deps.replica.why_unused is None, lag_s=deps.replica.lag_s)
    _count_workers(metrics, await deps.workers.get())


def _count_workers(metrics: Metrics, workforce: Workforce) -> None:
    for queue in QUEUES:
        metrics.working(queue, workforce.working_on(queue))
    metrics.lost(len(workforce.lost))


def queue_figures(stats: QueueStats, now: Millis) -> dict[str, float]:
    """The figures of a queue by the names of its gauges."""
    return {
        "depth": stats.depth,
        "due": stats.due,
        "oldest_seconds": stats.oldest_age(now) / SECOND,
        "finished_last_minute": stats.finished_last_minute,
        "failed_last_hour": stats.failed_last_hour,
        "dead_letters": stats.dead_letters,
    }


def watch_figures(seen: WatchFigures | None, now: Millis) -> dict[str, float]:
    """The figures of a class of watches by the names of its gauges; without watches when None."""
    if seen is None:
        return {"total": 0, "due": 0, "oldest_due_seconds": 0, "failing": 0, "failing_ratio": 0}
    oldest = now if seen.oldest_due_at is None else seen.oldest_due_at
    return {
        "total": seen.watched,
        "due": seen.due,
        "oldest_due_seconds": max(0, now - oldest) / SECOND,
        "failing": seen.failing,
        "failing_ratio": seen.failing / seen.watched,
    }
