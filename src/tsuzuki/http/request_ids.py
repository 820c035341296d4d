"""Every request has an id: in its answer, in each log line written for it, and in a 500's text."""

import re
import secrets

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars, reset_contextvars

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
