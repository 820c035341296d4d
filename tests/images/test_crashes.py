"""A chapter is kept whole however often the one that keeps it is killed."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from tests.images.builders import Gallery, Write, a_gallery, a_picture
from tests.net.builders import answer
from tests.scale import scaled

PAGES = 8


def slowly(picture: bytes) -> Write:
    """Long enough to be killed in the middle."""

    async def write(writer: asyncio.StreamWriter) -> None:
        whole = answer(200, picture, content_type="image/png")
        writer.write(whole[:-1000])
        await writer.drain()
        await asyncio.sleep(0.1)
        writer.write(whole[-1000:])

    return write


async def started(folder: Path, database_url: str) -> asyncio.subprocess.Process:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.images.download_process",
        str(folder),
        database_url,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert child.stdout is not None
    async with asyncio.timeout(60):
        assert await child.stdout.readline() == b"working\n"
    return child


async def killed_after(gallery: Gallery, child: asyncio.subprocess.Process, more: int) -> int:
    """Kill it once it has asked for so many more images; how many pages are kept then."""
    until = gallery.site.asked_for(".png") + more
    async with asyncio.timeout(60):
        while gallery.site.asked_for(".png") < until:  # noqa: ASYNC110  the site wakes nobody
            await asyncio.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    await child.communicate()
    found: int = (await gallery.reader.get(gallery.download)).json()["data"]["done"]
    return found


@pytest.mark.soak
@pytest.mark.parametrize("engine", ["sqlite", "postgres"][: scaled(1, 2)], indirect=True)
async def test_a_chapter_is_downloaded_completely_despite_killed_workers(tmp_path, database_url):
    """REL-14 allows a task few losses; each kill falls into another page."""
    async with a_gallery(tmp_path, database_url, pages=PAGES) as gallery:
        pictures = [a_picture(size=(60, 60), noisy=True) for _ in range(PAGES)]
        for position, picture in enumerate(pictures):
            gallery.show(position, slowly(picture))
        await gallery.reader.post(gallery.download)
        done = [0]
        for _ in range(scaled(1, 2)):
            child = await started(tmp_path, database_url)
            done += [await killed_after(gallery, child, 3)]
        assert done == sorted(done)
        assert 0 < done[-1] < PAGES
        child = await started(tmp_path, database_url)
        try:
            await gallery.until_kept("done", seconds=60)
        finally:
            child.kill()
            await child.communicate()
        for position, picture in enumerate(pictures):
            assert (await gallery.reader.get(gallery.page(position))).body == picture
        assert gallery.site.asked_for(".png") <= PAGES + len(done) - 1  # only what was under way was asked for again
        assert await gallery.count_images() == PAGES
