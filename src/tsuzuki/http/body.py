"""Request bodies within limits: bytes are counted as they arrive, JSON depth before it is decoded."""

import asyncio
import re

from starlette.types import Receive, Scope

from tsuzuki.http.errors import BodyTooLarge, BodyTooSlow, Disconnected
from tsuzuki.model.errors import Invalid

MAX_BODY = 1024 * 1024
MAX_DEPTH = 64
PATIENCE_S = 30.0

# A bracket, or a whole string, so that brackets within one do not count. One that never ends is taken to the end:
# trying again from every quote in it would take quadratic time.
_TOKEN = re.compile(rb'[\[\]{}]|"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
_OPENING = (b"[", b"{")
_CLOSING = (b"]", b"}")


async def read_body(scope: Scope, receive: Receive, limit: int = MAX_BODY) -> bytes:
    """The whole body; `BodyTooLarge` as soon as that is known, before the rest has arrived."""
    if _declared_length(scope) > limit:
        raise BodyTooLarge(limit)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(PATIENCE_S):
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Disconnected
                part = message.get("body", b"")
                size += len(part)
                if size > limit:
                    raise BodyTooLarge(limit)
                parts.append(part)
                more = message.get("more_body", False)
    except TimeoutError:
        raise BodyTooSlow(f"The body did not arrive within {PATIENCE_S:.0f} s.") from None
    return b"".join(parts)


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
_LINE_END = b"\r\n"


def first_file(content_type: str, body: bytes) -> bytes:
    """The first file of a multipart form; the body itself when it is no form. Invalid for a form without one."""
    if not content_type.lower().startswith("multipart/"):
        return body
    found = _BOUNDARY.search(content_type)
    if found is not None:
        boundary = (found[1] or found[2]).encode("latin-1", "replace")
        parts = (_LINE_END + body).split(_LINE_END + b"--" + boundary, MOST_PARTS + 1)
        for part in parts[1 : MOST_PARTS + 1]:
            head, blank, content = part.partition(_LINE_END * 2)
            if blank and _is_file(head):
                return content
    raise Invalid("The form contains no file.")


def _is_file(head: bytes) -> bool:
    if len(head) > LONGEST_HEAD:
        return False
    lines = head.lower().split(_LINE_END)
    return any(line.startswith(_DISPOSITION) and _FILENAME.search(line) for line in lines)
