"""A response as it arrives: its head at once, its body in pieces under caps and deadlines."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager

import aiohttp
from aiohttp.client_proto import ResponseHandler

from tsuzuki.model.errors import TooLarge
from tsuzuki.model.requests import DEFAULT_CAP, Hop
from tsuzuki.net.decoder import Decoding
from tsuzuki.net.headers import is_echoable
from tsuzuki.net.redirects import OutgoingRequest
from tsuzuki.net.turns import Budget

_BREATHE_EVERY = 16  # decoded pieces, so that a large body does not hold up the others
_BODILESS = frozenset({204, 304})


class HttpResponse:
    """A response: its head at once, its body as it arrives. Valid within the context that gave it."""

    def __init__(
        self,
        response: aiohttp.ClientResponse,
        request: OutgoingRequest,
        *,
        hops: tuple[Hop, ...],
        bucket: str,
        budget: Budget,
    ) -> None:
        self.request = request
        self.hops = hops
        self.bucket = bucket
        """Where a penalty for this answer belongs."""
        self.status = response.status
        self.headers = _plain_headers(response)
        self._response = response
        self._budget = budget
        self._since = asyncio.get_running_loop().time()
        self._received = 0

    @property
    def host(self) -> str:
        """The host, for messages."""
        return self.request.url.host

    async def chunks(self, max_bytes: int) -> AsyncGenerator[bytes, None]:
        """The decoded body in pieces; TooLarge past the cap, on the wire or decoded. The seam for streaming images."""
        if self.status in _BODILESS or self.request.method == "HEAD":
            return
        length = self.headers.get("content-length", "")
        if length.isdecimal() and len(length) < 20 and int(length) > max_bytes:
            raise self._too_large(max_bytes)
        decoding = Decoding(self.headers.get("content-encoding", ""), max_bytes)
        pieces = 0
        while data := await self._receive():
            if self._received > max_bytes:
                raise self._too_large(max_bytes)
            for piece in decoding.feed(data):
                yield piece
                pieces += 1
                if pieces % _BREATHE_EVERY == 0:
                    await asyncio.sleep(0)
        decoding.finish()

    async def read(self, max_bytes: int) -> bytes:
        """The whole decoded body."""
        return b"".join([piece async for piece in self.chunks(max_bytes)])

    async def peek(self, wanted: int) -> bytes:
        """The beginning of the body, however long the rest may be."""
        body = bytearray()
        async with aclosing(self.chunks(DEFAULT_CAP)) as pieces:
            async for piece in pieces:
                body += piece
                if len(body) >= wanted:
                    break
        return bytes(body)

    async def _receive(self) -> bytes:
        """The next piece; empty at the end."""
        content = self._response.content
        if content.at_eof() and content.exception() is None:
            return b""
        async with self._budget.spend_on_body(self.host, since=self._since, received=self._received):
            piece = await content.readany()
        self._received += len(piece)
        return piece

    def _too_large(self, max_bytes: int) -> TooLarge:
        return TooLarge(f"The answer of {self.host} is larger than {max_bytes:,} bytes.")


@contextmanager
def ending_with_connection(response: aiohttp.ClientResponse) -> Iterator[None]:
    """Fail a body whose connection is gone. aiohttp leaves its reader waiting when a chunk cannot be parsed."""
    protocol = _protocol_of(response)
    closed = None if protocol is None else protocol.closed
    if closed is None:
        yield
        return

    def fail(_: "asyncio.Future[None]") -> None:
        body = response.content
        if not body.is_eof() and body.exception() is None:
            body.set_exception(aiohttp.ClientPayloadError("The connection ended in the body"))

    closed.remove_done_callback(_retrieve)
    closed.add_done_callback(_retrieve)
    closed.add_done_callback(fail)
    try:
        yield
    finally:
        closed.remove_done_callback(fail)


def timing_body_ourselves(response: aiohttp.ClientResponse) -> None:
    """End aiohttp's own timer of reads, which is for the head alone: a `Budget` times each piece of the body.

    aiohttp begins it anew when it reads on after a pause, even where that was the body's end. It then ran out while the
    connection lay idle, and the next request there failed at once, as if its host had been silent.
    """
    protocol = _protocol_of(response)
    if protocol is not None:
        protocol.read_timeout = None
        protocol.start_timeout()  # of none: this ends the one that runs


def _protocol_of(response: aiohttp.ClientResponse) -> ResponseHandler | None:
    """What speaks on the connection; None when the body is complete and the connection somebody else's."""
    return None if response.connection is None else response.connection.protocol


def _retrieve(closed: "asyncio.Future[None]") -> None:
    """An idle connection may end as it likes; nobody asks why."""
    if not closed.cancelled():
        closed.exception()


def _plain_headers(response: aiohttp.ClientResponse) -> dict[str, str]:
    """Lower-case names, repeats joined. Bytes that are no UTF-8 are read as Latin-1, except in a validator: it could
    not be echoed exactly, so it is dropped.
    """
    joined: dict[str, str] = {}
    for name, value in response.headers.items():
        key = name.lower()
        joined[key] = f"{joined[key]}, {value}" if key in joined else value
    for key in ("etag", "last-modified"):
        if key in joined and not is_echoable(joined[key]):
            del joined[key]
    return {
        key: value if value.isprintable() else value.encode("utf-8", "surrogateescape").decode("latin-1")
        for key, value in joined.items()
    }
