"""What machines ask: alive, ready, how much. No database is touched for the first."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import msgspec
import structlog
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.edge.metrics import Metrics
from tsuzuki.edge.routing import Resource, page

PATIENCE_S = 3.0

Check = Callable[[], Awaitable[object]]
"""Returns when the part answers, raises when it does not."""

_log = structlog.stdlib.get_logger("tsuzuki.probes")


def probes(checks: Mapping[str, Check], metrics: Metrics) -> list[Resource]:
    """/healthz, /readyz over these parts, and /metrics."""

    async def alive(_: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type="application/json")

    async def ready(_: Request) -> Response:
        names = list(checks)
        fine = await asyncio.gather(*(_answers(name, checks[name]) for name in names))
        parts = {name: "ok" if ok else "down" for name, ok in zip(names, fine, strict=True)}
        body = msgspec.json.encode({"status": "ready" if all(fine) else "unavailable", "parts": parts})
        return Response(body, 200 if all(fine) else 503, media_type="application/json")

    async def numbers(_: Request) -> Response:
        return Response(metrics.render(), media_type=metrics.content_type)

    return [page("/healthz", alive), page("/readyz", ready), page("/metrics", numbers)]


async def _answers(name: str, check: Check) -> bool:
    """Why a part is down is for the log; an open probe says only that it is."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            await check()
    except Exception as error:  # noqa: BLE001  whatever it is, the part does not answer
        _log.warning("part_down", part=name, reason=str(error) or type(error).__name__)
        return False
    return True
