"""Images, against a plain file server and against their source: `python -m bench.images [--small]`.

From disk: how many in a second of computing, beside Starlette's FileResponse without sign-in, database or headers.
Uncached: the time to the first byte of the image, beside asking the source directly. All servers are in one other
process; the client is sockets and nothing else. No time makes it fail.
"""

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from bench._gallery import PAGES, SIZES, GalleryPaths
from bench.harness import Line, show

CONNECTIONS = 8
DELAYS = (0.0, 0.02)
"""Seconds that the source takes to answer: none, and what a near one takes."""
APART = 0.03
"""Seconds between two uncached images, so that the source's pace is no part of the figure."""


class Connection:
    """Keep-alive; reads what Content-Length or chunks say."""

    def __init__(self, url: str, cookie: str = "") -> None:
        self._parts = urlsplit(url)
        self._head = f"host: x\r\ncookie: {cookie}\r\n\r\n"
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def get(self, path: str) -> float:
        """Seconds to the first byte of the body; returns when all of it has come."""
        if self._reader is None or self._writer is None:
            opened = await asyncio.open_connection(self._parts.hostname, self._parts.port, limit=1 << 20)
            self._reader, self._writer = opened
        began = time.perf_counter()
        self._writer.write(f"GET {path} HTTP/1.1\r\n{self._head}".encode())
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        if b" 200 " not in head.partition(b"\r\n")[0]:
            raise RuntimeError(head.decode())
        if b"content-length: " in head:
            length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
            first = await self._reader.readexactly(1)
            took = time.perf_counter() - began
            await self._reader.readexactly(length - len(first))
            return took
        return await self._chunks(began, self._reader)

    async def _chunks(self, began: float, reader: asyncio.StreamReader) -> float:
        took = 0.0
        while size := int(await reader.readuntil(b"\r\n"), 16):
            took = took or time.perf_counter() - began
            await reader.readexactly(size + 2)
        await reader.readexactly(2)
        return took

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


@asynccontextmanager
async def a_gallery(delay: float) -> AsyncIterator[GalleryPaths]:
    """The servers, until the end of the block."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bench._gallery",
        str(delay),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stdin is not None
    try:
        while not (line := await child.stdout.readline()).startswith(b"{"):
            if not line:
                raise RuntimeError("the servers did not start")
        yield msgspec.json.decode(line, type=GalleryPaths)
    finally:
        child.stdin.close()
        await child.communicate()


def many(url: str, cookie: str, calls: int) -> Callable[[], Awaitable[object]]:
    """So many calls of one address, over a few connections."""
    path = urlsplit(url).path

    async def some() -> None:
        connection = Connection(url, cookie)
        for _ in range(calls // CONNECTIONS):
            await connection.get(path)
        connection.close()

    async def run() -> None:
        await asyncio.gather(*(some() for _ in range(CONNECTIONS)))

    return run


async def from_disk(size: str, *, rounds: int, calls: int) -> Line:
    """By the server's own time on a processor, which is what its rate comes down to: others may be busy meanwhile."""
    async with a_gallery(0.0) as places:
        cases = {
            "ours": many(f"{places.ours}{places.pages[size]}/image", places.cookie, calls),
            "file": many(places.files[size], "", calls),
        }
        best = dict.fromkeys(cases, float("inf"))
        for _ in range(rounds):
            for name, case in cases.items():
                began = used(places.process)
                await case()
                best[name] = min(best[name], (used(places.process) - began) / calls)
    share = best["file"] / best["ours"]
    what = f"from disk, {size} ({1 / best['ours']:,.0f} a second)"
    return Line(what, best["ours"], best["file"], share, "at least 0.7", share >= 0.7)


def used(process: int) -> float:
    """Seconds that a process has computed, in all its threads."""
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def first_byte(delay: float, *, calls: int) -> Line:
    """Pages from the last to the first: what runs ahead of a reader runs the other way."""
    ours, direct = [], []
    async with a_gallery(delay) as places:
        server, source = Connection(places.ours, places.cookie), Connection(places.source)
        for number in range(calls + 1):
            page = PAGES - 1 - len(SIZES) - number
            ours.append(await server.get(f"{urlsplit(places.ours).path}{page}/image"))
            direct.append(await source.get(f"{urlsplit(places.source).path}{page}.png"))
            await asyncio.sleep(APART)
        server.close()
        source.close()
    took, other = statistics.median(ours[1:]), statistics.median(direct[1:])
    ratio = took / other
    return Line(f"first byte, source takes {delay * 1000:.0f} ms", took, other, ratio, "at most 1.5", ratio <= 1.5)


async def main(*, small: bool) -> None:
    rounds, calls, firsts = (3, 800, 30) if small else (8, 2_400, 150)
    disk = [await from_disk(size, rounds=rounds, calls=calls) for size in SIZES]
    show("Images from disk; the ratio is of the rates", ("ours", "FileResponse"), disk)
    first = [await first_byte(delay, calls=firsts) for delay in DELAYS]
    show("Uncached images, to the first byte", ("ours", "direct"), first)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true")
    asyncio.run(main(small=parser.parse_args().small))
