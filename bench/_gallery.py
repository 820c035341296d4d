"""A server with a chapter of images, its source, and a plain file server, in one process: `python -m bench._gallery`.

Prints one line of JSON: where each is, and the cookie of a reader. Ends with its standard input.
"""

import asyncio
import os
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Route

from tests.images.builders import Gallery, a_gallery, a_picture
from tests.net.builders import answer
from tsuzuki.app.server import listen, run_with_uvloop, url_of
from tsuzuki.log import set_up_logging

SIZES = {"small": (90, 75), "large": (330, 300)}
"""Of noise: about 20 kB and 300 kB."""
PAGES = 400


class GalleryPaths(msgspec.Struct, frozen=True):
    """Where everything is."""

    process: int
    ours: str
    """With a page's number after it."""
    cookie: str
    files: dict[str, str]
    """By size: the same image from the plain file server."""
    pages: dict[str, int]
    """By size: the page that shows it."""
    source: str
    """Of pages, with their number and `.png` after it: what an uncached page is fetched from."""


async def main(delay: float) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with a_gallery(folder, f"sqlite://{folder}/tsuzuki.db", pages=PAGES) as gallery:
            places = await fill(gallery, folder, delay)
            bound = listen("127.0.0.1", 0)
            static = Starlette(routes=[Route("/{name}", files_in(folder))])
            config = uvicorn.Config(static, log_config=None, access_log=False, lifespan="off")
            server = uvicorn.Server(config)
            serving = asyncio.create_task(server.serve(sockets=[bound]))
            base = url_of(bound)
            told = msgspec.structs.replace(places, files={size: f"{base}/{size}.png" for size in SIZES})
            print(msgspec.json.encode(told).decode(), flush=True)
            await ended()
            server.should_exit = True
            await serving


def files_in(folder: Path) -> Callable[[Request], Awaitable[FileResponse]]:
    async def show(request: Request) -> FileResponse:
        return FileResponse(folder / request.path_params["name"])

    return show


async def fill(gallery: Gallery, folder: Path, delay: float) -> GalleryPaths:
    """Cached pages at the end; all others come from the source, after a while."""
    pages = {}
    for place, (size, pixels) in enumerate(SIZES.items()):
        picture, position = a_picture(size=pixels, noisy=True), PAGES - 1 - place
        (folder / f"{size}.png").write_bytes(picture)
        gallery.show(position, picture)
        await gallery.reader.get(gallery.page(position))
        pages[size] = position
    uncached = answer(200, (folder / "large.png").read_bytes(), content_type="image/png")

    async def slowly(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(delay)
        writer.write(uncached)

    for position in range(PAGES - len(SIZES)):
        gallery.show(position, slowly)
    base = f"{gallery.app.client.base}/api/v1/chapters/{gallery.release_id}/pages/"
    source = f"{gallery.site.url}/s/one/1/"
    return GalleryPaths(os.getpid(), base, gallery.reader.headers["cookie"], {}, pages, source)


async def ended() -> None:
    """Return when whoever started us closes the pipe. A thread of its own: it waits for ever."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()

    def wait() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(over.set)

    threading.Thread(target=wait, daemon=True).start()
    await over.wait()


if __name__ == "__main__":
    set_up_logging(level="warning", style="json", secrets=())
    run_with_uvloop(main(float(sys.argv[1])))
