"""What of something is asked for, the whole or a range, and sending it piece by piece."""

import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any

import msgspec
import structlog
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from tsuzuki.images.policy import read_range
from tsuzuki.model.errors import SourceError, Unavailable

_TAG = re.compile(r'(?:W/)?"([^"]*)"')
_log = structlog.stdlib.get_logger("tsuzuki.http")


class AskedPart(msgspec.Struct, frozen=True):
    """Which bytes are answered, and how."""

    status: int
    start: int
    end: int
    headers: dict[str, str]

    @property
    def has_body(self) -> bool:
        """Not when the client has it already, or asked for what is not there."""
        return self.status in {200, 206}


def asked_part(request: Request, size: int, etag: str) -> AskedPart:
    """What the request wants of something of this size: 200, 206, 304 or 416."""
    headers = {"etag": f'"{etag}"', "accept-ranges": "bytes"}
    sent = request.headers.get("if-none-match", "")
    if sent.strip() == "*" or etag in _TAG.findall(sent):
        return AskedPart(304, 0, 0, headers)
    wanted = _wanted_range(request, size, etag) if request.method == "GET" else None  # HEAD knows no ranges (RFC 9110)
    if wanted is None:
        return AskedPart(200, 0, size, headers)
    start, end = wanted
    if start >= end:
        return AskedPart(416, 0, 0, headers | {"content-range": f"bytes */{size}"})
    return AskedPart(206, start, end, headers | {"content-range": f"bytes {start}-{end - 1}/{size}"})


def _wanted_range(request: Request, size: int, etag: str) -> tuple[int, int] | None:
    """Start and end of the one range that is asked for; start is not before end when there is nothing there.

    None for the whole: several ranges, or what cannot be read, may be answered like that (SEC-45).
    """
    wanted = read_range(request.headers.get("range", ""))
    condition = request.headers.get("if-range")
    if wanted is None or (condition is not None and condition.strip() != f'"{etag}"'):
        return None
    if wanted.first is not None:
        return wanted.first, size if wanted.last is None else min(wanted.last + 1, size)
    return (max(0, size - wanted.last) if wanted.last else size), size


class PiecesResponse(StreamingResponse):
    """A body that is sent as it is read, until the client leaves.

    Should it break off, the connection is cut: nobody takes it for whole.
    """

    def __init__(
        self,
        pieces: Callable[[], AsyncGenerator[bytes, None]],
        *,
        length: int | None,
        status: int,
        headers: Mapping[str, str],
        close: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__((), status, headers)
        if length is not None:
            self.headers["content-length"] = str(length)
        self._pieces = pieces
        self._close = close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        try:
            await super().__call__(scope, receive, send)
        except (SourceError, Unavailable) as error:
            _log.warning("answer_interrupted", reason=str(error))  # the server closes what was not answered to its end
        finally:
            self._close()

    async def stream_response(self, send: Send) -> None:
        """Head and body. Cancelled when the client leaves: to send is to wait for nothing then."""
        start: dict[str, Any] = {"type": "http.response.start", "status": self.status_code}
        await send(start | {"headers": self.raw_headers})
        async with aclosing(self._pieces()) as pieces:
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
