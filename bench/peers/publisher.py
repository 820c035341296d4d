"""A publisher that knows who asks: `python -m bench.peers.publisher HOSTS ITEMS`, a process of its own.

Everyone polls the same feeds under a name of their own, `/NAME/NUMBER`, on many loopback addresses, as feeds are on
many hosts. `/set/NAME/MODE` says what NAME gets from now on; `/answers/NAME` is what NAME got since, and what was ever
published to it. Anything else is a small icon or an empty page.
"""

import asyncio
import sys
import zlib
from email.utils import formatdate
from functools import lru_cache
from typing import Literal, get_args

import msgspec

from bench._publisher import Connection
from tsuzuki.app.opening import wall_clock

Mode = Literal["same", "mute", "stir", "new"]
"""304 to whoever knows the ETag; 200, the same bytes, no validator; other bytes with the same items; new items."""
NEW = 10
"""Items that are new at each call in mode `new`."""
COMMON = "harbour"
"""A word of every item; `rare_word` is one of a single item."""

_BEGAN = wall_clock() // 1000 - 30 * 86_400
_TEXT = "Words of this installment, which go on for a while. " * 18


def rare_word(feed: int, number: int) -> str:
    return f"rare{feed}q{number}"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


_HEADER = (1).to_bytes(4, "big") * 2 + bytes((8, 0, 0, 0, 0))
_ICON = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", _HEADER) + _chunk(b"IDAT", zlib.compress(b"\0\0")) + _chunk(b"IEND", b"")


@lru_cache(maxsize=65_536)
def _item(feed: int, number: int) -> str:
    return (
        f"<item><guid isPermaLink='false'>{feed}-{number}</guid><title>Item {number} of {feed}</title>"
        f"<link>https://example.org/{feed}/{number}</link><pubDate>{formatdate(_BEGAN + number * 60)}</pubDate>"
        f"<description><![CDATA[<p>{_TEXT}{COMMON} {rare_word(feed, number)}</p>]]></description></item>"
    )


def document(feed: int, newest: int, items: int, *, note: str = "") -> bytes:
    """The latest items, newest first."""
    rows = "".join(_item(feed, number) for number in range(newest, newest - items, -1))
    return f"<rss version='2.0'><channel><title>Feed {feed}</title>{note}{rows}</channel></rss>".encode()


class AnswerCounts(msgspec.Struct):
    """What one reader got: answers by status since its mode was set, and items that were ever published to it."""

    mode: Mode = "same"
    statuses: dict[str, int] = {}
    published: int = 0

    def count(self, status: str) -> None:
        self.statuses[status] = self.statuses.get(status, 0) + 1


class Publisher:
    """Answers heads of requests."""

    def __init__(self, items: int) -> None:
        self._items = items
        self._answers: dict[str, AnswerCounts] = {}
        self._newest: dict[tuple[str, int], int] = {}
        self._calls = 0
        self._rendered = lru_cache(maxsize=4096)(document)

    def answer(self, head: bytes) -> bytes:
        _, _, rest = head.partition(b" /")
        first, _, second = rest.partition(b" ")[0].decode().partition("/")
        if first == "set":
            return self._set(second)
        if first == "answers":
            return _ok(msgspec.json.encode(self._of(second)), "application/json")
        if second.isdecimal():
            return self._feed(first, int(second), head.lower())
        if first == "favicon.ico":
            return _ok(_ICON, "image/png")
        return _ok(b"<!doctype html><title>A site</title>", "text/html")

    def _of(self, name: str) -> AnswerCounts:
        return self._answers.setdefault(name, AnswerCounts())

    def _set(self, what: str) -> bytes:
        name, _, mode = what.partition("/")
        if mode not in get_args(Mode):
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        answers = self._of(name)
        answers.mode = msgspec.convert(mode, Mode)
        answers.statuses.clear()
        return _ok(b"", "text/plain")

    def _feed(self, name: str, feed: int, head: bytes) -> bytes:
        answers, key = self._of(name), (name, feed)
        if key not in self._newest:
            self._newest[key] = self._items
            answers.published += self._items
        elif answers.mode == "new":
            self._newest[key] += NEW
            answers.published += NEW
        newest = self._newest[key]
        if answers.mode in {"same", "new"}:
            tag = f'"{feed}-{newest}"'
            if f"if-none-match: {tag}".encode() in head:
                answers.count("304")
                return f"HTTP/1.1 304 Not Modified\r\nETag: {tag}\r\n\r\n".encode()
            answers.count("200")
            return _ok(self._rendered(feed, newest, self._items), "application/rss+xml", f"ETag: {tag}\r\n")
        answers.count("200")
        if answers.mode == "mute":
            return _ok(self._rendered(feed, newest, self._items), "application/rss+xml")
        self._calls += 1
        note = f"<lastBuildDate>{formatdate(_BEGAN + self._calls)}</lastBuildDate>"
        return _ok(document(feed, newest, self._items, note=note), "application/rss+xml")


def _ok(body: bytes, media: str, more: str = "") -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {media}\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode() + body


def address(number: int) -> str:
    return f"127.0.{1 + number // 250}.{1 + number % 250}"


async def main(hosts: int, items: int) -> None:
    """Prints the port, and on how many addresses it answers: where only 127.0.0.1 is loopback, on that one."""
    publisher, loop = Publisher(items), asyncio.get_running_loop()

    def connection() -> Connection:
        return Connection(publisher.answer)

    first = await loop.create_server(connection, "127.0.0.1", 0, backlog=1024)
    port = first.sockets[0].getsockname()[1]
    bound = 0
    try:
        for number in range(hosts):
            await loop.create_server(connection, address(number), port, backlog=1024)
            bound += 1
    except OSError:
        pass
    print(port, bound, flush=True)
    await first.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
