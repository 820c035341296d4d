"""What machines ask: alive, ready, how much. No database is touched for the first."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import msgspec
import structlog
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.edge.metrics import Metrics
from tsuzuki.edge.routing import Resource, page

PATIENCE_S = 2.5

Check = Callable[[], Awaitable[object]]
"""Returns when the part answers, raises when it does not."""

NO_CHECKS: Mapping[str, Check] = {}

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
        fine = dict(zip(asked, await asyncio.gather(*(_answers(*pair) for pair in asked.items())), strict=True))
        is_ready = all(fine[name] for name in checks)
        parts = {name: "ok" if ok else "down" for name, ok in fine.items()}
        body = msgspec.json.encode({"status": "ready" if is_ready else "unavailable", "parts": parts})
        return Response(body, 200 if is_ready else 503, media_type="application/json")

    async def numbers(_: Request) -> Response:
        if measure is not None:
            await _answers("metrics", measure)
        return Response(metrics.render(), media_type=metrics.content_type)

    return [page("/healthz", alive), page("/readyz", ready), page("/metrics", numbers)]


async def _answers(name: str, check: Check) -> bool:
    """Why a part is down is for the log; an open probe says only that it is."""
    asking = asyncio.ensure_future(_ask(check))
    try:
        await asyncio.wait({asking}, timeout=PATIENCE_S)
    finally:
        asking.cancel()  # and not waited for: what hangs may take its time to be cancelled
    reason = asking.result() if asking.done() and not asking.cancelled() else "it does not answer in time"
    if reason is not None:
        _log.warning("part_down", part=name, reason=reason)
    return reason is None


async def _ask(check: Check) -> str | None:
    """Why the part does not answer; None when it does."""
    try:
        await check()
    except Exception as error:  # noqa: BLE001  whatever it is, the part does not answer
        return str(error) or type(error).__name__
    return None
