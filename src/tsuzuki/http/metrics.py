"""Prometheus metrics, and the health and readiness probes."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property

import msgspec
import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, GCCollector, Histogram, Info, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.http.routing import Resource, page

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_REQUEST_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_WORK_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60)
_TX_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5)

_QUEUE_GAUGES = {
    "depth": "Tasks that are due, scheduled or running",
    "due": "Tasks waiting to be run",
    "oldest_seconds": "How long the oldest due task has been waiting",
    "finished_last_minute": "Tasks finished in the last minute",
    "failed_last_hour": "Tasks given up in the last hour",
    "dead_letters": "Dead letters neither replayed nor discarded",
}

_WATCH_GAUGES = {
    "total": "Watches that are not suspended",
    "due": "Watches waiting to be polled",
    "oldest_due_seconds": "How overdue the oldest waiting poll is",
    "failing": "Watches whose last poll failed",
    "failing_ratio": "The share of watches whose last poll failed",
}


class Metrics:
    """What is counted. Labels are route templates and other closed sets: nothing that a caller can make up."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self, *, version: str, engine: str) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        Info("tsuzuki_build", "Version and database engine", registry=self.registry).info(
            {"version": version, "engine": engine}
        )
        self._requests = Counter(
            "tsuzuki_http_requests", "HTTP requests", ("method", "route", "status"), registry=self.registry
        )
        self._request_seconds = Histogram(
            "tsuzuki_http_request_duration_seconds",
            "Time from the request to the end of the response",
            ("method", "route"),
            buckets=_REQUEST_BUCKETS,
            registry=self.registry,
        )
        self._tx_seconds = Histogram(
            "tsuzuki_db_transaction_duration_seconds",
            "Time from requesting a transaction to its commit or rollback",
            ("outcome",),
            buckets=_TX_BUCKETS,
            registry=self.registry,
        )

        self._poll_seconds = Histogram(
            "tsuzuki_poll_duration_seconds",
            "Time from the start of a poll to its saved result",
            ("outcome",),
            buckets=_WORK_BUCKETS,
            registry=self.registry,
        )
        self._task_seconds = Histogram(
            "tsuzuki_task_duration_seconds",
            "Time of one attempt at a task",
            ("queue", "outcome"),
            buckets=_WORK_BUCKETS,
            registry=self.registry,
        )
        self._pruned = Counter("tsuzuki_pruned_rows", "Rows deleted by retention", ("what",), registry=self.registry)
        self._queues = {
            name: Gauge(f"tsuzuki_queue_{name}", text, ("queue",), registry=self.registry)
            for name, text in _QUEUE_GAUGES.items()
        }
        self._watches = {
            name: Gauge(f"tsuzuki_watches_{name}", text, ("class",), registry=self.registry)
            for name, text in _WATCH_GAUGES.items()
        }
        self._workers = Gauge("tsuzuki_workers", "Worker processes of a queue", ("queue",), registry=self.registry)
        self._lists = Counter(
            "tsuzuki_list_reads", "Lists and searches by the server that answered", ("server",), registry=self.registry
        )
        self._lost = Gauge("tsuzuki_workers_lost", "Worker processes that died or hang", registry=self.registry)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answer."""
        method = method if method in _METHODS else "other"
        route = route or "none"
        self._requests.labels(method, route, str(status)).inc()
        self._request_seconds.labels(method, route).observe(seconds)

    def transacted(self, committed: bool, seconds: float) -> None:  # noqa: FBT001  the shape that db's `Timed` has
        """Count one transaction."""
        self._tx_seconds.labels("committed" if committed else "rolled_back").observe(seconds)

    def polled(self, outcome: str, seconds: float) -> None:
        """Count one poll."""
        self._poll_seconds.labels(outcome).observe(seconds)

    def worked(self, queue: str, outcome: str, seconds: float) -> None:
        """Count one try of a task."""
        self._task_seconds.labels(queue, outcome).observe(seconds)

    def pruned(self, what: str, rows: int) -> None:
        """Count what retention removed."""
        self._pruned.labels(what).inc(rows)

    def queued(self, queue: str, figures: Mapping[str, float]) -> None:
        """How a queue fares at this moment, by the names of `_QUEUE_GAUGES`."""
        for name, value in figures.items():
            self._queues[name].labels(queue).set(value)

    def watching(self, class_name: str, figures: Mapping[str, float]) -> None:
        """How the watches of a class fare at this moment, by the names of `_WATCH_GAUGES`."""
        for name, value in figures.items():
            self._watches[name].labels(class_name).set(value)

    def working(self, queue: str, processes: int) -> None:
        """How many processes work on this queue."""
        self._workers.labels(queue).set(processes)

    def lost(self, processes: int) -> None:
        """How many processes were lost."""
        self._lost.set(processes)

    def listed(self, server: str) -> None:
        """Count one list that the replica answered, or the first database in its stead."""
        self._lists.labels(server).inc()

    def replicated(self, *, used: bool, lag_s: float) -> None:
        """Whether the replica is used, and how far it is behind."""
        used_gauge, lag_gauge = self._replica
        used_gauge.set(used)
        lag_gauge.set(lag_s)

    @cached_property
    def _replica(self) -> tuple[Gauge, Gauge]:
        """Shown only where there is a replica."""
        return (
            Gauge("tsuzuki_replica_used", "Whether lists are read from the replica", registry=self.registry),
            Gauge("tsuzuki_replica_lag_seconds", "How far the replica is behind", registry=self.registry),
        )

    def render(self) -> bytes:
        """The page that Prometheus reads."""
        return generate_latest(self.registry)


PATHS = ("/healthz", "/readyz", "/metrics")
PATIENCE_S = 2.5

Check = Callable[[], Awaitable[object]]
"""Returns when the part answers, raises when it does not."""

NO_CHECKS: Mapping[str, Check] = {}


class NotReady(Exception):
    """A part that is not ready; unlike other reasons, this one may be shown to anybody."""


_log = structlog.stdlib.get_logger("tsuzuki.probes")


def probes(
    checks: Mapping[str, Check],
    metrics: Metrics,
    *,
    helpers: Mapping[str, Check] = NO_CHECKS,
    measure: Check | None = None,
) -> list[Resource]:
    """/healthz, /readyz over these parts, and /metrics, for which `measure` is asked first.

    `helpers` are parts that /readyz shows but can do without, such as Redis (R40).
    """

    async def alive(_: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type="application/json")

    async def ready(_: Request) -> Response:
        asked = {**checks, **helpers}
        found = dict(zip(asked, await asyncio.gather(*(_trouble(*pair) for pair in asked.items())), strict=True))
        is_ready = all(found[name] is None for name in checks)
        parts = {name: "ok" if trouble is None else "down" for name, trouble in found.items()}
        reasons = {name: trouble for name, trouble in found.items() if trouble}
        status = "ready" if is_ready else "unavailable"
        body = msgspec.json.encode({"status": status, "parts": parts, **({"reasons": reasons} if reasons else {})})
        return Response(body, 200 if is_ready else 503, media_type="application/json")

    async def numbers(_: Request) -> Response:
        if measure is not None:
            await _trouble("metrics", measure)
        return Response(metrics.render(), media_type=metrics.content_type)

    return [page(path, handler) for path, handler in zip(PATHS, (alive, ready, numbers), strict=True)]


async def _trouble(name: str, check: Check) -> str | None:
    """What may be shown of a part that does not answer: mostly nothing, the reason is for the log. None if it does."""
    asking = asyncio.ensure_future(_ask(check))
    try:
        await asyncio.wait({asking}, timeout=PATIENCE_S)
    finally:
        asking.cancel()  # and not waited for: what hangs may take its time to be cancelled
    error = asking.result() if asking.done() and not asking.cancelled() else TimeoutError("it does not answer in time")
    if error is None:
        return None
    _log.warning("dependency_down", part=name, reason=str(error) or type(error).__name__)
    return str(error) if isinstance(error, NotReady) else ""


async def _ask(check: Check) -> Exception | None:
    """Why the part does not answer; None when it does."""
    try:
        await check()
    except Exception as error:  # noqa: BLE001  whatever it is, the part does not answer
        return error
    return None
