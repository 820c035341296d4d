"""Newsboat, as Debian has it, against a running server."""

import asyncio
import re
import shutil
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from tests.api.people import a_running_app
from tests.app import in_settings
from tests.protocols.miniflux import BASE, MinifluxReader, a_miniflux_reader

pytestmark = pytest.mark.clients


async def newsboat(reader: MinifluxReader, folder: Path, *commands: str) -> str:
    """What it prints after these commands; what it knows of the server is in the folder."""
    program = shutil.which("newsboat")
    if program is None:
        pytest.skip("newsboat is missing: apt-get install newsboat")
    config = folder / "newsboat.conf"
    config.write_text(
        f'urls-source "miniflux"\nminiflux-url "{reader.app.client.base}{BASE}"\n'
        f'miniflux-login "{reader.user.username}"\nminiflux-password "{reader.key}"\n'
    )
    said = ["-C", config, "-c", folder / "cache.db", "-u", folder / "urls", "-x", *commands]
    process = await asyncio.create_subprocess_exec(
        program, *map(str, said), stdout=asyncio.subprocess.PIPE, env={"HOME": str(folder), "LANG": "C.UTF-8"}
    )
    printed, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, printed
    return printed.decode()


async def unread(reader: MinifluxReader, folder: Path) -> int:
    printed = await newsboat(reader, folder, "reload", "print-unread")
    found = re.search(r"(\d+) unread articles", printed)
    assert found, printed
    return int(found[1])


def articles(folder: Path) -> list[tuple[str, bool]]:
    """What it lists: titles, and whether each is unread."""
    with closing(apsw.Connection(str(folder / "cache.db"))) as known:
        rows = list(known.execute("select title, unread from rss_item where deleted = 0"))
    return sorted((str(title), bool(unread)) for title, unread in rows)


async def test_newsboat_lists_and_counts_what_the_inbox_has(empty_database_url, tmp_path):
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        ann = await a_miniflux_reader(app)
        await ann.add_feed("The Gull Letters", items=70, group="Letters")
        await ann.add_feed("Quiet", items=5)
        await ann.add_series("The Lighthouse Cat", group="Comics")
        ids = (await ann.get("/entries/ids"))["entry_ids"]
        for place in range(3):
            folder = tmp_path / str(place)
            folder.mkdir()
            left = (await app.inbox.count(ann.shelf)).unread
            assert await unread(ann, folder) == left == 78 - 26 * place
            entries = (await ann.get("/entries?limit=1000"))["entries"]
            assert articles(folder) == sorted((one["title"], one["status"] == "unread") for one in entries)
            await ann.done("PUT", "/entries", {"entry_ids": ids[place::3], "status": "read"})
        assert await unread(ann, tmp_path / "0") == 0
