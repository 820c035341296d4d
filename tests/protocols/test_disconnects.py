"""Clients that leave in the middle of an answer: nothing of it is left, and nothing goes on for nobody."""

import asyncio
import math
import socket
import struct
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from tests.api.people import RunningApp
from tests.app import Client, serving_resources
from tests.images.builders import a_gallery, a_picture
from tests.protocols.komga import KomgaReader
from tests.protocols.people import an_app_reader
from tests.protocols.test_pictures import follow_gallery
from tests.waiting import eventually
from tsuzuki.http.parts import PiecesResponse
from tsuzuki.http.routing import page

RESET = struct.pack("ii", 1, 0)
TOGETHER = 20
SPARE = 3
"""Tasks and files that come and go with the work of the server itself."""


async def leave(client: Client, path: str, headers: Mapping[str, str], *, after: int) -> None:
    """Read so many bytes of an answer, and be gone."""
    address = urlsplit(client.base)
    reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=2048)
    lines = [f"GET {path} HTTP/1.1", "host: test", *(f"{name}: {value}" for name, value in headers.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    if after:
        await reader.readexactly(after)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.transport.abort()


def open_files() -> int:
    """Files and connections of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def left_by_many(app: RunningApp, path: str, headers: Mapping[str, str], *, count: int) -> None:
    """So many clients leave at once or later; as many tasks and open files as before are there then."""
    assert (await app.client.begin("GET", path, headers=dict(headers))).status == 200, path
    tasks, files = len(asyncio.all_tasks()) + SPARE, math.inf

    async def leave_together(afters: Sequence[int]) -> None:
        leaving = [leave(app.client, path, headers, after=after) for after in afters]
        await asyncio.gather(*leaving, return_exceptions=True)

    async def are_gone() -> bool:
        return len(asyncio.all_tasks()) <= tasks and open_files() <= files

    await leave_together([20] * TOGETHER)  # so many connections to the database stay open for a while
    await eventually(are_gone)
    files = open_files() + SPARE
    for start in range(0, count, TOGETHER):
        await leave_together([number % 40 * 10 for number in range(start, start + TOGETHER)])
    await eventually(are_gone)


async def test_an_endless_answer_ends_with_its_reader():
    closed = asyncio.Event()

    async def pieces() -> AsyncGenerator[bytes, None]:
        try:
            while True:
                yield b"x" * 65536
                await asyncio.sleep(0)
        finally:
            closed.set()

    async def answer(_: object) -> PiecesResponse:
        return PiecesResponse(pieces, length=None, status=200, headers={})

    async with serving_resources([page("/endless", answer)]) as client:
        await leave(client, "/endless", {}, after=5000)
        await asyncio.wait_for(closed.wait(), 10)


async def test_an_answer_that_waits_ends_with_its_reader():
    closed = asyncio.Event()

    async def pieces() -> AsyncGenerator[bytes, None]:
        try:
            yield b"x" * 65536
            await asyncio.Event().wait()
        finally:
            closed.set()

    async def answer(_: object) -> PiecesResponse:
        return PiecesResponse(pieces, length=None, status=200, headers={})

    async with serving_resources([page("/waiting", answer)]) as client:
        await leave(client, "/waiting", {}, after=5000)
        await asyncio.wait_for(closed.wait(), 10)


async def test_nothing_is_left_of_apps_that_leave(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url, pages=2) as gallery:
        for position in range(2):
            gallery.show(position, a_picture(size=(700, 900), noisy=True))
        app = gallery.app
        ann = await an_app_reader(app)
        komga = KomgaReader(app, ann.user, ann.shelf, ann.issued)
        await follow_gallery(gallery, ann)
        feed = await ann.add_feed("Notes")
        await ann.release(feed, 300, content="<p>" + "word " * 1000 + "</p>")
        token = {"x-auth-token": ann.key}
        [series] = await komga.content("/api/v1/series")
        [book] = await komga.books(series["id"])
        release = gallery.release_id
        for path, headers, count in (
            (f"/komga/api/v1/books/{book['id']}/file", komga.basic, 100),
            (f"/komga/api/v1/books/{book['id']}/pages/1", komga.basic, 20),
            ("/komga/sse/v1/events", komga.basic, 100),
            ("/miniflux/v1/entries?limit=300", token, 20),
            (f"/opds/v1.2/releases/{release}/pages/0", komga.basic, 20),
        ):
            await left_by_many(app, path, headers, count=count)
        assert not list(tmp_path.rglob("drafts/*"))
