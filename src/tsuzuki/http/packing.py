"""Pages go over the wire packed: they are mostly the same words again and again.

Nothing secret is in a page beside what an address said, and a browser sends our cookie with no request that another
site's page makes: there is nothing for somebody to learn from how long an answer is.
"""

import gzip

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LEAST = 1024
"""Bytes; what is shorter fits into a packet or two as it is."""
_LEVEL = 1
"""Most of what there is to win, in a fifth of the time of the usual level."""


class Packed:
    """Packs each page that is sent in one piece to a browser that takes it so; lets everything else pass."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        if scope["type"] != "http" or scope["method"] == "HEAD" or not _takes_gzip(scope):
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, _Packing(send).send)


class _Packing:
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


def _takes_gzip(scope: Scope) -> bool:
    return "gzip" in Headers(scope=scope).get("accept-encoding", "")
