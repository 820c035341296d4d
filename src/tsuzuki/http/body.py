"""Request bodies within limits: bytes are counted as they arrive, JSON depth before it is decoded."""

import asyncio
import re
from collections.abc import AsyncIterator

import msgspec
from starlette.requests import Request
from starlette.types import Receive, Scope

from tsuzuki.http.errors import BodyTooLarge, BodyTooSlow, Disconnected
from tsuzuki.model.errors import Invalid

MAX_BODY = 1024 * 1024
MAX_DEPTH = 64
PATIENCE_S = 30.0
_AROUND = 64 * 1024
"""Bytes that multipart may add to a file."""

# A bracket, or a whole string, so that brackets within one do not count. One that never ends is taken to the end:
# trying again from every quote in it would take quadratic time.
_TOKEN = re.compile(rb'[\[\]{}]|"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
_OPENING = (b"[", b"{")
_CLOSING = (b"]", b"}")


class Upload(msgspec.Struct, frozen=True):
    """A file that was sent."""

    name: str
    """The file name that the sender gave; empty without one."""
    body: bytes


async def read_body(scope: Scope, receive: Receive, limit: int = MAX_BODY) -> bytes:
    """The whole body; `BodyTooLarge` as soon as that is known, before the rest has arrived."""
    if _declared_length(scope) > limit:
        raise BodyTooLarge(limit)
    try:
        async with asyncio.timeout(PATIENCE_S):
            return b"".join([part async for part in _parts(receive, limit)])
    except TimeoutError:
        raise _too_slow() from None


async def stream_body(scope: Scope, receive: Receive, limit: int) -> AsyncIterator[bytes]:
    """The body in parts, for what need not be in memory; each part may take as long as a whole body."""
    if _declared_length(scope) > limit:
        raise BodyTooLarge(limit)
    parts = _parts(receive, limit)
    while True:
        try:
            async with asyncio.timeout(PATIENCE_S):
                part = await anext(parts, None)
        except TimeoutError:
            raise _too_slow() from None
        if part is None:
            return
        yield part


async def read_upload(request: Request, limit: int) -> Upload:
    """The file of a form, or the body itself, with as much time as its sender needs while something arrives."""
    parts = [part async for part in stream_body(request.scope, request.receive, limit + _AROUND)]
    return first_upload(request.headers.get("content-type", ""), b"".join(parts))


async def _parts(receive: Receive, limit: int) -> AsyncIterator[bytes]:
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise BodyTooLarge(limit)
        yield part
        more = message.get("more_body", False)


def _too_slow() -> BodyTooSlow:
    return BodyTooSlow(f"The body did not arrive within {PATIENCE_S:.0f} s.")


def _declared_length(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else 0
    return 0


def refuse_deep_json(text: bytes) -> None:
    """`Invalid` when arrays and objects are nested deeper than any request of ours needs."""
    if text.count(b"[") + text.count(b"{") <= MAX_DEPTH:
        return
    depth = 0
    for token in _TOKEN.finditer(text):
        if token[0] in _OPENING:
            depth += 1
            if depth > MAX_DEPTH:
                raise Invalid(f"The body nests arrays and objects deeper than {MAX_DEPTH} levels.")
        elif token[0] in _CLOSING:
            depth -= 1


MOST_PARTS = 50
LONGEST_HEAD = 8 * 1024

_BOUNDARY = re.compile(r';\s{0,10}boundary=(?:"([^"]{1,70})"|([^\s";,]{1,70}))', re.IGNORECASE)
_DISPOSITION = b"content-disposition:"
_FILENAME = re.compile(rb";\s{0,10}filename\*?=")
_NAME = re.compile(rb';\s{0,10}filename="([^"\r\n]{0,500})"', re.IGNORECASE)
_LINE_END = b"\r\n"


def first_file(content_type: str, body: bytes) -> bytes:
    """The first file of a multipart form; the body itself when it is no form. Invalid for a form without one."""
    return first_upload(content_type, body).body


def first_upload(content_type: str, body: bytes) -> Upload:
    """The first upload with its name."""
    if not content_type.lower().startswith("multipart/"):
        return Upload("", body)
    found = _BOUNDARY.search(content_type)
    if found is not None:
        boundary = (found[1] or found[2]).encode("latin-1", "replace")
        parts = (_LINE_END + body).split(_LINE_END + b"--" + boundary, MOST_PARTS + 1)
        for part in parts[1 : MOST_PARTS + 1]:
            head, blank, content = part.partition(_LINE_END * 2)
            if blank and _is_file(head):
                named = _NAME.search(head)
                return Upload(named[1].decode("utf-8", "replace") if named else "", content)
    raise Invalid("The form contains no file.")


def _is_file(head: bytes) -> bool:
    if len(head) > LONGEST_HEAD:
        return False
    lines = head.lower().split(_LINE_END)
    return any(line.startswith(_DISPOSITION) and _FILENAME.search(line) for line in lines)
