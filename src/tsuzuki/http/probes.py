"""What machines ask: alive, ready, how much. No database is touched for the first."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import msgspec
import structlog
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.http.metrics import Metrics
from tsuzuki.http.routing import Resource, page

PATIENCE_S = 2.5

Check = Callable[[], Awaitable[object]]
"""Returns when the part answers, raises when it does not."""

NO_CHECKS: Mapping[str, Check] = {}


class NotReady(Exception):
    """A part that is not ready; unlike other reasons, this one may be told to whoever asks."""


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
        told = {name: trouble for name, trouble in found.items() if trouble}
        status = "ready" if is_ready else "unavailable"
        body = msgspec.json.encode({"status": status, "parts": parts, **({"reasons": told} if told else {})})
        return Response(body, 200 if is_ready else 503, media_type="application/json")

    async def numbers(_: Request) -> Response:
        if measure is not None:
            await _trouble("metrics", measure)
        return Response(metrics.render(), media_type=metrics.content_type)

    return [page("/healthz", alive), page("/readyz", ready), page("/metrics", numbers)]


async def _trouble(name: str, check: Check) -> str | None:
    """What may be told of a part that does not answer, mostly nothing: why is for the log. None when it does."""
    asking = asyncio.ensure_future(_ask(check))
    try:
        await asyncio.wait({asking}, timeout=PATIENCE_S)
    finally:
        asking.cancel()  # and not waited for: what hangs may take its time to be cancelled
    error = asking.result() if asking.done() and not asking.cancelled() else TimeoutError("it does not answer in time")
    if error is None:
        return None
    _log.warning("part_down", part=name, reason=str(error) or type(error).__name__)
    return str(error) if isinstance(error, NotReady) else ""


async def _ask(check: Check) -> Exception | None:
    """Why the part does not answer; None when it does."""
    try:
        await check()
    except Exception as error:  # noqa: BLE001  whatever it is, the part does not answer
        return error
    return None
