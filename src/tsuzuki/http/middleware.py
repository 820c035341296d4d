"""The middleware around every handler, from the outside in."""

import asyncio
import gzip
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars, reset_contextvars

from tsuzuki.http.auth import Cookies
from tsuzuki.http.errors import Disconnected, HttpFailure, failure_of, json_failure, plain_sentence
from tsuzuki.http.metrics import Metrics
from tsuzuki.http.routing import Resource, Routes, template_of
from tsuzuki.model.errors import TsuzukiError, Unavailable

KEY = "tsuzuki.request_id"
_SANE = re.compile(rb"[A-Za-z0-9._-]{1,64}")


class RequestIds:
    """Takes over the caller's X-Request-ID when it is a plain word, else makes one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        request_id = _sent(scope) or secrets.token_hex(8)
        scope[KEY] = request_id
        header = (b"x-request-id", request_id.encode())

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], header]
            await send(message)

        tokens = bind_contextvars(request_id=request_id)
        try:
            await self._app(scope, receive, send_with_id)
        finally:
            reset_contextvars(**tokens)


def request_id_of(scope: Scope) -> str:
    """The id of this request."""
    return str(scope[KEY])


def _sent(scope: Scope) -> str | None:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _SANE.fullmatch(value):
            return str(value.decode("ascii"))
    return None


CLIENT_LEFT = 499  # nginx's number; there is no standard one
_REASON = "tsuzuki.reason"
_SERVER_ERROR = 500
# Machines ask these all day; they are counted, and logged for those who debug.
_QUIET = ("/healthz", "/readyz", "/metrics", "/static/")

_MAYBE_SECRET = re.compile(r"[A-Za-z0-9_-]{24,}")
_log = structlog.stdlib.get_logger("tsuzuki.access")


class Observed:
    """Logs and counts each answer. The query string is left out: it may hold secrets."""

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
        path = _shown_path(scope)
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


def _shown_path(scope: Scope) -> str:
    """The path that was asked for; as it is declared, where a part of it is a secret.

    Where nothing is, a secret may stand all the same: its address was mistyped.
    """
    declared, path = template_of(scope), str(scope["raw_path"].decode("latin-1"))
    if "{secret}" in declared:
        return declared
    return path if declared else _MAYBE_SECRET.sub("***", path)


def note_reason(scope: Scope, error: Exception) -> None:
    """Log with this request why it failed, where that was not its own fault."""
    code = error.code if isinstance(error, TsuzukiError) else TsuzukiError.code
    scope[_REASON] = {"reason": plain_sentence(str(error)), "code": code}


def _level(path: str, status: int) -> int:
    if status >= _SERVER_ERROR:
        return logging.WARNING
    return logging.DEBUG if path.startswith(_QUIET) else logging.INFO


LEAST = 1024
"""Bytes; what is shorter fits into a packet or two as it is."""
_LEVEL = 1
"""Most of what there is to win, in a fifth of the time of the usual level."""


class Compressed:
    """Compresses pages that are sent in one piece, for browsers that accept it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        is_asked = scope["type"] == "http" and scope["method"] != "HEAD"
        if not is_asked or "gzip" not in Headers(scope=scope).get("accept-encoding", ""):
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, _Compressing(send).send)


class _Compressing:
    """Holds the head of an answer back until its body is seen."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._head: Message | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_page(Headers(raw=message["headers"])):
            self._head = message
            return
        head, self._head = self._head, None
        if head is not None:
            body = message.get("body", b"")
            if len(body) >= LEAST and not message.get("more_body", False):
                message = {**message, "body": _pack(head, body)}
            await self._send(head)
        await self._send(message)


def _pack(head: Message, body: bytes) -> bytes:
    packed = gzip.compress(body, _LEVEL, mtime=0)
    headers = MutableHeaders(raw=head["headers"])
    headers["content-encoding"] = "gzip"
    headers["content-length"] = str(len(packed))
    headers.add_vary_header("accept-encoding")
    return packed


def _is_page(headers: Headers) -> bool:
    is_html = headers.get("content-type", "").startswith("text/html")
    return is_html and "content-encoding" not in headers and "etag" not in headers


CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

WITH_PLAYERS = f"{CONTENT_SECURITY_POLICY}; media-src 'self'"
"""For the pages that play something: sounds and films come through this server like everything else."""
SANDBOXED = "sandbox; default-src 'none'; frame-ancestors 'none'"
"""For what others made: whatever its bytes are, nothing of it runs, even where somebody opens it by itself (SEC-12)."""

HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cache-control": "no-store",
}

STRICT_TRANSPORT = {"strict-transport-security": f"max-age={365 * 24 * 3600}"}
"""For a server whose public address is https. Nothing is said of its subdomains, which may be somebody else's. Browsers
ignore this where it comes over plain HTTP (RFC 6797, 8.1)."""


class SecurityHeaders:
    """Adds to an answer each of `HEADERS` that it does not set itself: a stricter policy, a longer life in caches."""

    def __init__(self, app: ASGIApp, *, is_https: bool = False) -> None:
        """`is_https` says that people reach this server over HTTPS, whatever lies between."""
        self._app = app
        headers = HEADERS | (STRICT_TRANSPORT if is_https else {})
        self._encoded = tuple((name.encode(), value.encode()) for name, value in headers.items())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message["headers"]
                present = {name for name, _ in headers}
                message["headers"] = [*headers, *(pair for pair in self._encoded if pair[0] not in present)]
            await send(message)

        await self._app(scope, receive, send_safely)


ErrorPage = Callable[[HttpFailure], Response]

FAILURES = "tsuzuki.failures"
"""In the scope, an `ErrorPage` of a resource whose clients expect failures in a shape of their own."""

FramedPage = Callable[[Request, HttpFailure], Awaitable[Response | None]]
"""The same for somebody who is known; None leaves it to the page that everyone gets. It raises nothing."""


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
        if FAILURES in scope:
            own: ErrorPage = scope[FAILURES]
            return own(failure)
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
    if scope["path"].startswith("/api/") or FAILURES in scope:
        return False
    return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])


class CrossOrigin(CORSMiddleware):
    """Lets pages of allowed sites in. What they ask before a request is answered without a body."""

    def preflight_response(self, request_headers: Headers) -> Response:
        """204, or 400 for what is not allowed."""
        response = super().preflight_response(request_headers)
        if response.status_code != 200:
            return response
        headers = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
        return Response(status_code=204, headers=headers)


_ASK_AGAIN_S = 3600
"""After so many seconds a browser asks again what a page of another site may do."""


def build_app(
    resources: Iterable[Resource],
    *,
    metrics: Metrics,
    error_page: ErrorPage,
    framed_page: FramedPage | None = None,
    allowed_origins: Sequence[str] = (),
    is_https: bool = False,
) -> ASGIApp:
    """The whole ASGI application over these resources; `is_https` when its public address is."""
    app: ASGIApp = Compressed(Cookies(ErrorBoundary(Routes(resources), error_page, framed_page)))
    if allowed_origins:
        app = CrossOrigin(
            app,
            allow_origins=allowed_origins,
            allow_methods=("GET", "POST", "PUT", "PATCH", "DELETE"),
            allow_headers=("authorization", "content-type", "x-auth-token", "x-request-id"),
            expose_headers=("x-request-id", "retry-after"),
            max_age=_ASK_AGAIN_S,
        )
    return RequestIds(SecurityHeaders(Observed(app, metrics), is_https=is_https))
