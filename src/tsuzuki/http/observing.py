"""A log line and a number for every request."""

import logging
import time

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tsuzuki.http.metrics import Metrics
from tsuzuki.http.routing import template_of
from tsuzuki.model.errors import TsuzukiError

CLIENT_LEFT = 499
_REASON = "tsuzuki.reason"
_SERVER_ERROR = 500
# Machines ask these all day; they are counted, and logged for those who debug.
_QUIET = ("/healthz", "/readyz", "/metrics", "/static/")

_log = structlog.stdlib.get_logger("tsuzuki.access")


class Observed:
    """Logs and counts each answer when it is over. The query string is left out: it may hold what nobody should see."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        began = time.perf_counter()
        status = CLIENT_LEFT

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        finally:
            self._note(scope, status, time.perf_counter() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        self._metrics.answered(scope["method"], template_of(scope), status, seconds)
        path = scope["raw_path"].decode("latin-1")
        reason = {} if status < _SERVER_ERROR else scope.get(_REASON, {})
        _log.log(
            _level(path, status),
            "request",
            method=scope["method"],
            path=path,
            status=status,
            ms=round(seconds * 1000, 2),
            client=scope["client"][0] if scope["client"] else None,
            **reason,
        )


def note_reason(scope: Scope, error: Exception) -> None:
    """Have the log say why this request could not be done, where that was not its own fault."""
    code = error.code if isinstance(error, TsuzukiError) else TsuzukiError.code
    scope[_REASON] = {"reason": str(error), "code": code}


def _level(path: str, status: int) -> int:
    if status >= _SERVER_ERROR:
        return logging.WARNING
    return logging.DEBUG if path.startswith(_QUIET) else logging.INFO
