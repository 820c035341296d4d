"""Images as they are answered: whole, in parts, small, or as they come; for the API, and for apps."""

import re
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tsuzuki.http.middleware import SANDBOXED
from tsuzuki.images.decoder import EXTENSIONS, MediaType
from tsuzuki.images.fetcher import Arrival
from tsuzuki.images.files import Image, ImageReader
from tsuzuki.images.policy import read_range
from tsuzuki.images.service import ArrivingImage, OpenImage
from tsuzuki.model.errors import SourceError, Unavailable

_KEPT = "private, max-age=604800, immutable"
_log = structlog.stdlib.get_logger("tsuzuki.images")
_TAG = re.compile(r'(?:W/)?"([^"]*)"')


def wants_whole(request: Request) -> bool:
    """Whether the answer needs the whole image: its size or its hash."""
    asked = request.headers
    return request.method == "HEAD" or "range" in asked or "if-none-match" in asked


def answer_image(request: Request, found: OpenImage | ArrivingImage, name: str) -> Response:
    """The answer; `name` is what a file of it would be called."""
    if isinstance(found, ArrivingImage):
        return _Stream(found.arrival, _headers(found.head.media_type, name))
    image, body = found.image, found.body
    headers = _headers(image.media_type, name) | {"etag": f'"{image.hash.hex()}"', "accept-ranges": "bytes"}
    response = _answer_stored(request, image, body, headers)
    if isinstance(body, ImageReader) and not isinstance(response, _File):
        body.close()
    return response


def _answer_stored(request: Request, image: Image, body: bytes | ImageReader, headers: dict[str, str]) -> Response:
    if _has_it(request, image):
        return Response(status_code=304, headers=headers)
    start, end = 0, image.bytes
    status = 200
    wanted = _wanted_range(request, image)
    if wanted is not None:
        start, end = wanted
        status = 206
        if start >= end:
            return Response(status_code=416, headers=headers | {"content-range": f"bytes */{image.bytes}"})
        headers["content-range"] = f"bytes {start}-{end - 1}/{image.bytes}"
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers | {"content-length": str(end - start)})
    if isinstance(body, bytes):
        return Response(body if status == 200 else body[start:end], status, headers)
    return _File(body, start, end, status=status, headers=headers)


def _headers(media_type: MediaType, name: str) -> dict[str, str]:
    return {
        "content-type": media_type,
        "content-disposition": f'inline; filename="{name}.{EXTENSIONS[media_type]}"',
        "content-security-policy": SANDBOXED,
        "cache-control": _KEPT,
    }


def _has_it(request: Request, image: Image) -> bool:
    sent = request.headers.get("if-none-match", "")
    return sent.strip() == "*" or image.hash.hex() in _TAG.findall(sent)


def _wanted_range(request: Request, image: Image) -> tuple[int, int] | None:
    """Start and end of the one range that is asked for; start is not before end when there is nothing there.

    None for the whole: several ranges, or what cannot be read, may be answered like that (SEC-45).
    """
    wanted = read_range(request.headers.get("range", ""))
    condition = request.headers.get("if-range")
    if wanted is None or (condition is not None and condition.strip() != f'"{image.hash.hex()}"'):
        return None
    if wanted.first is not None:
        return wanted.first, image.bytes if wanted.last is None else min(wanted.last + 1, image.bytes)
    return (max(0, image.bytes - wanted.last) if wanted.last else image.bytes), image.bytes


class _Stream(Response):
    """An image as it comes. Should it turn out broken, the connection is cut: nobody takes it for whole."""

    def __init__(self, arrival: Arrival, headers: Mapping[str, str]) -> None:
        super().__init__(None, headers=headers)
        del self.headers["content-length"]
        self._arrival = arrival

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        del scope, receive
        try:
            await send(_start(self))
            async with aclosing(self._arrival.pieces()) as pieces:
                async for piece in pieces:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (SourceError, Unavailable) as error:
            _log.warning("image_interrupted", reason=str(error))  # the server closes what was not answered to its end
        finally:
            self._arrival.leave()


class _File(Response):
    """A part of a large file, piece by piece. Should it turn out damaged, the connection is cut."""

    def __init__(self, reader: ImageReader, start: int, end: int, *, status: int, headers: Mapping[str, str]) -> None:
        super().__init__(None, status, {**headers, "content-length": str(end - start)})
        self._reader = reader
        self._start = start
        self._end = end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        del scope, receive
        try:
            await send(_start(self))
            async with aclosing(self._reader.pieces(self._start, self._end)) as pieces:
                async for piece in pieces:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except Unavailable as error:
            _log.warning("image_interrupted", reason=str(error))
        finally:
            self._reader.close()


def _start(response: Response) -> dict[str, Any]:
    return {"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers}
