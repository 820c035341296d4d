"""Where an exception becomes an answer: JSON for machines, a page for people, never a stack trace (SEC-13)."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tsuzuki.http.errors import Disconnected, HttpFailure, failure_of, json_failure
from tsuzuki.http.observing import note_reason
from tsuzuki.http.request_ids import request_id_of
from tsuzuki.model.errors import Unavailable

ErrorPage = Callable[[HttpFailure], Response]

FramedPage = Callable[[Request, HttpFailure], Awaitable[Response | None]]
"""The same for somebody who is known; None leaves it to the page that everyone gets. It raises nothing."""

_log = structlog.stdlib.get_logger("tsuzuki.http")


class ErrorBoundary:
    """Answers what was raised. An answer that has begun cannot be taken back: the connection is cut instead."""

    def __init__(self, app: ASGIApp, error_page: ErrorPage, framed_page: FramedPage | None = None) -> None:
        self._app = app
        self._error_page = error_page
        self._framed_page = framed_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        started = False

        async def send_and_remember(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, send_and_remember)
        except Disconnected:
            return
        except Exception as error:
            if started:
                raise
            failure = _failure(scope, error)
            response = await self._framed(scope, failure) or self._response(scope, failure)
            await response(scope, receive, send)
        except asyncio.CancelledError:  # the server stops, and its patience is over
            if started:
                raise
            failure = _failure(scope, Unavailable("The server is stopping. Try again."))
            await self._response(scope, failure)(scope, receive, send)

    async def _framed(self, scope: Scope, failure: HttpFailure) -> Response | None:
        if self._framed_page is None or not _wants_page(scope):
            return None
        return await self._framed_page(Request(scope), failure)

    def _response(self, scope: Scope, failure: HttpFailure) -> Response:
        if not _wants_page(scope):
            return json_failure(failure)
        try:
            return self._error_page(failure)
        except Exception:  # noqa: BLE001  the page that says sorry must not be the one that fails
            _log.exception("error_page_failed")
            return json_failure(failure)


def _failure(scope: Scope, error: Exception) -> HttpFailure:
    failure = failure_of(error, request_id_of(scope))
    if failure.status == 500:
        _log.error("request_failed", exc_info=error)
    else:
        note_reason(scope, error)
    return failure


def _wants_page(scope: Scope) -> bool:
    if scope["path"].startswith("/api/"):
        return False
    return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])
