"""A publisher in a process of its own, as fast as asyncio allows: `python -m bench._publisher` prints its port.

`/same/N` never changes and knows its ETag, `/tiny/N` too, with one item; `/mute/N` never changes and says so to nobody;
`/new/N` has ten new items at every call, `/many/N` thirty; `/stir/N` has the same thirty in a document that is another
at every call, and `/roll/N` thirty, of which ten are new at every call.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable

TAG = b'"a"'
ITEMS = 10
MANY = 30

_count = itertools.count()
_editions = Counter[str]()


def feed(name: str, edition: int, items: int = ITEMS) -> bytes:
    """An ordinary feed; ten items are about 12 kB."""
    words = "<p>" + "Words of this installment, which go on for a while. " * 18 + "</p>"
    rows = "".join(
        f"<item><guid isPermaLink='false'>{name}-{edition}-{number}</guid><title>Item {number} of {edition}</title>"
        f"<link>https://example.org/{name}/{edition}/{number}</link><pubDate>Sun, 22 Feb 2026 12:00:00 GMT</pubDate>"
        f"<description><![CDATA[{words}]]></description></item>"
        for number in range(items)
    )
    return f"<rss version='2.0'><channel><title>{name}</title>{rows}</channel></rss>".encode()


def rolling(name: str, edition: int) -> bytes:
    """Thirty items; the last twenty of them were in the edition before."""
    editions = (feed(name, max(0, edition - back)) for back in range(MANY // ITEMS))
    rows = b"".join(body[body.index(b"<item>") : body.rindex(b"</channel>")] for body in editions)
    head = f"<rss version='2.0'><channel><title>{name}</title>".encode()
    return head + rows + b"</channel></rss>"


_SAME = feed("same", 0)
_LONG = feed("stir", 0, items=MANY)
_TINY = feed("tiny", 0, items=1)


class Connection(asyncio.Protocol):
    """Keep-alive, no pipelining, heads only. `answer` makes the answer to a head."""

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        self._answer = answer
        self._head = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._head += data
        while b"\r\n\r\n" in self._head:
            head, _, self._head = self._head.partition(b"\r\n\r\n")
            assert self._transport is not None
            self._transport.write(self._answer(head))


def answer(head: bytes) -> bytes:
    path = head.split(b" ", 2)[1]
    if path.startswith((b"/same", b"/tiny")):
        if b'none-match: "a"' in head.lower():
            return b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n'
        return _ok(_SAME if path.startswith(b"/same") else _TINY, b'ETag: "a"\r\n')
    if path.startswith(b"/mute"):
        return _ok(_SAME)
    name = path.decode().rpartition("/")[2]
    if path.startswith(b"/stir"):
        return _ok(_LONG + b"<!-- %d -->" % next(_count))
    if path.startswith(b"/roll"):
        _editions[name] += 1
        return _ok(rolling(name, _editions[name]))
    return _ok(feed(name, next(_count), MANY if path.startswith(b"/many") else ITEMS))


def _ok(body: bytes, more: bytes = b"") -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\n%sContent-Length: %d\r\n\r\n%s" % (
        more,
        len(body),
        body,
    )


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(lambda: Connection(answer), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
